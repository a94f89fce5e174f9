"""Split half by term: whether two halves of each term's CATs give the same ss of terms."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from curation.bias import Criterion
from curation.stats.correlations import rho_interval, spearman_brown
from curation.stats.intervals import FEW, Floats, mean_interval
from curation.trust.protocol.data import DatasetInput, RuleGroup, Scored
from curation.trust.protocol.dataset.rows import About, Rows
from curation.trust.protocol.verdicts import verdict
from curation.trust_settings import TrustSettings

_LEAST = 1e-9  # a variation below this counts as none
_AT_ONCE = 4_000_000  # values in memory at once


def halves(
    ss: Floats,
    codes: NDArray[np.intp],
    *,
    draws: int,
    seed: int,
) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """The ss of each term in two random halves of its CATs.

    Args:
        ss: shape (CATs,), NaN for CATs without a value.
        codes: each CAT's term.
        draws: how often the CATs are split.
        seed: of the draws.

    Returns:
        Two arrays of shape (draws, terms), and the terms' codes. Terms with fewer than two CATs are
        left out. If a term has an odd number of CATs, the first half has one more.
    """
    has = ~np.isnan(ss)
    sizes = np.bincount(codes[has], minlength=int(codes.max(initial=0)) + 1)
    has &= sizes[codes] >= 2
    values, own = ss[has], codes[has]
    terms, starts, counts = np.unique(np.sort(own), return_index=True, return_counts=True)
    if not len(terms):
        return np.empty((draws, 0)), np.empty((draws, 0)), terms
    place = np.arange(len(own)) - np.repeat(starts, counts)
    first = (place % 2 == 0).astype(float)
    rng = np.random.default_rng(seed)
    sides: list[list[Floats]] = [[], []]
    step = max(1, _AT_ONCE // len(own))
    for start in range(0, draws, step):
        keys = rng.random((min(step, draws - start), len(own)))
        mixed = values[np.argsort(own + keys, axis=1)]  # by term, in random order within each
        for side, mask in zip(sides, (first, 1 - first), strict=True):
            sums = np.add.reduceat(mixed * mask, starts, axis=1)
            side.append(sums / np.add.reduceat(mask, starts))
    return np.concatenate(sides[0]), np.concatenate(sides[1]), terms


def correlation(first: Floats, second: Floats) -> float | None:
    """The mean over draws of Pearson's correlation over terms; None if it is not defined.

    Args:
        first: shape (draws, terms).
        second: the same.

    >>> correlation(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 0]]))
    -0.5
    """
    if first.shape[1] < 3:
        return None
    whole = _correlations(first, second)[0]
    return None if np.isnan(whole) else round(float(whole), 12)


def _correlations(first: Floats, second: Floats) -> tuple[float, Floats]:
    """The mean correlation over draws, of all terms and without each; NaN if not defined."""
    x, y = first - first.mean(), second - second.mean()
    products = [x, y, x * x, y * y, x * y]
    sums = [product.sum(axis=1, keepdims=True) for product in products]
    count = first.shape[1]
    whole = _pearson(sums, count)
    without = _pearson(
        [total - product for total, product in zip(sums, products, strict=True)], count - 1
    )
    return float(_mean(whole)[0]), _mean(without)


def _pearson(sums: Sequence[Floats], count: int) -> Floats:
    """Pearson's correlation from sums of x, y, x², y² and xy; NaN if x or y does not vary."""
    x, y, xx, yy, xy = sums
    scale = np.sqrt(np.maximum((xx - x * x / count) * (yy - y * y / count), 0))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(scale > _LEAST, (xy - x * y / count) / scale, np.nan))


def _mean(values: Floats) -> Floats:
    """Means over draws, without those that are not defined."""
    has = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(has, values, 0).sum(axis=0) / has.sum(axis=0))


