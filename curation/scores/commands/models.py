"""``curation scores models``: run language models over the CATs; train heads for them."""

import errno
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from curation.campaign.source import Source, campaign_source, open_source
from curation.campaign.step import run_steps
from curation.campaign.store import open_campaign
from curation.decisions.steps import agreement
from curation.decisions.steps import split as split_step
from curation.files import CurationError, read_text
from curation.kinds import KINDS
from curation.models.chat import ChatSpec, Prices, read_prompts
from curation.models.rules import LOST_TIES, PROFILES, RULES, SOURCES, Family
from curation.models.scoring import ModelSpec
from curation.models.train.settings import PAPER, NextSentenceSettings
from curation.records import Cat, Fields
from curation.scores.asking import BYTES, MESSAGE, Plan
from curation.terminal import console
from curation.terminal.model_options import (
    NO_CHAT_OPTIONS,
    NO_OPTIONS,
    ChatOptions,
    ModelOptions,
    NamedModel,
    model_spec,
    named_model,
)
from curation.terminal.options import MaybeCount, TieRule, Where, language_code, options_of_work
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.scores.models import ScoredModel


def _given(options: ModelOptions | ChatOptions) -> list[str]:
    """The options that are not as by default."""
    own = (each for each in fields(options) if getattr(options, each.name) != each.default)
    return [f"--{each.name.replace('_', '-')}" for each in own]


def check_chat_options(
    models: Sequence[NamedModel], how: ModelOptions, chat: ChatOptions, *, rule: str, profile: str
) -> None:
    """Check that the options fit the models.

    Raises:
        CurationError: an option has no model that uses it, or contradicts another one.
    """
    given = _given(chat)
    if not any(model.chat for model in models):
        if given:
            raise CurationError(
                f"{given[0]} is for chat models, and no model is one",
                f"write chat:NAME for a chat model, or leave {given[0]} out",
            )
        return
    for option, value in (("--rule", rule), ("--profile", profile)):
        if value and value != "choice":
            raise CurationError(
                f"{option} {value}: chat models have no other {option[2:]} than choice",
                f"leave {option} out, or score chat models with a command of their own",
            )
    plain = [model.name for model in models if not model.chat]
    useless = [option for option in _given(how) if option in how.NOT_FOR_CHAT]
    if useless and not plain:
        raise CurationError(f"{useless[0]} is not for chat models", f"leave {useless[0]} out")
    if plain and chat.dry_run:
        raise CurationError(
            f"--dry-run plans chat models, and {plain[0]} is not one",
            "name only chat models: chat:NAME",
        )
    if not how.endpoint:
        sampling = ("--samples", "--temperature", "--max-tokens", "--concurrency")
        for option in (*sampling, "--price-in", "--price-out"):
            if option in given:
                raise CurationError(
                    f"{option} is for models behind an endpoint, and there is no --endpoint",
                    "give --endpoint URL, or leave the option out: a model on this machine gives "
                    "the probabilities of both letters at once",
                )
    if (chat.price_in is None) != (chat.price_out is None):
        raise CurationError(
            f"{'--price-in' if chat.price_out is None else '--price-out'} is given alone",
            "give both prices, of tokens that are sent and received; one of them may be 0",
        )


def show_plans(plans: Sequence[Plan], how: ChatSpec, prices: Prices | None) -> None:
    """Show what is still to be asked of chat models.

    Args:
        plans: of each model.
        how: how the models are asked.
        prices: prices of tokens, to show the cost.
    """
    columns = ["model", "CATs", "questions", "asked", "requests", "asked again"]
    columns += ["tokens in", "tokens out"]
    rows = [
        [
            plan.model, plan.cats, f"{plan.questions:,}", f"{plan.asked:,}",
            f"{plan.requests:,}",
            *(
                _range([f"{number:,}" for number in ends])
                for ends in (plan.again, plan.tokens_in, plan.tokens_out)
            ),
            *([_range([_money(cost) for cost in plan.cost(prices)])] if prices else []),
        ]
        for plan in plans
    ]  # fmt: skip
    prompts = "every prompt" if how.all_prompts else "one prompt"
    title = f"Plan: {prompts}, {amount(how.samples, 'sample')}"
    console.table(title, columns + (["cost"] if prices else []), rows)
    for plan in plans:
        if plan.measured and plan.requests:
            replies = amount(plan.measured, "earlier reply", "earlier replies")
            console.say(f"{plan.model}: tokens are estimated from {replies} of this run.")
    by_rule = [plan for plan in plans if plan.requests and not plan.measured]
    if by_rule:
        console.say(
            f"Tokens in are estimated: one for {BYTES} bytes of text, and {MESSAGE} for each "
            "request."
        )
    if any(least < most for least, most in (plan.tokens_out for plan in by_rule)):
        console.say("Tokens out are at least 1 and at most --max-tokens for each request.")
    if any(least < most for least, most in (plan.again for plan in plans)):
        console.say(
            "Asked again: a reply that does not name a letter needs a second question. It may be "
            "none of them, or all."
        )
    console.say("Nothing was sent.")


