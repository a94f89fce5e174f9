"""What the rows of a board with hidden labels give away: simulated attackers.

An attacker submits made-up scores and reads every number of every row. The unrelated option of each
CAT is known, because readers see it, so the lms of a row is 100 and says nothing. What remains are
two numbers about the labels: the mean of the terms' ss, and how far terms differ, which the ends of
the interval give. Both are equations about the labels, as in ``hidden_attack.py``, whose attack
estimates the labels. Dev labels and all models are known.

The gain in icat is the icat of the attacker's row minus that of the same way of answering on a
fresh set: the same models and terms, the same number of CATs turned, the same use of earlier rows,
but new CATs. The gain in labels is the share of right orders with all rows, minus that without.

    python benchmarks/board_attack.py [--work 1.0] [--cats 177 500 1600] [--jobs 2]
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from hidden_attack import (
    Equations, Floats, Guess, Sets, Small, draw, guess, linear, pulls, right, together, weights_of,
)  # fmt: skip
from numpy.typing import NDArray

Whole = NDArray[np.int64]
DECIMALS = 1
CATS_A_TERM = 10
CLIMB = 0.15  # the share of turned CATs that a climbing attacker exchanges at a time


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
    part = quantile(terms) ** 2 * np.where(variance > 0, variance / spread, 1 / len(won))
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
    """Student's t of a 95 % interval over so many terms."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(terms - 1, 0.975))


def square(row: Shown, terms: Whole) -> Floats:
    """The mean of the squares of terms' means of answer x label, from what a row shows: (S,)."""
    half, share = (row.high - row.low) / 200, row.ss / 100
    spread = share * (1 - share)
    # Wilson's half: half² (1 + a)² = spread a + a²/4, where a = t² variance / spread.
    two, one = half**2 - 0.25, 2 * half**2 - spread
    part = (-one - np.sqrt(one**2 - 4 * two * half**2)) / (2 * two)
    return 4 * spread * part / quantile(terms) ** 2 * (terms - 1) + (2 * share - 1) ** 2


