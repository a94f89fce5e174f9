"""``curation scores``: lms, ss, icat of models and baselines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.campaign import open_campaign
from curation.cli import comparing, console, ensembling, published, scoring, training
from curation.cli.gold import (
    GoldFiles,
    Intervals,
    JsonFile,
    LatexFile,
    OfCampaign,
    Tier,
    TieRule,
    Ties,
    campaign_cats,
    of_split,
    read_gold,
    take_tier,
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
    tier: Tier = None,
    ties: Ties = TieRule.half,
    model: Annotated[str, typer.Option(help="The model's name; default from the file's.")] = "",
    json_file: JsonFile = None,
) -> None:
    """Score a file of predictions: lms, ss, icat by kind, domain, term and overall.

    Predictions are {"intrasentence": [{"id", "score"}], "intersentence": [...]}, a higher score
    meaning likelier. Intervals are 95 % intervals over target terms.
    """
    from curation.scores.flags import flags_of
    from curation.stats.metrics import check_predictions, comparisons, results
    from curation.stereoset import read_predictions

    every = read_gold(gold)
    cats = take_tier(every, tier)
    found = list(read_predictions(predictions))
    scores, unknown = check_predictions(every, found, where=str(predictions))
    if unknown:
        console.warn(f"{predictions}: {unknown} predictions are for ids that the gold file lacks")
    table = comparisons(cats, scores, ties=ties.value)
    name = model or re.sub(r"^predictions_", "", predictions.stem)
    result = results(table, model=name)
    write_json(json_file, {**result, "flags": flags_of(result), "tier": tier})
    show_results(result, tier=tier)


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
    tier: Tier = None,
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
    from curation.scores.baselines import baselines as compute
    from curation.scores.baselines import measured
    from curation.scores.flags import flags_of
    from curation.stats.artefacts import artefacts
    from curation.stats.metrics import check_predictions
    from curation.stereoset import read_predictions

    opened = None if gold else open_campaign(campaign)
    every = campaign_cats(opened) if opened else read_gold(gold or [])
    cats, of = of_split(every, split, gold)
    cats = take_tier(cats, tier)
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
    )
    if latex:
        _write_latex(latex, found, of, ties.value, tier, intervals=intervals)
    write_json(json_file, [{**one, "flags": flags_of(one), "tier": tier} for one in found])
    show_baselines(found, tier=tier)


def _write_latex(
    path: Path,
    found: Sequence[dict[str, Any]],
    split: str,
    ties: str,
    tier: int | None,
    *,
    intervals: bool,
) -> None:
    """Write the baselines that score both kinds in the columns of ``compare --latex``."""
    from curation.scores.flags import flags_of
    from curation.scores.tables import latex
    from curation.scores.tiers import tier_text

    whole = [{**one, "flags": flags_of(one)} for one in found if one["overall"]]
    how = f"ties {ties}" + (f"; {tier_text(tier)}" if tier else "")
    caption = f"Baselines: lms, ss and icat by domain and overall ({split}; {how})."
    text = latex(whole, caption=caption, label="tab:baselines", intervals=intervals, bold=False)
    write_text(path, text)
    partial = [one["model"] for one in found if one["kinds"] and not one["overall"]]
    if partial:
        console.note(
            f"Not in the LaTeX table, since they score one kind only: {', '.join(partial)}"
        )


HEADS = ["CATs", "terms", "ties", "lms", "95 %", "ss", "95 %", "icat", "95 %"]


def cells(cell: Mapping[str, Any]) -> list[Any]:
    """A cell of the results as a row under ``HEADS``."""
    flag = "*" if cell.get("few_terms") else ""
    return [cell["cats"], f"{cell['terms']}{flag}", cell["ties"], *values(cell)]


def values(cell: Mapping[str, Any]) -> list[Any]:
    """lms, ss and icat, each with its interval; ``~`` behind one that is wider than need be."""
    row: list[Any] = []
    for figure in ("lms", "ss", "icat"):
        ends = cell[f"{figure}_ci"]
        row += [cell[figure], f"{console.show(ends)}~" if figure in cell["too_wide"] else ends]
    return row


def show_notes(found: Iterable[Mapping[str, Any]]) -> None:
    """Print what the marks of cells in the tables above mean."""
    shown = list(found)
    if any(cell.get("few_terms") for cell in shown):
        console.say("* fewer than five terms: read the single terms, and compare no models by this")
    if any(cell["too_wide"] for cell in shown):
        console.say("~ an interval that covers more than 98 %: it could be narrower")


def show_marks(flagged: Iterable[Sequence[str]]) -> None:
    """Print what the marks of models in the tables above mean."""
    from curation.scores.flags import MARKS, notes

    for flag, text in notes(flagged).items():
        console.say(f"{MARKS[flag]} {text}")


def show_results(
    result: dict[str, Any], *, run: Mapping[str, Any] | None = None, tier: int | None = None
) -> None:
    """Print a model's results by kind and domain.

    Args:
        result: of ``metrics.results``.
        run: the run's ``run.json``, for the model's flags.
        tier: the least tier of the CATs.
    """
    from curation.scores.flags import flags_of, marked
    from curation.scores.tiers import tier_text

    flags = flags_of(result, run)
    name, of = marked(result["model"], flags), f", {tier_text(tier)}" if tier else ""
    for kind, part in result["kinds"].items():
        rows = [[domain, *cells(cell)] for domain, cell in part["domains"].items()]
        rows.append(["all", *cells(part["overall"])])
        console.table(f"{name}, {kind}{of}", ["domain", *HEADS], rows)
    rows = [["all", *cells(result["overall"])]]
    console.table(f"{name}, both kinds{of}", ["domain", *HEADS], rows)
    parts = [cell for part in result["kinds"].values() for cell in part["domains"].values()]
    show_notes([*parts, *(part["overall"] for part in result["kinds"].values()), result["overall"]])
    show_marks([flags])


def show_baselines(found: Sequence[dict[str, Any]], *, tier: int | None = None) -> None:
    """Print baselines by kind, what was not checked and why, and warn of what beats chance."""
    from curation.scores.flags import flags_of, marked
    from curation.scores.tiers import tier_text

    of = f", {tier_text(tier)}" if tier else ""
    flags = [flags_of(one) for one in found]
    names = [marked(one["model"], own) for one, own in zip(found, flags, strict=True)]
    for kind in KINDS:
        rows = [
            [name, *cells(one["kinds"][kind]["overall"])]
            for name, one in zip(names, found, strict=True)
            if kind in one["kinds"]
        ]
        if rows:
            console.table(f"Baselines, {kind}{of}", ["model", *HEADS], rows)
    pairs = [(name, one) for name, one in zip(names, found, strict=True) if one["overall"]]
    rows = [[name, *cells(one["overall"])] for name, one in pairs]
    console.table(f"Baselines, both kinds{of}", ["model", *HEADS], rows)
    overall = [one["overall"] for one in found if one["overall"]]
    show_notes([*overall, *(part["overall"] for one in found for part in one["kinds"].values())])
    show_marks(flags)
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
app.command("ensemble")(ensembling.ensemble)
app.command("published")(published.published)
