"""What each step of measures does and writes."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from curation.campaign import Campaign, open_campaign
from curation.cli import console
from curation.cli.console import stages
from curation.cli.measuring import (
    VADER,
    WORDFREQ,
    Report,
    Source,
    model_of,
    of_campaign,
    of_gold,
    unchecked,
    versions,
)
from curation.files import CurationError, digest, read_json, read_records
from curation.manifest import Results
from curation.records import KINDS, Pitfall, Severity
from curation.steps.read import read_terms
from curation.steps.reporter import Reporter

if TYPE_CHECKING:
    from curation.measures.pitfalls import Report as Pitfalls

Settings = dict[str, Any]
_SMALL = 1 << 24


def _usual(campaign: Campaign, *names: str) -> Settings:
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        "seed": settings.campaign.seed,
        **settings.measures.model_dump(include=set(names)),
    }


# --- statistics ---------------------------------------------------------------------------------


def statistics_settings(campaign: Campaign) -> Settings:
    """What statistics depend on."""
    return {**_usual(campaign, "tokenizer"), "versions": versions("wordfreq")}


def statistics_of(source: Source) -> Report:
    """Statistics of a source."""
    from curation.measures.statistics import statistics

    count = None
    if source.knobs.tokenizer:
        from curation.models.loading import token_counter

        count = token_counter(source.knobs.tokenizer)
    return statistics(
        source.cats,
        language=source.language,
        writers=source.writers(),
        tokens=count,
    )


def statistics(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure statistics."""
    source = of_campaign(campaign)
    report = statistics_of(source)
    results.json("statistics.json", report)
    return {"cats": len(source.cats), "terms": len(report["terms"])}


# --- sentiment ----------------------------------------------------------------------------------


def sentiment_settings(campaign: Campaign) -> Settings:
    """What sentiment depends on."""
    return {
        **_usual(campaign, "sentiment", "classes", "labels"),
        "versions": versions("vaderSentiment"),
        **_classifier(campaign),
    }


def _classifier(campaign: Campaign) -> Settings:
    """What tells that a classifier in a folder is another: of its weights, which are large, when.

    Running the step again costs little: what was classified by the same weights is kept.
    """
    folder = Path(model_of(campaign, campaign.settings.measures.sentiment))
    if not (folder / "config.json").exists():
        return {}
    found = {
        path.name: digest(path) if stat.st_size < _SMALL else [stat.st_size, stat.st_mtime_ns]
        for path in sorted(folder.iterdir())
        if path.is_file() and not path.name.startswith(".")
        for stat in [path.stat()]
    }
    return {"classifier": found}


def sentiment_of(source: Source) -> Report:
    """Sentiment of a source; with the scores of each association under ``scores``."""
    from curation.measures.sentiment import by_vader, sentiment

    if source.knobs.labels and source.knobs.sentiment == VADER:
        raise CurationError(
            f"labels {', '.join(source.knobs.labels)}: say what a classifier's outputs mean, and "
            "VADER has none",
            "name the classifier (--model, sentiment in [measures]), or leave labels out",
        )

    def make() -> Report:
        about: Report = {"model": VADER, **versions("vaderSentiment")}
        if source.knobs.sentiment == VADER:
            found = by_vader(source.cats, language=source.language)
        else:
            from curation.steps.classifying import classified

            found, about = classified(source)
        rows = sentiment(
            source.cats,
            found,
            classes=source.knobs.classes,
            seed=source.seed,
        )
        return {"by": about, "rows": rows, "scores": {n: f.value for n, f in found.items()}}

    return {
        "language": source.language,
        "classes": source.knobs.classes,
        **unchecked("sentiment", make),
    }


def sentiment(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure sentiment, and keep each association's in the form of predictions."""
    source = of_campaign(campaign)
    report = sentiment_of(source)
    scores = report.pop("scores", {})
    results.json("sentiment.json", report)
    results.json("sentiment_scores.json", predictions(source, scores))
    return {"cats": len(source.cats), "associations": len(scores)}


def predictions(source: Source, scores: dict[str, float]) -> dict[str, list[dict[str, Any]]]:
    """Scores in the form of a predictions file."""
    found: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for cat in source.cats:
        found[cat.kind] += [
            {"id": a.id, "score": scores[a.id]} for a in cat.associations if a.id in scores
        ]
    return found


def kept_scores(folder: Path) -> dict[str, Any]:
    """What a campaign keeps of each association's sentiment."""
    return dict(read_json(open_campaign(folder).measures / "sentiment_scores.json"))


# --- keywords -----------------------------------------------------------------------------------


def reference_files(campaign: Campaign) -> list[Path]:
    """The counts that keywords are held against, where they are a file."""
    name = campaign.settings.measures.reference
    return [] if name == WORDFREQ else [campaign.root / name]


def keyword_settings(campaign: Campaign) -> Settings:
    """What keywords depend on."""
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        **settings.measures.model_dump(include={"reference", "smoothing", "least", "keywords"}),
        "versions": versions("wordfreq", "simplemma"),
    }


