"""``curation measures``: what was collected, measured."""

from pathlib import Path
from typing import Annotated, Any

import typer

from curation.cli import console, training_sentiment
from curation.cli import keywords as showing
from curation.cli.options import FILE, Json, Language, Where
from curation.cli.score_options import GoldFiles, Tier, write_json
from curation.files import CurationError
from curation.records import GOLDS, KINDS
from curation.rules import TIERS
from curation.steps import measures, reports
from curation.steps.measures import Report

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
            metavar="MODEL", help="Count this model's tokens, too: its hub name or folder."
        ),
    ] = None,
    terms: Annotated[bool, typer.Option("--terms", help="Show a row for each term.")] = False,
    as_json: Json = False,
) -> None:
    """Say how much was collected, how long it is, who wrote it and how varied it is.

    As the paper's Table 1 (terms, CATs, mean length in words by domain and kind), and beyond: how
    much longer one association is than another, how many different words each label uses, how
    the CATs spread over terms and writers, and which attribute a term gets most often.
    """
    found = reports.report(
        "statistics",
        campaign,
        gold=gold,
        tier=tier,
        language=language,
        reporter=console,
        tokenizer=tokenizer,
    )
    if as_json:
        console.say_json(found)
        return
    show_statistics(found, terms=terms)


def show_statistics(found: Report, *, terms: bool = False) -> None:
    """Print statistics."""
    _say_tier(found)
    heads = ["domain", "terms", "CATs", "words", "characters", "tokens"]
    heads += [f"tier {name}" for name in TIERS]
    for kind, part in found["kinds"].items():
        rows = [[domain, *cell.values()] for domain, cell in part["domains"].items()]
        rows.append(["all", *part["overall"].values()])
        console.table(f"Size and mean length, {kind} (Table 1)", heads, rows)
    console.table("Size and mean length, both kinds", heads, [["all", *found["overall"].values()]])
    gaps = [
        [
            *(_starred(g["kind"], g), g["unit"], f"{g['first']} less {g['second']}"),
            *(g["mean"], g["ci"], g["differ"]),
        ]
        for g in found["gaps"]
        if g["cats"]
    ]
    heads = ["kind", "unit", "associations", "mean", "95 %", "% of CATs differ"]
    console.table("How much longer one association is than another", heads, gaps)
    if found["vocabulary"]:
        heads = ["domain", "label", "words", "different", "once", "different in 1,000"]
        rows = [list(row.values()) for row in found["vocabulary"]]
        console.table("Vocabulary of associations", heads, rows)
    if found["writers"]:
        w = found["writers"]
        heads = ["writers", "CATs", "of unknown", "median CATs", "most CATs", "% of most"]
        cells = [w["writers"], w["cats"], w["cats_of_nobody_known"], w["median_cats"]]
        cells += [w["most_cats"], w["share_of_most"]]
        console.table("Writers", heads, [cells])
    if terms:
        heads = ["domain", "term", "CATs", *KINDS, "writers"]
        heads += [f"commonest {gold}" for gold in GOLDS[:2]]
        console.table("Terms", heads, [_term(row) for row in found["terms"]])
    _say_few(found["gaps"])
    _say_unchecked(found)


def _starred(name: str, row: dict[str, Any]) -> str:
    return f"{name}*" if row["few_terms"] else name


def _say_few(rows: list[dict[str, Any]]) -> None:
    if any(row["few_terms"] and row["cats"] for row in rows):
        console.say("* fewer than five terms: the interval says little")


def _term(row: dict[str, Any]) -> list[Any]:
    cells = [row["domain"], row["term"], row["cats"], *(row[kind] for kind in KINDS)]
    told = [row["attributes"].get(gold) for gold in GOLDS[:2]]
    said = [t and f"{t['text']} ({t['count']}, {t['share']:.0f} %)" for t in told]
    return [*cells, row["writers"], *said]


def _say_tier(found: Report) -> None:
    from curation.scores.tiers import tier_text

    if found.get("tier"):
        console.say(f"{tier_text(found['tier'])}:")


