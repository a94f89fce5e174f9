"""DivDist: groups, strengths of association, their normalisation, divergence from a reference.

Bommasani & Liang 2022, Definition 2.1 and section 3, equations 1 to 3: s_j = SoA(T, G_j), p =
normalize(s), bias = D(p, p0). By default p = s / Σ s and D = L1 (section 4.4). The paper does not
say what happens if all s are 0, or if a cosine is negative. Here both are undefined by default: no
evidence is not zero bias, and a negative s does not give a distribution.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import Bias, Interval
from curation.trust.measure.groups import Groups

HUMAN, AUTOMATED = "text-human", "text-automated"
COUNTED = (HUMAN, AUTOMATED, "probe")
"""Measures whose strengths of association are counts of contexts."""
OURS = (*COUNTED, "vectors", "contextual")
"""The measures of Bommasani & Liang 2022, Table 1; all others are prior measures."""
Floats = NDArray[np.float64]
Normalise = Literal["sum", "softmax"]
Negative = Literal["undefined", "raw", "clip", "shift"]
Divergence = Literal["l2", "linf", "kl", "js", "tv"]


class Policies(NamedTuple):
    """How strengths become a distribution, and which divergences are computed beside L1.

    ``negative`` says what happens to negative strengths: they are undefined, used as they are
    (raw; p may leave the simplex, and the sign flips if the sum is negative), set to 0 (clip), or
    all strengths become (1 + s) / 2 (shift, for cosines; see ``of_counts``). Softmax takes any
    strengths, so ``negative`` does not apply to it.
    """

    normalise: Normalise = "sum"
    negative: Negative = "undefined"
    divergences: tuple[Divergence, ...] = ()

    @property
    def in_simplex(self) -> bool:
        """Whether every p is a distribution."""
        return self.negative != "raw" or self.normalise == "softmax"


DEFAULT = Policies()


def of_counts(policies: Policies) -> Policies:
    """The policies for strengths that are counts, which are never negative.

    Shift is for cosines: of counts it would add a half to all, and so hide rare evidence.
    """
    return policies._replace(negative="undefined")


def distributions(soa: Floats, policies: Policies = DEFAULT) -> Floats:
    """Normalised strengths of association.

    Args:
        soa: shape (n, k), NaN for a strength that is missing.
        policies: how they are normalised.

    Returns:
        Shape (n, k); a row is NaN if it is undefined. Strengths that are all 0 are undefined under
        every policy: no evidence is not zero bias.

    >>> distributions(np.array([[1.0, 3.0], [0.0, 0.0], [-1.0, 1.0]])).tolist()
    [[0.25, 0.75], [nan, nan], [nan, nan]]
    """
    soa = np.asarray(soa, float)
    evidence = (soa != 0).any(axis=-1, keepdims=True)
    if policies.normalise == "softmax":
        powers = np.exp(soa - soa.max(axis=-1, keepdims=True))
        return np.asarray(np.where(evidence, powers / powers.sum(axis=-1, keepdims=True), np.nan))
    if policies.negative == "shift":
        soa = (1 + soa) / 2
    if policies.negative == "clip":
        soa = np.maximum(soa, 0)
    total = soa.sum(axis=-1, keepdims=True)
    bad = ~evidence | (total == 0)
    if policies.negative == "undefined":
        bad = bad | (soa < 0).any(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(bad, np.nan, soa / total))


def why_undefined(soa: Sequence[float | None], policies: Policies = DEFAULT) -> str:
    """The reason code for which one target's strengths have no distribution; "" if they have one.

    >>> why_undefined([0, 0]), why_undefined([-0.1, 0.2]), why_undefined([1, 2])
    ('no_evidence', 'negative_soa', '')
    """
    values = [value for value in soa if value is not None and not math.isnan(value)]
    if len(values) < len(soa):
        return "missing_target"
    if not np.isnan(distributions(np.array([values], float), policies)).any():
        return ""
    refused = policies.negative == "undefined" and policies.normalise == "sum"
    return "negative_soa" if refused and min(values) < 0 else "no_evidence"


def most(reference: Sequence[float]) -> float:
    """The largest L1 that a distribution can have from a reference: 2 (1 − its smallest share).

    For a uniform reference it is 2 (1 − 1/k) (section 3).

    >>> most((0.5, 0.5)), round(most((1 / 3, 1 / 3, 1 / 3)), 4), most((1.0, 0.0))
    (1.0, 1.3333, 2.0)
    """
    return 2 * (1 - min(reference))


class Outside(NamedTuple):
    """How many targets have strengths for which the framework was not made."""

    negative: int
    beyond: int
    largest: float


def outside(biases: Sequence[Bias]) -> Outside:
    """How many targets have a negative strength, and how many an L1 that no distribution has.

    ``largest`` is the largest L1 of all. Both numbers are above 0 only for cosines; the second only
    under the policy raw.
    """
    negative = sum(any(s is not None and s < 0 for s in each.soa) for each in biases)
    known = [each for each in biases if each.l1 is not None]
    beyond = sum((each.l1 or 0) > most(each.reference) + 1e-9 for each in known)
    return Outside(negative, beyond, max((each.l1 or 0 for each in known), default=0.0))


def divergence(p: Floats, reference: Floats, name: str = "l1") -> Floats:
    """The divergence of distributions from references.

    Args:
        p: shape (n, k).
        reference: shape (k,) or (n, k).
        name: l1, l2, linf, tv (L1 / 2), kl (Kullback-Leibler of p from the reference, in nats) or
            js (Jensen-Shannon divergence in nats; its square root is the distance that scipy has).

    Returns:
        Shape (n,). kl is infinite if p has a share where the reference has none. kl and js are NaN
        if p has a negative entry (the policy raw).
    """
    p, reference = np.broadcast_arrays(np.asarray(p, float), np.asarray(reference, float))
    gap = np.abs(p - reference)
    if name == "l2":
        return np.asarray(np.sqrt((gap**2).sum(axis=-1)))
    if name == "linf":
        return np.asarray(gap.max(axis=-1))
    if name == "kl":
        return _relative_entropy(p, reference)
    if name == "js":
        middle = (p + reference) / 2
        return (_relative_entropy(p, middle) + _relative_entropy(reference, middle)) / 2
    return np.asarray(gap.sum(axis=-1) / (2 if name == "tv" else 1))


def _relative_entropy(p: Floats, other: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        total = np.where(p == 0, 0.0, p * np.log(p / other)).sum(axis=-1)
    total = np.where((p < 0).any(axis=-1) | (other < 0).any(axis=-1), np.nan, total)
    return np.asarray(np.maximum(total, 0.0))  # rounding can give −1e-17


def biases(
    groups: Groups,
    soa: Floats,
    policies: Policies = DEFAULT,
    *,
    n: int | Sequence[int],
    units: Sequence[float] | None = None,
    intervals: Floats | None = None,
    undefined: Mapping[str, str] = {},
) -> list[Bias]:
    """The results of targets.

    A divergence that is infinite or not defined is left out of ``divergences``.

    Args:
        groups: groups, targets and references.
        soa: shape (n, k), the targets' strength of association with each group; NaN if it is
            missing.
        policies: how strengths become a distribution.
        n: the number of contexts of each target, or of group words found.
        units: the effective number of documents, or passages, of each target.
        intervals: shape (n, k, 2), of each entry of p − p0; NaN if there is none. Those of L1
            follow (``l1_interval``).
        undefined: the reason codes that the measure knows already, by target.
    """
    soa = np.asarray(soa, float).reshape(len(groups.targets), len(groups.words))
    p, p0 = distributions(soa, policies), _shares(groups)
    l1 = divergence(p, p0).tolist()
    others = {name: divergence(p, p0, name).tolist() for name in policies.divergences}
    results = []
    for place, target in enumerate(groups.targets):
        strengths, reference = soa[place].tolist(), groups.reference(target)
        fields: dict[str, object] = {
            "target": target,
            "groups": groups.names,
            "soa": tuple(None if math.isnan(s) else s for s in strengths),
            "reference": reference or (),
            "n": n if isinstance(n, int) else n[place],
            "units": units and units[place],
        }
        code = undefined.get(target) or ("no_reference" if reference is None else "")
        if code or math.isnan(l1[place]):
            fields["undefined"] = code or why_undefined(strengths, policies)
        else:
            ci = None if intervals is None else _pairs(intervals[place])
            fields |= {"p": tuple(p[place].tolist()), "l1": l1[place], "ci": ci}
            fields["signed"] = tuple((p[place] - p0[place]).tolist())
            largest = most(reference or ()) if policies.in_simplex else math.inf
            fields["l1_ci"] = None if ci is None else l1_interval(ci, largest=largest)
            found = {name: values[place] for name, values in others.items()}
            fields["divergences"] = {k: v for k, v in found.items() if math.isfinite(v)}
        results.append(Bias.model_validate(fields))
    return results


def _shares(groups: Groups) -> Floats:
    """The references as rows; NaN for a target that has none."""
    none = (math.nan,) * len(groups.words)
    return np.reshape([groups.reference(each) or none for each in groups.targets], (-1, len(none)))


def around(p: Floats, half: Floats, groups: Groups, policies: Policies) -> Floats:
    """Intervals of p − p0 from half their widths, within what p can be under the policies.

    Args:
        p: shape (n, k).
        half: shape (n, k); NaN for a target without an interval.
        groups: groups, targets and references.
        policies: how strengths become a distribution.

    Returns:
        Shape (n, k, 2).
    """
    ends = np.stack([p - half, p + half], axis=-1)
    if policies.in_simplex:
        ends = ends.clip(0, 1)
    return np.asarray(ends - _shares(groups)[:, :, None])


def _pairs(ends: Floats) -> tuple[Interval | None, ...] | None:
    """Intervals as pairs; None for each that is NaN, and None if all are."""
    pairs = tuple(None if math.isnan(low) else (low, high) for low, high in ends.tolist())
    return pairs if any(pairs) else None


def l1_interval(ci: Sequence[Interval | None], *, largest: float = math.inf) -> Interval | None:
    """An interval of L1 from intervals of p − p0 that hold at the same time.

    The lower end is the sum of the intervals' distances from 0, the upper end the sum of their
    largest absolute values, but no more than the largest L1 that there is (``most``). For two
    groups this has the confidence of the intervals, since the two entries are equal but for the
    sign. For k groups, give intervals of confidence ``simultaneous(confidence, k)``; the result is
    then rather too wide than too narrow.

    >>> l1_interval([(-0.5, -0.25), (0.25, 0.5)]), l1_interval([(-0.25, 0.5), (-0.5, 0.25)])
    ((0.5, 1.0), (0.0, 1.0))
    """
    ends = [pair for pair in ci if pair is not None]
    if len(ends) < len(ci):
        return None
    lower = sum(max(low, -high, 0.0) for low, high in ends)
    return lower, min(largest, sum(max(abs(low), abs(high)) for low, high in ends))


def simultaneous(confidence: float, groups: int) -> float:
    """The confidence of each of k intervals so that all hold together (Bonferroni).

    Two groups have one degree of freedom, so their two intervals need no correction.

    >>> round(simultaneous(0.95, 2), 3), round(simultaneous(0.95, 5), 3)
    (0.95, 0.99)
    """
    return confidence if groups == 2 else 1 - (1 - confidence) / groups
