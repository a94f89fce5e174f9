"""Sensitivity: how far results depend on the words, the normalisation and the divergence (§7).

Table 8 of the paper compares results with those of the defaults by Spearman's rho and R². Its code
draws shorter lists once. Here lists are drawn many times. Two of its columns say nothing: for two
groups L2 is L1 / √2, and the softmax of counts keeps only which count is larger.
"""

from collections.abc import Callable, Sequence

import numpy as np

from curation.bias import Bias, Criterion, Evidence, Status
from curation.trust.framework import Negative, Normalise, Policies
from curation.trust.groups import Groups
from curation.trust.protocol.changes import Again, attempt, with_words
from curation.trust.protocol.lists import UsedWords
from curation.trust.protocol.measured import AUTOMATED, Alike, MeasureRun, alike, paired
from curation.trust.protocol.rows import evidence_row, own_evidence, row
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings

SIZES = (3, 5)
FEWEST = 5  # with fewer targets than this a rank correlation says nothing
OF_COUNTS = "softmax-of-counts"
SHOWN = ("one-word", "softmax", "sum", OF_COUNTS)
"""Checks whose value is reported without a verdict, because a random measure has a high one, too:
it is compared with nearly itself, or with a monotone form of itself."""
_TAIL = 0.05


def sensitivity_evidence(
    again: Again,
    groups: Groups,
    policies: Policies,
    base: Sequence[Bias],
    *,
    used: UsedWords,
    draws: int,
    rng: np.random.Generator,
) -> list[Evidence]:
    """Evidence of sensitivity, from the measure computed with changed words and policies."""
    found = [
        _shorter(again, groups, policies, base, used=used, size=size, draws=draws, rng=rng)
        for size in SIZES
    ]
    found.append(_one_word(base, used))
    if any(bias.value is not None for bias in base):
        return found
    return [
        *found,
        _other_divergence(again, groups, policies, base),
        _softmax(again, groups, policies, base),
        *_negatives(again, groups, policies, base),
    ]


def sensitivity_criteria(
    run: MeasureRun, others: Sequence[MeasureRun], settings: TrustSettings
) -> list[Criterion]:
    """The rows of sensitivity: of a run's evidence, and of its variants with another window.

    Args:
        run: the run.
        others: all runs; those of the same measure and source with a window are its variants.
        settings: the thresholds.
    """
    limits = Limits(settings.alpha, settings.power)
    found = own_evidence(run, "sensitivity")
    rows = []
    for evidence in found:
        status = _status(evidence, settings.sensitivity, limits)
        if evidence.check in SHOWN:
            status = "not_applicable"
        change = _change(evidence, status, settings.sensitivity)
        rows.append(
            evidence_row(run, evidence, status, threshold=settings.sensitivity, change=change)
        )
    if run.measure == AUTOMATED and run.source == run.stem:
        for other in others:
            if other.measure == AUTOMATED and other.stem == run.stem and other.source != run.stem:
                rows.append(_window(run, other, settings, limits))
    return rows


def _status(evidence: Evidence, threshold: float, limits: Limits) -> Status:
    if evidence.value is None or evidence.n < FEWEST:
        return "inconclusive"
    ci = evidence.ci
    if ci is None and evidence.check.startswith("words-"):
        return "inconclusive"  # too many draws have no result
    ci = ci or (evidence.value, evidence.value)
    return verdict(evidence.value, threshold=threshold, ci=ci, limits=limits)


def _change(evidence: Evidence, status: Status, threshold: float) -> str:
    if status == "not_applicable":
        return ""
    if 0 < evidence.n < FEWEST:
        return f"at least {FEWEST - evidence.n} more targets with a result"
    if evidence.check.startswith("words-") and status == "inconclusive":
        return (
            f"longer lists or lists of words that are more alike: the 5 % quantile must reach "
            f"{threshold:g}, or the 95 % quantile must be below it"
        )
    if status == "fail":
        return "lists of words that are more alike, or other policies; more draws cannot change it"
    return f"a rank correlation below {threshold:g} with other words, policies or targets"


def _shorter(
    again: Again,
    groups: Groups,
    policies: Policies,
    base: Sequence[Bias],
    *,
    used: UsedWords,
    size: int,
    draws: int,
    rng: np.random.Generator,
) -> Evidence:
    """Lists cut to a number of words, many times: median and quantiles of rho and R²."""
    make = _maker(f"words-{size}", "median rank correlation with the results of all words")
    if used.why:
        return make(None, used.why)
    if used.longest <= size:
        return make(None, f"no list has more than {size} words that are used")
    found = [
        alike(paired(base, attempt(again, with_words(groups, words), policies)[0]))
        for words in (used.drawn(size, rng) for _ in range(draws))
    ]
    middle, low, high = (quantile([each.rho for each in found], q) for q in (0.5, _TAIL, 1 - _TAIL))
    squares = [quantile([each.r_squared for each in found], q) for q in (0.5, _TAIL)]
    lost = sum(each.rho is None for each in found)
    detail = (
        f"{draws} random draws of {size} words of each list ({_lengths(used)}): median rho "
        f"{_number(middle)} and R² {_number(squares[0])}, 5 % quantile rho {_number(low)} and R² "
        f"{_number(squares[1])}; the interval is from the 5 % to the 95 % quantile"
    )
    detail += f"; {lost} draws have no result" if lost else ""
    n = int(np.median([each.n for each in found]))
    return make(
        Alike(middle, None, n), detail, None if low is None or high is None else (low, high)
    )