def reliability_interval(
    first: Floats, second: Floats, *, confidence: float
) -> tuple[float, float] | None:
    """The interval of the reliability over terms.

    It is the jackknife's, of artanh of the mean correlation: terms are left out one by one. Both
    ends are corrected by the Spearman-Brown formula. In simulations it contains the true
    reliability in 93 to 98 of 100 cases, from 8 terms on (docs/trust.md). The interval of a single
    correlation is too wide, since a mean over many splits varies less.

    Args:
        first: shape (draws, terms).
        second: the same.
        confidence: of the interval.

    Returns:
        None with fewer than five terms.
    """
    terms = first.shape[1]
    whole = correlation(first, second)
    if whole is None or terms < FEW:
        return None
    if whole >= 1:
        return 1.0, 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.arctanh(_correlations(first, second)[1])
    center = math.atanh(max(whole, -1 + 1e-9))
    pseudo = terms * center - (terms - 1) * z
    ends = None
    if np.isfinite(pseudo).all():
        ends = mean_interval(pseudo - pseudo.mean() + center, confidence=confidence)
    if ends is None:
        return _of_one_split(whole, terms, confidence=confidence)
    return spearman_brown(math.tanh(ends[0])), spearman_brown(math.tanh(ends[1]))


def _of_one_split(value: float, terms: int, *, confidence: float) -> tuple[float, float] | None:
    """The wider interval of a single split, if leaving out a term leaves no correlation."""
    ends = rho_interval(value, terms, confidence=confidence)
    return ends and (spearman_brown(ends[0]), spearman_brown(ends[1]))


def split_half(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings, *, seed: int
) -> Rows:
    """The reliability of the ss of terms, by split halves and the Spearman-Brown formula.

    Returns:
        Rows, each with the run whose ss it uses.
    """
    return [
        (_row(data, data.runs[number], about, settings, seed=seed), (data.runs[number],))
        for number in group.runs
    ]


def _row(
    data: DatasetInput, run: Scored, about: About, settings: TrustSettings, *, seed: int
) -> Criterion:
    first, second, terms = halves(run.ss, data.codes, draws=settings.samples, seed=seed)
    r = correlation(first, second)
    if r is None:
        return about.not_run(
            "split_half",
            f"terms:{run.model}",
            f"{run.name}: needs at least 3 terms with two CATs each, whose ss differ",
            f"at least {FEW} terms with 10 CATs each",
        )
    value = spearman_brown(r)
    ends = reliability_interval(first, second, confidence=settings.confidence)
    parts = []
    for domain in sorted(set(data.domains[terms])):
        own = data.domains[terms] == domain
        of_domain = correlation(first[:, own], second[:, own]) if own.sum() >= FEW else None
        shown = "too few" if of_domain is None else f"{spearman_brown(of_domain):.2f}"
        parts.append(f"{domain} {shown} ({int(own.sum())} terms)")
    status = verdict(value, threshold=settings.reliability, ci=ends, null=0.0)
    per_term = float((~np.isnan(run.ss)).sum()) / max(1, len(terms))
    return about.row(
        "split_half",
        f"terms:{run.model}",
        status,
        statistic="reliability of ss of terms (Spearman-Brown)",
        value=value,
        ci=ends,
        n=len(terms),
        unit="terms",
        threshold=settings.reliability,
        computed=f"{run.name}: the CATs of each term in two random halves, {settings.samples} "
        f"times; the correlation of the halves over terms is {r:.2f}, and for all CATs "
        f"{value:.2f}. By domain: {', '.join(parts)}",
        change=_change(value, settings, per_term, status),
    )


def _change(value: float, settings: TrustSettings, per_term: float, status: str) -> str:
    """How many CATs per term reach the threshold, by the Spearman-Brown formula."""
    wanted = settings.reliability
    if status == "pass":
        return f"a reliability below {wanted:g} on other terms"
    if value <= 0.01 or wanted >= 1:
        return "CATs about which models differ between terms: there is no sign of such differences"
    if value >= wanted:
        return "more terms, for a shorter interval"
    factor = wanted * (1 - value) / (value * (1 - wanted))
    return (
        f"about {factor:.1f} times as many CATs per term ({math.ceil(per_term * factor)} in place "
        f"of {per_term:.0f}), by the Spearman-Brown formula"
    )
