"""``curation measures``: measure what was collected."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curation.cli import console, training_sentiment
from curation.cli import keywords as showing
from curation.cli.options import FILE, Json, Language, Where
from curation.cli.score_options import GoldFiles, Tier, write_json
from curation.files import CurationError
from curation.records import GOLDS, KINDS
from curation.steps import measures, reports
from curation.steps.measures import Report
from curation.text.rules import TIERS

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Measure what was collected: statistics, sentiment, keywords, pitfalls.",
)


@app.command("statistics")
def statistics(
    gold: GoldFiles = None,
    tier: Tier = None,
    campaign: Where = Path(),
    language: Language = "",
    tokenizer: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Also count the tokens of this model: hub name or folder."
        ),
    ] = None,
    terms: Annotated[bool, typer.Option("--terms", help="Show a row for each term.")] = False,
    as_json: Json = False,
) -> None:
    """Report how much was collected, how long the texts are, who wrote them, how varied they are.

    This has the paper's Table 1 (terms, CATs, mean length in words by domain and kind). It also
    shows how much longer one association is than another, how many different words each label uses,
    how the CATs are spread over terms and writers, and which attribute a term gets most often.
    """
    report = reports.report(
        "statistics",
        campaign,
        gold=gold,
        tier=tier,
        language=language,
        reporter=console,
        tokenizer=tokenizer,
    )
    if as_json:
        console.say_json(report)
        return
    show_statistics(report, terms=terms)


def show_statistics(report: Report, *, terms: bool = False) -> None:
    """Print statistics."""
    _say_tier(report)
    heads = ["domain", "terms", "CATs", "words", "characters", "tokens"]
    heads += [f"tier {name}" for name in TIERS]
    for kind, part in report["kinds"].items():
        if not part["overall"]["cats"]:
            continue
        rows = [[domain, *cell.values()] for domain, cell in part["domains"].items()]
        rows.append(["all", *part["overall"].values()])
        console.table(f"Size and mean length, {kind} (Table 1)", heads, rows)
    if len([kind for kind in report["kinds"].values() if kind["overall"]["cats"]]) > 1:
        rows = [["all", *report["overall"].values()]]
        console.table("Size and mean length, both kinds", heads, rows)
    gaps = [
        [
            *(_starred(g["kind"], g), g["unit"], f"{g['first']} minus {g['second']}"),
            *(g["mean"], g["ci"], g["differ"]),
        ]
        for g in report["gaps"]
        if g["cats"]
    ]
    heads = ["kind", "unit", "associations", "mean", "95 %", "% of CATs differ"]
    console.table("Length differences between associations", heads, gaps)
    if report["vocabulary"]:
        heads = ["domain", "label", "words", "different", "once", "different in 1,000"]
        rows = [list(row.values()) for row in report["vocabulary"]]
        console.table("Vocabulary of associations", heads, rows)
    if report["writers"]:
        writers = report["writers"]
        heads = ["writers", "CATs", "writer unknown", "median CATs", "most CATs", "% of most"]
        cells = [writers["writers"], writers["cats"], writers["cats_of_nobody_known"]]
        cells += [writers["median_cats"], writers["most_cats"], writers["share_of_most"]]
        console.table("Writers", heads, [cells])
    if terms:
        heads = ["domain", "term", "CATs", *KINDS, "writers"]
        heads += [f"most common {gold}" for gold in GOLDS[:2]]
        console.table("Terms", heads, [_term(row) for row in report["terms"]])
    _say_few(report["gaps"])
    _say_unchecked(report)


def _starred(name: str, row: dict[str, Any]) -> str:
    return f"{name}*" if row["few_terms"] else name


def _say_few(rows: list[dict[str, Any]]) -> None:
    if any(row["few_terms"] and row["cats"] for row in rows):
        console.say("* fewer than five terms: the interval is not reliable")


def _term(row: dict[str, Any]) -> list[Any]:
    cells = [row["domain"], row["term"], row["cats"], *(row[kind] for kind in KINDS)]
    attributes = [row["attributes"].get(gold) for gold in GOLDS[:2]]
    texts = [a and f"{a['text']} ({a['count']}, {a['share']:.0f} %)" for a in attributes]
    return [*cells, row["writers"], *texts]


def _say_tier(report: Report) -> None:
    from curation.scores.tables import tier_text

    if report.get("tier"):
        console.say(f"{tier_text(report['tier'])}:")


def _say_unchecked(report: Report) -> None:
    for name, reason in report["not_checked"].items():
        console.say(f"{name}: not checked: {reason}")


@app.command("sentiment")
def sentiment(
    gold: GoldFiles = None,
    tier: Tier = None,
    campaign: Where = Path(),
    language: Language = "",
    model: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A sentiment classifier, by hub name or folder; or vader (English only).",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Meaning of the classifier's outputs, in order, if its own names do not say: "
            "negative,neutral,positive.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=3,
            help="2: neutral counts as positive, as in the paper; 3: neutral is its own class.",
            show_default=False,
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            help="Also write each association's sentiment to this file, for «curation scores "
            "baselines --sentiment».",
            **FILE,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Report how negative and positive the associations of each label are (the paper's Table 2).

    The sentiment is that of the filled sentence, or of the association's sentence. A second table
    shows how much more often stereotypes are negative than anti-stereotypes, with an interval over
    terms and a test. VADER is for English. For other languages, use a sentiment classifier that
    transformers can open, or train one with «curation measures train-sentiment».
    """
    report = reports.report(
        "sentiment",
        campaign,
        gold=gold,
        tier=tier,
        language=language,
        reporter=console,
        sentiment=model,
        labels=labels and tuple(part.strip() for part in labels.split(",")),
        classes=classes,
    )
    predictions = report.pop("predictions")
    if scores and "rows" not in report:
        raise CurationError(
            f"{scores}: there is nothing to write: {report['not_checked']['sentiment']}",
            "name a classifier for this language with --model, or install what is missing",
        )
    write_json(scores, predictions)
    if as_json:
        console.say_json(report)
        return
    show_sentiment(report)


