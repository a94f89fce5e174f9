"""The steps ``filter``, ``agreement`` and ``split``."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curation.campaign import Campaign
from curation.files import CurationError, read_records
from curation.manifest import Results
from curation.records import Decision, Label, Rejection
from curation.steps.read import (
    item_files,
    label_files,
    read_counted,
    read_items,
    read_labels,
    stopped_early,
    terms_of,
)
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files

if TYPE_CHECKING:
    import pandas as pd

Settings = dict[str, Any]


# --- filter -------------------------------------------------------------------------------------


def filter_settings(campaign: Campaign) -> Settings:
    """What the filter depends on."""
    return campaign.settings.decisions.model_dump()


def filter_inputs(campaign: Campaign) -> list[Path]:
    """What the filter reads."""
    return [*item_files(campaign), *label_files(campaign)]


def filter(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Count labels and decide items."""
    from curation.decisions.filter import judge, tiers

    knobs = campaign.settings.decisions
    unknown = set(knobs.rounds) - set(campaign.round_names())
    if unknown:
        raise CurationError(
            f"[decisions] rounds names {min(unknown)!r}, which has no answers",
            f"rounds with answers: {', '.join(campaign.round_names())}",
        )
    items = read_items(campaign)
    for name in sorted(set(knobs.leave_out) - {item.id for item in items}):
        reporter.warn(f"[decisions] leave_out names {name!r}, which is no item here")
    counted = read_counted(campaign, items)
    decisions = judge(
        items,
        counted.votes,
        needed=knobs.needed,
        of=knobs.of,
        match_intent=knobs.match_intent,
        leave_out=frozenset(knobs.leave_out),
    )
    refused = counted.labels[counted.labels["code"] != ""]
    rejections = [
        Rejection(
            code=row["code"],
            detail=f"label by {row['annotator']} on {row['association']}",
            where=f"label {row['id']}",
            record={
                key: None if value != value else value
                for key, value in row.items()
                if key in Label.model_fields
            },
        )
        for row in refused.astype(object).to_dict("records")
    ]
    rejections += [
        Rejection(
            code=decision.reason,
            detail=f"golds {', '.join(str(v.gold) for v in decision.verdicts)}",
            where=f"item {item.id}",
            record=item.model_dump(mode="json"),
        )
        for item, decision in zip(items, decisions, strict=True)
        if not decision.kept
    ]
    results.records("decisions.jsonl", decisions)
    results.records("rejected.jsonl", rejections)
    reasons = Counter(r.code for r in rejections)
    return {
        "labels_in": len(counted.labels),
        "labels_counted": len(counted.labels) - len(refused),
        "labels_refused": len(refused),
        "items_in": len(items),
        "items_kept": sum(d.kept for d in decisions),
        "items_dropped": sum(not d.kept for d in decisions),
        **tiers(items, decisions),
        **dict(sorted(reasons.items())),
    }


# --- agreement ----------------------------------------------------------------------------------


def agreement_settings(campaign: Campaign) -> Settings:
    """What agreement depends on."""
    return {
        **campaign.settings.agreement.model_dump(),
        "decisions": campaign.settings.decisions.model_dump(),
        "needed": [r.name for r in round_files.map_rounds(campaign) if r.labels == "needed"],
    }


def agreement_inputs(campaign: Campaign) -> list[Path]:
    """What agreement reads."""
    return [
        campaign.terms / "targets.jsonl",
        *item_files(campaign),
        *label_files(campaign),
        campaign.decisions / "decisions.jsonl",
        *round_files.task_files(campaign),
    ]


def agreement_report(
    campaign: Campaign,
    *,
    measures: Sequence[str],
    by: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    reporter: Reporter = QUIET,
) -> dict[str, Any]:
    """All that ``agreement.json`` holds, or a part of it under other knobs; by all groups."""
    from curation.decisions import agreement
    from curation.decisions.filter import repeats

    settings = campaign.settings
    items = read_items(campaign)
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    terms = terms_of(campaign, items)
    # Where labels stop as soon as an item is decided they agree too well: a random part of the
    # items gets all of them, and speaks for the rest.
    early = stopped_early(campaign)
    speak = [(i, d) for i, d in zip(items, decisions, strict=True) if i.id not in early]
    counted = read_counted(campaign, [item for item, _ in speak], alone=bool(early))
    exclude = [_pseudonym(campaign, name, counted.labels) for name in exclude]
    found = agreement.facts(
        [item for item, _ in speak], [d for _, d in speak], counted, terms, exclude=exclude
    )
    by = agreement.GROUPS if by is None else by
    groups = ["overall", *(b for b in by if b != "annotator")]
    rows: list[dict[str, Any]] = []
    with reporter.tracked("agreement", len(groups)) as advance:
        for group in groups:
            rows += agreement.measured(
                found,
                by=group,
                measures=measures,
                confidence=settings.agreement.confidence,
            )
            advance()
    knobs = settings.decisions.model_dump(exclude={"count_repeats", "leave_out"})
    touched = repeats(items, read_labels(campaign), **knobs)
    return {
        "confidence": settings.agreement.confidence,
        "excluded": sorted(exclude),
        "items": {"in": len(items), "stopped_early": len(items) - len(speak)},
        "measures": rows,
        "terms": agreement.by_term(found),
        "annotators": agreement.by_annotator(found),
        "retention": agreement.retention(items, decisions, terms),
        "gold": agreement.intent(items, decisions),
        "repeats": touched._asdict(),
    }


def _pseudonym(campaign: Campaign, name: str, labels: "pd.DataFrame") -> str:
    """The annotator whom a pseudonym, or with the key a platform's id, names."""
    from curation.rounds import people

    known = set(labels["annotator"].unique())
    if name not in known and people.key_path(campaign.settings.campaign.id).exists():
        name_here = people.pseudonyms(people.read_key(campaign.settings.campaign.id))(name)
        if name_here in known:
            return name_here
    if name not in known:
        raise CurationError(
            f"no annotator {name!r}", "names stand in «curation decisions agreement --by annotator»"
        )
    return name


def agreement(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Report agreement in full."""
    measures = campaign.settings.agreement.measures
    report = agreement_report(campaign, measures=measures, reporter=reporter)
    results.json("agreement.json", report)
    return {"figures": len(report["measures"]), "annotators": len(report["annotators"])}


# --- split --------------------------------------------------------------------------------------


def split_settings(campaign: Campaign) -> Settings:
    """What the split depends on."""
    return {"dev": campaign.settings.split.dev, "seed": campaign.settings.campaign.seed}


def split_inputs(campaign: Campaign) -> list[Path]:
    """What the split reads."""
    decisions = campaign.decisions / "decisions.jsonl"
    return [campaign.terms / "targets.jsonl", *item_files(campaign), decisions]


def split(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Put the kept CATs into dev and test."""
    from curation.decisions.split import cats, report

    dev, seed = campaign.settings.split.dev, campaign.settings.campaign.seed
    items = read_items(campaign)
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    found = cats(items, decisions, terms_of(campaign, items).values(), dev=dev, seed=seed)
    results.records("cats.jsonl", found)
    results.json("split.json", report(found, dev=dev))
    return {
        "items_in": len(items),
        "items_dropped": len(items) - len(found),
        "cats": len(found),
        "dev": sum(cat.split == "dev" for cat in found),
        "test": sum(cat.split == "test" for cat in found),
    }
