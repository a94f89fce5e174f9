"""The steps ``statistics``, ``sentiment``, ``keywords`` and ``pitfalls``: CATs, measured.

The functions ``…_of`` measure any source of CATs and are what Python users call; see also
``curation.measures.steps``, which reads what a campaign keeps.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from platformdirs import user_cache_path

from curation.campaign.dataset import Dataset, in_file, in_json
from curation.campaign.datasets import (
    CATS,
    DECISIONS,
    ITEMS,
    META_TEXT,
    OWN_WORDS,
    PITFALL_TABLES,
    RATES,
    TERMS,
)
from curation.campaign.settings import MeasureSettings, Settings
from curation.campaign.source import Source, campaign_source, gold_source, open_source
from curation.campaign.step import Out, Step, run_steps, splitters, step, versions, word_packages
from curation.campaign.store import Campaign, open_campaign
from curation.decisions.steps import kept_without_votes, split
from curation.files import CurationError, dump_json, open_plain, read_bytes
from curation.kinds import CAT_KINDS
from curation.models.loading import token_counter
from curation.records import Cat, Fields, Pitfall
from curation.text.words import NotCheckedError
from curation.work.engine import Engine, own_workers
from curation.work.reporter import QUIET, Reporter
from curation.work.run_folder import append_lines

if TYPE_CHECKING:
    from curation.measures.counting import Counts
    from curation.measures.pitfalls import Pitfalls
    from curation.measures.sentiment import Feeling


CACHE = "CURATION_CACHE"  # environment variable: the folder of the cache
_AT_ONCE = 1000  # texts between two writes


def classify(
    cats: Sequence[Cat], settings: MeasureSettings, reporter: Reporter = QUIET
) -> "tuple[dict[str, Feeling], Fields]":
    """The sentiment of each association by a classifier.

    Args:
        cats: the CATs.
        settings: the classifier (``sentiment``), its ``labels``, and the number of ``classes``.
        reporter: receives progress and notes.

    Returns:
        The sentiment by id of the association, with values from −1 to 1; and the fields that
        identify the classifier.

    Raises:
        CurationError: the classifier cannot be opened or run, it has no neutral class although
            three classes are needed, or an association has no sentence.
    """
    from curation.measures.sentiment import CLASSES, Feeling

    try:
        from curation.models import classifier
    except ImportError as error:
        raise CurationError(
            f"{settings.sentiment}: models cannot be run: {error}", "pip install 'curation[models]'"
        ) from None
    model = classifier.load(settings.sentiment, labels=settings.labels or None)
    if settings.classes == 3 and "neutral" not in model.classes:
        raise CurationError(
            f"{settings.sentiment}: has no neutral class", "use two classes, or another model"
        )
    texts = {a.id: a.sentence for cat in cats for a in cat.associations}
    if blank := next((name for name, text in texts.items() if not text.strip()), None):
        raise CurationError(f"association «{blank}»: has no sentence", "leave out its CAT")
    path = _cache_file(model.about)
    known = read_cache(path)
    missing = {text for text in texts.values() if _key(text) not in known}
    queue = sorted(missing, key=lambda text: (len(text), text))  # so batches are always the same
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        open_plain(path, "ab").close()
    except OSError as error:
        raise CurationError(
            f"{path.parent}: {error.strerror}: the classifier's results cannot be stored there",
            f"set the environment variable {CACHE} to another folder",
        ) from None
    if read_bytes(path)[-1:] not in {b"", b"\n"}:  # not cut, since the cache has no lock
        append_lines(path, [b"\n"])  # ends the half line that a killed command left
    with reporter.tracked("sentiment", len(queue)) as advance:
        for start in range(0, len(queue), _AT_ONCE):
            some = queue[start : start + _AT_ONCE]
            results = classifier.classify(model, some, tell=advance)
            known |= {_key(text): tuple(result) for text, result in zip(some, results, strict=True)}
            append_lines(path, [orjson.dumps([_key(t), *known[_key(t)]]) + b"\n" for t in some])
    for notice in model.notices:
        reporter.note(notice)
    feelings = {}
    for name, text in texts.items():
        shares = known[_key(text)]
        best = max(range(len(CLASSES)), key=shares.__getitem__)
        feelings[name] = Feeling(CLASSES[best], shares[2] - shares[0])
    return feelings, model.about


def _cache_file(about: Fields) -> Path:
    """The file of cached results: one for each classifier."""
    folder = os.environ.get(CACHE)
    home = Path(folder) if folder else user_cache_path("curation")
    return home / "sentiment" / f"{hashlib.sha256(dump_json(about)).hexdigest()[:32]}.jsonl"


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def read_cache(path: Path) -> dict[str, tuple[float, ...]]:
    """Cached results; damaged lines are skipped, so that their texts are classified again."""
    results: dict[str, tuple[float, ...]] = {}
    for line in read_bytes(path).splitlines() if path.exists() else ():
        try:
            key, *shares = orjson.loads(line or b"[null]")
        except (ValueError, TypeError):
            continue
        if isinstance(key, str) and len(shares) == 3 and all(type(x) is float for x in shares):
            results[key] = tuple(shares)
    return results


Report = dict[str, Any]
"""One of ``statistics.Statistics``, ``Sentiment`` and ``Keywords``, or why it was not measured."""
WORDFREQ = "wordfreq"  # the reference that is not a file
VADER = "vader"  # the sentiment that is not a model
_SMALL = 1 << 24  # bytes: larger files are compared by size and time


def measure_settings(source: Source, **given: Any) -> MeasureSettings:
    """How a source is measured: by a campaign's settings or the defaults, unless others are given.

    A step has the settings that it declares, and the defaults of all others. Paths in a campaign's
    settings start at its folder.
    """
    if source.campaign is None:
        return MeasureSettings().model_copy(update=given)
    own = source.campaign.settings.measures.model_dump()
    for name in ("tokenizer", "sentiment"):
        if name in own:
            own[name] = model_path(source.campaign, own[name])
    if own.get("reference", WORDFREQ) != WORDFREQ:
        own["reference"] = str(source.campaign[REFERENCE])
    return MeasureSettings(**own).model_copy(update=given)


def _reference(campaign: Campaign) -> Path | None:
    name = campaign.settings.measures.reference
    return None if name == WORDFREQ else campaign.root / name


REFERENCE: Dataset[Path | None] = Dataset(
    "reference", lambda campaign: [path] if (path := _reference(campaign)) else [], _reference
)
"""The file with the counts of a reference corpus, unless it is wordfreq."""


def model_path(campaign: Campaign, name: str) -> str:
    """A model that the settings name: a folder in the campaign if there is one, else the name."""
    folder = campaign.root / name
    return str(folder) if name not in {"", VADER} and folder.is_dir() else name


def _unless_unchecked(name: str, measure: Callable[[], Report]) -> Report:
    """A report, or the reason why there is none: never a number that looks like a result."""
    try:
        return {**measure(), "not_checked": {}}
    except NotCheckedError as reason:
        return {"not_checked": {name: str(reason)}}


def kept_report(campaign: Campaign, name: str) -> Report:
    """What the step statistics, sentiment or keywords wrote when it last ran."""
    own = {field: campaign[each] for field, each in _OWN.get(name, {}).items()}
    return campaign[REPORTS[name]] | own


# --- statistics ---------------------------------------------------------------------------------


def _word_packages(settings: Settings) -> tuple[str, ...]:
    return ("wordfreq", *splitters(settings.campaign.language))


def statistics_of(source: Source, settings: MeasureSettings, reporter: Reporter = QUIET) -> Report:
    """Statistics of a source."""
    from curation.measures.statistics import statistics

    count = token_counter(settings.tokenizer) if settings.tokenizer else None
    writers = None
    if source.campaign:
        writers = {item.id: item.writer for item in source.campaign.items}
    return dict(statistics(source.cats, language=source.language, writers=writers, tokens=count))


# --- sentiment ----------------------------------------------------------------------------------


def _model_files(setting: str) -> Dataset[Fields]:
    """What shows that a model in a folder has changed; its weights are large, so their time.

    Running the step again costs little: results of the same weights are kept.
    """

    def files(campaign: Campaign) -> list[Path]:
        folder = Path(model_path(campaign, getattr(campaign.settings.measures, setting)))
        if not (folder / "config.json").exists():
            return []
        there = (path for path in sorted(folder.iterdir()) if path.is_file())
        return [path for path in there if not path.name.startswith(".")]

    def read(campaign: Campaign) -> Fields:
        return {
            path.name: [stat.st_size, stat.st_mtime_ns]
            if (stat := path.stat()).st_size >= _SMALL
            else campaign.digest(path)
            for path in files(campaign)
        }

    return Dataset(f"{setting} model", files, read, by_value=True)


CLASSIFIER, TOKENIZER = _model_files("sentiment"), _model_files("tokenizer")


def sentiment_of(source: Source, settings: MeasureSettings, reporter: Reporter = QUIET) -> Report:
    """Sentiment of a source.

    Returns:
        The report. Under ``predictions`` it has each association's sentiment, from -1 to 1, in the
        form of a predictions file; the step writes them to a file of their own.

    Raises:
        CurationError: the classifier cannot be run, or VADER was given labels.
    """
    from curation.measures.sentiment import Feeling, by_vader, sentiment

    if settings.labels and settings.sentiment == VADER:
        raise CurationError(
            f"labels {', '.join(settings.labels)}: labels name a classifier's outputs, and VADER "
            "has none",
            "name the classifier (--model, sentiment in [measures]), or leave labels out",
        )
    feelings: dict[str, Feeling] = {}

    def measure() -> Report:
        nonlocal feelings
        about: Report = {"model": VADER, **versions("vaderSentiment")}
        if settings.sentiment == VADER:
            feelings = by_vader(source.cats, language=source.language)
        else:
            feelings, about = classify(source.cats, settings, reporter)
        seed = source.campaign.settings.campaign.seed if source.campaign else 1
        rows = sentiment(source.cats, feelings, classes=settings.classes, seed=seed)
        return {"by": about, "rows": rows}

    report = {
        "language": source.language,
        "classes": settings.classes,
        **_unless_unchecked("sentiment", measure),
    }
    predictions: Report = {kind: [] for kind in CAT_KINDS}
    for cat in source.cats:
        predictions[cat.kind] += [
            {"id": a.id, "score": feelings[a.id].value}
            for a in cat.associations
            if a.id in feelings
        ]
    return {**report, "predictions": predictions}


# --- keywords -----------------------------------------------------------------------------------


def keywords_of(source: Source, settings: MeasureSettings, reporter: Reporter = QUIET) -> Report:
    """Keywords of a source."""
    from curation.measures.counting import read_counts
    from curation.measures.keywords import counted, keywords, wordfreq

    def measure() -> Report:
        if settings.reference == WORDFREQ:
            reference = wordfreq(source.language)
        else:
            path = Path(settings.reference)
            counts = read_counts(path, language=source.language)
            reference = counted(counts, name=path.name)
        return dict(
            keywords(
                source.cats,
                language=source.language,
                reference=reference,
                terms=source.campaign.terms.values() if source.campaign else (),
                smoothing=settings.smoothing,
                least=settings.least,
                top=settings.keywords,
            )
        )

    return {"language": source.language, **_unless_unchecked("keywords", measure)}


# --- pitfalls -----------------------------------------------------------------------------------


def pitfalls_of(
    source: Source, *, own: Path | None = None, reporter: Reporter = QUIET
) -> "Pitfalls":
    """Pitfalls of a source.

    Args:
        source: the CATs.
        own: the team's own word lists; by default those of the campaign, if it has any.
        reporter: where progress goes.

    Raises:
        CurationError: ``own`` cannot be read.
    """
    from curation.measures.pitfalls import pitfalls

    campaign = source.campaign
    if own is None and campaign:
        own = campaign[OWN_WORDS]
    with reporter.stages() as tell:
        return pitfalls(
            source.cats,
            language=source.language,
            own=own,
            **source.allowed(),
            without_votes=kept_without_votes(campaign) if campaign else None,
            workers=own_workers(),
            tell=tell,
        )


PITFALL_REPORT = in_json("measures", "pitfalls.json")
PITFALLS_FOUND = in_file("measures", "pitfalls.jsonl", Pitfall)


@step(
    "known pitfalls, and what blocks a release",
    folder="measures",
    version=9,
    makes=(PITFALL_REPORT, PITFALLS_FOUND),
    reads=(TERMS, CATS, DECISIONS),
    as_it_is=(OWN_WORDS, *PITFALL_TABLES, META_TEXT, RATES),
    settings=("campaign.language", "rounds.form", "decisions.trust_gold"),
    packages=word_packages,
)
def pitfalls(campaign: Campaign, out: Out) -> dict[str, int]:
    """Look for pitfalls."""
    report = pitfalls_of(campaign_source(campaign), reporter=out)
    out.records("pitfalls.jsonl", report.hits)
    out.json("pitfalls.json", pitfall_table(report))
    tally = Counter(pitfall.severity for pitfall in report.hits)
    found = {"blocking": tally["block"], "warnings": tally["warn"], "notes": tally["note"]}
    return {"cats": report.cats, **found}


def pitfall_table(report: "Pitfalls") -> Report:
    """How often each pitfall was found, as ``pitfalls.json`` holds it."""
    rows = [asdict(row) for row in report.table]
    return {"language": report.language, "cats": report.cats, "table": rows}


def kept_pitfalls(campaign: Campaign) -> "Pitfalls":
    """What the step found when it last ran."""
    from curation.measures.pitfalls import Pitfalls, Row

    kept, hits = campaign[PITFALL_REPORT], [*campaign[PITFALLS_FOUND]]
    return Pitfalls(kept["language"], kept["cats"], hits, [Row(**row) for row in kept["table"]])


MEASURES: dict[str, Callable[[Source, MeasureSettings, Reporter], Report]] = {
    "statistics": statistics_of,
    "sentiment": sentiment_of,
    "keywords": keywords_of,
}


STATISTICS_REPORT = in_json("measures", "statistics.json")
SENTIMENT_REPORT = in_json("measures", "sentiment.json")
SENTIMENT_SCORES = in_json("measures", "sentiment_scores.json")
KEYWORD_REPORT = in_json("measures", "keywords.json")
REPORTS = {
    "statistics": STATISTICS_REPORT,
    "sentiment": SENTIMENT_REPORT,
    "keywords": KEYWORD_REPORT,
}
_OWN = {"sentiment": {"predictions": SENTIMENT_SCORES}}
"""The fields of reports that have a file of their own."""


def _measured(name: str, campaign: Campaign, out: Out) -> tuple[Report, dict[str, int]]:
    """Measure the kept CATs, and keep the report; gives it, and the number of CATs."""
    source = campaign_source(campaign)
    report = MEASURES[name](source, measure_settings(source), out)
    own_files = _OWN.get(name, {})
    out.json(f"{name}.json", {key: value for key, value in report.items() if key not in own_files})
    for field, dataset in own_files.items():
        out.json(dataset.name, report[field])
    return report, {"cats": len(source.cats)}


@step(
    "how much was collected",
    folder="measures",
    version=3,
    makes=(STATISTICS_REPORT,),
    reads=(CATS, ITEMS),
    as_it_is=(TOKENIZER,),
    settings=("campaign.language", "measures.tokenizer"),
    packages=_word_packages,
)
def statistics(campaign: Campaign, out: Out) -> dict[str, int]:
    """Count CATs, terms, words and writers."""
    report, counts = _measured("statistics", campaign, out)
    return {**counts, "terms": len(report["terms"])}


@step(
    "how negative each label is",
    folder="measures",
    version=2,
    makes=(SENTIMENT_REPORT, SENTIMENT_SCORES),
    reads=(CATS,),
    as_it_is=(CLASSIFIER,),
    settings=("campaign.language", "campaign.seed", "measures.classifying"),
    packages=lambda settings: ("vaderSentiment",) if settings.measures.sentiment == VADER else (),
)
def sentiment(campaign: Campaign, out: Out) -> dict[str, int]:
    """Measure the sentiment of each association."""
    report, counts = _measured("sentiment", campaign, out)
    return {**counts, "associations": sum(map(len, report["predictions"].values()))}


@step(
    "which words mark a domain, a label or a term",
    folder="measures",
    version=3,
    makes=(KEYWORD_REPORT,),
    reads=(TERMS, CATS),
    as_it_is=(REFERENCE,),
    settings=("campaign.language", "measures.comparing"),
    packages=lambda settings: (*_word_packages(settings), "simplemma"),
)
def keywords(campaign: Campaign, out: Out) -> dict[str, int]:
    """Look for keywords of domains, labels and terms."""
    report, counts = _measured("keywords", campaign, out)
    return {**counts, "groups": sum(bool(g["keywords"]) for g in report.get("groups", ()))}


def count_corpus(
    files: Sequence[Path],
    out: Path,
    *,
    language: str = "en",
    field: str = "text",
    engine: Engine = "local",
    workers: int | None = None,
    reporter: Reporter = QUIET,
) -> "Counts":
    """Count the words of files, and write the counts as a table.

    Args:
        files: texts, as for ``curation.measures.counting.count``.
        out: the table; its name ends in .tsv.gz or .tsv.
        language: language code of the texts.
        field: the JSON field or Parquet column that has the text.
        engine: what reads the files, see ``curation.work.engine``.
        workers: how many run at once; by default one per processor.
        reporter: where progress goes.

    Raises:
        CurationError: the table's name ends otherwise, a file cannot be read or has no words, or
            the language's texts cannot be split into words.
    """
    from curation.measures import counting

    if not out.name.endswith((".tsv", ".tsv.gz")):
        raise CurationError(
            f"{out}: not a name for a table", "use a name that ends in .tsv.gz or .tsv"
        )
    total = sum(path.stat().st_size for path in files if path.is_file())
    try:
        with reporter.tracked("counting", total, bytes=True) as tell:
            counts = counting.count(
                files, language=language, engine=engine, workers=workers, field=field, tell=tell
            )
    except NotCheckedError as error:
        fix = error.fix or "words of this language cannot be counted"
        raise CurationError(error.reason, fix) from None
    counting.write_counts(out, counts)
    return counts


STEPS = {each.name: each for each in (statistics, sentiment, keywords)}


def report(
    name: str,
    campaign: Campaign | Path = Path(),
    *,
    gold: Sequence[Path] | None = None,
    tier: int | None = None,
    language: str = "",
    reporter: Reporter = QUIET,
    **settings: Any,
) -> Report:
    """Statistics, sentiment or keywords of a campaign or of gold files.

    Takes the campaign's lock itself, to bring the step up to date.

    Args:
        name: statistics, sentiment or keywords.
        campaign: the campaign or its folder.
        gold: gold files to measure instead.
        tier: only CATs of this tier or above; the report then says so.
        language: language code of the texts; by default that of the campaign or release, else en.
        reporter: where warnings and progress go.
        settings: settings of [measures] that replace the campaign's; None leaves one as it is.

    Returns:
        The fields of ``statistics.json``, ``sentiment.json`` (with ``predictions`` in addition) or
        ``keywords.json``; docs/formats.md describes them. ``not_checked`` has the reason for each
        part that cannot be measured.

    Raises:
        CurationError: there is no CAT, or the CATs cannot be measured.
    """
    given = {key: value for key, value in settings.items() if value is not None}
    if gold:
        source = gold_source(gold, language=language, reporter=reporter)
        source.warn_of_language(reporter)
    else:
        once = bool(given or language or tier)
        opened = _up_to_date(campaign, split if once else STEPS[name], reporter)
        source = open_source(opened, language=language)
        if not once:
            return kept_report(opened, name)
    source = source.in_tier(tier, reporter)
    measured = MEASURES[name](source, measure_settings(source, **given), reporter)
    return measured if tier is None else {**measured, "tier": tier}


def pitfall_report(
    campaign: Campaign | Path = Path(),
    *,
    gold: Sequence[Path] | None = None,
    language: str = "",
    own: Path | None = None,
    reporter: Reporter = QUIET,
) -> "tuple[Pitfalls, tuple[str, ...]]":
    """Pitfalls of a campaign or of gold files.

    Takes the campaign's lock itself, to bring the step up to date.

    Args:
        campaign: the campaign or its folder.
        gold: gold files to look at instead.
        language: language code of the texts; by default that of the campaign or release, else en.
        own: the team's own word lists; by default the campaign's.
        reporter: where warnings and progress go.

    Returns:
        The pitfalls; and the codes that the campaign accepts in a release.

    Raises:
        CurationError: the CATs or the word lists cannot be read.
    """
    if gold:
        source = gold_source(gold, language=language, reporter=reporter)
        source.warn_of_language(reporter)
        return pitfalls_of(source, own=own, reporter=reporter), ()
    once = bool(language or own)
    opened = _up_to_date(campaign, split if once else pitfalls, reporter)
    accepted = opened.settings.release.accept
    if not once:
        return kept_pitfalls(opened), accepted
    source = campaign_source(opened, language=language)
    return pitfalls_of(source, own=own, reporter=reporter), accepted


def _up_to_date(campaign: Campaign | Path, step: Step, reporter: Reporter) -> Campaign:
    opened = campaign if isinstance(campaign, Campaign) else open_campaign(campaign)
    with opened.lock():
        run_steps(opened, step, reporter=reporter)
    return opened
