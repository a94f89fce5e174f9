"""Reliability: agreement of annotators, retest, and split halves (section 7).

Labels are those of passages, for a measure of ours, or of the associations of CATs. The paper's
criteria lack split halves: whether two halves of the words, or of the CATs of terms, give the same
results. For a measure, each list of words is divided at random in two halves, and the halves'
correlation over targets gives the reliability of the whole lists (Spearman-Brown). For scores, the
CATs of each term are divided, and the halves' correlation over terms is that of ss.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from curation.campaign.settings import TrustSettings
from curation.records import VALUES, CriterionName
from curation.stats.agreement import coefficient
from curation.stats.correlations import (
    critical_rho,
    needed_units,
    rank_power,
    rho_interval,
    spearman_brown,
)
from curation.stats.intervals import FEW, Floats, mean_interval
from curation.text.wording import amount
from curation.trust.measure.framework import HUMAN
from curation.trust.measure.human import MUST_FAIL, SHUFFLES, agreement, shuffled_agreement
from curation.trust.protocol.cases import DatasetCase, MeasureCase, ScoresCase, counted, of_runs
from curation.trust.protocol.checks import Found

_STRICT = 4  # the tier of CATs on which more annotators agree
"""What each row of votes is of, such as its CAT or passage."""


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


def passages(case: MeasureCase, criterion: CriterionName) -> Iterator[Found]:
    """The alpha of people's labels of passages, or of an annotator's first and second label.

    It does not apply to an automatic measure.
    """
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


# --- of associations ----------------------------------------------------------------------------


def labels(case: DatasetCase, golds: int) -> Iterator[Found]:
    """The alpha of the labels of associations: of all kinds of CAT, and of each.

    Args:
        case: the dataset.
        golds: only associations with a number below this in ``GOLDS``; 2 is the harder choice.
    """
    data, votes = case.data, case.data.votes
    if votes is None or not votes.sum():
        return
    those = data.golds < golds
    cats, kinds = data.cat_of, data.kinds_there
    gold_votes = votes[np.arange(len(votes)), data.golds]
    least = np.full(len(data.cats), np.iinfo(np.int64).max)
    np.minimum.at(least, cats, gold_votes)
    strict = least[cats] >= _STRICT
    domains = data.domains[data.codes][cats]
    both = "both" if len(kinds) == 2 else "all"
    for kind in ("", *kinds) if len(kinds) > 1 else ("",):
        chosen = those & (votes.sum(axis=1) > 0)
        if kind:
            chosen &= (data.kinds == kind)[cats]
        found = agreement(votes[chosen], cats[chosen], confidence=case.settings.confidence)
        parts = []
        for domain in sorted(set(data.domains)):
            own = coefficient("alpha", votes[chosen & (domains == domain)])
            parts.append(f"{domain} {'not defined' if own is None else f'{own:.3f}'}")
        facts = {
            "kind": kind or (f"{both} kinds of" if len(kinds) > 1 else kinds[0]),
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


def shuffled_labels(case: DatasetCase) -> Iterator[Found]:
    """The negative control: the labels, given to associations at random."""
    votes = case.data.votes
    if votes is None or not votes.sum():
        return
    chosen = votes.sum(axis=1) > 0
    cats = case.data.cat_of[chosen]
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
        made = of_runs(Found(n=len(there), facts=facts), run)
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
