"""Measure by simulation how often intervals, tests and power tables hold.

Datasets are drawn from models whose true values are known. The package's own code computes every
interval, and this script counts how often it contains the true value. The tables of
docs/intervals.md come from here.

    python benchmarks/coverage.py                     all parts; about 15 minutes on two cores
    python benchmarks/coverage.py scores --datasets 400
    python benchmarks/coverage.py --measure DIR       the spread of terms in real predictions

The exit status is 1 if a share is outside its limits by more than the simulation's own error (two
standard errors), in a cell that the package does not flag.

**CATs of a term.** A term's true lms and ss are drawn from beta distributions around the dataset's
values. Their variance is ``icc`` · p (1 − p). icc is 0 if terms do not differ, or 0.0135, the
largest value of four language models on StereoSet (``--measure``). A term has 21 to 32 CATs, as
StereoSet's terms have per kind. A CAT's two comparisons with the unrelated association have
correlation 0.5 (measured: 0.43 to 0.59). ``with`` is the correlation of the result of these
comparisons with whether the CAT's stereotype is preferred (measured: −0.23 to 0.13).
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from curation.scores.answers import NONE, REFUSED, group_differences, uneven_groups
from curation.scores.answers import share as share_of
from curation.stats.agreement import MEASURES, by_cat, contributions, interval
from curation.stats.correlations import critical_rho, rank_power, rho_interval
from curation.stats.intervals import FEW_CATS, FEW_CLUSTERS, mean_interval, share_interval
from curation.stats.metrics import METRICS, cell, icat
from curation.stats.tests import Spread, needed_terms, paired_tests, power_at, t_test

Floats = NDArray[np.float64]
Two = tuple[float, float]  # values of two models
TERMS = (5, 10, 20, 40, 80)
LMS = (70.0, 85.0, 98.0)
SS = (40.0, 45.0, 48.0, 49.5, 50.0, 50.5, 52.0, 55.0, 60.0)
ICC = (0.0, 0.0135)
WIDE = 0.147  # icc of the ss of the authors' sentiment classifier; that of lms is as above
ALIKE = 0.5  # correlation of a CAT's two comparisons with the unrelated association
RHOS = (0.0, 0.3, 0.5, 0.7, 0.9)
CAT_ICC, TERM_ICC = 0.3, 0.05  # how much CATs, and terms, differ in refusals
SIZES = (21, 32)  # CATs of a term and kind in StereoSet's development set


class Check(NamedTuple):
    """A share of datasets, in per cent, and its limits; ``flagged`` shares may be outside."""

    part: str
    cell: str
    figure: str
    share: float
    low: float
    high: float
    datasets: int
    width: float = math.nan
    flagged: bool = False

    @property
    def fails(self) -> bool:
        """Whether the share is outside its limits by more than two standard errors."""
        p = min(max(self.share / 100, 0.001), 0.999)
        error = 200 * math.sqrt(p * (1 - p) / self.datasets)
        outside = self.share < self.low - error or self.share > self.high + error
        return outside and not self.flagged


# --- the datasets ---------------------------------------------------------------------------------


def chances(rng: np.random.Generator, percent: float, icc: float, shape: tuple[int, int]) -> Floats:
    """Draw the terms' true shares around a dataset's share."""
    p = percent / 100
    if icc == 0:
        return np.full(shape, p)
    return rng.beta(p * (1 / icc - 1), (1 - p) * (1 / icc - 1), size=shape)


def won(
    rng: np.random.Generator, shape: tuple[int, int], *, lms: float, ss: float, icc: float,
    correlation: float = 0.0,
) -> tuple[Floats, Floats, NDArray[np.int64]]:  # fmt: skip
    """Draw terms' lms and ss in per cent, and their sizes; each of shape (datasets, terms)."""
    sizes = rng.integers(SIZES[0], SIZES[1] + 1, size=shape)
    p = chances(rng, lms, min(icc, ICC[1]), shape)
    q = chances(rng, ss, icc, shape)
    both, one = p * p + ALIKE * p * (1 - p), 2 * p * (1 - p) * (1 - ALIKE)
    twos = rng.binomial(sizes, both)
    ones = rng.binomial(sizes - twos, np.clip(one / np.maximum(1 - both, 1e-12), 0, 1))
    spread = np.sqrt(both + one / 4 - p * p)
    slope = correlation * np.sqrt(q * (1 - q)) / np.maximum(spread, 1e-12)
    stereotypes = sum(
        rng.binomial(count, np.clip(q + slope * (share - p), 0, 1))
        for count, share in ((twos, 1.0), (ones, 0.5), (sizes - twos - ones, 0.0))
    )
    return 100 * (twos + ones / 2) / sizes, 100 * np.asarray(stereotypes) / sizes, sizes


