"""What the rows of a board with hidden labels give away: simulated attackers.

An attacker submits made-up scores and reads every number of every row. The unrelated option of each
CAT is known, because readers see it, so the lms of a row is 100 and says nothing. What remains are
two numbers about the labels: the mean of the terms' ss, and how far terms differ, which the ends of
the interval give. Both are equations about the labels, and ``hidden_attack.py`` estimates the
labels from them. Dev labels, all models and the number of CATs of each term are known.

The gain in icat is the icat of the attacker's row minus that of the same way of answering on a
fresh set: the same models and terms, the same number of CATs turned, the same use of the earlier
rows, but new CATs. The gain in labels is the share of right orders with all rows, minus the share
without. Prints tables, and progress on stderr.

    python benchmarks/board_attack.py [--cats 177 500 1600] [--work 1] [--jobs 2]
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
from hidden_attack import (
    LIMIT,
    Equations,
    Floats,
    Guess,
    Sets,
    Small,
    budget,
    draw,
    guess,
    linear,
    pulls,
    right,
    together,
    weights_of,
)
from numpy.typing import NDArray

Whole = NDArray[np.int64]
DECIMALS = 1
CATS_A_TERM = 10
EXCHANGED = 0.15  # of the turned CATs, when an attacker climbs
CATS = (177, 500, 1600, 2700, 3200, 4510, 6000, 12700)
"""Hidden CATs; 2,700 and 4,510 are about the smallest sets that get two and three rows."""
SEALED = (200, 1000, 3200)
ICAT = 2.0  # points: the limit of the gain in icat
ROW_GAIN = 0.01  # of labels; in the last row it moves ss by as much and icat by twice as much
WORST = 3  # attackers who gain most on few sets, and are measured again
EXACT = 200  # rows without a limit and without rounding
WAYS = ("best", "climb", "boost", "adapt")
ANSWERS = [("chance", 0.5)] + [(ss, part) for ss in ("60", "65") for part in (0.1, 0.25, 0.4)]
"""The true ss of a model and the share of its CATs that are turned; coin flips are first."""


class Shown(NamedTuple):
    """What rows show, in points, (S,) each; their lms is 100."""

    ss: Floats
    icat: Floats
    low: Floats
    high: Floats


def shown(term: Whole, won: Small, decimals: int | None = DECIMALS) -> Shown:
    """What a row of each set shows.

    Args:
        term: (N, S), the number of each CAT's term, from 0.
        won: (N, S), 1 if the stereotype has the higher score, else -1.
        decimals: None for exact numbers.
    """
    means, counts = over_terms(term, won)
    terms = (counts > 0).sum(0)
    share = (1 + means.sum(0) / terms) / 2
    around = np.where(counts > 0, (1 + means) / 2 - share, 0)
    variance = (around**2).sum(0) / (terms - 1) / terms
    spread = share * (1 - share)
    alike = variance <= 0  # then each CAT counts as one observation
    part = quantile(terms) ** 2 * np.where(alike, 1, variance) / np.where(alike, len(won), spread)
    center = (share + part / 2) / (1 + part)
    half = np.sqrt(spread * part + part**2 / 4) / (1 + part)
    every = (share, 2 * np.minimum(share, 1 - share), center - half, center + half)
    points = (100 * each for each in every)
    return Shown(*(each if decimals is None else np.round(each, decimals) for each in points))


def over_terms(term: Whole, values: NDArray[np.floating]) -> tuple[Floats, Whole]:
    """The mean of each term (T, S) of values (N, S), 0 without CATs; and its number of CATs."""
    sets, size = term.shape[1], (int(term.max()) + 1) * term.shape[1]
    place = (term * sets + np.arange(sets)).ravel()
    counts = np.bincount(place, minlength=size).reshape(-1, sets)
    sums = np.bincount(place, values.ravel(), size).reshape(-1, sets)
    return sums / np.maximum(counts, 1), counts


def quantile(terms: Whole) -> Floats:
    """Student's t of a 95 % interval with this number of terms."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(terms - 1, 0.975))


def square(row: Shown, terms: Whole) -> Floats:
    """The mean of the squares of terms' means of answer x label, from what a row shows: (S,)."""
    half, share = (row.high - row.low) / 200, row.ss / 100
    spread = share * (1 - share)
    # Wilson's half: half² (1 + a)² = spread a + a²/4, where a = t² variance / spread.
    two, one = half**2 - 0.25, 2 * half**2 - spread
    part = (-one - np.sqrt(one**2 - 4 * two * half**2)) / (2 * two)
    variance = spread * part / quantile(terms) ** 2
    return np.asarray(4 * variance * (terms - 1) + (2 * share - 1) ** 2)