def _say_unchecked(found: Report) -> None:
    for what, why in found["not_checked"].items():
        console.say(f"{what}: not checked: {why}")


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
            help="A sentiment classifier: hub name or folder; or vader, which is for English.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="What the classifier's outputs mean, in their order, where it does not say so "
            "itself: negative,neutral,positive.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            min=2, max=3, help="2: neutral counts as positive (the paper); 3.", show_default=False
        ),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            help="Write each association's sentiment there, for «curation scores baselines "
            "--sentiment».",
            **FILE,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say how negative and positive the associations of each label are (the paper's Table 2).

    Of the filled sentence, or of the association's sentence. Beside the shares stands how far
    stereotypes are more often negative than anti-stereotypes, with an interval over terms and a
    test. VADER reads English; any sentiment classifier of transformers serves its languages, and
    «curation measures train-sentiment» makes one.
    """
    found = reports.report(
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
    predictions = found.pop("predictions")
    if scores and "rows" not in found:
        raise CurationError(
            f"{scores}: there is nothing to write: {found['not_checked']['sentiment']}",
            "name a classifier for this language with --model, or install what is missing",
        )
    write_json(scores, predictions)
    if as_json:
        console.say_json(found)
        return
    show_sentiment(found)


def show_sentiment(found: Report) -> None:
    """Print sentiment."""
    _say_tier(found)
    if "rows" not in found:
        _say_unchecked(found)
        return
    rows = []
    for row in found["rows"]:
        if row["kind"] and row["domain"]:
            continue  # their difference, below, says enough
        group = row["kind"] or row["domain"] or "all"
        for label, shares in row["labels"].items():
            cells = [cell[key] for cell in shares.values() for key in ("share", "ci")]
            name = _starred(group, row)
            rows.append([name if label == GOLDS[0] else "", label, row["cats"], *cells])
    heads = ["group", "label", "CATs"]
    for name in found["rows"][0]["labels"][GOLDS[0]]:
        heads += [f"{name} %", "95 %"]
    console.table(f"Sentiment by {found['by']['model']} (Table 2)", heads, rows)
    rows = [
        [
            _starred(" ".join(filter(None, (row["kind"], row["domain"]))) or "all", row),
            row["difference"]["value"],
            row["difference"]["ci"],
            f"{row['difference']['p']:.4f}",
        ]
        for row in found["rows"]
    ]
    heads = ["group", "points", "95 %", "p"]
    console.table("Stereotypes more often negative than anti-stereotypes by", heads, rows)
    _say_few(found["rows"])


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
            help="wordfreq, or a file of «curation measures count».",
            show_default=False,
        ),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(
            min=0.001,
            help="What simple maths adds to both frequencies, per million; higher favours "
            "commoner words.",
            show_default=False,
        ),
    ] = None,
    least: Annotated[
        int | None,
        typer.Option(min=1, help="CATs in which a keyword stands at least.", show_default=False),
    ] = None,
    by: Annotated[
        showing.By, typer.Option("--by", help="Show them by domain, label or term.")
    ] = "domain",
    top: Annotated[int, typer.Option(min=1, help="How many to show of each.")] = 16,
    as_json: Json = False,
) -> None:
    """Say which words mark a domain, a label or a term (the paper's Table 3).

    By Kilgarriff's simple maths, log-likelihood beside it, against wordfreq's list of the language
    or a corpus of yours that «curation measures count» counted. Lemmas where they are known, else
    word forms; target terms are removed.
    """
    found = reports.report(
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
        console.say_json(found)
    elif "groups" in found:
        _say_tier(found)
        showing.show(found, by=by, top=top)
    else:
        _say_unchecked(found)


@app.command("pitfalls")
def pitfalls(
    gold: GoldFiles = None,
    campaign: Where = Path(),
    language: Language = "",
    words: Annotated[
        Path | None,
        typer.Option(
            "--words",
            help="Word lists of your own; default the campaign's 4-measures/words.csv.",
            show_default=False,
            **FILE,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option("--show", metavar="CODE", help="Show places of this pitfall, too."),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=0, help="How many places of each, drawn by chance; 0: all.")
    ] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of the draw.")] = 1,
    every: Annotated[
        bool, typer.Option("--all", help="Show what was looked for and not found, too.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Look for known pitfalls, each beside its rate in StereoSet's own development set.

    «block» is wrong in any dataset and stops a release, «warn» should be fixed, «note» is worth a
    look. What cannot be checked in a language says so. The exit status is 1 where one blocks a
    release and accept in [release] does not name it.
    """
    from curation.cli.pitfalls import show as show_pitfalls

    found, accepted = reports.pitfalls(
        campaign, gold=gold, language=language, own=words, reporter=console
    )
    if as_json:
        table = measures.pitfall_table(found)
        console.say_json({**table, "found": [one.model_dump() for one in found.found]})
    else:
        show_pitfalls(
            found, codes=show or (), places=sample, seed=seed, every=every, accept=accepted
        )
    if found.blocking(accepted):
        raise typer.Exit(1)


app.command("train-sentiment")(training_sentiment.train_sentiment)
app.command("count")(showing.count)