def keywords_of(source: Source) -> Report:
    """Keywords of a source."""
    from curation.measures import keywords as stage
    from curation.measures.counting import read_counts

    knobs = source.knobs

    def make() -> Report:
        if knobs.reference == WORDFREQ:
            reference = stage.wordfreq(source.language)
        else:
            path = Path(knobs.reference)
            counts = read_counts(path, language=source.language)
            reference = stage.counted(counts, name=path.name)
        return stage.keywords(
            source.cats,
            language=source.language,
            reference=reference,
            terms=read_terms(source.campaign).values() if source.campaign else (),
            smoothing=knobs.smoothing,
            least=knobs.least,
            top=knobs.keywords,
        )

    return {"language": source.language, **unchecked("keywords", make)}


def keywords(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Measure keywords."""
    source = of_campaign(campaign)
    report = keywords_of(source)
    results.json("keywords.json", report)
    groups = [group for group in report.get("groups", ()) if group["keywords"]]
    return {"cats": len(source.cats), "groups": len(groups)}


# --- pitfalls -----------------------------------------------------------------------------------

PACKAGES = ("wordfreq", "simplemma", "lemminflect", "better-profanity", "Faker", "rapidfuzz")


def own_words(campaign: Campaign) -> Path:
    """Where a team puts word lists of its own for pitfalls."""
    return campaign.measures / "words.csv"


def pitfall_settings(campaign: Campaign) -> Settings:
    """What pitfalls depend on."""
    return {
        "language": campaign.settings.campaign.language,
        "versions": versions(*PACKAGES),
        "off": _off(campaign),
    }


def _off(campaign: Campaign) -> dict[str, str]:
    """The pitfalls that a team lets in by its settings, and so also into a release."""
    rounds = campaign.settings.rounds
    named = {"target_missing": "name_target", "blank_glued": "blank_alone"}
    return {
        code: f"{name} = false in [rounds]"
        for code, name in named.items()
        if not getattr(rounds, name)
    }


def pitfalls_of(source: Source, *, own: Path | None = None) -> "Pitfalls":
    """Pitfalls of a source, with progress."""
    from curation.measures.pitfalls import pitfalls

    if own is None and source.campaign and own_words(source.campaign).exists():
        own = own_words(source.campaign)
    with stages() as tell:
        return pitfalls(
            source.cats,
            language=source.language,
            own=own,
            names=_names(source),
            off=_off(source.campaign) if source.campaign else None,
            tell=tell,
        )


def _names(source: Source) -> dict[str, tuple[str, ...]]:
    """What terms were called before, and what people merged into them."""
    if source.campaign is None:
        return {}
    return {term.id: term.names for term in read_terms(source.campaign).values()}


def pitfalls(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Look for pitfalls."""
    found = pitfalls_of(of_campaign(campaign))
    results.records("pitfalls.jsonl", found.found)
    results.json("pitfalls.json", table(found))
    tally = Counter(one.severity for one in found.found)
    return {"cats": found.cats, **{f"places_{s}": tally[s] for s in get_args(Severity)}}


def all_pitfalls(
    gold: list[Path] | None, folder: Path, language: str, own: Path | None
) -> "tuple[Pitfalls, tuple[str, ...]]":
    """Pitfalls of gold files or of a campaign, and those that a release may have.

    A campaign's are the pipeline's, and are kept, unless the command line says otherwise.
    """
    from curation.steps.pipeline import bring_up_to_date

    if gold:
        return pitfalls_of(of_gold(gold, language=language), own=own), ()
    campaign = open_campaign(folder)
    accepted = campaign.settings.release.accept
    once = bool(language or own)
    with campaign.lock():
        bring_up_to_date(campaign, "split" if once else "pitfalls", reporter=console)
    if once:
        return pitfalls_of(of_campaign(campaign, language=language), own=own), accepted
    return kept_pitfalls(campaign), accepted


def kept_pitfalls(campaign: Campaign) -> "Pitfalls":
    """What the last look for pitfalls found."""
    from curation.measures.pitfalls import Report as Pitfalls
    from curation.measures.pitfalls import Row

    told = read_json(campaign.measures / "pitfalls.json")
    found = read_records(campaign.measures / "pitfalls.jsonl", Pitfall)
    return Pitfalls(told["language"], told["cats"], found, [Row(**row) for row in told["table"]])


def table(found: "Pitfalls") -> Report:
    """How often each pitfall was found."""
    rows = [asdict(row) for row in found.table]
    return {"language": found.language, "cats": found.cats, "table": rows}