def show_used(run: Mapping[str, Any], prices: Prices | None) -> None:
    """Show the tokens that a run has taken so far, if the server counts them, and their cost.

    Args:
        run: the content of ``run.json``.
        prices: prices of tokens, to show the cost.
    """
    tokens = run.get("answers", {}).get("tokens") or {}  # none of a model on this machine
    sent, received = (int(tokens.get(name) or 0) for name in ("prompt", "completion"))
    if not sent:
        return
    cost = f"; cost {_money(prices.cost(sent, received))}" if prices else ""
    console.say(f"all replies of this run: {sent:,} tokens in, {received:,} tokens out{cost}")


def _range(ends: Sequence[str]) -> str:
    return "–".join(dict.fromkeys(ends))


def _money(cost: float) -> str:
    """A cost with two decimals, or with two digits if it is below 1.

    >>> _money(12.345), _money(0.012345), _money(0)
    ('12.35', '0.012', '0.00')
    """
    return f"{cost:.2g}" if 0 < cost < 1 else f"{cost:,.2f}"


_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}
_DISK |= {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}  # of the folder of scores, so of all models


def models(
    names: list[str],
    campaign: Where = Path(),
    gold: list[Path] | None = None,
    scores: Path = Path("scores"),
    rule: str = "",
    profile: str = "",
    variant: str = "",
    how: ModelOptions = NO_OPTIONS,
    tier: MaybeCount = None,
    ties: TieRule = "half",
    chat: ChatOptions = NO_CHAT_OPTIONS,
) -> None:
    """Score models: lms, ss, icat of each. The score of every association is kept.

    Scores are appended to 5-scores/MODEL/RULE/scores.jsonl as they are computed (with --gold: to
    the folder of --scores). If the command is interrupted, run it again: it continues where it
    stopped. If a model fails, the error is printed and the other models are scored. To see what
    each rule computes: «curation scores rules».

    chat:MODEL asks a chat model which of two associations is more natural, at an endpoint or on
    this machine. Its replies are kept in 5-scores/MODEL/choice/replies.jsonl.

    Options:
        names (MODEL...): Names on the Hugging Face hub, or folders. Use LABEL=MODEL to set a
            display name, and chat:MODEL for a chat model.
        rule: One rule for all models; «curation scores rules» lists them.
        profile: A profile, which sets the rule for each family and kind: acl-ll, acl-pll, arxiv,
            choice, code, crows, default.
        variant: Change the texts first: lower, capital, unpointed.
        tier (N): Show results for CATs on whose labels N or more annotators agree; all CATs are
            scored.
    """
    from curation.scores.commands.tables import show_report, show_results
    from curation.scores.models import check_names, plan_model, warn_before_scoring

    named = list(map(named_model, names))
    check_chat_options(named, how, chat, rule=rule, profile=profile)
    specs = [model_spec(each, how, chat) for each in named]
    check_names(specs)
    settings: Fields = {
        "rule": rule,
        "profile": profile,
        "variant": variant,
        "accept_own_head": how.accept_own_head,
        **options_of_work(how.engine, how.workers, how.device),
        "ties": ties,
    }
    source = _source(campaign, gold, scores, dry_run=chat.dry_run)
    specs = _with_prompts(specs, source, chat)
    if chat.dry_run:
        plans = [plan_model(spec, source, variant=variant) for spec in specs]
        show_plans(plans, chat.spec(), chat.prices)
        return
    warn_before_scoring(source, console)
    if profile in LOST_TIES and ties != "official":
        console.note(f"the authors of {profile} count ties as lost: give --ties official")
    shown = source.in_tier(tier, console).cats
    of = Counter(cat.kind for cat in source.cats)
    failed = []
    for spec in specs:
        scored = _score(spec, source, shown, settings)
        if scored is None:
            failed.append(spec.name)
            continue
        splits, run = scored.report["splits"], scored.report["run"]
        about: Fields = {"run": run, "tier": tier, "explain": not scored.choice, "of": of}
        flags = [
            show_results(result, split=split, **about)
            for split, result in splits.items()
            if split == "test" or len(splits) == 1
        ]
        if scored.choice:
            model, way = scored.job.identity["model"], scored.job.folder.name
            show_report(scored.choice, run=f"{model}/{way}", model=model, flags=flags)
            show_used(run, chat.prices)
    if failed:
        raise CurationError(
            f"{len(failed)} of {amount(len(specs), 'model')} could not be scored completely: "
            f"{', '.join(failed)}",
            "fix the errors above and run the command again; scores that exist are kept",
        )


