"""``curation scores models``: run language models over the CATs."""

import errno
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

import typer

from curation.campaign import open_campaign
from curation.cli import chat_options, console
from curation.cli.chat_options import (
    AllPrompts,
    ChatOptions,
    Concurrency,
    DryRun,
    MaxTokens,
    PriceIn,
    PriceOut,
    PromptsFile,
    Samples,
    Temperature,
)
from curation.cli.chat_plans import show_plans, show_used
from curation.cli.model_options import (
    BatchTokens,
    Device,
    Dtype,
    EngineName,
    EngineOption,
    Remote,
    Revision,
    Workers,
    options_of_work,
)
from curation.cli.options import Where, language_code
from curation.cli.results import kinds_text, show_results
from curation.cli.score_options import GoldFiles, Scores, TieRule, Ties
from curation.files import CurationError
from curation.models.rules import PROFILES, RULES, SOURCES, Family
from curation.records import Cat
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.models.scoring import ModelSpec
    from curation.scores.choice.asking import Prices
    from curation.steps.scores.models import ScoredModel
    from curation.steps.source import Source

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}
_DISK |= {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}  # of the folder of scores, so of all models


_FAMILIES = [name for name in get_args(Family) if name not in ("endpoint", "chat")]


def _family(name: str) -> str:
    """A family that --family may name.

    Raises:
        BadParameter: it may not; an old name gives an error with the new one.
    """
    if name == "permuted":
        raise typer.BadParameter("the family «permuted» is now called «xlnet»")
    if name == "chat":
        raise typer.BadParameter("write chat:NAME for a chat model, without --family")
    if name not in _FAMILIES:
        raise typer.BadParameter(f"«{name}» is not one of {', '.join(_FAMILIES)}")
    return name


