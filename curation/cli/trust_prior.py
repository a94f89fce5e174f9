"""``curation trust prior``: earlier measures of bias in word embeddings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.cli.trust_options import WORDS, GroupNames, Source, VectorsFile
from curation.files import CurationError

if TYPE_CHECKING:
    from curation.steps.trust.prior import TargetSets
    from curation.steps.trust.runs import TrustRun

# The fields of run.json that --json prints, too.
FACTS = (
    "signed",
    "unit",
    "pairs",
    "alignment",
    "mean",
    "mean_absolute",
    "direct_bias",
    "mac",
    "weat",
)


def prior(
    file: VectorsFile,
    groups: GroupNames = None,
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            metavar="NAME",
            help="Compute this measure; repeatable. Default: all that fit the number of groups, "
            "or caliskan with --x and --y.",
            show_default=False,
        ),
    ] = None,
    scale: Annotated[
        Literal["own", "raw", "unit"],
        typer.Option(
            "--scale",
            help="Vectors as in the file (raw), of length 1 (unit), or as the authors of each "
            "measure use them (own).",
        ),
    ] = "own",
    strictness: Annotated[
        float, typer.Option(min=0, max=100, help="The exponent c of direct bias.")
    ] = 1.0,
    x: Annotated[
        Path | None,
        typer.Option("--x", help="Words of WEAT's first target set; needs --y.", **WORDS),
    ] = None,
    y: Annotated[
        Path | None,
        typer.Option("--y", help="Words of WEAT's second target set; needs --x.", **WORDS),
    ] = None,
    source: Source = "",
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure targets by the measures of earlier work: Bolukbasi, Caliskan, Garg, Manzini, RIPA.

    Each is a run of its own. A positive value means that the target is closer to the first group;
    manzini has no such sign. With --x and --y, only caliskan is computed, and its run
    has the test WEAT.
    """
    from curation.steps.trust.group_files import read_groups
    from curation.steps.trust.prior import measure_prior

    opened = open_campaign(campaign)
    runs = measure_prior(
        opened,
        read_groups(opened, groups or ()),
        file,
        measures=measures or (),
        scale=scale,
        source=source,
        strictness=strictness,
        sets=_target_sets(x, y, measures or ()),
        reporter=console,
    )
    if as_json:
        console.say_json({"runs": [_content(run, measured) for run, measured in runs]})
        return
    for name in dict.fromkeys(run.groups for run, _ in runs):
        _show([(run, measured) for run, measured in runs if run.groups == name])


def _target_sets(x: Path | None, y: Path | None, measures: Sequence[str]) -> "TargetSets | None":
    from curation.steps.trust.group_files import read_words
    from curation.steps.trust.prior import WEAT, TargetSets
    from curation.steps.trust.runs import source_name

    if x is None and y is None:
        return None
    if x is None or y is None:
        raise CurationError("WEAT compares two sets of targets", "give both --x and --y")
    if measures and WEAT not in measures:
        raise CurationError(
            f"--x and --y are for WEAT, which is in the run of {WEAT}", f"add --measure {WEAT}"
        )
    return TargetSets((source_name(x), read_words(x)), (source_name(y), read_words(y)))


def _content(run: "TrustRun", measured: bool) -> dict[str, Any]:
    """What --json prints of a run."""
    facts = {name: run.about[name] for name in FACTS if name in run.about}
    biases = [bias.model_dump() for bias in run.biases]
    place = {"run": run.name, "folder": str(run.folder), "measured": measured}
    return {**place, **facts, "biases": biases}


def _show(runs: Sequence[tuple["TrustRun", bool]]) -> None:
    """One row for each target, then one for each measure."""
    first = runs[0][0]
    names = first.biases[0].groups if first.biases else ()
    console.table(
        f"{first.groups}: prior measures",
        ["target", *(run.measure for run, _ in runs), "undefined"],
        [
            [row[0].target, *(bias.value for bias in row), _why(row)]
            for row in zip(*(run.biases for run, _ in runs), strict=True)
        ],
    )
    if names:
        console.say(f"positive, if a measure is signed: closer to {names[0]}")
    console.table(
        "Measures",
        ["measure", "signed", "words or pairs", "mean", "mean |value|", "alignment", "run"],
        [_row(run, measured) for run, measured in runs],
    )
    for run, _ in runs:
        if weat := run.about.get("weat"):
            _show_weat(weat, names)


def _why(row: Sequence[Any]) -> str | None:
    return ", ".join(dict.fromkeys(bias.undefined for bias in row if bias.undefined)) or None


def _row(run: "TrustRun", measured: bool) -> list[Any]:
    about = run.about
    words = about.get("pairs", sum(about.get("group_words", {}).values()))
    state = str(run.folder) if measured else f"{run.folder} (measured before)"
    values = [about.get("mean"), about.get("mean_absolute"), about.get("alignment")]
    return [run.measure, about.get("signed"), words, *values, state]


def _show_weat(weat: dict[str, Any], names: Sequence[str]) -> None:
    x, y = weat["x"], weat["y"]
    words = [f"{each['name']} ({len(each['words'])})" for each in (x, y)]
    effects = [weat[f"effect_size_{form}"] for form in ("population", "sample")]
    count = f"{weat['partitions']} ({'all' if weat['exact'] else 'drawn'})"
    console.table(
        "WEAT",
        ["X", "Y", "statistic", "effect (population)", "effect (sample)", "p", "partitions"],
        [[*words, f"{weat['statistic']:.4f}", *effects, f"{weat['p']:.3g}", count]],
    )
    console.say(f"positive: {x['name']} is closer to {names[0]} than {y['name']} is")
