"""DivDist: strengths of association, their normalisation, and the divergence from a reference.

Bommasani & Liang 2022, section 3, equations 1 to 3: s_j = SoA(T, G_j), p = normalize(s), bias =
D(p, p0). By default p = s / Σ s and D = L1 (section 4.4). The paper does not say what happens if
all s are 0, or if a cosine is negative. Here both are undefined by default: no evidence is not zero
bias, and a negative s does not give a distribution.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.bias import Bias, Pair

Floats = NDArray[np.float64]
Normalise = Literal["sum", "softmax"]
Negative = Literal["undefined", "raw", "clip", "shift"]
Divergence = Literal["l2", "linf", "kl", "js", "tv"]

UNDEFINED: dict[str, str] = {
    "missing_target": "the target does not occur in the corpus or the vocabulary",
    "no_evidence": "the target occurs, but no association with any group was found",
    "negative_soa": "a strength of association is negative, and the policy is «undefined»",
    "no_training": "no passage of the target has a label, so no probe can be trained",
    "one_class": "all labelled passages of the target have the same label",
    "no_reference": "the reference has no shares for this target",
}
"""Why a target has no result: reason codes and their meanings."""


class Policies(NamedTuple):
    """How strengths become a distribution, and which divergences are computed beside L1.

    ``negative`` says what happens to negative strengths: they are undefined, used as they are
    (raw; p may leave the simplex, and the sign flips if the sum is negative), set to 0 (clip), or
    all strengths become (1 + s) / 2 (shift, for cosines). Softmax takes any strengths.
    """

    normalise: Normalise = "sum"
    negative: Negative = "undefined"
    divergences: tuple[Divergence, ...] = ()


DEFAULT = Policies()


def distributions(soa: Floats, policies: Policies = DEFAULT) -> Floats:
    """Normalised strengths of association.

    Args:
        soa: shape (n, k), NaN for a strength that is missing.
        policies: how they are normalised.

    Returns:
        Shape (n, k); a row is NaN if it is undefined.

    >>> distributions(np.array([[1.0, 3.0], [0.0, 0.0], [-1.0, 1.0]])).tolist()
    [[0.25, 0.75], [nan, nan], [nan, nan]]
    """
    soa = np.asarray(soa, float)
    if policies.negative == "shift":
        soa = (1 + soa) / 2
    if policies.negative == "clip":
        soa = np.maximum(soa, 0)
    if policies.normalise == "softmax":
        powers = np.exp(soa - soa.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
    total = soa.sum(axis=-1, keepdims=True)
    bad = total == 0
    if policies.negative == "undefined":
        bad = bad | (soa < 0).any(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(bad, np.nan, soa / total))


def why_undefined(soa: Sequence[float | None], policies: Policies = DEFAULT) -> str:
    """The reason code for which one target's strengths have no distribution; "" if they have one.

    >>> why_undefined([0, 0]), why_undefined([-0.1, 0.2]), why_undefined([1, 2])
    ('no_evidence', 'negative_soa', '')
    """
    values = [value for value in soa if value is not None]
    if len(values) < len(soa):
        return "missing_target"
    if not np.isnan(distributions(np.array([values], float), policies)).any():
        return ""
    return "negative_soa" if min(values) < 0 and policies.negative == "undefined" else "no_evidence"


def divergence(p: Floats, reference: Floats, name: str = "l1") -> Floats:
    """The divergence of distributions from references.

    Args:
        p: shape (n, k).
        reference: shape (k,) or (n, k).
        name: l1, l2, linf, tv (L1 / 2), kl (Kullback-Leibler of p from the reference, in nats) or
            js (Jensen-Shannon divergence in nats; its square root is the distance that scipy has).

    Returns:
        Shape (n,). kl is infinite if p has a share where the reference has none.
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
        return np.asarray(np.where(p == 0, 0.0, p * np.log(p / other)).sum(axis=-1))


def bias(
    target: str,
    soa: Sequence[float | None],
    *,
    groups: Sequence[str],
    reference: Sequence[float] | None,
    policies: Policies = DEFAULT,
    n: int,
    ci: Sequence[Pair | None] | None = None,
    undefined: str = "",
) -> Bias:
    """The result of one target.

    Args:
        target: the target's name.
        soa: its strength of association with each group; None if it is missing.
        groups: the names of the groups.
        reference: p0; None if there is none for this target.
        policies: how strengths become a distribution.
        n: the number of contexts, or of group words found.
        ci: an interval for each entry of p − p0, if the measure has one; L1's interval follows.
        undefined: the reason code, if the measure knows one already.
    """
    undefined = undefined or ("no_reference" if reference is None else "")
    undefined = undefined or why_undefined(soa, policies)
    known: dict[str, object] = {"target": target, "groups": tuple(groups), "soa": tuple(soa)}
    known |= {"n": n, "reference": tuple(reference or ())}
    if undefined:
        return Bias.model_validate({**known, "undefined": undefined})
    p = distributions(np.array([soa], float), policies)
    p0 = np.array(reference, float)
    others = {name: float(divergence(p, p0, name)[0]) for name in policies.divergences}
    return Bias.model_validate(
        {
            **known,
            "p": tuple(p[0].tolist()),
            "signed": tuple((p[0] - p0).tolist()),
            "l1": float(divergence(p, p0)[0]),
            "ci": None if ci is None else tuple(ci),
            "l1_ci": None if ci is None else l1_interval(ci),
            "divergences": {name: value for name, value in others.items() if np.isfinite(value)},
        }
    )


def l1_interval(ci: Sequence[Pair | None]) -> Pair | None:
    """An interval of L1 from intervals of p − p0 that hold at the same time.

    The lower end is the sum of the intervals' distances from 0, the upper end the sum of their
    largest absolute values. For two groups this has the confidence of the intervals, since the two
    entries are equal but for the sign. For k groups, give intervals of confidence
    ``simultaneous(confidence, k)``; the result is then rather too wide than too narrow.

    >>> l1_interval([(-0.5, -0.25), (0.25, 0.5)]), l1_interval([(-0.25, 0.5), (-0.5, 0.25)])
    ((0.5, 1.0), (0.0, 1.0))
    """
    ends = [pair for pair in ci if pair is not None]
    if len(ends) < len(ci):
        return None
    lower = sum(max(low, -high, 0.0) for low, high in ends)
    return lower, sum(max(abs(low), abs(high)) for low, high in ends)


def simultaneous(confidence: float, groups: int) -> float:
    """The confidence of each of k intervals so that all hold together (Bonferroni).

    Two groups have one degree of freedom, so their two intervals need no correction.

    >>> round(simultaneous(0.95, 2), 3), round(simultaneous(0.95, 5), 3)
    (0.95, 0.99)
    """
    return confidence if groups == 2 else 1 - (1 - confidence) / groups
