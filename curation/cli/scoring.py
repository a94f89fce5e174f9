"""``curation scores models``: run language models over the CATs."""

from collections.abc import Sequence
from contextlib import nullcontext
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.comparing import GoldFiles, HowTies, Scores, Ties
from curation.cli.options import Where
from curation.files import CurationError, read_records
from curation.records import Cat


class FamilyName(StrEnum):
    """How to take a model."""

    causal = "causal"
    masked = "masked"
    permuted = "permuted"
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
        str, typer.Option(help="A rule for each family and kind: acl-ll, acl-pll, arxiv, default.")
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
        int, typer.Option(min=1, help="Processes at once, each with the model.")
    ] = 1,
    ties: Ties = HowTies.half,
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1,
) -> None:
    """Score models: lms, ss, icat of each, with every association's score kept.

    Scores are appended to 5-scores/MODEL/RULE/scores.jsonl (with --gold: to that of --scores) as
    they come; a command that was ended goes on where it was. A model that fails is reported, and
    the others go on. What each rule computes: «curation scores rules».
    """
    from curation.models.scoring import Wanted

    wanted = [
        Wanted(
            name=name,
            label=label,
            family=family.value if family else None,
            device=device,
            dtype=dtype,
            revision=revision or None,
            trust_remote_code=trust_remote_code,
            batch_tokens=batch_tokens,
            plain=plain,
            url=endpoint,
            bos=bos,
        )
        for label, name in map(_labelled, names)
    ]
    how = {"rule": rule, "profile": profile, "variant": variant}
    where = {"engine": engine.value, "workers": workers}
    figures = {"ties": ties.value, "resamples": resamples, "seed": seed}
    cats, root, lock = _cats(campaign, gold, scores)
    with lock:
        _score(wanted, cats, root, how=how, where=where, figures=figures)


def _labelled(given: str) -> tuple[str, str]:
    """The label and the model of LABEL=MODEL."""
    label, equals, name = given.partition("=")
    return (label, name) if equals else ("", given)


def rules() -> None:
    """List the rules and profiles: what each computes, and for which models and CATs."""
    from curation.models.rules import PROFILES, RULES

    rows = [(name, ", ".join(r.families), _kinds(r.kinds), r.says) for name, r in RULES.items()]
    console.table("Rules", ["rule", "models", "CATs", "what it computes"], rows)
    of = [
        (name, family, by_kind["intrasentence"], by_kind["intersentence"])
        for name, profile in PROFILES.items()
        for family, by_kind in profile.items()
    ]
    console.table("Profiles", ["profile", "models", "intrasentence", "intersentence"], of)
    console.say("The whole contract: docs/scores.md, and curation/models/rules.py")


def _kinds(kinds: Sequence[str]) -> str:
    return "both kinds" if len(kinds) == 2 else kinds[0]


def _cats(campaign: Path, gold: Sequence[Path] | None, scores: Path) -> tuple[list[Cat], Path, Any]:
    """The CATs, where their scores lie, and what keeps others out meanwhile."""
    from curation.cli.pipeline import bring_up_to_date
    from curation.cli.scores import _read_gold

    if gold:
        return _read_gold(gold), scores, nullcontext()
    opened = open_campaign(campaign)
    with opened.lock():
        bring_up_to_date(opened, "split")
    cats = read_records(opened.decisions / "cats.jsonl", Cat)
    if not cats:
        raise CurationError(f"{opened.decisions}: no CAT was kept", "collect more labels first")
    return cats, opened.root / "5-scores", opened.lock()


def _score(
    wanted: Sequence[Any], cats: Sequence[Cat], root: Path, *, how: Any, where: Any, figures: Any
) -> None:
    """Score each model; what went wrong with one is told at the end."""
    from curation.cli.scores import show_results
    from curation.scores.running import conclude, job, score_cats

    failed = []
    for model in wanted:
        try:
            work = job(model, root, **how)
            with console.counted(f"{work.identity['model']}, {work.folder.name}") as count:
                counts = score_cats(
                    work, cats, begin=count.begin, tell=count.advance, notice=console.note, **where
                )
            report = conclude(work, cats, **figures)
        except CurationError as error:
            console.fail(error.what, error.mend)
            failed.append(model.name)
            continue
        except Exception as error:  # whatever one model does, the others go on
            what = f"{model.name}: {type(error).__name__}: {error}"
            console.fail(what, "this model may not be supported; --plain takes the plain way")
            failed.append(model.name)
            continue
        _say(work, counts)
        splits = report["splits"]
        for split, result in splits.items():
            if left := result["left_out"]:
                console.warn(
                    f"{left} CATs are left out: an association has no score (rejected.jsonl)"
                )
            if split == "test" or len(splits) == 1:
                show_results(result)
    if failed:
        raise CurationError(
            f"{len(failed)} of {len(wanted)} models could not be scored: {', '.join(failed)}",
            "mend what is said above and run the command again; what is scored stays",
        )


def _say(work: Any, counts: dict[str, int]) -> None:
    rules = ", ".join(f"{kind} {rule}" for kind, rule in work.rules.items())
    before = f", {counts['before']} were there" if counts["before"] else ""
    refused = f", {counts['refused']} refused" if counts["refused"] else ""
    console.say(
        f"{work.identity['model']} ({work.identity['family']}): {counts['scored']} associations "
        f"scored{before}{refused}; {rules}; in {work.folder}"
    )
