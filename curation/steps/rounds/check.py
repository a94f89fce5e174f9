"""The step ``item_pitfalls``: known pitfalls of items as they come in."""

from collections import Counter
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Pitfall
from curation.steps import read
from curation.steps.read import own_words, word_packages
from curation.steps.reporter import Reporter
from curation.text.wording import amount
from curation.work.manifest import Results

FORM = {"name_target", "blank_alone"}  # settings that let items in


def settings(campaign: Campaign) -> dict[str, Any]:
    """What the checks of items depend on."""
    return {
        "language": campaign.settings.campaign.language,
        **campaign.settings.rounds.model_dump(include=FORM),
        "versions": word_packages(campaign),
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What the checks of items read."""
    terms = campaign.terms / "targets.jsonl"
    return [terms, *read.item_files(campaign), own_words(campaign)]


def check(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Check the form and the words of every item that was let in."""
    from curation.checks import answers

    items, own = read.read_items(campaign), own_words(campaign)
    by_round: dict[str, list[Pitfall]] = {round: [] for round in campaign.round_names()}
    round_of = {item.id: item.round for item in items}
    with reporter.tracked("checking items", len(items)) as advance:
        for pitfall in answers.pitfalls(
            items,
            read.terms_of(campaign, items),
            language=campaign.settings.campaign.language,
            own=own if own.exists() else None,
            **campaign.settings.rounds.model_dump(include=FORM),
            tell=advance,
        ):
            by_round[round_of[pitfall.item or ""]].append(pitfall)
    for round, pitfalls in by_round.items():
        results.records(f"{round}/pitfalls.jsonl", pitfalls, private=True)
    every = [pitfall for pitfalls in by_round.values() for pitfall in pitfalls]
    hit = len({pitfall.item for pitfall in every})
    return {"items": len(items), "items_with_pitfalls": hit, "pitfalls": len(every)}


def pitfalls(campaign: Campaign, round: str) -> list[Pitfall]:
    """The pitfalls of a round's items that were let in."""
    path = campaign.rounds / round / "pitfalls.jsonl"
    return read_records(path, Pitfall) if path.exists() else []


def describe_pitfalls(pitfalls: list[Pitfall], round: str, items: int) -> str:
    """How many of a round's items have pitfalls, and which, in one line; empty if none has."""
    if not pitfalls:
        return ""
    by_code = Counter(code for code, _ in {(p.code, p.item) for p in pitfalls})
    common = sorted(by_code.items(), key=lambda pair: (-pair[1], pair[0]))
    codes = ", ".join(f"{code} {n}" for code, n in common)
    hit = len({pitfall.item for pitfall in pitfalls})
    return (
        f"pitfalls in {hit} of {amount(items, 'item')}: {codes}; see "
        f"2-rounds/{round}/pitfalls.jsonl"
    )
