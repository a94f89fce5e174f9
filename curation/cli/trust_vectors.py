"""``curation trust vectors``, ``prior`` and ``debias``: bias in word embeddings."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.cli.trust_options import WORDS, GroupNames, Source, VectorsFile, Year
from curation.cli.trust_tables import show_runs
from curation.files import CurationError
from curation.wording import amount

if TYPE_CHECKING:
    from curation.steps.trust.runs import TrustRun
    from curation.steps.trust.vectors import TargetSets


def vectors(
    file: VectorsFile,
    groups: GroupNames = None,
    source: Source = "",
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure the bias of targets in word embeddings of word2vec, GloVe or numpy.

    The strength of association is the cosine of the mean vectors of the target's words and of the
    group's words. Intervals are over the words of the groups. Words without a vector are left out.
    """
    from curation.steps.trust.vectors import VectorFile, measure_vectors

    names, opened = groups or (), open_campaign(campaign)
    given = VectorFile(opened, file, names, source, year, reporter=console)
    show_runs(measure_vectors(given), as_json=as_json)


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
            help="Vectors as in the file (raw), of length 1 (unit), or as the authors of each "
            "measure use them (own)."
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
    year: Year = None,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Measure targets by the measures of earlier work: Bolukbasi, Caliskan, Garg, Manzini, RIPA.

    Each is a run of its own. A positive value means that the target is closer to the first group;
    manzini has no such sign. With --x and --y, only caliskan is computed, and its run
    has the test WEAT.
    """
    from curation.steps.trust.vectors import VectorFile, measure_prior

    sets, opened = _target_sets(x, y, measures or ()), open_campaign(campaign)
    more = [word for _, words in sets or () for word in words]
    given = VectorFile(opened, file, groups or (), source, year, more, console)
    runs = measure_prior(
        given, measures=measures or (), scale=scale, strictness=strictness, sets=sets
    )
    if as_json:
        show_runs(runs, as_json=True)
        return
    for name in dict.fromkeys(run.groups for run, _ in runs):
        _show([(run, measured) for run, measured in runs if run.groups == name])


def _target_sets(x: Path | None, y: Path | None, measures: Sequence[str]) -> "TargetSets | None":
    from curation.steps.trust.group_files import read_words
    from curation.steps.trust.runs import source_name
    from curation.steps.trust.vectors import WEAT, TargetSets

    if x is None or y is None:
        if x is y:
            return None
        raise CurationError("WEAT compares two sets of targets", "give both --x and --y")
    if measures and WEAT not in measures:
        raise CurationError(
            f"--x and --y are for WEAT, which is in the run of {WEAT}", f"add --measure {WEAT}"
        )
    return TargetSets((source_name(x), read_words(x)), (source_name(y), read_words(y)))


def _show(runs: Sequence[tuple["TrustRun", bool]]) -> None:
    """One row for each target, then one for each measure."""
    first = runs[0][0]
    names = first.biases[0].groups if first.biases else ()
    rows = list(zip(*(run.biases for run, _ in runs), strict=True))
    why = [dict.fromkeys(bias.undefined for bias in row if bias.undefined) for row in rows]
    console.table(
        f"{first.groups}: prior measures",
        ["target", *(run.measure for run, _ in runs), "undefined"],
        [
            [row[0].target, *(bias.value for bias in row), ", ".join(codes) or None]
            for row, codes in zip(rows, why, strict=True)
        ],
    )
    if names:
        console.say(f"positive, if a measure is signed: closer to {names[0]}")
    table = []
    for run, measured in runs:
        about = run.about
        values = [about.get(name) for name in ("mean", "mean_absolute", "alignment")]
        number = about.get("pairs", sum(about.get("group_words", {}).values()))
        state = str(run.folder) if measured else f"{run.folder} (measured before)"
        table.append([run.measure, about.get("signed"), number, *values, state])
    heads = ["measure", "signed", "words or pairs", "mean", "mean |value|", "alignment", "run"]
    console.table("Measures", heads, table)
    for run, _ in runs:
        if weat := run.about.get("weat"):
            _show_weat(weat, names)


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


def debias(
    file: VectorsFile,
    method: Annotated[
        Literal["hard", "multiclass", "soft"],
        typer.Option(help="hard: two groups. multiclass: hard, any number. soft: a linear map."),
    ],
    groups: Annotated[
        str, typer.Option("--groups", metavar="NAME", help="The groups, [groups.NAME].")
    ],
    out: Annotated[
        Path,
        typer.Option("--out", help="The new file: .bin, .vec, .txt or .npz.", **FILE),
    ],
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="Measure both files with these groups; repeatable. Default: those of --groups, "
            "whose words show little, since the method was fitted on them.",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option(help="Words that keep their bias, one on each line.", **WORDS),
    ] = None,
    equalise: Annotated[
        Path | None,
        typer.Option(
            help="Sets of words to make equal, one set on each line. Default: the groups' words at "
            "the same place of their lists.",
            **WORDS,
        ),
    ] = None,
    dimensions: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=100,
            help="Dimensions of the subspace. Default: one less than groups.",
            show_default=False,
        ),
    ] = None,
    weight: Annotated[
        float, typer.Option(min=0, max=1e9, help="soft: the weight λ of bias.")
    ] = 0.2,
    campaign: Where = Path(),
    as_json: Json = False,
) -> None:
    """Write a copy of word vectors with less bias, and show how measures of bias change.

    All vectors get length 1. A file OUT.json beside the new one says how it was made. Both files
    are measured, too, as by «curation trust vectors» and «curation trust prior»: the runs are in
    6-trust/runs/. To compare them in the trust report, name them in mitigation of [trust].
    """
    from curation.steps.trust.debias import debias as run
    from curation.steps.trust.group_files import read_groups, read_sets, read_words

    opened = open_campaign(campaign)
    (chosen,) = read_groups(opened, [groups])
    made = run(
        *(opened, chosen, file, out),
        method=method,
        judges=judges or (),
        keep=read_words(keep) if keep else (),
        equalise=read_sets(equalise, len(chosen.words)) if equalise else None,
        dimensions=dimensions,
        weight=weight,
        reporter=console,
    )
    if as_json:
        files = {"file": str(made.path), "report": str(made.report)}
        runs = [[run.name for run in pair] for pair in made.runs]
        console.say_json({**files, "runs": runs, **made.about})
        return
    console.table(
        f"{chosen.name}: means before and after, on vectors of length 1",
        ["measure", "targeted", "before", "after", "targets"],
        [
            [each.measure, each.targeted, _shown(each.before), _shown(each.after), each.n]
            for each in made.changes
        ],
    )
    for after, _ in made.runs:
        for found in (each for each in after.evidence if each.check == "held_out"):
            change = _shown(found.value) or "none"
            console.say(f"{after.name}: {found.statistic}: {change}; {found.detail}")
    console.say(f"{amount(made.about['words'], 'word')} in {made.path}; see {made.report}")
    pairs = ", ".join(f'["{after.name}", "{before.name}"]' for after, before in made.runs)
    console.say(f"next: write mitigation = [{pairs}] into [trust], then curation trust report")


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