def allowed(cats: int, effective: float) -> int:
    """The rows of a test set with hidden labels, none given out before.

    Args:
        cats: hidden CATs.
        effective: the number of CATs of equal weight that would give as exact an ss.
    """
    rows = math.floor(2 * math.pi * ROW_GAIN**2 * effective + 0.5)
    return min(budget(cats), max(1, rows))


# --- what an attacker does ------------------------------------------------------------------------


@dataclass
class Attack:
    """Boards and fresh sets of the same size, and what attackers have read of the boards.

    Arrays are about 2N CATs: the first N are those of the board, the others those of the fresh set,
    whose terms have other numbers.

    Attributes:
        rng: draws what attackers leave to chance.
        sets: the CATs.
        decimals: of what rows show; None for exact numbers.
        read: equations about the labels of the board. Their weights for the CATs of the fresh set
            are what they would be there.
    """

    rng: np.random.Generator
    sets: Sets
    decimals: int | None = DECIMALS
    read: list[Equations] = field(default_factory=list)

    def __post_init__(self) -> None:
        cats, term = len(self.sets.term) // 2, self.sets.term
        self.board, self.fresh = slice(0, cats), slice(cats, None)
        first = np.broadcast_to(np.arange(2 * cats)[:, None] < cats, term.shape)
        self.weights = weights_of(term, first) + weights_of(term, ~first)
        self.terms = (over_terms(term[self.board], self.weights[self.board])[1] > 0).sum(0)
        self.guess = guess(self.sets)
        self.before = Guess(self.guess.mean[self.board], self.guess.directions[self.board])

    def shown(self, answers: Small, part: slice) -> Shown:
        """What the board or a fresh board shows of answers (2N, S)."""
        won = answers[part] * self.sets.labels[part]
        return shown(self.sets.term[self.board], won, self.decimals)

    def submit(self, answers: Small, *, intervals: bool = True) -> Floats:
        """Submit answers (2N, S), and read the row; returns its icat (S,)."""
        row = self.shown(answers, self.board)
        mean = np.where(row.ss >= 50, 1, -1) * (1 - row.icat / 100)  # finer than ss
        unit = 1e-9 if self.decimals is None else 10.0**-self.decimals
        error = np.array([unit / 100 / np.sqrt(12)])
        self.read.append(Equations((self.weights * answers)[..., None], mean[:, None], error))
        if intervals:
            self.read.append(self._squares(answers, row, unit))
        return row.icat

    def _squares(self, answers: Small, row: Shown, unit: float) -> Equations:
        """The equation of interval ends, to first order in the labels; the rest is noise."""
        guessed = self.guess.mean.astype(np.float64)
        means, counts = over_terms(self.sets.term, answers * guessed)
        every = np.arange(len(self.terms))
        own = counts[self.sets.term, every]
        weights = answers * means[self.sets.term, every] / own - guessed / own**2
        weights *= 2 / self.terms
        free = ((1 - guessed**2) / own**2)[self.board]
        variance, number = over_terms(self.sets.term[self.board], free)
        variance *= number
        squared = (free**2).sum(0)
        expected = (means[: len(variance)] ** 2 + variance).sum(0) / self.terms
        found = square(row, self.terms)
        noise = 2 * ((variance**2).sum(0) - squared) / self.terms**2
        noise += (4 * found * unit / np.sqrt(24) / (row.high - row.low)) ** 2
        values = found - expected + (weights * guessed)[self.board].sum(0)
        error = np.sqrt(noise.mean(keepdims=True))
        return Equations(weights.astype(np.float32)[..., None], values[:, None], error)

    def about_board(self) -> Equations:
        """All equations, about the CATs of the board."""
        every = together(self.read)
        return Equations(every.weights[self.board], every.values, every.error)

    def labels(self) -> Small:
        """The estimate of the labels of the board: (N, S)."""
        return linear(self.before, self.about_board())

    def coins(self) -> Small:
        """Answers by coin flips."""
        return self.rng.choice(np.array([-1, 1], np.float32), self.guess.mean.shape)

    def turned(self, model: Small, share: float) -> Small:
        """A model's answers with a share of the CATs turned, at random."""
        return np.where(self.rng.random(model.shape, np.float32) < share, -model, model)

    def exchanged(self, model: Small, best: Small, share: float) -> Small:
        """The best answers, with a part of the turned CATs exchanged for others."""
        part = np.where(best != model, EXCHANGED, EXCHANGED * share / (1 - share))
        return np.where(self.rng.random(model.shape, np.float32) < part, -best, best)

    def helped(self, model: Small, share: float) -> Small:
        """A model's answers, with a share of the CATs turned: where the rows say most for it."""
        pull = pulls(self.before, self.about_board())
        gain = np.einsum("nse,se->ns", together(self.read).weights, pull)
        gain *= model * (1 - self.guess.mean**2)
        gain += 1e-3 * np.abs(gain).mean(0) * self.rng.random(gain.shape)  # some order of equals
        number = round(share * len(self.before.mean))
        last = [np.partition(half, -number, axis=0)[-number] for half in np.split(gain, 2)]
        return np.where(gain >= np.repeat(last, len(self.before.mean), axis=0), -model, model)