def quantile(values: Sequence[float | None], q: float) -> float | None:
    """A quantile; values that are missing count as the lowest, and may be the quantile: None.

    >>> quantile([0.5, None, 0.75, 1.0], 0.5), quantile([None, 1.0, 1.0], 0.05)
    (0.5, None)
    """
    ordered = sorted(values, key=lambda value: -np.inf if value is None else value)
    return ordered[int(q * (len(ordered) - 1))] if ordered else None


def _one_word(base: Sequence[Bias], used: UsedWords) -> Evidence:
    """Each word left out: the lowest rank correlation."""
    make = _maker("one-word", "lowest rank correlation if one word is left out")
    if not used.without:
        return make(None, used.why or "the lists are too long to leave out each word")
    found = {word: alike(paired(base, results)) for word, results in used.without.items()}
    worst = min(found, key=lambda word: -2.0 if (r := found[word].rho) is None else r)
    return make(
        found[worst],
        f"{len(found)} words were left out one at a time; «{worst}» changes most "
        f"(R² {_number(found[worst].r_squared)})",
    )


def _other_divergence(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> Evidence:
    make = _maker("l2", "rank correlation of L2 with L1")
    if len(groups.words) == 2:
        return make(None, "for two groups L2 is L1 / √2, so that nothing can change")
    other = policies._replace(divergences=("l2",))
    results, why = attempt(again, groups, other)
    both = paired(
        base,
        [bias for bias in results if "l2" in bias.divergences],
        of=lambda bias: (
            (bias.divergences["l2"],)
            if "l2" in bias.divergences
            else (None if bias.l1 is None else (bias.l1,))
        ),
    )
    found = alike(both)
    if why:
        return make(None, why)
    return make(found, f"L2 instead of L1: rho {_number(found.rho)}, R² {_number(found.r_squared)}")


def _softmax(again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]) -> Evidence:
    """The other normalisation; the softmax of counts is marked, since it saturates."""
    counts = _are_counts(base)
    other: Normalise = "sum" if policies.normalise == "softmax" else "softmax"
    name = OF_COUNTS if counts else other
    make = _maker(name, f"rank correlation with the normalisation «{other}»")
    results, why = attempt(again, groups, policies._replace(normalise=other))
    if why:
        return make(None, why)
    found = alike(paired(base, results))
    detail = f"{other} instead of {policies.normalise}: rho {_number(found.rho)}, R² " + _number(
        found.r_squared
    )
    if counts:
        detail += (
            "; the strengths are counts, and the softmax of counts keeps only which one is larger, "
            "so this says nothing about robustness"
        )
    return make(found, detail)


def _negatives(
    again: Again, groups: Groups, policies: Policies, base: Sequence[Bias]
) -> list[Evidence]:
    """Other policies for negative strengths, if there are any."""
    negative = sum(any(s is not None and s < 0 for s in bias.soa) for bias in base)
    if not negative:
        make = _maker("negative", "rank correlation with another policy for negative strengths")
        return [make(None, "no strength of association is negative")]
    found = []
    others: tuple[Negative, ...] = ("raw", "clip", "shift")
    for policy in others:
        if policy == policies.negative:
            continue
        make = _maker(f"negative-{policy}", f"rank correlation with the policy «{policy}»")
        results, why = attempt(again, groups, policies._replace(negative=policy))
        both = paired(base, results)
        defined = sum(bias.p is not None for bias in results)
        detail = (
            f"{negative} of {len(base)} targets have a negative strength; with «{policy}», "
            f"{defined} have a result"
        )
        if why or (both.targets and np.allclose(both.first, both.second, rtol=0, atol=1e-9)):
            same = "; the targets that have a result by default do not change"
            found.append(make(None, why or detail + same))
            continue
        result = alike(both)
        detail += f"; rho {_number(result.rho)}, R² {_number(result.r_squared)} on {result.n}"
        found.append(make(result, detail))
    return found


def _are_counts(base: Sequence[Bias]) -> bool:
    values = [value for bias in base for value in bias.soa if value is not None]
    return bool(values) and all(value == int(value) for value in values) and max(values) > 1


def _window(
    run: MeasureRun, other: MeasureRun, settings: TrustSettings, limits: Limits
) -> Criterion:
    """The same texts with contexts of another length."""
    found = alike(paired(run.biases, other.biases))
    variant = other.source.partition("+")[2]
    statistic = f"rank correlation with {variant}"
    evidence = Evidence(
        criterion="sensitivity",
        check=variant,
        statistic=statistic,
        value=found.rho,
        n=found.n,
        detail=f"{statistic}: rho {_number(found.rho)}, R² {_number(found.r_squared)}",
    )
    status = _status(evidence, settings.sensitivity, limits)
    return row(
        run,
        "sensitivity",
        variant,
        status,
        statistic=statistic,
        value=found.rho,
        n=found.n,
        unit="targets",
        threshold=settings.sensitivity,
        computed=evidence.detail,
        change=_change(evidence, status, settings.sensitivity),
        evidence=(run.name, other.name),
    )


def _maker(check: str, statistic: str) -> Callable[..., Evidence]:
    def make(found: Alike | None, detail: str, ci: tuple[float, float] | None = None) -> Evidence:
        return Evidence(
            criterion="sensitivity",
            check=check,
            statistic=statistic,
            value=found and found.rho,
            ci=ci,
            n=found.n if found else 0,
            detail=detail,
        )

    return make


def _lengths(used: UsedWords) -> str:
    return ", ".join(f"{name}: {len(own)}" for name, own in used.words.items())


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
