"""The steps ``statistics``, ``sentiment``, ``keywords`` and ``pitfalls``: CATs, measured.

The functions ``…_of`` measure any source of CATs and are what Python users call; see also
``curation.steps.reports``, which reads what a campaign keeps.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import CurationError, digest, read_json, read_records
from curation.records import KINDS, Pitfall
from curation.settings import MeasureSettings
from curation.steps.classifying import classify
from curation.steps.decisions import SPLIT, kept_without_votes
from curation.steps.read import item_files, own_words, read_items, read_terms, word_packages
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds.fold import ANSWERS
from curation.steps.source import Source, campaign_source, off
from curation.steps.step import Step, splitters, versions
from curation.steps.terms import SELECT
from curation.text.words import NotCheckedError
from curation.work.manifest import Results

if TYPE_CHECKING:
    from curation.measures.pitfalls import Report as Pitfalls

Settings = dict[str, Any]
Report = dict[str, Any]
WORDFREQ = "wordfreq"  # the reference that is not a file
VADER = "vader"  # the sentiment that is not a model
_OWN_FILES = {"sentiment": {"predictions": "sentiment_scores.json"}}  # step -> field -> file
_SMALL = 1 << 24  # bytes: larger files are compared by size and time


def measure_settings(source: Source, **given: Any) -> MeasureSettings:
    """How a source is measured: by a campaign's settings or the defaults, unless others are given.

    Paths in a campaign's settings start at its folder.
    """
    if source.campaign is None:
        return MeasureSettings().model_copy(update=given)
    settings = source.campaign.settings.measures
    paths = {
        "tokenizer": model_path(source.campaign, settings.tokenizer),
        "sentiment": model_path(source.campaign, settings.sentiment),
    }
    if settings.reference != WORDFREQ:
        paths["reference"] = str(source.campaign.root / settings.reference)
    return settings.model_copy(update=paths | given)


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


def _common_settings(campaign: Campaign, *names: str) -> Settings:
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        "seed": settings.campaign.seed,
        **settings.measures.model_dump(include=set(names)),
    }


def kept_report(campaign: Campaign, name: str) -> Report:
    """What the step statistics, sentiment or keywords wrote when it last ran."""
    report = dict(read_json(campaign.measures / f"{name}.json"))
    own = _OWN_FILES.get(name, {})
    return report | {field: read_json(campaign.measures / file) for field, file in own.items()}


# --- statistics ---------------------------------------------------------------------------------


def statistics_settings(campaign: Campaign) -> Settings:
    """What statistics depend on."""
    packages = ("wordfreq", *splitters(campaign.settings.campaign.language))
    return {**_common_settings(campaign, "tokenizer"), "versions": versions(*packages)}


def statistics_inputs(campaign: Campaign) -> list[Path]:
    """What statistics read."""
    return [campaign.decisions / "cats.jsonl", *item_files(campaign)]


def statistics_of(source: Source, settings: MeasureSettings, reporter: Reporter = QUIET) -> Report:
    """Statistics of a source."""
    from curation.measures.statistics import statistics

    count = None
    if settings.tokenizer:
        from curation.models.loading import token_counter

        count = token_counter(settings.tokenizer)
    return statistics(
        source.cats,
        language=source.language,
        writers=_writers(source),
        tokens=count,
    )


def _writers(source: Source) -> dict[str, str | None] | None:
    """Who wrote each item; None for gold files."""
    if source.campaign is None:
        return None
    return {item.id: item.writer for item in read_items(source.campaign)}


def statistics(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure statistics."""
    source = campaign_source(campaign)
    report = statistics_of(source, measure_settings(source))
    results.json("statistics.json", report)
    return {"cats": len(source.cats), "terms": len(report["terms"])}


# --- sentiment ----------------------------------------------------------------------------------


def sentiment_settings(campaign: Campaign) -> Settings:
    """What sentiment depends on."""
    own = campaign.settings.measures.sentiment == VADER
    return {
        **_common_settings(campaign, "sentiment", "classes", "labels"),
        "versions": versions(*(["vaderSentiment"] if own else [])),
        **_classifier_files(campaign),
    }


def sentiment_inputs(campaign: Campaign) -> list[Path]:
    """What sentiment reads."""
    return [campaign.decisions / "cats.jsonl"]


def _classifier_files(campaign: Campaign) -> Settings:
    """What shows that a classifier in a folder has changed; its weights are large, so their time.

    Running the step again costs little: results of the same weights are kept.
    """
    folder = Path(model_path(campaign, campaign.settings.measures.sentiment))
    if not (folder / "config.json").exists():
        return {}
    files = {
        path.name: digest(path) if stat.st_size < _SMALL else [stat.st_size, stat.st_mtime_ns]
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(".")
        for stat in [path.stat()]
    }
    return {"classifier": files}


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
    predictions: Report = {kind: [] for kind in KINDS}
    for cat in source.cats:
        predictions[cat.kind] += [
            {"id": a.id, "score": feelings[a.id].value}
            for a in cat.associations
            if a.id in feelings
        ]
    return {**report, "predictions": predictions}