# --- values of models ----------------------------------------------------------------------------


def _held(found: Sequence[dict[str, Any]], truth: dict[str, float], **of: Any) -> list[Check]:
    checks = []
    for figure in METRICS:
        ends = np.array([one[f"{figure}_ci"] for one in found])
        inside = (ends[:, 0] <= truth[figure] + 1e-9) & (truth[figure] <= ends[:, 1] + 1e-9)
        width = float((ends[:, 1] - ends[:, 0]).mean())
        flagged = 2 * sum(figure in one["too_wide"] for one in found) > len(found)
        checks.append(
            Check(
                figure=figure, share=100 * float(inside.mean()), low=93, high=98, width=width,
                datasets=len(found), flagged=flagged, **of,
            )
        )  # fmt: skip
    return checks


def _truth(lms: float, ss: float) -> dict[str, float]:
    return {"lms": lms, "ss": ss, "icat": float(icat(np.array([lms]), np.array([ss]))[0])}


def _scores(job: tuple[int, float, float, float, float], *, datasets: int) -> list[Check]:
    terms, lms, ss, icc, r = job
    rng = np.random.default_rng(
        [terms, int(10 * lms), int(10 * ss), int(1e4 * icc), int(100 + 100 * r)]
    )
    shape = (datasets, terms)
    a, b, sizes = won(rng, shape, lms=lms, ss=ss, icc=icc, correlation=r)
    found = [cell({"lms": a[n], "ss": b[n]}, cats=int(sizes[n].sum())) for n in range(datasets)]
    name = f"{terms} terms, lms {lms:g}, ss {ss:g}, icc {icc:g}" + (f", with {r:g}" if r else "")
    return _held(found, _truth(lms, ss), part="scores", cell=name)


def scores(datasets: int, pool: Executor) -> list[Check]:
    """Measure the intervals above a term."""
    jobs = [(k, lms, ss, icc, 0.0) for k in TERMS for lms in LMS for ss in SS for icc in ICC]
    jobs += [
        (k, 85.0, ss, ICC[1], r) for k in TERMS for ss in (45.0, 50.0, 55.0) for r in (-0.25, 0.25)
    ]
    jobs += [(k, 85.0, ss, WIDE, 0.0) for k in TERMS for ss in SS[:5]]
    found = list(pool.map(partial(_scores, datasets=datasets), jobs, chunksize=4))
    by_job = dict(zip(jobs, found, strict=True))
    print("\n## Above a term: coverage in per cent, lowest and highest over ss 40 to 60\n")
    print(
        "| terms | true lms | lms | ss | icat | widths: lms, ss, icat |\n|---|---|---|---|---|---|"
    )
    for k in TERMS:
        for lms in LMS:
            own = [
                c
                for job, checks in by_job.items()
                if job[:2] == (k, lms) and job[3] in ICC and not job[4]
                for c in checks
            ]
            shares = " | ".join(_range(own, figure) for figure in METRICS)
            print(f"| {k} | {lms:g} | {shares} | {_widths(own)} |")
    print("\n## icat by the true ss (true lms 85, terms that differ): coverage, mean width\n")
    print("| terms | " + " | ".join(f"{ss:g}" for ss in SS[:5]) + " |\n|---" * 1 + "|---" * 5 + "|")
    for k in TERMS:
        cells = [by_job[k, 85.0, ss, ICC[1], 0.0][2] for ss in SS[:5]]
        print(f"| {k} | " + " | ".join(f"{c.share:.1f}, {c.width:.1f}" for c in cells) + " |")
    print("\n## lms and ss correlated within CATs (lms 85, ss 45, 50, 55)\n")
    print("| terms | with −0.25: icat | with 0.25: icat |\n|---|---|---|")
    for k in TERMS:
        of = [
            [c for job, found in by_job.items() if job[0] == k and job[4] == r for c in found]
            for r in (-0.25, 0.25)
        ]
        print(f"| {k} | {_range(of[0], 'icat')} | {_range(of[1], 'icat')} |")
    print("\n## Terms that differ far more in ss (icc 0.147, lms 85, ss 40 to 50)\n")
    print("| terms | lms | ss | icat | widths: lms, ss, icat |\n|---|---|---|---|---|")
    for k in TERMS:
        own = [c for ss in SS[:5] for c in by_job[k, 85.0, ss, WIDE, 0.0]]
        print(f"| {k} | {' | '.join(_range(own, f) for f in METRICS)} | {_widths(own)} |")
    return [check for checks in found for check in checks]