@dataclass
class Attack:
    """Boards and fresh sets of the same size, and what the attackers have read of the boards.

    Attributes:
        rng: draws what attackers leave to chance.
        sets: 2N CATs each; the first N are those of the board, the others those of the fresh set.
            Both have the same terms, numbered 0 to T - 1 and T to 2T - 1.
        cats: N.
        decimals: of what rows show.
        read: the equations about the first N CATs' labels, and their weights for the other CATs.
    """

    rng: np.random.Generator
    sets: Sets
    cats: int
    decimals: int | None = DECIMALS
    read: list[Equations] = field(default_factory=list)
    icat: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        board = np.arange(2 * self.cats)[:, None] < self.cats
        term = self.sets.term
        here = np.broadcast_to(board, term.shape)
        self.weights = weights_of(term, here) + weights_of(term, ~here)
        self.both = guess(self.sets)
        self.before = Guess(self.both.mean[: self.cats], self.both.directions[: self.cats])

    @property
    def here(self) -> Equations:
        """What was read, about the labels of the board."""
        all_ = together(self.read)
        return Equations(all_.weights[: self.cats], all_.values, all_.error)

    def shown(self, answers: Small, *, fresh: bool = False) -> Shown:
        part = slice(self.cats, None) if fresh else slice(0, self.cats)
        term = self.sets.term[: self.cats]
        return shown(term, answers[part] * self.sets.labels[part], self.decimals)

    def submit(self, answers: Small, *, ends: bool = True) -> Floats:
        """Submit answers (2N, S), of which the board sees the first N: their icat (S,)."""
        row = self.shown(answers)
        # icat has the same decimals as ss and changes by twice as much.
        mean = np.where(row.ss >= 50, 1, -1) * (1 - row.icat / 100)
        unit = 1e-9 if self.decimals is None else 10.0**-self.decimals
        error = np.array([unit / 100 / np.sqrt(12)])
        self.read.append(Equations((self.weights * answers)[..., None], mean[:, None], error))
        if ends:
            self.read.append(self._ends(answers, row, unit))
        self.icat.append(row.icat)
        return row.icat

    def _ends(self, answers: Small, row: Shown, unit: float) -> Equations:
        """The equation of interval ends: squares of terms' means, to first order in the labels."""
        mean, term = self.both.mean.astype(np.float64), self.sets.term
        means, counts = over_terms(term, answers * mean)
        every = np.arange(term.shape[1])
        n = counts[term, every]
        terms = (counts[: len(counts) // 2] > 0).sum(0)
        weights = 2 * (means[term, every] * answers / n - mean / n**2) / terms
        here = slice(0, self.cats)
        free = ((1 - mean**2) / n**2)[here]
        variance, own = over_terms(term[here], free)
        variance *= own
        squares, _ = over_terms(term[here], free**2)
        expected = ((means[: len(variance)] ** 2 + variance).sum(0)) / terms
        noise = 2 * (variance**2 - squares * own).sum(0) / terms**2
        found = square(row, terms)
        rounding = found * 2 * (unit / np.sqrt(24)) / ((row.high - row.low) / 2)
        values = found - expected + (weights[here] * mean[here]).sum(0)
        error = np.sqrt((noise + rounding**2).mean())
        return Equations(weights.astype(np.float32)[..., None], values[:, None], np.array([error]))

    def turned(self, base: Small, share: float, by: NDArray[np.floating] | None = None) -> Small:
        """A model's answers with a share of CATs turned: at random, or the highest ``by``."""
        order = self.rng.random(base.shape, dtype=np.float32)
        if by is not None:
            order = by + 1e-3 * np.abs(by).mean(0) * order
        first = round(share * self.cats)
        found = base.copy()
        for part in (found[: self.cats], found[self.cats :]):
            own = order[: self.cats] if part is found[: self.cats] else order
        halves = []
        for half in (slice(0, self.cats), slice(self.cats, None)):
            limit = -np.partition(-order[half], first, axis=0)[first]
            halves.append(order[half] > limit)
        return np.where(np.concatenate(halves), -base, base)

    def helped(self, base: Small, share: float) -> Small:
        """A model's answers, turned where the rows read so far say that it lowers ss most."""
        pull = pulls(self.before, self.here)
        weights = together(self.read).weights
        correction = np.einsum("nse,se->ns", weights, pull) * (1 - self.both.mean**2)
        return self.turned(base, share, by=base * correction)

    def exchanged(self, base: Small, best: Small, share: float) -> Small:
        """The best answers, with a part of the turned CATs exchanged for others."""
        chance = np.where(best != base, CLIMB, CLIMB * share / (1 - share))
        return np.where(self.rng.random(base.shape, dtype=np.float32) < chance, -best, best)

    def coins(self):
        return self.rng.choice(np.array([-1, 1], np.float32), self.both.mean.shape)


def attack(rng, sets, cats, rows, way, quality, share, *, accounts=1, decimals=DECIMALS, ends=True, dev=None, cats_a_term=CATS_A_TERM):
    drawn = draw(rng, sets, 2 * cats, accounts, quality="chance" if quality == "coins" else quality, public=dev or cats // 3)
    terms = max(4, cats // cats_a_term)
    term = rng.integers(0, terms, (cats, sets))
    top = int(term.max()) + 1
    drawn = Sets(drawn.prefers, drawn.public, drawn.labels, np.concatenate([term, term + top]), drawn.kind)
    a = Attack(rng, drawn, cats, decimals)
    best = None
    for k in range(rows):
        base = a.coins() if quality == "coins" else drawn.prefers[..., k % accounts]
        if quality == "coins" and (way == "climb" or way == "adapt") and k: base = base0
        if k == 0: base0 = base
        last = k == rows - 1
        if way == "best" or (k == 0 and (way != "boost" or last)): v = a.turned(base, share)
        elif way == "climb": v = a.exchanged(base0, best, share)
        elif way == "boost": v = a.helped(base, share) if last else a.coins()
        elif way == "adapt":
            h = a.helped(base, share)
            est = linear(a.before, a.here)
            expected = 100 - 100 * np.abs((a.weights[:cats] * h[:cats] * est).sum(0))
            other = a.exchanged(base0, best, share) if accounts == 1 else a.turned(base, share)
            v = np.where(expected > top_icat, h, other)
        got = a.submit(v, ends=ends)
        if best is None or way == "boost": best, top_icat = v, got
        else:
            best = np.where(got > top_icat, v, best); top_icat = np.maximum(got, top_icat)
    fresh = a.shown(best, fresh=True).icat
    labels = drawn.labels[:cats]
    gl = right(linear(a.before, a.here), labels) - right(a.before.mean, labels)
    return top_icat - fresh, gl, fresh, 1 / (a.weights[:cats] ** 2).sum(0).mean()