def sentiment(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure sentiment, and keep each association's in the form of predictions."""
    source = campaign_source(campaign)
    report = sentiment_of(source, measure_settings(source), reporter)
    predictions = report.pop("predictions")
    results.json("sentiment.json", report)
    results.json("sentiment_scores.json", predictions)
    return {"cats": len(source.cats), "associations": sum(map(len, predictions.values()))}


# --- keywords -----------------------------------------------------------------------------------


def keyword_settings(campaign: Campaign) -> Settings:
    """What keywords depend on."""
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        **settings.measures.model_dump(include={"reference", "smoothing", "least", "keywords"}),
        "versions": versions("wordfreq", "simplemma", *splitters(settings.campaign.language)),
    }


def keyword_inputs(campaign: Campaign) -> list[Path]:
    """What keywords read: the counts of a reference corpus are among them if they are a file."""
    name = campaign.settings.measures.reference
    reference = [] if name == WORDFREQ else [campaign.root / name]
    return [campaign.terms / "targets.jsonl", campaign.decisions / "cats.jsonl", *reference]


def keywords_of(source: Source, settings: MeasureSettings, reporter: Reporter = QUIET) -> Report:
    """Keywords of a source."""
    from curation.measures import keywords as stage
    from curation.measures.counting import read_counts

    def measure() -> Report:
        if settings.reference == WORDFREQ:
            reference = stage.wordfreq(source.language)
        else:
            path = Path(settings.reference)
            counts = read_counts(path, language=source.language)
            reference = stage.counted(counts, name=path.name)
        return stage.keywords(
            source.cats,
            language=source.language,
            reference=reference,
            terms=read_terms(source.campaign).values() if source.campaign else (),
            smoothing=settings.smoothing,
            least=settings.least,
            top=settings.keywords,
        )

    return {"language": source.language, **_unless_unchecked("keywords", measure)}


def keywords(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure keywords."""
    source = campaign_source(campaign)
    report = keywords_of(source, measure_settings(source))
    results.json("keywords.json", report)
    groups = [group for group in report.get("groups", ()) if group["keywords"]]
    return {"cats": len(source.cats), "groups": len(groups)}


# --- pitfalls -----------------------------------------------------------------------------------


def pitfall_settings(campaign: Campaign) -> Settings:
    """What pitfalls depend on."""
    return {
        "language": campaign.settings.campaign.language,
        "versions": word_packages(campaign),
        "off": off(campaign),
    }


def pitfall_inputs(campaign: Campaign) -> list[Path]:
    """What pitfalls read."""
    names = ["cats.jsonl"]
    if campaign.settings.decisions.trust_gold:  # otherwise every CAT has votes; split needs filter
        names += ["decisions.jsonl"]
    decided = [campaign.decisions / name for name in names]
    return [campaign.terms / "targets.jsonl", *decided, own_words(campaign)]


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
    from curation.work.engine import own_workers

    campaign = source.campaign
    if own is None and campaign and own_words(campaign).exists():
        own = own_words(campaign)
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


def pitfalls(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Look for pitfalls."""
    report = pitfalls_of(campaign_source(campaign), reporter=reporter)
    results.records("pitfalls.jsonl", report.hits)
    results.json("pitfalls.json", pitfall_table(report))
    tally = Counter(pitfall.severity for pitfall in report.hits)
    found = {"blocking": tally["block"], "warnings": tally["warn"], "notes": tally["note"]}
    return {"cats": report.cats, **found}


def pitfall_table(report: "Pitfalls") -> Report:
    """How often each pitfall was found, as ``pitfalls.json`` holds it."""
    rows = [asdict(row) for row in report.table]
    return {"language": report.language, "cats": report.cats, "table": rows}


def kept_pitfalls(campaign: Campaign) -> "Pitfalls":
    """What the step found when it last ran."""
    from curation.measures.pitfalls import Report as Pitfalls
    from curation.measures.pitfalls import Row

    kept = read_json(campaign.measures / "pitfalls.json")
    hits = read_records(campaign.measures / "pitfalls.jsonl", Pitfall)
    return Pitfalls(kept["language"], kept["cats"], hits, [Row(**row) for row in kept["table"]])


STATISTICS = Step(
    "statistics",
    "how much was collected",
    lambda c: c.measures,
    "measures.statistics",
    statistics_settings,
    statistics_inputs,
    statistics,
    needs=(ANSWERS, SPLIT),
)

SENTIMENT = Step(
    "sentiment",
    "how negative each label is",
    lambda c: c.measures,
    "measures.sentiment",
    sentiment_settings,
    sentiment_inputs,
    sentiment,
    needs=(SPLIT,),
)

KEYWORDS = Step(
    "keywords",
    "which words mark a domain, a label or a term",
    lambda c: c.measures,
    "measures.keywords",
    keyword_settings,
    keyword_inputs,
    keywords,
    needs=(SELECT, SPLIT),
)

PITFALLS = Step(
    "pitfalls",
    "known pitfalls, and what blocks a release",
    lambda c: c.measures,
    "measures.pitfalls",
    pitfall_settings,
    pitfall_inputs,
    pitfalls,
    needs=(SELECT, SPLIT),
)
