"""Agreement and retest: do people's labels repeat (section 7)?

The labels are those of passages, for a measure of ours, or of the associations of CATs.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import GOLDS, VALUES, CriterionName, Interval
from curation.stats.agreement import (
    Counts,
    by_cat,
    coefficient,
    contributions,
    interval,
    shuffled,
    unanimous_interval,
)
from curation.trust.protocol.checks import Found
from curation.trust.protocol.datasets import DatasetCase, ScoresCase
from curation.trust.protocol.measures import HUMAN, MeasureCase

SHUFFLES = 100  # of the labels, for the negative control
MUST_FAIL = 0.95  # the share of them that must fail
_STRICT = 4  # the tier of CATs on which more annotators agree
Units = Sequence[str] | NDArray[Any]
"""What each row of votes is of, such as its CAT or passage."""


class Agreement(NamedTuple):
    """Krippendorff's alpha of nominal labels.

    Attributes:
        alpha: None if it is not defined.
        ci: its interval over units.
        units: how many units have two labels or more in a row.
        kappa: Fleiss' kappa.
    """

    alpha: float | None
    ci: Interval | None
    units: int
    kappa: float | None


def agreement(votes: Counts, units: Units | None = None, *, confidence: float) -> Agreement:
    """Krippendorff's alpha with its interval over units, and Fleiss' kappa.

    If nobody disagrees, the interval is that of ``unanimous_interval``. If all disagreement is in
    one unit, it begins no higher than that one: the jackknife sees how much one unit weighs, and
    not that the next one may disagree, too.

    Args:
        votes: shape (rows, classes), how many annotators chose each class.
        units: by default each row is a unit of its own.
        confidence: of the interval.
    """
    value, chosen = coefficient("alpha", votes), votes.sum(axis=1) >= 2
    of = np.arange(len(votes)) if units is None else np.asarray(units)
    several = len(np.unique(of[chosen]))
    if value is None:
        return Agreement(None, None, several, None)
    ends = interval("alpha", by_cat(contributions(votes), of), confidence=confidence)
    disagreeing = len(np.unique(of[chosen & (votes.max(axis=1) < votes.sum(axis=1))]))
    if disagreeing <= 1:
        few = unanimous_interval(
            votes, units=several, disagreeing=disagreeing, confidence=confidence
        )
        if few is not None and ends is not None:
            ends = [min(few[0], ends[0]), ends[1]]
        elif disagreeing == 0:
            ends = few
    ci = None if ends is None else (ends[0], ends[1])
    return Agreement(value, ci, several, coefficient("fleiss", votes))


def shuffled_agreement(
    votes: Counts, units: Units | None = None, *, seed: int, confidence: float
) -> tuple[float, Interval]:
    """The negative control: the labels are dealt to the units at random 100 times.

    Returns:
        The median alpha, which is about 0. At each end of the interval, 95 of the 100 intervals do
        not go beyond it; so it is below a threshold if 95 of 100 shuffles fail.
    """
    rng = np.random.default_rng(seed)
    mixed = (shuffled(votes, rng) for _ in range(SHUFFLES))
    found = [agreement(each, units, confidence=confidence) for each in mixed]
    lows, highs = zip(*(each.ci or (-1.0, 1.0) for each in found), strict=True)
    place = math.ceil(MUST_FAIL * SHUFFLES) - 1
    median = float(np.median([each.alpha or 0.0 for each in found]))
    return median, (sorted(lows, reverse=True)[place], sorted(highs)[place])


def _with_more(found: Found, threshold: float) -> Found:
    """With about how many more units put the interval on one side of the threshold; None: unknown.

    An interval's width falls with the root of the units.
    """
    more, value = None, found.value
    if value is not None and found.ci is not None and found.n and value != threshold:
        bound = found.ci[1] - value if value < threshold else value - found.ci[0]
        more = max(1, math.ceil(found.n * ((bound / abs(value - threshold)) ** 2 - 1)))
    return replace(found, facts={"by_target": "none", "kappa": None, **found.facts, "more": more})


# --- of passages --------------------------------------------------------------------------------


def _of_people(case: MeasureCase, criterion: CriterionName) -> Iterator[Found]:
    found, settings = list(case.run.found(criterion, "annotators")), case.settings
    if not found and case.run.measure != HUMAN:
        yield Found(reason="automatic")
    for each in found:
        low = each.facts.get("within_low", 1.0)
        if each.value is not None and (not isinstance(low, float) or low <= 0):
            yield Found(reason="targets_only", n=each.n, facts={**each.facts, "alpha": each.value})
        elif each.value is not None and each.ci is None:
            yield Found(reason="no_interval", n=each.n, facts=each.facts)
        else:
            is_again = criterion == "retest"
            yield _with_more(each, settings.reliability if is_again else settings.agreement)


passages = partial(_of_people, criterion="agreement")
"""The alpha of people's labels of passages; it does not apply to an automatic measure."""
passages_again = partial(_of_people, criterion="retest")
"""The alpha of the first and second label of the same annotator."""


