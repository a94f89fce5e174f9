"""The filter: count labels, and decide which items become CATs (StereoSet, ACL §4.3: 3 of 5)."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.kinds import GOLDS, KINDS, Gold
from curation.records import VALUES, Decision, Flag, Item, Verdict
from curation.stats.agreement import Counted, count
from curation.text.rules import TIERS, Outcome, Votes, decide, tier

NOTHING: Mapping[str, tuple[Gold, ...]] = {}


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
    golds = {
        item.id: tuple(a.published_gold for a in item.associations)
        for item in items
        if item.id not in labelled and all(a.intent is None for a in item.associations)
    }
    return {id: three for id, three in golds.items() if set(three) == set(GOLDS)}  # type: ignore[misc]


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
    *,
    needed: int = 3,
    of: int = 5,
    match_intent: bool = False,
    leave_out: Collection[str] = (),
    pilots: Collection[str] = (),
    dropped: Collection[str] = (),
    trusted: Mapping[str, tuple[Gold, ...]] = NOTHING,
) -> list[Decision]:
    """Decide every item by its votes.

    Args:
        items: the items.
        votes: shape (3 · items, 4), as from ``count``.
        needed: the number of votes that make a gold label.
        of: the number of labels that an association can get.
        match_intent: whether each gold label must equal the writer's intent, if it is known.
        leave_out: ids of items that are not kept, whatever their labels are.
        pilots: rounds whose items are not kept, whatever their labels are.
        dropped: ids of items that are not kept because validators flagged them.
        trusted: by id of items without votes, their gold labels; as from ``golds_without_votes``.

    Returns:
        One decision per item, in the order of the items.
    """
    known: dict[tuple[object, ...], Outcome] = {}
    decisions = []
    for item, rows in zip(items, votes.reshape(-1, 3, len(VALUES)).tolist(), strict=True):
        three: list[Votes] = [(s, a, u, r) for s, a, u, r in rows]
        intents = tuple(a.intent for a in item.associations) if match_intent else None
        key = (*three, intents)
        if key not in known:
            known[key] = decide(three, needed=needed, of=of, intents=intents)
        outcome = known[key]
        if item.id in trusted and item.id not in leave_out:
            outcome = Outcome(True, None, trusted[item.id])
        a, b, c = (
            Verdict(id=association.id, gold=gold, votes=v)
            for association, gold, v in zip(item.associations, outcome.golds, three, strict=True)
        )
        kept, reason = outcome.kept, outcome.reason
        if item.id in leave_out:
            kept, reason = False, "left_out"
        elif item.round in pilots:
            kept, reason = False, "pilot"
        elif item.id in dropped:
            kept, reason = False, "flagged"
        decisions.append(Decision(item=item.id, kept=kept, reason=reason, verdicts=(a, b, c)))
    return decisions


def tiers(items: Sequence[Item], decisions: Sequence[Decision]) -> dict[str, int]:
    """The number of CATs of each kind and tier (ACL §4.3, footnote 2; ``rules.tier``).

    Args:
        items: the items.
        decisions: one per item, in the same order.

    Returns:
        The number of kept items by ``KIND_tier_N``, with N from ``TIERS``.
    """
    counts = {f"{kind}_tier_{n}": 0 for kind in KINDS for n in TIERS}
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
    items: Sequence[Item],
    labels: pd.DataFrame,
    *,
    needed: int = 3,
    of: int = 5,
    count_writer: bool = False,
    match_intent: bool = False,
    rounds: Sequence[str] = (),
) -> Repeats:
    """The effect of the rule on repeated annotators, whether or not the rule is in force.

    Args:
        items: the items.
        labels: rows of ``records.Label`` on associations of these items.
        needed: as in ``judge``.
        of: as in ``count``.
        count_writer: as in ``count``.
        match_intent: as in ``judge``.
        rounds: as in ``count``.

    Returns:
        How many labels repeat an annotator, on how many items, and how many CATs the rule costs.
    """
    twice = labels.duplicated(["association", "annotator"], keep=False)
    touched = set(labels.loc[twice, "item"])
    items = [item for item in items if item.id in touched]
    labels = labels[labels["item"].isin(list(touched))]
    kept = []
    for also in (True, False):
        counted = count(
            items, labels, of=of, count_writer=count_writer, count_repeats=also, rounds=rounds
        )
        decisions = judge(items, counted.votes, needed=needed, of=of, match_intent=match_intent)
        kept.append({decision.item for decision in decisions if decision.kept})
    refused = counted.labels[counted.labels["code"] == "repeated_annotator"]
    return Repeats(len(refused), refused["item"].nunique(), len(kept[0] - kept[1]))
