"""``curation trust debias``: word vectors with less bias."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import FILE, Json, Where
from curation.cli.trust_options import WORDS, VectorsFile
from curation.wording import amount


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
        opened,
        chosen,
        file,
        out,
        method=method,
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
    console.say(f"{amount(made.about['words'], 'word')} in {made.path}; see {made.report}")
    pairs = ", ".join(f'["{after.name}", "{before.name}"]' for after, before in made.runs)
    console.say(f"next: write mitigation = [{pairs}] into [trust], then curation trust report")


def _shown(value: float | None) -> str | None:
    return None if value is None else f"{value:.4f}"
