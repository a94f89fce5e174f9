"""``curation scores models``: run language models over the CATs."""

import errno
import math
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, get_args

import typer

from curation.campaign.store import open_campaign
from curation.cli import console
from curation.cli.options import MaybeCount, TieRule, Where, language_code, options_of_work
from curation.files import CurationError, read_text
from curation.models.chat.prompts import ChatSpec, read_prompts
from curation.models.loading import loading_options
from curation.models.rules import PROFILES, RULES, SOURCES, Family
from curation.models.scoring import ModelSpec
from curation.records import Cat, Fields
from curation.scores.choice.asking import BYTES, MESSAGE, Plan, Prices, price
from curation.steps.pipeline import bring_up_to_date
from curation.steps.source import Source, campaign_source, open_source
from curation.text.wording import amount
from curation.work.engine import Engine

if TYPE_CHECKING:
    from curation.steps.scores.models import ScoredModel


CHAT = "chat:"
_FAMILIES = [name for name in get_args(Family) if name not in ("endpoint", "chat")]


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 2:
        raise typer.BadParameter(f"{text[:40]!r} is not a number from 0 to 2")
    return value


def _price(text: str) -> float:
    try:
        return price(text)
    except CurationError as error:
        raise typer.BadParameter(f"{error.what}: {error.fix}") from None


def _family(name: str) -> str:
    """A family that --family may name.

    Raises:
        BadParameter: it may not.
    """
    if name == "chat":
        raise typer.BadParameter("write chat:NAME for a chat model, without --family")
    if name not in _FAMILIES:
        raise typer.BadParameter(f"«{name}» is not one of {', '.join(_FAMILIES)}")
    return name


class NamedModel(NamedTuple):
    """A model as it is named on the command line: ``LABEL=chat:NAME``."""

    label: str
    name: str
    chat: bool


@dataclass(frozen=True)
class ModelOptions:
    """How models are found and run.

    Attributes:
        family: The model's family, if it is not recognized.
        nsp (DIR): The folder that train-nsp wrote for the model: a head for the rule nsp.
        accept_own_head: Under acl-ll: use the model's own next-sentence head if --nsp is not given;
            all tables then mark the model.
        endpoint (URL): An OpenAI-compatible endpoint that serves the models, such as
            http://127.0.0.1:8000/v1. The key is read from CURATION_ENDPOINT_KEY or OPENAI_API_KEY.
        bos: BOS token text (endpoints only).
        plain: Turn off all optimisations: slow, to check the scores.
    """

    NOT_FOR_CHAT: ClassVar = {
        *("--family", "--nsp", "--accept-own-head", "--bos", "--plain", "--engine", "--workers")
    }

    family: Annotated[str | None, typer.Option(parser=_family, metavar="|".join(_FAMILIES))] = None
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: MaybeCount = None
    nsp: str = ""
    accept_own_head: bool = False
    revision: str = ""
    endpoint: str = ""
    bos: str = ""
    plain: bool = False
    trust_remote_code: bool = False
    engine: Engine = "local"
    workers: MaybeCount = None


@dataclass(frozen=True)
class ChatOptions:
    """The options for chat models, as they are given; ``ChatSpec`` has the defaults.

    Attributes:
        prompts (FILE): The prompts; default: prompts.toml in the folder of scores, or those that
            are included for the language («curation scores prompts»).
        all_prompts: Ask with every prompt of the file, not only the first of each kind.
        samples (N): Ask each question N times: for models that do not always answer alike
            (endpoints only); default: 1.
        temperature (T): Temperature of sampling, 0 to 2 (endpoints only); default: 0.
        max_tokens (N): The largest number of tokens of a reply, with the thoughts of a reasoning
            model (endpoints only); default: 256.
        concurrency (N): Requests under way at the same time (endpoints only); default: 8.
        dry_run: Send nothing and write nothing; print how many requests and tokens are still to be
            sent.
        price_in (PRICE): Price of a million tokens that are sent, to print the cost.
        price_out (PRICE): Price of a million tokens that are received.
    """

    PANEL: ClassVar = "Chat models"

    prompts: Path | None = None
    all_prompts: bool = False
    samples: Annotated[int | None, typer.Option(min=1, max=1000)] = None
    temperature: Annotated[float | None, typer.Option(parser=_temperature)] = None
    max_tokens: Annotated[int | None, typer.Option(min=1, max=1_000_000)] = None
    concurrency: Annotated[int | None, typer.Option(min=1, max=256)] = None
    dry_run: bool = False
    price_in: Annotated[float | None, typer.Option(parser=_price)] = None
    price_out: Annotated[float | None, typer.Option(parser=_price)] = None

    def spec(self, prompts: Path = Path()) -> ChatSpec:
        """How the models are asked, with this file of prompts."""
        numbers = ("samples", "temperature", "max_tokens", "concurrency")
        given = {name: value for name in numbers if (value := getattr(self, name)) is not None}
        return ChatSpec(prompts, self.all_prompts, **given)

    @property
    def prices(self) -> Prices | None:
        """The prices, if both are given."""
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(self.price_in, self.price_out)