class Job(NamedTuple):
    """An attack, and how many sets are drawn.

    ``way`` is how rows follow each other. "best": a share of the model's CATs is turned at random,
    each time others. "climb": a part of those of the best row so far is exchanged. "boost": coin
    flips, and in the last row CATs are turned where all rows before say that it helps. "adapt":
    that in each row, if it promises more than the best row so far shows, else as "climb".
    Accounts submit in turn, each with its own model, and read all rows. Without ``rounded`` rows
    show exact numbers.
    """

    cats: int
    rows: int
    way: str
    quality: str
    share: float
    sets: int
    accounts: int = 1
    rounded: bool = True
    seed: int = 0


def drawn(rng: np.random.Generator, job: Job, sets: int) -> Sets:
    """Boards and fresh sets with terms of the same, unequal sizes."""
    found = draw(
        rng, sets, 2 * job.cats, job.accounts, quality=job.quality, public=job.cats // 3
    )  # fmt: skip
    term = rng.integers(0, max(4, job.cats // CATS_A_TERM), (job.cats, sets))
    return replace(found, term=np.concatenate([term, term + term.max() + 1]))


def played(rng: np.random.Generator, job: Job, sets: int) -> Floats:
    """Gain in icat, gain in labels and icat on the fresh set, in points: (3, S)."""
    attack = Attack(rng, drawn(rng, job, sets), DECIMALS if job.rounded else None)
    models, alone, boosts = attack.sets.prefers, job.accounts == 1, job.way == "boost"
    best = attack.turned(models[..., 0], job.share)
    if boosts and job.rows > 1:
        best = attack.coins()
    icat = attack.submit(best, intervals=job.rounded)
    for number in range(1, job.rows):
        model = models[..., number % job.accounts]
        answers = attack.turned(model, job.share)
        if job.way in ("climb", "adapt") and alone:
            answers = attack.exchanged(model, best, job.share)
        if boosts:
            last = number == job.rows - 1
            answers = attack.helped(model, job.share) if last else attack.coins()
        if job.way == "adapt":
            helped = attack.helped(model, job.share)
            mean = (attack.weights * helped)[attack.board] * attack.labels()
            answers = np.where(100 - 100 * np.abs(mean.sum(0)) > icat, helped, answers)
        got = attack.submit(answers, intervals=job.rounded)
        better = (got > icat) | boosts
        best, icat = np.where(better, answers, best), np.where(better, got, icat)
    fresh = attack.shown(best, attack.fresh).icat
    labels = attack.sets.labels[attack.board]
    without = right(attack.before.mean, labels)
    return np.stack([icat - fresh, right(attack.labels(), labels) - without, fresh])


def worked(job: Job) -> Floats:
    """``played`` on all sets of a job, in parts that fit into memory."""
    size = max(1, 1_000_000 // (job.cats * max(job.accounts, job.rows if not job.rounded else 4)))
    size = min(job.sets, size)
    rng = np.random.default_rng([job.cats, job.seed])
    parts = [played(rng, job, min(size, job.sets - at)) for at in range(0, job.sets, size)]
    return np.concatenate(parts, axis=1)


# --- the tables -----------------------------------------------------------------------------------


def effective(cats: int) -> float:
    """How many CATs of equal weight are as good as these on terms of unequal sizes."""
    rng = np.random.default_rng(cats)
    term = rng.integers(0, max(4, cats // CATS_A_TERM), (cats, 50))
    weights = weights_of(term, np.ones(term.shape, bool))
    return float((1 / (weights**2).sum(0)).mean())


def size(cats: int, work: float) -> int:
    """How many sets are drawn if this number of CATs is drawn in all; 3,000 at most."""
    return min(3000, max(4, round(work / cats)))


class Found(NamedTuple):
    """What was found about a size: gains with standard errors, in points."""

    cats: int
    rows: int
    ways: dict[str, float]
    icat: list[tuple[float, float]]
    labels: list[tuple[float, float]]


def attacked(cats: int, work: float, pool: ProcessPoolExecutor) -> Found:
    """Find the worst attackers on few sets, and then measure these on many others."""
    rows = allowed(cats, effective(cats))
    ways = WAYS if rows > 1 else WAYS[:1]
    jobs = [
        Job(cats, rows, way, ss, share, size(cats, work * 150_000), accounts)
        for accounts in (1, 50)
        for way in ways
        if accounts == 1 or way != "climb"
        for ss, share in (ANSWERS if accounts == 1 else ANSWERS[::3])
    ]
    gains = list(pool.map(gain, jobs))
    tried = list(zip(gains, jobs, strict=True))
    alone, fifty = ([each for each in tried if each[1].accounts == number] for number in (1, 50))
    many, fewer = size(cats, work * 1_200_000), size(cats, work * 500_000)
    again = [
        [job._replace(sets=sets, seed=1) for _, job in sorted(of, reverse=True)[:WORST]]
        for of, sets in ((alone, many), (fifty, fewer))
    ]
    coins = Job(cats, rows, "best", *ANSWERS[0], many, seed=1)
    exact = Job(cats, EXACT, "boost", "65", 0.1, size(cats, work * 60_000), rounded=False)
    jobs = [*again[0], *again[1], exact, coins]
    jobs += [
        coins._replace(sets=fewer, accounts=50, share=0.0),
        exact._replace(way="best", quality="chance", share=0.5),
    ]
    values = list(pool.map(worked, jobs))
    icat = [summary(each[0]) for each in values]
    icat = [max(icat[:WORST]), max(icat[WORST : 2 * WORST]), icat[2 * WORST]]
    labels = [summary(each[1]) for each in values[-3:]]
    print(f"{cats} CATs", file=sys.stderr)
    of_ways = {way: max(found for found, job in alone if job.way == way) for way in ways}
    return Found(cats, rows, of_ways, icat, labels)


def gain(job: Job) -> float:
    """The mean gain in icat."""
    return float(worked(job)[0].mean())


def summary(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


def tables(every: Sequence[Found]) -> Iterator[str]:
    """Both tables as lines."""
    yield f"Gain in icat, in points; the limit is {ICAT:g}. Each way of few sets, its worst answers"
    yield ""
    names = "".join(f"{way:>7}" for way in WAYS)
    last = f"{'alone, worst':>15}{'fifty, worst':>15}{f'{EXACT} exact':>15}"
    yield f"{'CATs':>6}{'rows':>5}{names}{last}"
    for one in every:
        ways = "".join(f"{f'{one.ways[w]:.1f}' if w in one.ways else '–':>7}" for w in WAYS)
        yield f"{one.cats:6}{one.rows:5}{ways}{columns(one.icat)}"
    yield ""
    yield f"Gain in labels, in points; the limit is {100 * LIMIT:g}"
    yield ""
    yield f"{'CATs':>6}{'rows':>5}{'alone':>15}{'fifty':>15}{f'{EXACT} exact':>15}"
    for one in every:
        yield f"{one.cats:6}{one.rows:5}{columns(one.labels)}"


def sealed(work: float, pool: ProcessPoolExecutor) -> Iterator[str]:
    """The third table: exact rows of a sealed set, of which the best counts."""
    counts = (10, 50)
    yield "Gain in icat of the best of 10 and 50 exact rows of a sealed set"
    yield ""
    yield f"{'CATs':>6}{'coins, 10':>15}{'50':>15}{'ss 60, 10':>15}{'50':>15}"
    for cats in SEALED:
        jobs = [
            Job(cats, count, "best", ss, share, size(cats, work * 300_000), rounded=False)
            for ss, share in (("chance", 0.5), ("60", 0.25))
            for count in counts
        ]
        yield f"{cats:6}{columns([summary(each[0]) for each in pool.map(worked, jobs)])}"


def columns(values: Sequence[tuple[float, float]]) -> str:
    """Means with standard errors, as columns."""
    return "".join(f"{f'{mean:.2f} ± {error:.2f}':>15}" for mean, error in values)


def main() -> None:
    """Read the options, and print the tables."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--cats", type=int, nargs="+", default=CATS, help="sizes of hidden sets")
    parser.add_argument("--work", type=float, default=1.0, help="times as many sets")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    chosen = parser.parse_args()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the workers
    start = time.perf_counter()
    with ProcessPoolExecutor(chosen.jobs, get_context("spawn")) as pool:
        every = [attacked(cats, chosen.work, pool) for cats in chosen.cats]
        print("\n".join([*tables(every), "", *sealed(chosen.work, pool)]))
    print(f"{time.perf_counter() - start:.0f} s on {chosen.jobs} processors", file=sys.stderr)


if __name__ == "__main__":
    main()
