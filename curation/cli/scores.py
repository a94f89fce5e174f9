"""``curation scores``: lms, ss, icat of models and baselines."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import comparing, console, published, scoring, training
from curation.cli.gold import (
    GoldFiles,
    Intervals,
    JsonFile,
    LatexFile,
    OfCampaign,
    Resamples,
    Seed,
    TieRule,
    Ties,
    campaign_cats,
    of_split,
    read_gold,
    write_json,
    write_text,
)
from curation.cli.measuring import VADER
from curation.cli.options import FILE, Where
from curation.records import KINDS

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


@app.command("predictions")
def predictions(
    gold: Gold,
    predictions: Annotated[
        Path, typer.Option("--predictions", help="A model's score of each sentence, by id.", **FILE)
    ],
    ties: Ties = TieRule.half,
    model: Annotated[str, typer.Option(help="The model's name; default from the file's.")] = "",
    resamples: Resamples = 1000,
    seed: Seed = 1,
    json_file: JsonFile = None,
) -> None:
    """Score a file of predictions: lms, ss, icat by kind, domain, term and overall.

    Predictions are {"intrasentence": [{"id", "score"}], "intersentence": [...]}, a higher score
    meaning likelier. Intervals are 95 % bootstrap intervals over target terms.
    """
    from curation.scores.metrics import check_predictions, comparisons, results
    from curation.stereoset import read_predictions

    cats = read_gold(gold)
    found = list(read_predictions(predictions))
    scores, unknown = check_predictions(cats, found, where=str(predictions))
    if unknown:
        console.warn(f"{predictions}: {unknown} predictions are for ids that the gold file lacks")
    table = comparisons(cats, scores, ties=ties.value)
    name = model or re.sub(r"^predictions_", "", predictions.stem)
    result = results(table, model=name, resamples=resamples, seed=seed)
    write_json(json_file, result)
    show_results(result)


@app.command("baselines")
def baselines(
    gold: GoldFiles = None,
    campaign: Where = Path(),
    split: OfCampaign = None,
    language: Annotated[
        str,
        typer.Option(
            help="Language code of the texts; default the campaign's, en for gold files.",
            show_default=False,
        ),
    ] = "",
    ties: Ties = TieRule.half,
    sentiment: Annotated[
        Path | None,
        typer.Option(
            "--sentiment",
            help="A classifier's sentiment of each sentence, higher being more positive, in the "
            "form of predictions; default what «measures sentiment» found with the campaign's "
            "classifier, else VADER's, in English.",
            **FILE,
        ),
    ] = None,
    resamples: Resamples = 1000,
    seed: Seed = 1,
    latex: LatexFile = None,
    intervals: Intervals = False,
    json_file: JsonFile = None,
) -> None:
    """Say what baselines score: ideal, stereotyped, random, and rules that understand nothing.

    IdealLM, StereotypedLM and RandomLM are computed. The others go by the surface: how frequent
    the words are, how long the sentence is, where it stands in the file, how much it shares with
    its context, how negative it sounds. Where one of these beats chance, a warning says so, and a
    release should say it, too.
    """
    from curation.scores.artefacts import artefacts
    from curation.scores.baselines import baselines as compute
    from curation.scores.baselines import measured
    from curation.scores.metrics import check_predictions
    from curation.stereoset import read_predictions

    opened = None if gold else open_campaign(campaign)
    every = campaign_cats(opened) if opened else read_gold(gold or [])
    cats, of = of_split(every, split, gold)
    code = language or (opened.settings.campaign.language if opened else "en")
    given = None
    if opened and not sentiment and opened.settings.measures.sentiment != VADER:
        kept = opened.measures / "sentiment_scores.json"
        sentiment = kept if kept.exists() else None
    if sentiment:
        given, unknown = check_predictions(
            cats, list(read_predictions(sentiment)), where=str(sentiment)
        )
        if unknown:
            console.warn(f"{sentiment}: {unknown} scores are for ids that these CATs lack")
    found = compute(cats)
    found += measured(
        cats,
        artefacts(cats, language=code, sentiment=given),
        ties=ties.value,
        resamples=resamples,
        seed=seed,
    )
    if latex:
        _write_latex(latex, found, of, ties.value, intervals=intervals)
    write_json(json_file, found)
    show_baselines(found)


def _write_latex(
    path: Path, found: Sequence[dict[str, Any]], split: str, ties: str, *, intervals: bool
) -> None:
    """Write the baselines that score both kinds in the columns of ``compare --latex``."""
    from curation.scores.tables import latex

    whole = [one for one in found if one["overall"]]
    caption = f"Baselines: lms, ss and icat by domain and overall ({split}; ties {ties})."
    text = latex(whole, caption=caption, label="tab:baselines", intervals=intervals, bold=False)
    write_text(path, text)
    partial = [one["model"] for one in found if one["kinds"] and not one["overall"]]
    if partial:
        console.note(
            f"Not in the LaTeX table, since they score one kind only: {', '.join(partial)}"
        )


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


def show_baselines(found: Sequence[dict[str, Any]]) -> None:
    """Print baselines by kind, what was not checked and why, and warn of what beats chance."""
    for kind in KINDS:
        rows = [
            [one["model"], *cells(one["kinds"][kind]["overall"])]
            for one in found
            if kind in one["kinds"]
        ]
        if rows:
            console.table(f"Baselines, {kind}", ["model", *HEADS], rows)
    rows = [[one["model"], *cells(one["overall"])] for one in found if one["overall"]]
    console.table("Baselines, both kinds", ["model", *HEADS], rows)
    for one in found:
        if one.get("why"):
            console.say(f"{one['model']} was not checked: {one['why']}")
    beyond = [(one, far) for one in found for far in one.get("beyond_chance", ())]
    for one, far in beyond:
        low, high = far["ci"]
        console.warn(
            f"by the surface alone {one['model']} has {far['figure']} {far['value']:.1f} "
            f"({low:.1f}–{high:.1f}) on {far['kind']} CATs: {one['says']}"
        )
    if beyond:
        console.note(
            "A release should say so. One in twenty intervals of ss leaves out 50 by chance."
        )


app.command("models")(scoring.models)
app.command("rules")(scoring.rules)
app.command("train-nsp")(training.train_nsp)
app.command("compare")(comparing.compare)
app.command("ensemble")(comparing.ensemble)
app.command("published")(published.published)