def _range(checks: Sequence[Check], figure: str) -> str:
    shares = [check.share for check in checks if check.figure == figure]
    return f"{min(shares):.1f}–{max(shares):.1f}"


def _widths(checks: Sequence[Check]) -> str:
    of = [np.mean([c.width for c in checks if c.figure == figure]) for figure in METRICS]
    return ", ".join(f"{width:.1f}" for width in of)


def _term(job: tuple[int, float, float], *, datasets: int) -> list[Check]:
    cats, lms, ss = job
    rng = np.random.default_rng([cats, int(10 * lms), int(10 * ss)])
    p = lms / 100
    both, one = p * p + ALIKE * p * (1 - p), 2 * p * (1 - p) * (1 - ALIKE)
    draw = rng.random((datasets, cats))
    a = np.where(draw < both, 100.0, np.where(draw < both + one, 50.0, 0.0))
    b = 100.0 * (rng.random((datasets, cats)) < ss / 100)
    found = [cell({"lms": a[n], "ss": b[n]}, cats=cats, of_term=True) for n in range(datasets)]
    name = f"{cats} CATs, lms {lms:g}, ss {ss:g}"
    return _held(found, _truth(lms, ss), part="terms", cell=name)


def terms(datasets: int, pool: Executor) -> list[Check]:
    """Measure the intervals of a single term."""
    jobs = [(cats, lms, ss) for cats in (10, 26, 43) for lms in LMS for ss in SS]
    found = list(pool.map(partial(_term, datasets=datasets), jobs))
    print("\n## A single term: coverage, lowest and highest over lms 70, 85, 98, ss 40 to 60\n")
    print("| CATs | lms | ss | icat | widths: lms, ss, icat |\n|---|---|---|---|---|")
    for cats in (10, 26, 43):
        own = [c for job, checks in zip(jobs, found, strict=True) if job[0] == cats for c in checks]
        flag = " (flagged)" if cats < FEW_CATS else ""
        print(f"| {cats}{flag} | {' | '.join(_range(own, f) for f in METRICS)} | {_widths(own)} |")
    return [check for checks in found for check in checks]


# --- pairs ---------------------------------------------------------------------------------------

PAIRS = {157: 1, 43: 1, 36: 1, 27: 1, 24: 1, 19: 1, 18: 1, 15: 1, 14: 2, 13: 1, 11: 2, 10: 1, 9: 1,
         7: 3, 6: 7, 5: 4, 4: 9, 3: 21, 2: 47, 1: 811}  # fmt: skip
"""CrowS-Pairs: how many groups of pairs have the same differing words and type, by their size.

Counted in data/crows_pairs_anonymized.csv of nyu-mll/crows-pairs: 1,508 pairs, 917 groups."""
BY_TYPE = {230: 1, 165: 1, 157: 1, 113: 1, 97: 1, 48: 1, 43: 2, 41: 1, 40: 1, 36: 1, 34: 1, 27: 1,
           24: 1, 19: 1, 18: 1, 15: 1, 14: 2, 13: 1, 11: 2, 10: 1, 9: 1, 7: 3, 6: 7, 5: 4, 4: 9,
           3: 21, 2: 47}  # fmt: skip
"""The same if no pair of groups is found for pairs that are alone: these are clustered by type."""
CLUSTERS = (5, 7, 9, 12, 15, 20, 50, 115, 300, 917)
TRUE_SS = (40.0, 50.0, 60.0, 75.0)
SPREADS = (0.0, 0.1, 0.2)  # standard deviation of clusters' true shares


def _cluster_sizes(rng: np.random.Generator, name: str, clusters: int) -> Floats | None:
    """Draw the sizes of a dataset's clusters; all of them if there are so many, None if more."""
    counted = {"pairs": PAIRS, "by type": BY_TYPE}[name]
    sizes = np.repeat([*counted], [*counted.values()])
    if clusters >= len(sizes):
        return sizes.astype(float) if clusters == len(sizes) else None
    return rng.choice(sizes, clusters).astype(float)


def _shares(rng: np.random.Generator, ss: float, sd: float, clusters: int) -> Floats:
    p = ss / 100
    return chances(rng, ss, sd * sd / (p * (1 - p)), (1, clusters))[0]


