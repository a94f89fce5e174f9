"""What a release says about its quality: agreement, retention, sentiment, pitfalls, lengths."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.checks.codes import PITFALLS
from curation.files import CurationError, read_json
from curation.records import GOLDS, KINDS
from curation.release.facts import (
    Agreement,
    Interval,
    Lengths,
    PitfallCount,
    Retention,
    SentimentShare,
    TrustFacts,
    TrustRow,
)
from curation.steps.measures import VADER
from curation.steps.trust import report as trust_report
from curation.work.manifest import read_manifest

if TYPE_CHECKING:
    from curation.decisions.agreement import Agreement as Reported
    from curation.measures.sentiment import Sentiment
    from curation.measures.statistics import Cell, Statistics

BOTH = "both"
_NAMES = {VADER: "VADER"}
_MEASURED = ("statistics", "sentiment", "pitfalls")


def measured_inputs(campaign: Campaign) -> list[Path]:
    """The reports that are read here."""
    names = ("statistics.json", "sentiment.json", "sentiment_scores.json", "pitfalls.json")
    return [
        campaign.decisions / "agreement.json",
        *(campaign.measures / name for name in names),
        trust_report.place(campaign),
    ]


def package_versions(campaign: Campaign) -> dict[str, str]:
    """The versions of the packages that the measures were computed with."""
    steps = read_manifest(campaign.measures).steps
    versions: dict[str, str] = {}
    for name in _MEASURED:
        known = steps[name].settings.get("versions") if name in steps else None
        for package, version in (known if isinstance(known, Mapping) else {}).items():
            if version is not None:
                versions[str(package)] = str(version)
    return dict(sorted(versions.items()))


@contextmanager
def _of(path: Path) -> Iterator[None]:
    """Raise a CurationError if a report has another form than the step that writes it gives."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        raise CurationError(
            f"{path}: has another form than this version of curation writes",
            "delete the file, then run «curation run»",
        ) from None


def agreement_facts(campaign: Campaign) -> tuple[tuple[Agreement, ...], tuple[Retention, ...]]:
    """Agreement over all items, and the share of items that were kept.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.decisions / "agreement.json"
    report: Reported = read_json(path)
    with _of(path):
        rows = tuple(
            Agreement(
                scope=row["scope"],
                classes=row["classes"],
                measure=row["measure"],
                value=row["value"],
                ci=_ends(row["ci"]),
                cats=row["cats"],
                labels=row["labels"],
                few=row["few_cats"],
                confidence=report["confidence"],
            )
            for row in report["measures"]
            if row["by"] == "overall"
        )
        kept = tuple(
            Retention(
                domain=row["domain"],
                kind=row["kind"],
                items=row["items"] - row["open"],
                kept=row["kept"],
                share=row["retention"],
                open=row["open"],
            )
            for row in report["retention"]
        )
    return rows, kept


def sentiment_facts(campaign: Campaign) -> tuple[tuple[SentimentShare, ...], str, str]:
    """The shares of negative associations, what measured them, and why there are none.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.measures / "sentiment.json"
    content = read_json(path)
    with _of(path):
        if why := content["not_checked"]:
            return (), "", str(why["sentiment"])
        report: Sentiment = content
        by = report["by"]
        kinds = {row["kind"] for row in report["rows"] if row["domain"] is None and row["kind"]}
        shares = tuple(
            SentimentShare(
                kind=row["kind"] or BOTH,
                label=gold,
                cats=row["cats"],
                share=row["labels"][gold]["negative"]["share"],
                ci=_ends(row["labels"][gold]["negative"]["ci"]),
            )
            for row in report["rows"]
            if row["domain"] is None and (row["kind"] or len(kinds) > 1)
            for gold in GOLDS
        )
        name = _NAMES.get(by["model"], str(by["model"]))
        return shares, name, ""


def pitfall_facts(campaign: Campaign) -> tuple[PitfallCount, ...]:
    """How often each pitfall was found.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.measures / "pitfalls.json"
    report = read_json(path)
    accept = campaign.settings.release.accept
    with _of(path):
        return tuple(
            PitfallCount(
                code=row["code"],
                says=PITFALLS[row["code"]].says,
                severity=row["severity"],
                count=row["count"],
                of=row["of"],
                stereoset=row["stereoset"],
                why=row["why"],
                accepted=bool(row["count"]) and row["code"] in accept,
                unit=PITFALLS[row["code"]].unit,
            )
            for row in report["table"]
        )


def length_facts(campaign: Campaign) -> tuple[Lengths, ...]:
    """The mean length of the texts, by kind and over both.

    Raises:
        CurationError: the report is damaged.
    """
    path = campaign.measures / "statistics.json"
    report: Statistics = read_json(path)
    with _of(path):
        kinds = {kind: report["kinds"][kind]["overall"] for kind in KINDS}
        parts: dict[str, Cell] = {kind: cell for kind, cell in kinds.items() if cell["cats"]}
        parts |= {BOTH: report["overall"]} if len(parts) > 1 else {}
        return tuple(
            Lengths(kind=kind, words=cell["mean_words"], characters=cell["mean_characters"])
            for kind, cell in parts.items()
        )


def trust_facts(campaign: Campaign) -> TrustFacts | None:
    """The trust report; None if there is none.

    Raises:
        CurationError: it is not a trust report.
    """
    path = trust_report.place(campaign)
    if not path.exists():
        return None
    found = trust_report.read_report(path)
    return TrustFacts(
        rows=tuple(
            TrustRow.model_validate(row.model_dump(include=set(TrustRow.model_fields)))
            for row in found.rows
        ),
        thresholds=found.thresholds,
        open=found.open,
    )


def _ends(ends: Any) -> Interval:
    return None if ends is None else (float(ends[0]), float(ends[1]))
