"""``curation scores models``: run language models over the CATs."""

import errno
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.gold import (
    GoldFiles,
    Scores,
    TieRule,
    Ties,
    campaign_cats,
    read_gold,
    take_tier,
)
from curation.cli.options import Where
from curation.files import CurationError
from curation.records import Cat

_DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}
_DISK |= {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}  # of the folder of scores, so of all models


class FamilyName(StrEnum):
    """How to take a model."""

    causal = "causal"
    masked = "masked"
    xlnet = "xlnet"
    seq2seq = "seq2seq"


class EngineName(StrEnum):
    """Where the work is done."""

    local = "local"
    ray = "ray"


def models(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL...",
            help="Names on the hub, or folders; LABEL=MODEL calls it so.",
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
            help="A rule for each family and kind: acl-ll, acl-pll, arxiv, code, default."
        ),
    ] = "",
    variant: Annotated[
        str, typer.Option(help="Alter the texts first: lower, capital, unpointed.")
    ] = "",
    family: Annotated[
        FamilyName | None, typer.Option(help="Take the model as this.", show_default=False)
    ] = None,
    device: Annotated[
        str, typer.Option(help="auto, cpu, cuda, cuda:1 …, or map: spread over all GPUs.")
    ] = "auto",
    dtype: Annotated[str, typer.Option(help="auto, float32, bfloat16, float16.")] = "auto",
    batch_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, help="Tokens of a batch; default what suits the device.", show_default=False
        ),
    ] = None,
    nsp: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="What train-nsp made of the model: it serves the rule nsp."
        ),
    ] = "",
    accept_own_head: Annotated[
        bool,
        typer.Option(
            "--accept-own-head",
            help="Under acl-ll: use the model's own next-sentence head if --nsp is not given; "
            "every table says so.",
        ),
    ] = False,
    revision: Annotated[str, typer.Option(help="A branch, tag or commit on the hub.")] = "",
    endpoint: Annotated[
        str,
        typer.Option(
            metavar="URL",
            help="The models are served there, OpenAI-compatible, as at http://127.0.0.1:8000/v1; "
            "the key is read from CURATION_ENDPOINT_KEY or OPENAI_API_KEY.",
        ),
    ] = "",
    bos: Annotated[
        str, typer.Option(help="At an endpoint: the text of the token that a text begins after.")
    ] = "",
    plain: Annotated[
        bool, typer.Option("--plain", help="Pack nothing and swap nothing: slow, to compare.")
    ] = False,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.")
    ] = False,
    engine: Annotated[
        EngineName, typer.Option(help="local, or ray: the cluster at RAY_ADDRESS.")
    ] = EngineName.local,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes at once, each with the model; default 1, on Ray as many as it has.",
            show_default=False,
        ),
    ] = None,
    tier: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Show the figures of CATs on whose labels N or more annotators agree; all CATs "
            "are scored.",
            show_default=False,
        ),
    ] = None,
    ties: Ties = TieRule.half,
) -> None:
    """Score models: lms, ss, icat of each, with every association's score kept.

    Scores are appended to 5-scores/MODEL/RULE/scores.jsonl (with --gold: to that of --scores) as
    they come; a command that was ended goes on where it was. A model that fails is reported, and
    the others go on. What each rule computes: «curation scores rules».
    """
    from curation.cli.scores import show_results
    from curation.models.scoring import ModelSpec

    wanted = [
        ModelSpec(
            name=name,
            label=label,
            family=family.value if family else None,
            device=device,
            dtype=dtype,
            revision=revision or None,
            trust_remote_code=trust_remote_code,
            batch_tokens=batch_tokens,
            plain=plain,
            nsp=nsp,
            url=endpoint,
            bos=bos,
        )
        for label, name in map(_labelled, names)
    ]
    _check_names(wanted)
    if engine is EngineName.ray and (device == "map" or device.startswith("cuda:")):
        raise CurationError(
            f"--device {device} with --engine ray: a worker is given a GPU of its own",
            "take --device cuda",
        )
    how = {
        "rule": rule,
        "profile": profile,
        "variant": variant,
        "accept_own_head": accept_own_head,
    }
    here = 1 if engine is EngineName.local else None
    where = {"engine": engine.value, "workers": workers or here}
    cats, root = _cats(campaign, gold, scores)
    shown = take_tier(cats, tier)
    failed = []
    for model in wanted:
        report = _score(model, cats, root, how=how, where=where, ties=ties, shown=shown)
        if report is None:
            failed.append(model.name)
            continue
        for split, result in report["splits"].items():
            if split == "test" or len(report["splits"]) == 1:
                show_results(result, run=report["run"], tier=tier)
    if failed:
        raise CurationError(
            f"{len(failed)} of {len(wanted)} models could not be scored completely: "
            f"{', '.join(failed)}",
            "fix what is said above and run the command again; what is scored stays",
        )