def _pairs(job: tuple[str, int, float, float], *, datasets: int) -> list[Check]:
    name, clusters, ss, sd = job
    rng = np.random.default_rng([len(name), clusters, int(10 * ss), int(100 * sd)])
    inside, widths, small, none = [], [], [], 0
    for _ in range(datasets):
        sizes = _cluster_sizes(rng, name, clusters)
        if sizes is None:
            return []
        whole = sizes.astype(int)
        values = []
        for _ in range(2):  # a model, and another one of the same ss
            values.append(100 * rng.binomial(whole, _shares(rng, ss, sd, clusters)) / sizes)
        found = cell({"ss": values[0]}, cats=int(sizes.sum()), sizes=sizes)
        test = paired_tests({"ss": values[0]}, {"ss": values[1]}, cats=0, sizes=sizes)[0]
        if found["ss_ci"] is None or test.p is None:
            none += 1
            continue
        low, high = found["ss_ci"]
        inside.append(low - 1e-9 <= ss <= high + 1e-9)
        widths.append(high - low)
        small.append(test.p < 0.05)
    if not inside:
        return []
    few, about = clusters < FEW_CLUSTERS, f"{name}, {clusters} clusters, ss {ss:g}, sd {sd:g}"
    share, width = 100 * float(np.mean(inside)), float(np.mean(widths))
    return [
        Check("pairs", about, "ss", share, 93, 98, len(inside), width, few),
        Check("pairs", about, "p", 100 * float(np.mean(small)), 0, 6, len(small), flagged=few),
        Check("pairs", about, "none", 100 * none / datasets, 0, 100, datasets),
    ]


def pairs(datasets: int, pool: Executor) -> list[Check]:
    """Measure the intervals of shares of pairs, with clusters of very different size."""
    jobs = [
        (name, k, ss, sd)
        for name in ("pairs", "by type")
        for k in CLUSTERS
        for ss in TRUE_SS
        for sd in SPREADS
    ]
    found = list(pool.map(partial(_pairs, datasets=datasets), jobs, chunksize=4))
    print("\n## Pairs: coverage and p < 0.05 of equal models, lowest and highest; mean width\n")
    print("| clusters | sizes | ss | p < 0.05 | no interval | width |\n" + "|---" * 6 + "|")
    for k in CLUSTERS:
        for name in ("pairs", "by type"):
            own = [
                c for job, of in zip(jobs, found, strict=True) if job[:2] == (name, k) for c in of
            ]
            if own:
                width = np.mean([check.width for check in own if check.figure == "ss"])
                shares = " | ".join(_range(own, figure) for figure in ("ss", "p", "none"))
                print(f"| {k} | {name} | {shares} | {width:.1f} |")
    return [check for checks in found for check in checks]


# --- differences, power ---------------------------------------------------------------------------


def _pair(
    rng: np.random.Generator, terms: int, datasets: int, *, lms: Two, ss: Two
) -> tuple[Floats, NDArray[np.int64]]:
    """Draw two models' lms and ss of terms, of shape (datasets, terms, 4), and the terms' sizes.

    A third of a CAT's latent preference, and of a term's, is common to both models.
    """
    from scipy.special import ndtri

    sizes = rng.integers(SIZES[0], SIZES[1] + 1, size=(datasets, terms))
    there = np.arange(SIZES[1]) < sizes[:, :, None]
    between = 0.022  # share of the latent variance; it gives terms an icc of 0.0135

    def latent() -> list[Floats]:
        """Draw an array for each model: standard normal, of shape (datasets, terms, CATs)."""
        parts = []
        for size, share in ((1, between), (SIZES[1], 1 - between)):
            shape = (3, datasets, terms, size)
            common, *own = rng.standard_normal(shape, dtype=np.float32)
            parts.append(
                [math.sqrt(share) * (common + math.sqrt(2) * o) / math.sqrt(3) for o in own]
            )
        return [a + b for a, b in zip(*parts, strict=True)]

    first, second, likes = latent(), latent(), latent()
    columns = []
    for model in (0, 1):
        other = 0.71 * first[model] + math.sqrt(1 - 0.71**2) * second[model]
        least = ndtri(lms[model] / 100)
        meaningful = 0.5 * ((first[model] < least) * 1.0 + (other < least))
        stereotype = likes[model] < ndtri(ss[model] / 100)
        columns += [100 * (x * there).sum(axis=2) / sizes for x in (meaningful, stereotype)]
    return np.stack(columns, axis=2), sizes


EQUAL = ((40.0, 40.0), (45.0, 45.0), (50.0, 50.0), (40.0, 60.0))
APART = ((85.0, 98.0), (50.0, 50 * 85 / 98))  # lms and ss of two models of equal icat, 85