_MODELS, _CHAT = ModelOptions(), ChatOptions()


def named_model(argument: str) -> NamedModel:
    """The model of an argument: ``NAME``, ``LABEL=NAME``, ``chat:NAME`` or ``LABEL=chat:NAME``.

    Raises:
        BadParameter: there is no name after ``chat:``.
    """
    label, name = "", argument
    # A folder's name, and a model's name at an endpoint, may also have a «=».
    if not argument.startswith(CHAT) and not os.path.exists(argument):  # noqa: PTH110 - it may be long
        before, equals, after = argument.partition("=")
        label, name = (before, after) if equals else ("", argument)
    chat = name.startswith(CHAT)
    name = name.removeprefix(CHAT) if chat else name
    if chat and not name.strip():
        raise typer.BadParameter(
            f"{argument!r} does not name a model: write chat:NAME, such as chat:my-model",
            param_hint="MODEL...",
        )
    return NamedModel(label, name, chat)


def model_spec(model: NamedModel, how: ModelOptions, chat: ChatOptions = _CHAT) -> ModelSpec:
    """A model with the options by which it is found and run."""
    options: Fields = {**loading_options(how, revision=how.revision or None), "url": how.endpoint}
    options |= {"label": model.label, "batch_tokens": how.batch_tokens}
    if model.chat:
        return ModelSpec(model.name, **options, chat=chat.spec())
    own: Fields = {name: getattr(how, name) for name in ("family", "plain", "nsp", "bos")}
    return ModelSpec(model.name, **options, **own)


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
    how: ModelOptions = _MODELS,
    tier: MaybeCount = None,
    ties: TieRule = "half",
    chat: ChatOptions = _CHAT,
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
            choice, code, default.
        variant: Change the texts first: lower, capital, unpointed.
        tier (N): Show results for CATs on whose labels N or more annotators agree; all CATs are
            scored.
    """
    from curation.cli.score_tables import show_results
    from curation.steps.scores.models import check_names, plan_model

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
    source.warn_before_scoring(console)
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
            _show_answers(scored, chat.prices, flags)
    if failed:
        raise CurationError(
            f"{len(failed)} of {amount(len(specs), 'model')} could not be scored completely: "
            f"{', '.join(failed)}",
            "fix the errors above and run the command again; scores that exist are kept",
        )


def _show_answers(
    scored: "ScoredModel", prices: Prices | None, flags: Sequence[Sequence[str]]
) -> None:
    """Show what a chat model answered, what all its marks mean, and the tokens that it took."""
    from curation.cli.score_tables import show_report

    folder, model = scored.job.folder, scored.job.identity["model"]
    run = f"{model}/{folder.name}"
    show_report(scored.choice or {}, run=run, model=model, flags=flags)
    show_used(scored.report["run"], prices)


def _with_prompts(specs: Sequence[ModelSpec], source: Source, chat: ChatOptions) -> list[ModelSpec]:
    """The models; chat models get their prompts, which are checked."""
    from curation.steps.scores.models import find_prompts

    if not any(spec.chat for spec in specs):
        return list(specs)
    path = find_prompts(source, chat.prompts, reporter=console)
    read_prompts(path)  # before the first model is asked
    how = chat.spec(path)
    return [replace(spec, chat=how) if spec.chat else spec for spec in specs]


def _source(campaign: Path, gold: Sequence[Path] | None, scores: Path, *, dry_run: bool) -> Source:
    """The CATs and the folder of scores; the campaign is not locked while models are run."""
    from curation.steps.scores.runs import warn_if_outdated

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
    spec: ModelSpec, source: Source, shown: Sequence[Cat], settings: Fields
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
    language: Annotated[str, typer.Option(callback=language_code)] = "", campaign: Where = Path()
) -> None:
    """Print the prompts that chat models are asked with: a file that you can copy and change.

    The file is checked first. A campaign uses 5-scores/prompts.toml if there is one, and otherwise
    the file that is included for its language.

    Options:
        language: Print the file that is included for this language; default: the file that the
            campaign's chat models are asked with.
    """
    from curation.steps.scores.models import find_prompts, included_prompts

    if language:
        path = included_prompts(language)
    else:
        path = find_prompts(campaign_source(open_campaign(campaign)))
    read_prompts(path)
    console.note(f"{path}:")
    console.say_file(read_text(path))


def rules() -> None:
    """List the rules and profiles: what each computes, and for which models and CATs."""
    from curation.cli.score_tables import kinds_text

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