def models(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Names on the Hugging Face hub, or folders. Use LABEL=MODEL to set a display "
            "name, and chat:MODEL for a chat model.",
            show_default=False,
        ),
    ],
    campaign: Where = Path(),
    gold: GoldFiles = None,
    scores: Scores = Path("scores"),
    rule: Annotated[
        str, typer.Option(help="One rule for all models; «curation scores rules» lists them.")
    ] = "",
    profile: Annotated[
        str,
        typer.Option(
            help="A profile, which sets the rule for each family and kind: acl-ll, acl-pll, arxiv, "
            "choice, code, default."
        ),
    ] = "",
    variant: Annotated[
        str, typer.Option(help="Change the texts first: lower, capital, unpointed.")
    ] = "",
    family: Annotated[
        str | None,
        typer.Option(
            parser=_family,
            metavar="|".join(_FAMILIES),
            help="The model's family, if it is not recognized.",
            show_default=False,
        ),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    batch_tokens: BatchTokens = None,
    nsp: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="The folder that train-nsp wrote for the model: a head for the rule nsp.",
        ),
    ] = "",
    accept_own_head: Annotated[
        bool,
        typer.Option(
            "--accept-own-head",
            help="Under acl-ll: use the model's own next-sentence head if --nsp is not given; all "
            "tables then mark the model.",
        ),
    ] = False,
    revision: Revision = "",
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="An OpenAI-compatible endpoint that serves the models, such as "
            "http://127.0.0.1:8000/v1. The key is read from CURATION_ENDPOINT_KEY or "
            "OPENAI_API_KEY.",
        ),
    ] = "",
    bos: Annotated[str, typer.Option(help="BOS token text (endpoints only).")] = "",
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Turn off all optimisations: slow, to check the scores."),
    ] = False,
    trust_remote_code: Remote = False,
    engine: EngineOption = EngineName.local,
    workers: Workers = None,
    tier: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Show results for CATs on whose labels N or more annotators agree; all CATs are "
            "scored.",
            show_default=False,
        ),
    ] = None,
    ties: Ties = TieRule.half,
    prompts: PromptsFile = None,
    all_prompts: AllPrompts = False,
    samples: Samples = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    concurrency: Concurrency = None,
    dry_run: DryRun = False,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
) -> None:
    """Score models: lms, ss, icat of each. The score of every association is kept.

    Scores are appended to 5-scores/MODEL/RULE/scores.jsonl as they are computed (with --gold: to
    the folder of --scores). If the command is interrupted, run it again: it continues where it
    stopped. If a model fails, the error is printed and the other models are scored. To see what
    each rule computes: «curation scores rules».

    chat:MODEL asks a chat model which of two associations is more natural, at an endpoint or on
    this machine. Its replies are kept in 5-scores/MODEL/choice/replies.jsonl.
    """
    from curation.models.scoring import ModelSpec
    from curation.steps.scores.models import check_names

    named = list(map(chat_options.named_model, names))
    chat = ChatOptions(
        prompts, all_prompts, samples, temperature, max_tokens, concurrency, dry_run, price_in,
        price_out,
    )  # fmt: skip
    chat_options.check_chat_options(
        named,
        chat,
        endpoint=bool(endpoint),
        others={
            "--family": family is not None,
            "--nsp": bool(nsp),
            "--accept-own-head": accept_own_head,
            "--bos": bool(bos),
            "--plain": plain,
            "--engine": engine is not EngineName.local,
            "--workers": workers is not None,
        },
        rule=rule,
        profile=profile,
    )
    specs = [
        ModelSpec(
            name=model.name,
            label=model.label,
            family=None if model.chat else cast("Family | None", family),
            device=device,
            dtype=dtype,
            revision=revision or None,
            trust_remote_code=trust_remote_code,
            batch_tokens=batch_tokens,
            plain=plain and not model.chat,
            nsp="" if model.chat else nsp,
            url=endpoint,
            bos="" if model.chat else bos,
            chat=chat.spec(Path()) if model.chat else None,
        )
        for model in named
    ]
    check_names(specs)
    settings: dict[str, Any] = {
        "rule": rule,
        "profile": profile,
        "variant": variant,
        "accept_own_head": accept_own_head,
        **options_of_work(engine, workers, device),
        "ties": ties.value,
    }
    source = _source(campaign, gold, scores, dry_run=dry_run)
    specs = _with_prompts(specs, source, chat)
    if dry_run:
        from curation.steps.scores.plans import plan_model

        plans = [plan_model(spec, source, variant=variant) for spec in specs]
        show_plans(plans, chat.spec(Path()), chat.prices)
        return
    source.warn_before_scoring(console)
    shown = source.in_tier(tier, console).cats
    failed = []
    for spec in specs:
        scored = _score(spec, source, shown, settings)
        if scored is None:
            failed.append(spec.name)
            continue
        splits, run = scored.report["splits"], scored.report["run"]
        flags = [
            show_results(result, run=run, tier=tier, explain=not scored.choice)
            for split, result in splits.items()
            if split == "test" or len(splits) == 1
        ]
        if scored.choice:
            _show_answers(scored, chat.prices, flags)
    if failed:
        raise CurationError(
            f"{len(failed)} of {amount(len(specs), 'model')} could not be scored completely: "
            f"{', '.join(failed)}",
            "fix the errors above and run the command again; scores that exist are kept",
        )


def _show_answers(
    scored: "ScoredModel", prices: "Prices | None", flags: Sequence[Sequence[str]]
) -> None:
    """Show what a chat model answered, what all its marks mean, and the tokens that it took."""
    from curation.cli.choice_tables import show_report

    folder, model = scored.job.folder, scored.job.identity["model"]
    run = f"{model}/{folder.name}"
    show_report(scored.choice or {}, run=run, model=model, flags=flags)
    show_used(scored.report["run"], prices)


def _with_prompts(
    specs: "Sequence[ModelSpec]", source: "Source", chat: ChatOptions
) -> "list[ModelSpec]":
    """The models; chat models get their prompts, which are checked."""
    from curation.models.chat.prompts import read_prompts
    from curation.steps.scores.prompts import find_prompts

    if not any(spec.chat for spec in specs):
        return list(specs)
    path = find_prompts(source, chat.prompts, reporter=console)
    read_prompts(path)  # before the first model is asked
    how = chat.spec(path)
    return [replace(spec, chat=how) if spec.chat else spec for spec in specs]


