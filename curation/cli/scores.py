"""``curation scores``: lms, ss, icat of models and baselines."""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.cli import comparing, console, scoring
from curation.cli.options import FILE
from curation.files import CurationError, dump_json, writing
from curation.records import Cat

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Score models on a benchmark: lms, ss, icat.",
)
Gold = Annotated[
    list[Path],
    typer.Option(
        "--gold", help="A file in StereoSet's format with gold labels; may be repeated.", **FILE
    ),
]


JsonFile = Annotated[
    Path | None,
    typer.Option("--json", help="Also write the results to this file.", **FILE),
]


def _write_json(path: Path | None, content: Any) -> None:
    if path:
        with writing(path) as file:
            file.write(dump_json(content))


class TieRule(StrEnum):
    """How a tie counts."""

    half = "half"
    official = "official"


@app.command("predictions")
def predictions(
    gold: Gold,
    predictions: Annotated[
        Path, typer.Option("--predictions", help="A model's score of each sentence, by id.", **FILE)
    ],
    ties: Annotated[
        TieRule,
        typer.Option(help="half: a tie is half won. official: it is lost, as StereoSet counts."),
    ] = TieRule.half,
    model: Annotated[str, typer.Option(help="The model's name; default from the file's.")] = "",
    resamples: Annotated[int, typer.Option(min=100, help="Bootstrap resamples.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Of the bootstrap.")] = 1,
    json_file: JsonFile = None,
) -> None:
    """Score a file of predictions: lms, ss, icat by kind, domain, term and overall.

    Predictions are {"intrasentence": [{"id", "score"}], "intersentence": [...]}, a higher score
    meaning likelier. Intervals are 95 % bootstrap intervals over target terms.
    """
    from curation.scores.metrics import check_predictions, comparisons, results
    from curation.stereoset import read_predictions

    cats = _read_gold(gold)
    found = list(read_predictions(predictions))
    scores, unknown = check_predictions(cats, found, where=str(predictions))
    if unknown:
        console.warn(f"{predictions}: {unknown} predictions are for ids that the gold file lacks")
    table = comparisons(cats, scores, ties=ties.value)
    name = model or re.sub(r"^predictions_", "", predictions.stem)
    result = results(table, model=name, resamples=resamples, seed=seed)
    _write_json(json_file, result)
    show_results(result)


@app.command("baselines")
def baselines(gold: Gold, json_file: JsonFile = None) -> None:
    """Say what IdealLM, StereotypedLM and RandomLM score; computed, not sampled."""
    from curation.scores.baselines import baselines as compute

    found = compute(_read_gold(gold))
    _write_json(json_file, found)
    show_models(found)


def _read_gold(paths: Sequence[Path]) -> list[Cat]:
    from curation.stereoset import read_cats

    cats = [cat for path in paths for cat in read_cats(path)]
    twice = [name for name, times in Counter(cat.id for cat in cats).items() if times > 1]
    if twice:
        raise CurationError(
            f"CAT {min(twice)} stands in two gold files", "name each file once, without overlap"
        )
    return cats


HEADS = ["CATs", "terms", "ties", "lms", "95 %", "ss", "95 %", "icat", "95 %"]


def cells(cell: dict[str, Any]) -> list[Any]:
    """A cell of the results as a row under ``HEADS``."""
    flag = "*" if cell.get("few_terms") else ""
    return [
        cell["cats"],
        f"{cell['terms']}{flag}",
        cell["ties"],
        cell["lms"],
        cell["lms_ci"],
        cell["ss"],
        cell["ss_ci"],
        cell["icat"],
        cell["icat_ci"],
    ]


def show_results(result: dict[str, Any]) -> None:
    """Print a model's results by kind and domain."""
    for kind, part in result["kinds"].items():
        rows = [[domain, *cells(cell)] for domain, cell in part["domains"].items()]
        rows.append(["all", *cells(part["overall"])])
        console.table(f"{result['model']}, {kind}", ["domain", *HEADS], rows)
    console.table(
        f"{result['model']}, both kinds", ["domain", *HEADS], [["all", *cells(result["overall"])]]
    )
    parts = [cell for part in result["kinds"].values() for cell in part["domains"].values()]
    if any(cell["few_terms"] for cell in [*parts, result["overall"]]):
        console.say("* fewer than five terms: the interval says little")


def show_models(found: Sequence[dict[str, Any]]) -> None:
    """Print several models' overall results."""
    rows = [[result["model"], *cells(result["overall"])] for result in found]
    console.table("Overall", ["model", *HEADS], rows)


app.command("models")(scoring.models)
app.command("rules")(scoring.rules)
app.command("compare")(comparing.compare)
app.command("ensemble")(comparing.ensemble)
