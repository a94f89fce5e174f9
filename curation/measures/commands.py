"""``curation measures``: measure what was collected."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from curation.checks.codes import PITFALLS
from curation.files import CurationError
from curation.kinds import CAT_KINDS, GOLDS
from curation.measures import steps
from curation.measures.steps import Report, count_corpus
from curation.models.train.settings import SentimentSettings
from curation.records import Fields
from curation.terminal import console
from curation.terminal.options import (
    Count,
    Json,
    Language,
    MaybeCount,
    Natural,
    Where,
    command_group,
    language_code,
    write_json,
)
from curation.text.rules import TIERS, grouped
from curation.text.wording import amount
from curation.work.engine import Engine

if TYPE_CHECKING:
    from curation.measures.keywords import Group, Keywords
    from curation.measures.pitfalls import Pitfalls
    from curation.measures.sentiment import Sentiment, SentimentRow
    from curation.measures.statistics import Gap, Statistics

By = Literal["domain", "label", "term"]


@dataclass(frozen=True)
class ChosenCats:
    """The CATs that are measured."""

    gold: list[Path] | None = None
    tier: MaybeCount = None
    campaign: Where = Path()
    language: Language = ""


_CATS = ChosenCats()


def count(
    files: list[Path],
    out: Annotated[Path, typer.Option(metavar="FILE")],
    language: Annotated[str, typer.Option(callback=language_code)] = "en",
    field: str = "text",
    engine: Engine = "local",
    workers: Natural = 0,
) -> None:
    """Count the words of a corpus, for «curation measures keywords --reference».

    Large files are split among the workers. Memory grows with the number of different words.

    Options:
        files (FILE): Texts: .txt or .jsonl, also as .gz, or .parquet.
        out: File for the counts: .tsv.gz or .tsv.
        language: Language code of the texts.
        field: JSON field or Parquet column that has the text.
        engine: This machine (local) or a Ray cluster (ray).
        workers: Number of processes; 0: one per core.
    """
    counts = count_corpus(
        files,
        out,
        language=language,
        field=field,
        engine=engine,
        workers=workers or None,
        reporter=console,
    )
    size = sum(file["bytes"] for file in counts.files)
    several = amount(len(counts.files), "file")
    console.say(
        f"{amount(counts.tokens, 'word')}, {len(counts.counts):,} of them different, in {several} "
        f"({amount(size, 'byte')}, {amount(counts.lines, 'line')}): {out}"
    )


def show_keywords(report: "Keywords", *, by: By = "domain", top: int = 16) -> None:
    """Print keywords: a table for each group that has text.

    Args:
        report: a report of ``curation.measures.keywords``.
        by: which groups.
        top: keywords shown for each, by simple maths.
    """
    for group in report["groups"]:
        if group["by"] == by and group["tokens"]:
            show_group(group, top=top)
    reference = report["reference"]
    size = f" of {amount(reference['tokens'], 'word')}" if reference["tokens"] else ""
    console.say(
        f"\n{report['unit']}; reference {reference['name']}{size}; smoothing "
        f"{report['smoothing']:g} per million; in {amount(report['least'], 'CAT')} or more; "
        "without target terms"
    )
    empty = [group for group in report["groups"] if group["by"] == by and not group["tokens"]]
    if empty:
        console.say(f"no text: {', '.join(map(_name, empty))}")


def show_group(group: "Group", *, top: int = 16) -> None:
    """Print one group's keywords.

    Args:
        group: a group of a report.
        top: keywords shown, by simple maths.
    """
    heads = ["", "keyword", "simple maths", "rank by G²", "times", "CATs"]
    heads += ["per million", "reference", "example"]
    rows = [
        [
            row["rank"],
            row["word"],
            row["score"],
            row["log_likelihood_rank"],
            row["count"],
            row["cats"],
            round(row["per_million"]),
            row["reference_per_million"],
            row["examples"][0]["text"],
        ]
        for row in group["keywords"]
        if row["rank"] <= top
    ]
    title = f"{_name(group)}: {amount(group['tokens'], 'word')} in {amount(group['cats'], 'CAT')}"
    console.table(title, heads, rows, least=["reference", "per million", "rank by G²", "times"])


def _name(group: "Group") -> str:
    """A group's name.

    >>> _name({"domain": "gender", "label": None, "term": "t-1", "target": "sister"})
    'gender, sister'
    """
    return ", ".join(filter(None, (group["domain"], group["label"], group["target"])))


app = command_group()


@app.command("statistics")
def statistics(
    cats: ChosenCats = _CATS,
    tokenizer: str | None = None,
    terms: bool = False,
    as_json: Json = False,
) -> None:
    """Report how much was collected, how long the texts are, who wrote them, how varied they are.

    This has the paper's Table 1 (terms, CATs, mean length in words by domain and kind). It also
    shows how much longer one association is than another, how many different words each label uses,
    how the CATs are spread over terms and writers, and which attribute a term gets most often.

    Options:
        tokenizer (MODEL): Also count the tokens of this model: hub name or folder.
        terms: Show a row for each term.
    """
    report = steps.report("statistics", **vars(cats), reporter=console, tokenizer=tokenizer)
    if as_json:
        console.say_json(report)
        return
    _say_tier(report)
    show_statistics(cast("Statistics", report), terms=terms)
    _say_unchecked(report)


def show_statistics(report: "Statistics", *, terms: bool = False) -> None:
    """Print statistics."""
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
            _starred(g["kind"], g),
            g["unit"],
            f"{g['first']} minus {g['second']}",
            g["mean"],
            g["ci"],
            g["differ"],
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
        console.table("Writers", heads, [list(writers.values())[: len(heads)]])
    if terms:
        heads = ["domain", "term", "CATs", *CAT_KINDS, "writers"]
        heads += [f"most common {gold}" for gold in GOLDS[:2]]
        console.table("Terms", heads, [_term(row) for row in report["terms"]])
    _say_few(report["gaps"])


def _starred(name: str, row: "Gap | SentimentRow") -> str:
    return f"{name}*" if row["few_terms"] else name


def _say_few(rows: "Sequence[Gap | SentimentRow]") -> None:
    if any(row["few_terms"] and row["cats"] for row in rows):
        console.say("* fewer than five terms: the interval is not reliable")


def _term(row: Fields) -> list[Any]:
    cells = [row["domain"], row["term"], row["cats"], *(row[kind] for kind in CAT_KINDS)]
    attributes = [row["attributes"].get(gold) for gold in GOLDS[:2]]
    texts = [a and f"{a['text']} ({a['count']}, {a['share']:.0f} %)" for a in attributes]
    return [*cells, row["writers"], *texts]


def _say_tier(report: Report) -> None:
    from curation.catsets.stereoset import tier_text

    if report.get("tier"):
        console.say(f"{tier_text(report['tier'])}:")


def _say_unchecked(report: Report) -> None:
    for name, reason in report["not_checked"].items():
        console.say(f"{name}: not checked: {reason}")


@app.command("sentiment")
def sentiment(
    cats: ChosenCats = _CATS,
    model: str | None = None,
    labels: str | None = None,
    classes: Annotated[int | None, typer.Option(min=2, max=3)] = None,
    scores: Path | None = None,
    as_json: Json = False,
) -> None:
    """Report how negative and positive the associations of each label are (the paper's Table 2).

    The sentiment is that of the filled sentence, or of the association's sentence. A second table
    shows how much more often stereotypes are negative than anti-stereotypes, with an interval over
    terms and a test. VADER is for English. For other languages, use a sentiment classifier that
    transformers can open, or train one with «curation measures train-sentiment».

    Options:
        model (MODEL): A sentiment classifier, by hub name or folder; or vader (English only).
        labels: Meaning of the classifier's outputs, in order, if its own names do not say:
            negative,neutral,positive.
        classes: 2: neutral counts as positive, as in the paper; 3: neutral is its own class.
        scores (FILE): Also write each association's sentiment to this file, for «curation scores
            baselines --sentiment».
    """
    report = steps.report(
        "sentiment",
        **vars(cats),
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
    _say_tier(report)
    if "rows" in report:
        show_sentiment(cast("Sentiment", report))
    else:
        _say_unchecked(report)


def show_sentiment(report: "Sentiment") -> None:
    """Print sentiment."""
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
    cats: ChosenCats = _CATS,
    reference: str | None = None,
    smoothing: Annotated[float | None, typer.Option(min=0.001)] = None,
    least: MaybeCount = None,
    by: By = "domain",
    top: Count = 16,
    as_json: Json = False,
) -> None:
    """Find the words that are typical of a domain, a label or a term (the paper's Table 3).

    These words are much more frequent in the CATs than in a reference: wordfreq's word frequencies
    for the language, or your own corpus, counted by «curation measures count». Kilgarriff's simple
    maths ranks them; the rank by log-likelihood is shown as well. Words are compared as lemmas if
    these are known, else as word forms. Target terms are removed.

    Options:
        reference (FILE): wordfreq, or a file made by «curation measures count».
        smoothing: Number that simple maths adds to both frequencies, per million; higher values
            favour more common words.
        least: Minimum number of CATs that contain a keyword.
        by: Show keywords by domain, label or term.
        top: Number of keywords to show for each.
    """
    report = steps.report(
        "keywords",
        **vars(cats),
        reporter=console,
        reference=reference,
        smoothing=smoothing,
        least=least,
        keywords=top if cats.gold else None,
    )
    if as_json:
        console.say_json(report)
    elif "groups" in report:
        _say_tier(report)
        show_keywords(cast("Keywords", report), by=by, top=top)
    else:
        _say_unchecked(report)


@app.command("pitfalls")
def pitfalls(
    gold: list[Path] | None = None,
    campaign: Where = Path(),
    language: Language = "",
    words: Path | None = None,
    show: list[str] | None = None,
    sample: Natural = 10,
    seed: Natural = 1,
    every: Annotated[bool, typer.Option("--all")] = False,
    as_json: Json = False,
) -> None:
    """Look for known pitfalls; each is shown next to its rate in StereoSet's development set.

    A pitfall has one of three severities. «block» is an error in any dataset and stops a release,
    «warn» should be fixed, «note» is worth a look. Pitfalls that cannot be checked in this language
    are listed with the reason. The exit status is 1 if a pitfall blocks a release and the setting
    accept in [release] does not list it.

    Options:
        words (FILE): Your own word lists; default: the campaign's 4-measures/words.csv.
        show (CODE): Also show places of this pitfall; repeatable.
        sample: Number of places that --show shows, drawn at random; 0: all.
        seed: Seed of the random draw.
        every: Also list pitfalls that were not found.
    """
    report, accepted = steps.pitfall_report(
        campaign, gold=gold, language=language, own=words, reporter=console
    )
    if as_json:
        table = steps.pitfall_table(report)
        console.say_json({**table, "found": [pitfall.model_dump() for pitfall in report.hits]})
    else:
        show_pitfalls(
            report, codes=show or (), places=sample, seed=seed, every=every, accept=accepted
        )
    if report.blocking(accepted):
        raise typer.Exit(1)


@app.command("train-sentiment")
def train_sentiment(
    *,
    reviews: list[Path],
    out: Path,
    test: list[Path] | None = None,
    settings: SentimentSettings,
    restart: bool = False,
) -> None:
    """Fine-tune a sentiment classifier on reviews, as the paper did with BERT.

    The defaults of length, batch, learning rate and epochs are the paper's values. The paper uses
    the Large Movie Review data (--reviews aclImdb), with an accuracy of 92 % on its test set. For
    other languages, give reviews in the language of the sentences that you want to classify. If the
    command was stopped, run it again: it continues from the last checkpoint. Afterwards, use the
    folder of --out as --model in «curation measures sentiment». You can also open it with
    transformers.

    Options:
        reviews (FILE|DIR): Reviews: .jsonl, .csv or .tsv, also as .gz or .bz2, with a column text,
            review or sentence, and a column label or sentiment (negative, neutral, positive; 0, 1)
            or stars or rating (1 to 5). Or a folder such as aclImdb, with folders pos and neg of
            text files, directly or in train. Repeatable.
        test (FILE|DIR): Reviews to test on, in any format of --reviews. Default: the folder test
            next to the folder train of --reviews, if there is one. Repeatable.
    """
    from curation.models.train.reviews import Reviews, has_test, read_reviews

    test_paths = test or [path for path in reviews if has_test(path)]
    held: Reviews | None = None
    if test_paths:
        held = read_reviews(test_paths, classes=settings.classes, part="test")
    corpus = read_reviews(reviews, classes=settings.classes, test=held)
    console.note(
        f"{amount(len(corpus.numbers), 'review')}; left out: {corpus.neutral} neutral, "
        f"{corpus.unlabelled} "
        f"without a sentiment, {corpus.repeated} repeated, {corpus.contradictory} whose text has "
        f"two sentiments, {corpus.in_test} whose text is in the test set"
    )
    if held is not None:
        console.note(
            f"test set: {amount(len(held.numbers), 'review')}; left out: {held.neutral} neutral, "
            f"{held.repeated} repeated, {held.contradictory} whose text has two sentiments"
        )
    with console.training(settings.epochs) as tell:
        from curation.models.train.sentiment import SentimentTrainer

        report = SentimentTrainer.train(settings, corpus, out, restart=restart, tell=tell)
    measure = "held-out accuracy" if held is None else "accuracy on the test set"
    console.say(
        f"{measure} {report['held_out_accuracy']:.1f} % on "
        f"{amount(report['reviews_held_out'], 'review')} (the paper's classifier on its test set: "
        f"{report['paper_held_out_accuracy']:.0f} %; always the commonest class: "
        f"{report['commonest_class_held_out']:.1f} %); the trained model is in {out}"
    )


app.command("count")(count)


QUOTE = 90  # characters shown of a text that a pitfall quotes


def show_pitfalls(
    report: "Pitfalls",
    *,
    codes: Sequence[str] = (),
    places: int = 10,
    seed: int = 0,
    every: bool = False,
    accept: Sequence[str] = (),
) -> None:
    """Print how often each pitfall was found, and places of some of them.

    Args:
        report: the pitfalls.
        codes: the pitfalls whose places are shown.
        places: how many of each, drawn at random; 0 shows all, in the order of the file.
        seed: seed of the draw.
        every: also list pitfalls that were not found.
        accept: pitfalls that a release may have.

    Raises:
        CurationError: a code is not that of a pitfall.
    """
    if unknown := [code for code in codes if code not in PITFALLS]:
        raise CurationError(
            f"{unknown[0]!r} is not a pitfall", f"the codes are {', '.join(PITFALLS)}"
        )
    rows = [
        (
            row.code,
            row.severity,
            row.unit,
            row.count,
            row.of,
            *map(_percent, (row.rate, row.stereoset)),
        )
        for row in report.table
        if row.count or (every and row.count == 0)
    ]
    heads = ["pitfall", "severity", "unit", "found", "checked", "%", "StereoSet dev %"]
    console.table(f"Pitfalls in {amount(report.cats, 'CAT')}", heads, rows)
    clean = [row.code for row in report.table if row.count == 0]
    if clean and not every:
        console.say(f"Not found: {', '.join(clean)}.")
    reasons = grouped((row.why, row.code) for row in report.table if row.why is not None)
    for reason, unchecked in reasons.items():
        console.say(f"Not checked: {', '.join(unchecked)} ({reason}).")
    if blocking := report.blocking(accept):
        console.warn(f"these pitfalls block a release: {', '.join(blocking)}")
    if codes:
        console.say(f"\n{console.CONTENT_WARNING}")
    for code in codes:
        _examples(report, code, places, seed)


def _examples(report: "Pitfalls", code: str, places: int, seed: int) -> None:
    about = PITFALLS[code]
    from curation.measures.pitfalls import sample

    hits = sample(report, code, places, seed=seed)
    console.heading(f"\n{code}: {about.says}; {about.fix}")
    for pitfall in hits:
        detail = pitfall.detail
        quote = detail if len(detail) <= QUOTE else f"{detail[:QUOTE]}…"
        association = f" {pitfall.association}" if pitfall.association else ""
        console.say(f"  {pitfall.where}{association}: {quote}")
    if not hits:
        console.say("  none")


def _percent(rate: float | None) -> float | None:
    return None if rate is None else 100 * rate