class Found(NamedTuple):
    """The checks of a cell, and for icat the counts of p < 0.05 and of datasets.

    The counts are pairs: differences that are not flagged, and those that are.
    """

    checks: list[Check]
    hits: tuple[int, int]
    datasets: tuple[int, int]


def _difference(job: tuple[int, Two, Two], *, datasets: int) -> Found:
    terms, lms, ss = job
    rng = np.random.default_rng([terms, *(int(10 * one) for one in (*lms, *ss))])
    small: dict[str, list[bool]] = {figure: [] for figure in METRICS}
    unsure: dict[str, list[bool]] = {figure: [] for figure in METRICS}
    left = datasets
    while left:
        step = min(left, 500)
        means, sizes = _pair(rng, terms, step, lms=lms, ss=ss)
        left -= step
        for n in range(step):
            one = {"lms": means[n][:, 0], "ss": means[n][:, 1]}
            two = {"lms": means[n][:, 2], "ss": means[n][:, 3]}
            for row in paired_tests(one, two, cats=int(sizes[n].sum())):
                small[row.figure].append(row.p is not None and row.p < 0.05)
                unsure[row.figure].append(row.unsure)
    equal = {"lms": lms[0] == lms[1], "ss": ss[0] == ss[1], "icat": True}
    name = f"{terms} terms, lms {lms[0]:g} and {lms[1]:g}, ss {ss[0]:g} and {ss[1]:.4g}"
    marked = np.array(unsure["icat"])
    checks = [
        Check(
            "differences", name, figure, 100 * float(np.mean(small[figure])), 4, 6, datasets,
            flagged=2 * sum(unsure[figure]) > datasets,
        )
        for figure in METRICS if equal[figure]
    ]  # fmt: skip
    hit = np.array(small["icat"])
    return Found(
        checks,
        (int((hit & ~marked).sum()), int((hit & marked).sum())),
        (int((~marked).sum()), int(marked.sum())),
    )


def differences(datasets: int, pool: Executor) -> list[Check]:
    """Measure the type I error of the tests between two equal models."""
    jobs: list[tuple[int, Two, Two]] = [
        (k, (lms, lms), ss) for k in TERMS for lms in LMS for ss in EQUAL
    ]
    jobs += [(k, *APART) for k in TERMS]
    every = list(pool.map(partial(_difference, datasets=max(datasets, 10_000)), jobs))
    found = dict(zip(jobs, every, strict=True))
    print("\n## Equal models: per cent of p < 0.05 (lms, ss, icat by true ss; * mostly flagged)\n")
    heads = ["lms", "ss"] + [f"icat, {a:g} and {b:g}" for a, b in EQUAL]
    print("| terms | true lms | " + " | ".join(heads) + " |\n" + "|---" * (2 + len(heads)) + "|")
    for k in TERMS:
        for lms in LMS:
            own = [found[k, (lms, lms), ss].checks for ss in EQUAL]
            both = [_range([c for of in own for c in of], figure) for figure in ("lms", "ss")]
            icats = [f"{of[-1].share:.1f}{'*' if of[-1].flagged else ''}" for of in own]
            print(f"| {k} | {lms:g} | {' | '.join(both + icats)} |")
    print("\n## icat of these cells, and of lms 85, ss 50 against lms 98, ss 43.4\n")
    print("| terms | not flagged | flagged | lms and ss differ, all |\n|---|---|---|---|")
    for k in TERMS:
        own = [of for job, of in found.items() if job[0] == k]
        parts = [
            100 * sum(of.hits[n] for of in own) / max(1, sum(of.datasets[n] for of in own))
            for n in (0, 1)
        ]
        apart = found[k, *APART].checks[-1]
        shares = f"{parts[0]:.1f} | {parts[1]:.1f} | {apart.share:.1f}"
        print(f"| {k} | {shares}{'*' if apart.flagged else ''} |")
    return [check for of in every for check in of.checks]