def _labelled(given: str) -> tuple[str, str]:
    """The label and the model of LABEL=MODEL; a folder's name may have a «=», too."""
    if Path(given).exists():
        return "", given
    label, equals, name = given.partition("=")
    return (label, name) if equals else ("", given)


def _check_names(wanted: Sequence[Any]) -> None:
    """Each model must have a folder of its own."""
    from curation.models.loading import called

    names = [(model.label or called(model.name)).replace("/", "--") for model in wanted]
    for name in names:
        if name in ("", ".", ".."):
            raise CurationError(f"no model can be called «{name}»", "call it LABEL=MODEL")
        if names.count(name) > 1:
            raise CurationError(
                f"{names.count(name)} models are called «{name}»",
                "name each once; call those of one name apart: LABEL=MODEL",
            )


def rules() -> None:
    """List the rules and profiles: what each computes, and for which models and CATs."""
    from curation.models.rules import PROFILES, RULES, SOURCES, Family

    rows = [(name, ", ".join(r.families), _kinds(r.kinds), r.says) for name, r in RULES.items()]
    console.table("Rules", ["rule", "models", "CATs", "what it computes"], rows)
    console.table("Profiles", ["profile", "what it follows"], list(SOURCES.items()))
    of = [
        (name, family, profile[family]["intrasentence"], profile[family]["intersentence"])
        for family in get_args(Family)
        for name, profile in PROFILES.items()
        if family in profile
    ]
    heads = ["profile", "models", "intrasentence", "intersentence"]
    console.table("Rules of the profiles, by family of models", heads, of)
    console.say("The whole contract: docs/scores.md, and curation/models/rules.py")


def _kinds(kinds: Sequence[str]) -> str:
    return "both kinds" if len(kinds) == 2 else kinds[0]


def _cats(campaign: Path, gold: Sequence[Path] | None, scores: Path) -> tuple[list[Cat], Path]:
    """The CATs, and where their scores lie; a campaign is not held while models are run."""
    from curation.steps.pipeline import bring_up_to_date

    if gold:
        return read_gold(gold), scores
    opened = open_campaign(campaign)
    with opened.lock():
        bring_up_to_date(opened, "split", reporter=console)
    return campaign_cats(opened), opened.scores


def _score(
    model: Any,
    cats: Sequence[Cat],
    root: Path,
    *,
    how: Any,
    where: Any,
    ties: TieRule,
    shown: Sequence[Cat],
) -> dict[str, Any] | None:
    """Score one model; its figures on the CATs to be shown, or None where it failed."""
    from curation.scores.running import conclude, figures, job, score_cats

    try:
        work = job(model, root, **how)
        with console.counted(f"{work.identity['model']}, {work.folder.name}") as count:
            counts = score_cats(
                work, cats, begin=count.begin, tell=count.advance, notice=console.note, **where
            )
        report = conclude(work, cats, ties=ties.value)
    except CurationError as error:
        console.fail(error.what, error.fix)
        return None
    except Exception as error:  # whatever one model does, the others go on
        if isinstance(error, OSError) and error.errno in _DISK:
            raise
        what = f"{model.name}: {type(error).__name__}: {error}"
        console.fail(what, "this model may not be supported; --plain takes the plain way")
        return None
    _say(work, counts)
    for split, left in report["left_out"].items():
        if left:
            console.warn(
                f"{left} CATs of {split} are left out: an association has no score, "
                f"see {work.folder / 'rejected.jsonl'}"
            )
    return report if len(shown) == len(cats) else figures(work, shown, ties=ties.value)


def _say(work: Any, counts: dict[str, int]) -> None:
    rules = ", ".join(f"{kind} {rule}" for kind, rule in work.rules.items())
    before = f", {counts['before']} were there" if counts["before"] else ""
    refused = f", {counts['refused']} refused" if counts["refused"] else ""
    console.say(
        f"{work.identity['model']} ({work.identity['family']}): {counts['scored']} associations "
        f"scored{before}{refused}; {rules}; in {work.folder}"
    )