def _source(
    campaign: Path, gold: Sequence[Path] | None, scores: Path, *, dry_run: bool
) -> "Source":
    """The CATs and the folder of scores; the campaign is not locked while models are run."""
    from curation.steps.pipeline import bring_up_to_date
    from curation.steps.scores.outdated import warn_if_outdated
    from curation.steps.source import open_source

    if gold:
        return open_source(gold=gold, scores=scores, reporter=console)
    opened = open_campaign(campaign)
    if dry_run:  # nothing is written
        source = open_source(opened)
        warn_if_outdated(source, console)
        return source
    with opened.lock():
        bring_up_to_date(opened, "agreement", "split", reporter=console)
    return open_source(opened)


def _score(
    spec: "ModelSpec", source: "Source", shown: Sequence[Cat], settings: dict[str, Any]
) -> "ScoredModel | None":
    """Score one model and print how many scores it has; None if it failed."""
    from curation.steps.scores.models import score_model

    if spec.chat:  # --engine and --workers are for the other models of the command
        settings = {**settings, "engine": "local", "workers": 1}
    try:
        scored = score_model(spec, source, shown=shown, reporter=console, **settings)
    except CurationError as error:
        console.fail(error.what, error.fix)
        return None
    except Exception as error:  # an error of one model does not stop the others
        if isinstance(error, OSError) and error.errno in _DISK:
            raise
        console.fail(
            f"{spec.name}: {type(error).__name__}: {error}",
            "this model may not be supported; try --plain",
        )
        return None
    work, counts = scored.job, scored.counts
    if spec.chat:
        none = f", {counts['no_answer']:,} without an answer" if counts["no_answer"] else ""
        earlier = f", {counts['before']:,} earlier" if counts["before"] else ""
        console.say(
            f"{work.identity['model']} (chat): {amount(counts['asked'], 'question')} "
            f"asked{earlier}{none}; in {work.folder}"
        )
        return scored
    rules = ", ".join(f"{kind} {rule}" for kind, rule in work.rules.items())
    before = f", {counts['before']} were there" if counts["before"] else ""
    refused = f", {counts['refused']} refused" if counts["refused"] else ""
    console.say(
        f"{work.identity['model']} ({work.identity['family']}): "
        f"{amount(counts['scored'], 'association')} "
        f"scored{before}{refused}; {rules}; in {work.folder}"
    )
    return scored


def prompts(
    language: Annotated[
        str,
        typer.Option(
            callback=language_code,
            help="Print the file that is included for this language; default: the file that the "
            "campaign's chat models are asked with.",
            show_default=False,
        ),
    ] = "",
    campaign: Where = Path(),
) -> None:
    """Print the prompts that chat models are asked with: a file that you can copy and change.

    The file is checked first. A campaign uses 5-scores/prompts.toml if there is one, and otherwise
    the file that is included for its language.
    """
    from curation.files import read_text
    from curation.models.chat.prompts import read_prompts
    from curation.steps.scores.prompts import find_prompts, included_prompts
    from curation.steps.source import campaign_source

    if language:
        path = included_prompts(language)
    else:
        path = find_prompts(campaign_source(open_campaign(campaign)))
    read_prompts(path)
    console.note(f"{path}:")
    console.say_file(read_text(path))


def rules() -> None:
    """List the rules and profiles: what each computes, and for which models and CATs."""
    rows = [(name, ", ".join(r.families), kinds_text(r.kinds), r.says) for name, r in RULES.items()]
    console.table("Rules", ["rule", "models", "CATs", "what it computes"], rows)
    console.table("Profiles", ["profile", "what it follows"], list(SOURCES.items()))
    by_profile = [
        (name, family, profile[family]["intrasentence"], profile[family]["intersentence"])
        for family in get_args(Family)
        for name, profile in PROFILES.items()
        if family in profile
    ]
    heads = ["profile", "models", "intrasentence", "intersentence"]
    console.table("Rules of the profiles, by family of models", heads, by_profile)
    console.say("For the full definitions see docs/scores.md and curation/models/rules.py")
