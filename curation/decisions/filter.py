"""The filter: count labels, and decide which items become CATs (StereoSet, ACL §4.3: 3 of 5)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.campaign.settings import DecisionSettings
from curation.kinds import CAT_KINDS, ITEMS, Gold
from curation.records import Decision, Flag, Item, Verdict
from curation.stats.agreement import Counted, count, votes_by_item
from curation.text.rules import TIERS, Outcome, decide, tier

NOTHING: Mapping[str, tuple[Gold, ...]] = {}
DEFAULT = DecisionSettings()


def golds_without_votes(items: Iterable[Item], labels: pd.DataFrame) -> dict[str, tuple[Gold, ...]]:
    """The published gold labels of items that nobody labelled, if they are one of each.

    An item with any label, also one that does not count, is not among them: its labels decide.

    Args:
        items: the items.
        labels: rows of ``records.Label``.

    Returns:
        The gold labels of each item's associations, by the item's id.
    """
    labelled = set(labels["item"].unique())
    trusted = {}
    for item in items:
        if item.id not in labelled and all(a.intent is None for a in item.associations):
            golds = tuple(a.published_gold for a in item.associations)
            if set(golds) == set(ITEMS[item.kind].roles):
                trusted[item.id] = golds
    return trusted  # type: ignore[return-value]


def flagged(flags: Iterable[Flag], counted: Counted, names: Collection[str]) -> Counter[str]:
    """How many validators flagged each item, such as for stating a fact (ACL §9).

    A flag counts if a label counts that its validator gave the item in the same round.

    Args:
        flags: the flags of all rounds.
        counted: which labels count.
        names: which flags are meant, of ``records.FLAGS``. Somebody who set two counts once.

    Returns:
        The number of validators by item; items without such a flag are left out.
    """
    meant = [flag for flag in flags if flag.flag in names]
    labels = counted.labels[(counted.labels["code"] == "").to_numpy(dtype=bool)]
    labels = labels[labels["item"].isin([flag.item for flag in meant])]
    live = set(zip(labels["item"], labels["annotator"], labels["round"], strict=True))
    people = {(f.item, f.annotator) for f in meant if (f.item, f.annotator, f.round) in live}
    return Counter(item for item, _ in people)


def judge(
    items: Sequence[Item],
    votes: NDArray[np.int64],
    settings: DecisionSettings = DEFAULT,
    *,
    pilots: Collection[str] = (),
    dropped: Collection[str] = (),
    trusted: Mapping[str, tuple[Gold, ...]] = NOTHING,
) -> list[Decision]:
    """Decide every item by its votes.

    Args:
        items: the items.
        votes: the votes of their associations, as from ``count``.
        settings: ``[decisions]``; of these, what a decision by votes needs, and ``leave_out``.
        pilots: rounds whose items are not kept, whatever their labels are.
        dropped: ids of items that are not kept because validators flagged them.
        trusted: by id of items without votes, their gold labels; as from ``golds_without_votes``.

    Returns:
        One decision per item, in the order of the items.
    """
    known: dict[tuple[object, ...], Outcome] = {}
    left_out = frozenset(settings.leave_out)
    decisions = []
    for item, own in zip(items, votes_by_item(items, votes), strict=True):
        intents = tuple(a.intent for a in item.associations) if settings.match_intent else None
        key = (item.kind, own, intents)
        if key not in known:
            known[key] = decide(
                own,
                needed=settings.needed,
                of=settings.of,
                roles=ITEMS[item.kind].roles,
                intents=intents,
            )
        outcome = known[key]
        if item.id in trusted and item.id not in left_out:
            outcome = Outcome(True, None, trusted[item.id])
        verdicts = tuple(
            Verdict(id=association.id, gold=gold, votes=v)
            for association, gold, v in zip(item.associations, outcome.golds, own, strict=True)
        )
        kept, reason = outcome.kept, outcome.reason
        if item.id in left_out:
            kept, reason = False, "left_out"
        elif item.round in pilots:
            kept, reason = False, "pilot"
        elif item.id in dropped:
            kept, reason = False, "flagged"
        decisions.append(Decision(item=item.id, kept=kept, reason=reason, verdicts=verdicts))
    return decisions


def tiers(items: Sequence[Item], decisions: Sequence[Decision]) -> dict[str, int]:
    """The number of CATs of each kind and tier (ACL §4.3, footnote 2; ``rules.tier``).

    Args:
        items: the items.
        decisions: one per item, in the same order.

    Returns:
        The number of kept items by ``KIND_tier_N``, with N from ``TIERS``.
    """
    counts = {f"{kind}_tier_{n}": 0 for kind in CAT_KINDS for n in TIERS}
    for item, decision in zip(items, decisions, strict=True):
        if decision.kept:
            golds = [v.gold for v in decision.verdicts if v.gold]
            number = tier([v.votes for v in decision.verdicts], golds)
            counts[f"{item.kind}_tier_{number or 'unknown'}"] += 1
    return counts


def without_votes(decisions: Iterable[Decision]) -> set[str]:
    """The ids of the kept items that have no votes: published gold labels alone decided them."""
    return {d.item for d in decisions if d.kept and not any(any(v.votes) for v in d.verdicts)}


class Repeats(NamedTuple):
    """The effect of the rule on repeated annotators.

    ``labels`` repeat an annotator, on ``items`` items, and the rule costs ``lost`` CATs.
    """

    labels: int
    items: int
    lost: int


def repeats(
    items: Sequence[Item], labels: pd.DataFrame, settings: DecisionSettings = DEFAULT
) -> Repeats:
    """The effect of the rule on repeated annotators, whether or not the rule is in force.

    Args:
        items: the items.
        labels: rows of ``records.Label`` on associations of these items.
        settings: ``[decisions]``; items that they leave out are judged, too.

    Returns:
        How many labels repeat an annotator, on how many items, and how many CATs the rule costs.
    """
    twice = labels.duplicated(["association", "annotator"], keep=False)
    touched = set(labels.loc[twice, "item"])
    items = [item for item in items if item.id in touched]
    labels = labels[labels["item"].isin(list(touched))]
    settings = settings.model_copy(update={"leave_out": ()})
    kept = []
    for also in (True, False):
        counted = count(
            items,
            labels,
            of=settings.of,
            count_writer=settings.count_writer,
            count_repeats=also,
            rounds=settings.rounds,
        )
        decisions = judge(items, counted.votes, settings)
        kept.append({decision.item for decision in decisions if decision.kept})
    refused = counted.labels[counted.labels["code"] == "repeated_annotator"]
    return Repeats(len(refused), refused["item"].nunique(), len(kept[0] - kept[1]))