def show_sentiment(report: Report) -> None:
    """Print sentiment."""
    _say_tier(report)
    if "rows" not in report:
        _say_unchecked(report)
        return
    rows = []
    for row in report["rows"]:
        if row["kind"] and row["domain"]:
            continue  # the table of differences below has these groups
        group = row["kind"] or row["domain"] or "all"
        for label, shares in row["labels"].items():
            cells = [cell[key] for cell in shares.values() for key in ("share", "ci")]
            name = _starred(group, row)
            rows.append([name if label == GOLDS[0] else "", label, row["cats"], *cells])
    heads = ["group", "label", "CATs"]
    for name in report["rows"][0]["labels"][GOLDS[0]]:
        heads += [f"{name} %", "95 %"]
    console.table(f"Sentiment by {report['by']['model']} (Table 2)", heads, rows)
    rows = [
        [
            _starred(" ".join(filter(None, (row["kind"], row["domain"]))) or "all", row),
            row["difference"]["value"],
            row["difference"]["ci"],
            f"{row['difference']['p']:.4f}",
        ]
        for row in report["rows"]
    ]
    heads = ["group", "points", "95 %", "p"]
    console.table("Stereotypes more often negative than anti-stereotypes by", heads, rows)
    _say_few(report["rows"])


@app.command("keywords")
def keywords(
    gold: GoldFiles = None,
    tier: Tier = None,
    campaign: Where = Path(),
    language: Language = "",
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="wordfreq, or a file made by «curation measures count».",
            show_default=False,
        ),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="Number that simple maths adds to both frequencies, per million; higher values "
            "favour more common words.",
            show_default=False,
        ),
    ] = None,
    least: Annotated[
        int | None,
        typer.Option(
            min=1, help="Minimum number of CATs that contain a keyword.", show_default=False
        ),
    ] = None,
    by: Annotated[
        showing.By, typer.Option("--by", help="Show keywords by domain, label or term.")
    ] = "domain",
    top: Annotated[int, typer.Option(min=1, help="Number of keywords to show for each.")] = 16,
    as_json: Json = False,
) -> None:
    """Find the words that are typical of a domain, a label or a term (the paper's Table 3).

    These words are much more frequent in the CATs than in a reference: wordfreq's word frequencies
    for the language, or your own corpus, counted by «curation measures count». Kilgarriff's simple
    maths ranks them; the rank by log-likelihood is shown as well. Words are compared as lemmas if
    these are known, else as word forms. Target terms are removed.
    """
    report = reports.report(
        "keywords",
        campaign,
        gold=gold,
        tier=tier,
        language=language,
        reporter=console,
        reference=reference,
        smoothing=smoothing,
        least=least,
        keywords=top if gold else None,
    )
    if as_json:
        console.say_json(report)
    elif "groups" in report:
        _say_tier(report)
        showing.show(report, by=by, top=top)
    else:
        _say_unchecked(report)


@app.command("pitfalls")
def pitfalls(
    gold: GoldFiles = None,
    campaign: Where = Path(),
    language: Language = "",
    words: Annotated[
        Path | None,
        typer.Option(
            "--words",
            help="Your own word lists; default: the campaign's 4-measures/words.csv.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show", metavar="CODE", help="Also show places of this pitfall; repeatable."
        ),
    ] = None,
    sample: Annotated[
        int,
        typer.Option(min=0, help="Number of places that --show shows, drawn at random; 0: all."),
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draw.")] = 1,
    every: Annotated[
        bool, typer.Option("--all", help="Also list pitfalls that were not found.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Look for known pitfalls; each is shown next to its rate in StereoSet's development set.

    A pitfall has one of three severities. «block» is an error in any dataset and stops a release,
    «warn» should be fixed, «note» is worth a look. Pitfalls that cannot be checked in this language
    are listed with the reason. The exit status is 1 if a pitfall blocks a release and the setting
    accept in [release] does not list it.
    """
    from curation.cli.pitfalls import show as show_pitfalls

    report, accepted = reports.pitfalls(
        campaign, gold=gold, language=language, own=words, reporter=console
    )
    if as_json:
        table = measures.pitfall_table(report)
        console.say_json({**table, "found": [pitfall.model_dump() for pitfall in report.hits]})
    else:
        show_pitfalls(
            report, codes=show or (), places=sample, seed=seed, every=every, accept=accepted
        )
    if report.blocking(accepted):
        raise typer.Exit(1)


app.command("train-sentiment")(training_sentiment.train_sentiment)
app.command("count")(showing.count)