def _with_prompts(specs: Sequence[ModelSpec], source: Source, chat: ChatOptions) -> list[ModelSpec]:
    """The models; chat models get their prompts, which are checked."""
    from curation.scores.models import find_prompts

    if not any(spec.chat for spec in specs):
        return list(specs)
    path = find_prompts(source, chat.prompts, reporter=console)
    read_prompts(path)  # before the first model is asked
    how = chat.spec(path)
    return [replace(spec, chat=how) if spec.chat else spec for spec in specs]


def _source(campaign: Path, gold: Sequence[Path] | None, scores: Path, *, dry_run: bool) -> Source:
    """The CATs and the folder of scores; the campaign is not locked while models are run."""
    from curation.scores.results import warn_if_outdated

    if gold:
        return open_source(gold=gold, scores=scores, reporter=console)
    opened = open_campaign(campaign)
    if dry_run:  # nothing is written
        source = open_source(opened)
        warn_if_outdated(source, console)
        return source
    with opened.lock():
        run_steps(opened, agreement, split_step, reporter=console)
    return open_source(opened)


def _score(
    spec: ModelSpec, source: Source, shown: Sequence[Cat], settings: Fields
) -> "ScoredModel | None":
    """Score one model and print how many scores it has; None if it failed."""
    from curation.scores.models import score_model

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
    language: Annotated[str, typer.Option(callback=language_code)] = "", campaign: Where = Path()
) -> None:
    """Print the prompts that chat models are asked with: a file that you can copy and change.

    The file is checked first. A campaign uses 5-scores/prompts.toml if there is one, and otherwise
    the file that is included for its language.

    Options:
        language: Print the file that is included for this language; default: the file that the
            campaign's chat models are asked with.
    """
    from curation.scores.models import find_prompts, included_prompts

    if language:
        path = included_prompts(language)
    else:
        path = find_prompts(campaign_source(open_campaign(campaign)))
    read_prompts(path)
    console.note(f"{path}:")
    console.say_file(read_text(path))


def rules() -> None:
    """List the rules and profiles: what each computes, and for which models and CATs."""
    from curation.scores.commands.tables import kinds_text

    rows = [(name, ", ".join(r.families), kinds_text(r.kinds), r.says) for name, r in RULES.items()]
    console.table("Rules", ["rule", "models", "CATs", "what it computes"], rows)
    console.table("Profiles", ["profile", "what it follows"], list(SOURCES.items()))
    by_profile = [
        (name, family, *(profile[family].get(kind) for kind in KINDS))
        for family in get_args(Family)
        for name, profile in PROFILES.items()
        if family in profile
    ]
    heads = ["profile", "models", *KINDS]
    console.table("Rules of the profiles, by family of models", heads, by_profile)
    console.say("For the full definitions see docs/scores.md and curation/models/rules.py")


def train_nsp(
    *,
    corpus: list[Path],
    out: Path,
    running_text: bool = False,
    field: str = "text",
    settings: NextSentenceSettings,
    restart: bool = False,
) -> None:
    """Train a next-sentence head, and the model below it, for the rule nsp.

    The defaults of length, batch, learning rate and epochs are the paper's values. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as MODEL in «curation scores models».

    Options:
        corpus (FILE|DIR): Articles: .txt (a sentence per line, an empty line between articles),
            .jsonl ({"text": …} or {"sentences": […]}), both also as .gz or .bz2, .parquet, or a
            folder with such files or with WikiExtractor's output (AA/wiki_00 …). Repeatable.
        running_text: Lines of .txt are running text: split them into sentences.
        field: Name of the field with the text in .jsonl and .parquet.
    """
    from curation.models.train.corpus import read_corpus

    with console.stages() as tell_read:
        articles = read_corpus(
            corpus,
            running=running_text,
            field=field,
            tell=lambda done, total: tell_read("reading", done, total),
        )
    console.note(
        f"{amount(articles.articles, 'article')}, {amount(articles.sentences, 'sentence')}; left "
        f"out: {amount(articles.single, 'article')} with fewer than two sentences, "
        f"{articles.repeated} repeated articles"
    )
    with console.training(settings.epochs) as tell:
        from curation.models.train.next_sentence import NextSentenceTrainer

        report = NextSentenceTrainer.train(settings, articles, out, restart=restart, tell=tell)
    console.say(
        f"held-out accuracy {report['held_out_accuracy']:.1f} % on {report['pairs_held_out']} "
        f"pairs (the paper's heads: {PAPER[0]} to {PAPER[1]} %); the trained model is in {out}"
    )