# --- of associations ----------------------------------------------------------------------------


def _of_labels(case: DatasetCase, golds: int) -> Iterator[Found]:
    data, votes = case.data, case.data.votes
    if votes is None or not votes.sum():
        return
    those = data.golds.ravel() < golds
    cats, kinds = np.arange(data.golds.size) // 3, data.kinds_there
    gold_votes = votes[np.arange(len(votes)), data.golds.ravel()]
    strict = np.repeat(gold_votes.reshape(-1, 3).min(axis=1), 3) >= _STRICT
    domains = np.repeat(data.domains[data.codes], 3)
    for kind in ("", *kinds) if len(kinds) > 1 else ("",):
        chosen = those & (votes.sum(axis=1) > 0)
        if kind:
            chosen &= np.repeat(data.kinds == kind, 3)
        found = agreement(votes[chosen], cats[chosen], confidence=case.settings.confidence)
        parts = []
        for domain in sorted(set(data.domains)):
            own = coefficient("alpha", votes[chosen & (domains == domain)])
            parts.append(f"{domain} {'not defined' if own is None else f'{own:.3f}'}")
        facts = {
            "kind": kind or ("both kinds of" if len(kinds) > 1 else kinds[0]),
            "associations": int(chosen.sum()),
            "labels": int(votes[chosen].sum()),
            "domains": ", ".join(parts),
            "strict": int((chosen & strict).sum()),
            "tier": _STRICT,
            "strict_alpha": coefficient("alpha", votes[chosen & strict]),
        }
        n = len(set(cats[chosen]))
        made = Found(name=kind, value=found.alpha, ci=found.ci, n=n, facts=facts)
        if found.alpha is None or found.ci is None:
            yield replace(made, reason="no_interval")
        else:
            yield _with_more(made, case.settings.agreement)


all_labels = partial(_of_labels, golds=len(GOLDS))
"""The alpha of the labels of all associations: of both kinds of CAT, and of each."""
hard_labels = partial(_of_labels, golds=2)  # the first two of GOLDS
"""The same of associations with gold stereotype or anti-stereotype, the harder choice."""


def shuffled_labels(case: DatasetCase) -> Iterator[Found]:
    """The negative control: the labels, given to associations at random."""
    votes = case.data.votes
    if votes is None or not votes.sum():
        return
    chosen = votes.sum(axis=1) > 0
    cats = (np.arange(case.data.golds.size) // 3)[chosen]
    confidence = case.settings.confidence
    value, ci = shuffled_agreement(votes[chosen], cats, seed=case.seed, confidence=confidence)
    yield Found(value=value, ci=ci, n=SHUFFLES, facts={"must": round(MUST_FAIL * SHUFFLES)})


def labels_again(case: DatasetCase) -> Iterator[Found]:
    """Agreement of labels with labels of the same associations at another time."""
    for again in case.data.retests:
        votes = np.eye(len(VALUES), dtype=np.int64)[again.labels].sum(axis=1)
        found = agreement(votes, again.cats, confidence=case.settings.confidence)
        same = int((again.labels[:, 0] == again.labels[:, 1]).sum())
        facts = {"how": again.name, "same": same, "note": again.note}
        name, n = again.name.replace(" ", "-"), len(again.labels)
        yield Found(name=name, value=found.alpha, ci=found.ci, n=n, facts=facts)


# --- of scores ----------------------------------------------------------------------------------


def of_scores(case: ScoresCase) -> Iterator[Found]:
    """Nothing: models have no annotators, so agreement does not apply to their scores."""
    yield from ()


def scores_again(case: ScoresCase) -> Iterator[Found]:
    """Why scores are not computed twice."""
    yield Found(reason="asked" if case.by_choice else "same")
