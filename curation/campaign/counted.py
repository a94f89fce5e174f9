"""The labels that count under a campaign's settings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from curation.campaign.datasets import DECISIONS, PLANS
from curation.campaign.step import MAKERS, current
from curation.campaign.store import Campaign
from curation.files import CurationError
from curation.records import Item, Term
from curation.text.rules import Votes

if TYPE_CHECKING:
    from curation.stats.agreement import Counted


def terms_of(campaign: Campaign, items: Sequence[Item]) -> Mapping[str, Term]:
    """The campaign's terms by id; checks that the terms of these items are among them.

    Raises:
        CurationError: an item's term is missing: the settings no longer fit the raw answers.
    """
    terms = campaign.terms
    for item in items:
        if item.term not in terms:
            raise CurationError(
                f"item {item.id}: its term {item.term} is not in 1-terms/targets.jsonl",
                "put its domain back into campaign.toml, or work on the machine that has the raw "
                "answers",
            )
    return terms


def stopped_early(campaign: Campaign) -> set[str]:
    """The ids of items that got labels only until they were decided."""
    items = set()
    for plan in campaign[PLANS].values():
        if plan.labels == "needed":
            tasks = campaign.tasks[plan.name]
            items |= {task.item for task in tasks if task.item and not task.full}
    return items


def read_counted(
    campaign: Campaign,
    items: Sequence[Item],
    *,
    alone: bool = False,
    also: str = "",
    without: Sequence[str] = (),
) -> "Counted":
    """Which labels count, under the campaign's settings.

    Args:
        campaign: the campaign.
        items: its items.
        alone: these are only some of the campaign's items; leave out labels on others.
        also: a round whose labels count even if the settings do not name it.
        without: annotators whose labels do not count, so that later ones take their places.

    Returns:
        The labels and the votes, as ``stats.agreement.count`` gives them.
    """
    from curation.stats.agreement import count

    settings = campaign.settings.decisions
    labels = campaign.labels
    if without:
        labels = labels[~labels["annotator"].isin(list(without))]
    if alone:
        labels = labels[labels["item"].isin([item.id for item in items])]
    return count(
        items,
        labels,
        of=settings.of,
        count_writer=settings.count_writer,
        count_repeats=settings.count_repeats,
        rounds=(*settings.rounds, also) if settings.rounds and also else settings.rounds,
    )


def votes_of(
    campaign: Campaign, items: Sequence[Item], *, also: str = ""
) -> dict[str, list[Votes]]:
    """The counted votes of each item's associations, by item.

    Decisions that are up to date have them; else they are counted.

    Args:
        campaign: the campaign.
        items: all its items.
        also: a round whose labels count even if the settings do not name it.
    """
    if not items:
        return {}
    rounds = campaign.settings.decisions.rounds
    if (not rounds or not also or also in rounds) and current(campaign, MAKERS[DECISIONS]):
        return {each.item: [v.votes for v in each.verdicts] for each in campaign.decisions}
    from curation.stats.agreement import votes_by_item

    votes = votes_by_item(items, read_counted(campaign, items, also=also).votes)
    return {item.id: list(own) for item, own in zip(items, votes, strict=True)}
