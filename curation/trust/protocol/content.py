"""Content validity: whether a measure has the structure of bias (sections 2, 6 and 8).

Bias is the divergence of a target's associations from a reference (Definition 2.1). So a measure
must compare groups, must not depend on their order, and must be 0 if and only if the associations
equal the reference. The paper argues this; here each point is computed.
"""

from collections.abc import Sequence

import numpy as np

from curation.bias import Bias, Criterion, Evidence
from curation.trust.framework import Policies
from curation.trust.groups import Groups
from curation.trust.protocol.changes import (
    Again,
    attempt,
    reordered,
    with_first_divided,
    with_references,
)
from curation.trust.protocol.measured import MeasureRun
from curation.trust.protocol.rows import evidence_row, own_evidence

_CLOSE = 1e-6  # values may differ by this much because of rounding
FLIP = "antisymmetry: 1 if exchanging two groups flips the sign, -1 if it changes nothing"
SHARE = "share of targets for which it holds"


def content_evidence(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> list[Evidence]:
    """Evidence of content validity, from the measure computed with changed inputs.

    Args:
        again: the measure.
        groups: its groups.
        policies: its policies.
        base: its results.
    """
    exchanged = reordered(groups, (1, 0, *range(2, len(groups.words))))
    swapped, why = attempt(again, exchanged, policies)
    found = [_flip(base, swapped, why)]
    if any(bias.value is not None for bias in base):
        prior = "a prior measure has one value, without a distribution and a reference"
        return [*found, _evidence("distribution", [], prior)]
    return [
        *found,
        _evidence("simplex", [_is_distribution(b.p, len(b.groups)) for b in base if b.p]),
        _permutation(again, groups, policies, base),
        _zero(again, groups, policies, base),
        _reference(again, groups, policies, base),
        _more_groups(again, groups, policies, base),
    ]


def content_criteria(run: MeasureRun) -> list[Criterion]:
    """The rows of content validity.

    Random and constant vectors have these properties, too, because the definition of a measure
    gives them. So a property that holds is a check of the software, and not evidence; one that does
    not hold fails.
    """
    rows = []
    for evidence in own_evidence(run, "content"):
        if evidence.value is None:
            rows.append(evidence_row(run, evidence, None, threshold=1.0))
            continue
        holds = evidence.value >= 1 - _CLOSE
        made = evidence_row(
            run,
            evidence,
            "holds" if holds else "fail",
            threshold=1.0,
            change="" if holds else "another definition of the measure: more data cannot change it",
        )
        rows.append(made.model_copy(update={"kind": "software"}) if holds else made)
    return rows


def antisymmetry(values: Sequence[float], exchanged: Sequence[float]) -> float | None:
    """−2 Σ v v' / (Σ v² + Σ v'²): 1 if each value flips its sign, −1 if none changes.

    >>> antisymmetry([1.0, 2.0], [-1.0, -2.0]), antisymmetry([1.0, 2.0], [1.0, 2.0])
    (1.0, -1.0)
    """
    v, w = np.asarray(values, float), np.asarray(exchanged, float)
    total = float(v @ v + w @ w)
    return round(-2 * float(v @ w) / total, 6) if total > 0 else None


def _difference(bias: Bias) -> float | None:
    """The measure's direction between the first two groups."""
    if bias.value is not None:
        return bias.value
    return None if bias.signed is None else bias.signed[0] - bias.signed[1]


def _flip(base: Sequence[Bias], swapped: Sequence[Bias], why: str) -> Evidence:
    """Difference, not sum: whether the value changes its sign if the first two groups exchange."""
    after = {bias.target: _difference(bias) for bias in swapped}
    pairs = [
        (value, other)
        for bias in base
        if (value := _difference(bias)) is not None
        and (other := after.get(bias.target)) is not None
    ]
    return Evidence(
        criterion="content",
        check="swap",
        statistic=FLIP,
        value=antisymmetry(*zip(*pairs, strict=True)) if pairs else None,
        n=len(pairs),
        detail=_REASONS["swap"] if swapped else why,
    )


_REASONS = {
    "swap": "the first two groups were exchanged; a difference of associations changes its sign. A "
    "measure that adds them, as that of Manzini et al. (2019), does not (section 8)",
    "simplex": "p has no negative entry and sums to 1",
    "permutation": "the groups were given in another order; L1 must stay the same, and p − p0 must "
    "follow the groups",
    "zero": "the reference was set to p; L1 must be 0",
    "reference": "the reference was moved half way to one group; p must stay the same, and L1 must "
    "be that of p from the new reference",
    "groups": "three groups or more have a distribution; with two groups, the first list was "
    "divided in two",
}


def _evidence(check: str, holds: Sequence[bool], why: str = "") -> Evidence:
    value = sum(holds) / len(holds) if holds else None
    detail = why or _REASONS[check]
    return Evidence(
        criterion="content",
        check=check,
        statistic=SHARE,
        value=value,
        n=len(holds),
        detail=detail,
    )


def _is_distribution(p: Sequence[float], groups: int) -> bool:
    return len(p) == groups and min(p) >= -_CLOSE and abs(sum(p) - 1) <= _CLOSE


def _permutation(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> Evidence:
    order = (*range(1, len(groups.words)), 0)
    results, why = attempt(again, reordered(groups, order), policies)
    after = {bias.target: bias for bias in results}
    holds = []
    for bias in base if results else ():
        other = after.get(bias.target)
        if bias.signed is not None:
            expected = [bias.signed[place] for place in order]
            holds.append(
                other is not None and _near(other.signed, expected) and _near([other.l1], [bias.l1])
            )
    return _evidence("permutation", holds, why)


def _zero(again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]) -> Evidence:
    own = {b.target: b.p for b in base if b.p and _is_distribution(b.p, len(b.groups))}
    own = {target: tuple(min(1.0, max(0.0, s)) for s in p) for target, p in own.items()}
    results, why = attempt(again, with_references(groups, own), policies)
    after = {bias.target: bias.l1 for bias in results}
    return _evidence("zero", [_near([after.get(t)], [0.0]) for t in own if results], why)


def _reference(again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]) -> Evidence:
    own = {b.target: (b.p, _moved(b.reference)) for b in base if b.p is not None}
    moved = with_references(groups, {target: p0 for target, (_, p0) in own.items()})
    results, why = attempt(again, moved, policies)
    after = {bias.target: bias for bias in results}
    holds = []
    for target, (p, p0) in own.items() if results else ():
        bias = after.get(target)
        gap = sum(abs(share - other) for share, other in zip(p, p0, strict=True))
        holds.append(bias is not None and _near(bias.p, p) and _near([bias.l1], [gap]))
    return _evidence("reference", holds, why)


def _moved(p0: Sequence[float]) -> tuple[float, ...]:
    """Half way from a reference to one group, the first that does not have everything."""
    to = 0 if p0[0] < 1 else 1
    return tuple((share + (place == to)) / 2 for place, share in enumerate(p0))


def _more_groups(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> Evidence:
    results: Sequence[Bias] = base
    why = ""
    if len(groups.words) == 2:
        divided = with_first_divided(groups)
        if divided is None:
            return _evidence("groups", [], "the first group has one word, which cannot be divided")
        results, why = attempt(again, divided, policies)
    return _evidence(
        "groups", [_is_distribution(b.p, max(3, len(groups.words))) for b in results if b.p], why
    )


def _near(values: Sequence[float | None] | None, others: Sequence[float | None]) -> bool:
    if values is None or len(values) != len(others):
        return False
    return all(
        a is not None and b is not None and abs(a - b) <= _CLOSE
        for a, b in zip(values, others, strict=True)
    )