def power(datasets: int, pool: Executor) -> list[Check]:
    """Measure how often the paired test detects a difference with the terms of the power table."""
    checks = []
    print("\n## Power: terms needed, power by the table and by simulation\n")
    print("| difference | CATs per term | terms | table | simulated |\n|---|---|---|---|---|")
    for difference in (3.0, 6.0, 12.0):
        for cats in (1, 3, 5, 10, 20):
            rng = np.random.default_rng([int(difference), cats])
            sd, half = 8.0, 0.5 + difference / 200
            # A CAT's difference is 100, 0 or −100: one coin for each model.
            variance = 1e4 * 2 * half * (1 - half) - sd**2 / 2
            of = Spread(sd**2, variance, 1.0, difference, 2, 4)
            terms = needed_terms(of, difference, cats) or 0
            says, hits = power_at(of, difference, terms=terms, cats=cats), 0
            for _ in range(datasets):
                chance = np.clip(rng.normal(half, sd / 200, terms), 0, 1)
                a, b = rng.binomial(cats, chance), rng.binomial(cats, 1 - chance)
                p = t_test(100 * (a - b) / cats)
                hits += p is not None and p < 0.05
            share = 100 * hits / datasets
            checks.append(
                Check("power", f"{difference:g} points, {cats} CATs", "power", share,
                      100 * says - 3, 100 * says + 3, datasets)
            )  # fmt: skip
            print(f"| {difference:g} | {cats} | {terms} | {100 * says:.1f} | {share:.1f} |")
    return checks


# --- agreement, sentiment -------------------------------------------------------------------------


def votes(rng: np.random.Generator, cats: int) -> NDArray[np.int64]:
    """Draw five votes on each of three associations: shape (cats, 3, 4 classes).

    The probability of the right class differs between associations (beta, mean 0.86). This gives
    the agreement of StereoSet's development set: alpha is 0.68 here and 0.67 there.
    """
    others = np.array([[0, 0.6, 0.35, 0.05], [0.6, 0, 0.35, 0.05], [0.45, 0.5, 0, 0.05]])
    right = rng.beta(3.44, 0.56, size=(cats, 3, 1))
    chance = (1 - right) * others + right * np.eye(3, 4)
    return rng.multinomial(5, chance / chance.sum(axis=2, keepdims=True))


def _units(counts: NDArray[np.int64]) -> Floats:
    return by_cat(contributions(counts.reshape(-1, 4)), np.repeat(np.arange(len(counts)), 3))


def agreement(datasets: int, pool: Executor) -> list[Check]:
    """Measure the intervals of alpha, kappa and AC1."""
    rng = np.random.default_rng(7)
    whole = _units(votes(rng, 400_000)).sum(axis=0, keepdims=True)
    truth = {name: float(measure(whole)[0]) for name, measure in MEASURES.items()}
    checks = []
    print("\n## Agreement: coverage, mean width\n")
    print("| CATs | " + " | ".join(MEASURES) + " |\n|---" + "|---" * len(MEASURES) + "|")
    for cats in (10, 20, 100, 500):
        ends: dict[str, list[list[float]]] = {name: [] for name in MEASURES}
        for _ in range(datasets):
            units = _units(votes(rng, cats))
            for name in MEASURES:
                ends[name].append(interval(name, units) or [math.nan, math.nan])
        cells = []
        for name, of in ends.items():
            low, high = np.array(of).T
            share = 100 * float(((low <= truth[name]) & (truth[name] <= high)).mean())
            width = float(np.nanmean(high - low))
            cells.append(f"{share:.1f}, {width:.3f}")
            checks.append(Check("agreement", f"{cats} CATs", name, share, 92, 98, datasets, width))
        print(f"| {cats} | {' | '.join(cells)} |")
    return checks


def sentiment(datasets: int, pool: Executor) -> list[Check]:
    """Measure the intervals of a label's negative share, and of the difference of two labels."""
    checks = []
    print("\n## Sentiment: coverage, mean width; the other label is negative in 17 of 100\n")
    print("| terms | negative | icc | share | difference |\n|---|---|---|---|---|")
    for k in TERMS:
        for percent in (17.0, 32.0, 41.0):
            for icc in (0.0, 0.1):
                rng = np.random.default_rng([k, int(percent), int(1000 * icc)])
                sizes = rng.integers(SIZES[0], SIZES[1] + 1, size=(datasets, k))
                first, second = (
                    rng.binomial(sizes, chances(rng, of, icc, (datasets, k))).astype(float)
                    for of in (percent, 17.0)
                )
                found = {"share": [], "difference": []}  # type: dict[str, list[Any]]
                for n in range(datasets):
                    of = sizes[n].astype(float)
                    found["share"].append(share_interval(first[n], of, observations=of.sum()))
                    found["difference"].append(mean_interval(first[n] - second[n], of))
                cells = []
                for name, truth in (("share", percent), ("difference", percent - 17.0)):
                    low, high = 100 * np.array(found[name]).T
                    share = 100 * float(((low <= truth) & (truth <= high)).mean())
                    width = float((high - low).mean())
                    cells.append(f"{share:.1f}, {width:.1f}")
                    where = f"{k} terms, {percent:g} per cent, icc {icc:g}"
                    checks.append(Check("sentiment", where, name, share, 92, 98, datasets, width))
                print(f"| {k} | {percent:g} | {icc:g} | {' | '.join(cells)} |")
    return checks


