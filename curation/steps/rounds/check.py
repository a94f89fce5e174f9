"""The step that checks items as they come in, and what it says to a person."""

from collections import Counter
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.cli import console
from curation.cli.measuring import versions
from curation.files import read_records
from curation.manifest import Results
from curation.records import Pitfall
from curation.steps import read
from curation.steps.measures import PACKAGES, own_words
from curation.steps.reporter import Reporter

FORM = {"name_target", "blank_alone"}  # settings that let items in


def settings(campaign: Campaign) -> dict[str, Any]:
    """What the checks of items depend on."""
    return {
        "language": campaign.settings.campaign.language,
        **campaign.settings.rounds.model_dump(include=FORM),
        "versions": versions(*PACKAGES),
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What the checks of items read."""
    terms = campaign.terms / "targets.jsonl"
    return [terms, *read.item_files(campaign), own_words(campaign)]


def check(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Check the form and the words of every item that was let in."""
    from curation.checks.answers import pitfalls

    items, own = read.read_items(campaign), own_words(campaign)
    found: dict[str, list[Pitfall]] = {round: [] for round in campaign.round_names()}
    round_of = {item.id: item.round for item in items}
    with reporter.tracked("checking items", len(items)) as advance:
        for one in pitfalls(
            items,
            read.terms_of(campaign, items),
            language=campaign.settings.campaign.language,
            own=own if own.exists() else None,
            **campaign.settings.rounds.model_dump(include=FORM),
            tell=advance,
        ):
            found[round_of[one.item or ""]].append(one)
    for round, ours in found.items():
        results.records(f"{round}/pitfalls.jsonl", ours)
    every = [one for ours in found.values() for one in ours]
    hit = len({one.item for one in every})
    return {"items": len(items), "items_hit": hit, "places": len(every)}


def pitfalls(campaign: Campaign, round: str) -> list[Pitfall]:
    """What is wrong with a round's items that were let in."""
    path = campaign.rounds / round / "pitfalls.jsonl"
    return read_records(path, Pitfall) if path.exists() else []


def tell_pitfalls(found: list[Pitfall], round: str, items: int) -> None:
    """Say in a line how many items of a round have pitfalls, and which; nothing if none has."""
    if found:
        by_code = Counter(code for code, _ in {(one.code, one.item) for one in found})
        common = sorted(by_code.items(), key=lambda pair: (-pair[1], pair[0]))
        codes = ", ".join(f"{code} {n}" for code, n in common)
        hit = len({one.item for one in found})
        console.say(
            f"pitfalls in {hit} of {items} items: {codes}; see 2-rounds/{round}/pitfalls.jsonl"
        )
