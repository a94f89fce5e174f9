"""Split half: whether two halves of the words, or of the CATs of terms, give the same results.

The paper's criteria lack it. For a measure, each list of words is divided at random in two halves,
and the halves' correlation over targets gives the reliability of the whole lists (Spearman-Brown).
For scores, the CATs of each term are divided, and the halves' correlation over terms is that of ss.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.campaign.settings import TrustSettings
from curation.stats.correlations import rho_interval, spearman_brown
from curation.stats.intervals import FEW, Floats, mean_interval
from curation.stats.power import critical_rho, needed_units, rank_power
from curation.text.wording import amount
from curation.trust.protocol.checks import Found
from curation.trust.protocol.datasets import ScoresCase, counted, resting_on
from curation.trust.protocol.measures import MeasureCase

_LEAST = 1e-9  # a variation below this counts as none
_AT_ONCE = 4_000_000  # values in memory at once


def halves(
    ss: Floats, codes: NDArray[np.intp], *, draws: int, seed: int
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
    parts: list[list[Floats]] = []
    step = max(1, _AT_ONCE // len(own))
    for start in range(0, draws, step):
        keys = rng.random((min(step, draws - start), len(own)))
        mixed = values[np.argsort(own + keys, axis=1)]  # by term, in random order within each
        masks = ((mask, np.add.reduceat(mask, starts)) for mask in (first, 1 - first))
        parts.append([np.add.reduceat(mixed * mask, starts, axis=1) / n for mask, n in masks])
    one, other = map(np.concatenate, zip(*parts, strict=True))
    return one, other, terms


def correlation(first: Floats, second: Floats) -> float | None:
    """The mean over draws of Pearson's correlation over terms; None if it is not defined.

    Args:
        first: shape (draws, terms).
        second: the same.

    >>> correlation(np.array([[1.0, 2, 3]]), np.array([[1.0, 2, 0]]))
    -0.5
    """
    whole = _correlations(first, second)[0] if first.shape[1] >= 3 else math.nan
    return None if np.isnan(whole) else round(whole, 12)


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
    correlation is too wide, since a mean over many splits varies less. It is the result only if
    leaving out a term leaves no correlation.

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
    ends = rho_interval(whole, terms, confidence=confidence)  # that of a single split, wider
    if np.isfinite(pseudo).all() and (
        own := mean_interval(pseudo - pseudo.mean() + center, confidence=confidence)
    ):
        ends = math.tanh(own[0]), math.tanh(own[1])
    return ends and (spearman_brown(ends[0]), spearman_brown(ends[1]))


# --- of word lists ------------------------------------------------------------------------------


def words(case: MeasureCase) -> Iterator[Found]:
    """The reliability of the word lists; power is at the halves' correlation at the threshold."""
    settings = case.settings
    halves_rho = settings.reliability / (2 - settings.reliability)  # by Spearman-Brown
    needed = needed_units(halves_rho, alpha=settings.alpha, power=settings.power) or 0
    for found in case.run.found("split_half", "words"):
        power = rank_power(min(halves_rho, 0.999), found.n, alpha=settings.alpha)
        more = f"{amount(needed - found.n, 'more target')} (power {settings.power:g}), or "
        facts = {**found.facts, "more": more if needed > found.n else ""}
        facts["least"] = max(
            settings.reliability, spearman_brown(critical_rho(found.n, settings.alpha))
        )
        yield replace(found, power=None if found.value is None else power, facts=facts)


# --- of terms -----------------------------------------------------------------------------------


def terms(case: ScoresCase) -> Iterator[Found]:
    """The reliability of the ss of terms, for each model."""
    data, settings = case.data, case.settings
    for run in case.runs:
        first, second, there = halves(run.ss, data.codes, draws=settings.samples, seed=case.seed)
        r = correlation(first, second)
        facts: dict[str, Any] = {"run": run.name, "few": FEW, "r": r}
        made = Found(name=run.model, n=len(there), facts=facts, **resting_on(run))
        if r is None:
            yield replace(made, reason="short")
            continue
        value = spearman_brown(r)
        parts = []
        for domain in sorted(set(data.domains[there])):
            own = data.domains[there] == domain
            of_domain = correlation(first[:, own], second[:, own]) if own.sum() >= FEW else None
            shown = "too few" if of_domain is None else f"{spearman_brown(of_domain):.2f}"
            parts.append(f"{domain} {shown} ({int(own.sum())} terms)")
        per_term = counted(run.ss) / max(1, len(there))
        facts |= {"domains": ", ".join(parts), "more": _more(value, settings, per_term)}
        ends = reliability_interval(first, second, confidence=settings.confidence)
        yield replace(made, value=value, ci=ends, facts=facts)


def _more(value: float, settings: TrustSettings, per_term: float) -> str:
    """How many CATs per term reach the threshold, by the Spearman-Brown formula."""
    wanted = settings.reliability
    if value <= 0.01 or wanted >= 1:
        return "CATs about which models differ between terms: there is no sign of such differences"
    if value >= wanted:
        return "more terms, for a shorter interval"
    factor = wanted * (1 - value) / (value * (1 - wanted))
    return (
        f"about {factor:.1f} times as many CATs per term ({math.ceil(per_term * factor)} in place "
        f"of {per_term:.0f}), by the Spearman-Brown formula"
    )