def ranked(rng: np.random.Generator, rho: float, shape: tuple[int, int]) -> Floats:
    """Draw the observed rank correlations of normal data whose Spearman's rho is known."""
    r = 2 * math.sin(math.pi * rho / 6)
    x = rng.standard_normal(shape)
    y = r * x + math.sqrt(1 - r * r) * rng.standard_normal(shape)
    middle, n = (shape[1] - 1) / 2, shape[1]
    first, second = (values.argsort(axis=1).argsort(axis=1) - middle for values in (x, y))
    return np.asarray((first * second).sum(axis=1) / (n * (n * n - 1) / 12))


def ranks(datasets: int, pool: Executor) -> list[Check]:
    """Measure the interval of Spearman's rho, and the power of its test."""
    checks = []
    print("\n## Rank correlations: coverage, mean width; power by the formula, simulated\n")
    print("| units | " + " | ".join(f"rho {rho:g}" for rho in RHOS) + " |")
    print("|---" * (len(RHOS) + 1) + "|")
    for n in (5, 6, 8, 12, 16, 30, 100):
        cells = []
        for rho in RHOS:
            rng = np.random.default_rng([n, int(10 * rho)])
            found = np.round(ranked(rng, rho, (max(datasets, 10_000), n)), 9)
            values, counts = np.unique(found, return_counts=True)
            low, high = np.array([rho_interval(value, n) for value in values.tolist()]).T
            inside = (low <= rho) & (rho <= high)
            share = 100 * float(counts[inside].sum()) / len(found)
            width = float((counts * (high - low)).sum()) / len(found)
            seen = 100 * float((found >= critical_rho(n) - 1e-9).mean())
            told = 100 * rank_power(rho, n)
            cells.append(f"{share:.1f}, {width:.2f}; {told:.0f}, {seen:.0f}")
            where = f"{n} units, rho {rho:g}"
            high_end = 99.5 if n < 6 else 98.5
            checks.append(Check("ranks", where, "rho", share, 94, high_end, len(found), width))
            if n > 6 and rho > 0:
                checks.append(
                    Check("ranks", where, "power of rho", seen, told - 3, told + 3, len(found))
                )
        print(f"| {n} | {' | '.join(cells)} |")
    return checks


def _asked(
    rng: np.random.Generator, sizes: tuple[int, int, int], percent: float, *, icc: float
) -> pd.DataFrame:
    """Draw how many of each CAT's six questions are refused, as ``choice.counts.by_cat`` counts.

    CATs differ (``CAT_ICC``), and with ``icc`` terms differ, too.
    """
    domains, terms, cats = sizes
    means = chances(rng, percent, icc, (domains * terms, 1)).clip(1e-6, 1 - 1e-6)
    k = 1 / CAT_ICC - 1
    refused = rng.binomial(6, rng.beta(means * k, (1 - means) * k, (domains * terms, cats)))
    number = np.repeat(np.arange(domains * terms), cats)
    return pd.DataFrame(
        {
            "kind": np.where(np.arange(len(number)) % 2, "intersentence", "intrasentence"),
            "domain": [f"d{n // terms}" for n in number],
            "term": [f"d{n // terms}/t{n}" for n in number],
            "questions": 6,
            REFUSED: refused.ravel(),
            NONE: refused.ravel(),
        }
    )


def _refusals(
    job: tuple[tuple[int, int, int], float], *, datasets: int
) -> tuple[list[Check], list[float]]:
    sizes, percent = job
    rng = np.random.default_rng([*sizes, int(10 * percent)])
    named, held, differ, found = 0, 0, 0, [0, 0]
    for _ in range(datasets):
        counts = _asked(rng, sizes, percent, icc=0)
        named += bool(uneven_groups(group_differences(counts)))
        for n, more in enumerate((100, 30)):
            own = counts["term"] == "d0/t0"
            draw = rng.binomial(6 - counts[REFUSED], more / 100)
            refused = counts[REFUSED] + np.where(own, draw, 0)
            rows = group_differences(counts.assign(**{REFUSED: refused, NONE: refused}))
            found[n] += "d0/t0" in uneven_groups(rows)
        counts = _asked(rng, sizes, percent, icc=TERM_ICC)
        low, high = share_of(counts, REFUSED)["ci"] or (math.nan, math.nan)
        held += low <= percent / 100 <= high
        rows = [row for row in group_differences(counts) if row["group"] == "d0"]
        low, high = (rows[0]["ci_difference"] if rows else None) or (-1.0, 1.0)
        differ += low <= 0 <= high
    where = f"{sizes}, {percent:g} per cent"
    shares = [100 * n / datasets for n in (named, held, differ, *found)]
    limits = (("any group differs", 0, 5), ("share", 92, 98.5), ("difference", 92, 100))
    checks = [
        Check("refusals", where, name, value, low, high, datasets)
        for (name, low, high), value in zip(limits, shares, strict=False)
    ]
    return checks, shares


def refusals(datasets: int, pool: Executor) -> list[Check]:
    """Measure how often groups seem to differ in refusals that come at random, and do if they do.

    A sixth of the datasets is used, since each has a test of every group.
    """
    jobs = [
        (sizes, percent)
        for sizes in ((2, 5, 5), (4, 6, 8), (4, 20, 10))
        for percent in (2.0, 10.0, 50.0)
    ]
    results = pool.map(partial(_refusals, datasets=max(1, datasets // 6)), jobs)
    checks: list[Check] = []
    print("\n## Refusals: how often a group differs; coverage; power for one term\n")
    print("| domains | terms | CATs | refused | at random | share | difference | always | + 30 % |")
    print("|---" * 9 + "|")
    for ((domains, terms, cats), percent), (own, shares) in zip(jobs, results, strict=True):
        checks += own
        first = f"| {domains} | {domains * terms} | {domains * terms * cats} | {percent:g} | "
        print(first + " | ".join(f"{value:.1f}" for value in shares) + " |")
    return checks


PARTS: dict[str, Callable[[int, Executor], list[Check]]] = {
    "scores": scores,
    "terms": terms,
    "pairs": pairs,
    "differences": differences,
    "power": power,
    "agreement": agreement,
    "sentiment": sentiment,
    "ranks": ranks,
    "refusals": refusals,
}


# --- the spread of real terms ---------------------------------------------------------------------


def measured_icc(folder: Path) -> dict[str, tuple[float, float]]:
    """Compute the icc of lms and of ss over terms for each model with published predictions.

    Args:
        folder: has StereoSet's labelled files and the authors' predictions for them.
    """
    from curation.campaign.source import read_gold
    from curation.formats.predictions import read_predictions
    from curation.stats.metrics import comparisons
    from curation.stats.tests import spread

    cats = read_gold(sorted(folder.glob("dev_intrasentence_*.json")))
    found = {}
    for path in sorted((folder / "predictions").glob("*LM.json")):
        table = comparisons(cats, dict(read_predictions(path)))
        codes, _ = table["term"].factorize(sort=True)
        iccs = []
        for values in (table["meaningful"] / 2, table["stereotype"]):
            of = spread(codes, values.to_numpy(float))
            iccs.append(of.between / (of.mean * (1 - of.mean)))
        found[path.stem.removeprefix("predictions_")] = (iccs[0], iccs[1])
    return found


def main(arguments: Iterable[str]) -> int:
    """Run the requested parts; return 1 if a check fails, otherwise 0."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("parts", nargs="*", help=f"{', '.join(PARTS)}; default all")
    parser.add_argument(
        "--datasets", type=int, default=1500, help="per cell; differences use at least 10,000"
    )
    parser.add_argument("--json", type=Path, help="also write every cell to this file")
    parser.add_argument(
        "--measure", type=Path, metavar="DIR", help="only measure the icc of real terms"
    )
    given = parser.parse_args(list(arguments))
    if given.measure:
        for name, (lms, ss) in measured_icc(given.measure).items():
            print(f"{name}: icc of lms {lms:.4f}, of ss {ss:.4f}")
        return 0
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    checks: list[Check] = []
    with ProcessPoolExecutor(2) as pool:
        for name in given.parts or PARTS:
            checks += PARTS[name](given.datasets, pool)
    if given.json:
        given.json.write_text(json.dumps([check._asdict() for check in checks], indent=1))
    failed = [check for check in checks if check.fails]
    print(f"\n{len(checks)} shares, {len(failed)} outside their limits")
    for check in failed:
        print(f"{check.part}: {check.cell}: {check.figure} {check.share:.1f}, "
              f"not {check.low:.1f} to {check.high:.1f}")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
