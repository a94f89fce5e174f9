"""The attack on hidden labels: what somebody learns of them from published figures.

Every CAT has one unknown: which of its two meaningful options is the stereotype, y = +1 or -1. The
unrelated option is known, because readers see it. Each model's scores of the options are known,
because everybody can run the model: x is +1, -1 or 0 (a tie) as the model prefers one option or the
other. So an ss is one linear equation, 2 ss/100 - 1 = sum of w x y over the CATs, with known
weights w. An lms is the same for both values of y and says nothing; an icat says what its ss says.

Arrays are about several sets at once: S sets, N hidden CATs, M public CATs, K models, E equations.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Small = NDArray[np.float32]

ROUNDED = 0.05  # points: half of the last published digit of an ss
CERTAIN = 0.97  # no guess without figures is surer than this
RELATEDNESS = {"independent": 0.0, "alike": 0.5, "copies": 0.9}
"""Correlation of what two models prefer: they share a latent preference for each CAT."""
QUALITY = {
    "good": (55.0, 65.0), "bad": (48.0, 52.0), "mixed": (48.0, 65.0), "chance": (50.0, 50.0),
    "60": (60.0, 60.0), "65": (65.0, 65.0),
}  # fmt: skip
"""The true ss of models."""
LIMIT = 0.03  # of gain, as a share of the orders
CATS_A_TERM = 10
PUBLIC = 3  # hidden CATs for each public one


def budget(cats: int) -> int:
    """The most figures that keep the gain within ``LIMIT`` for any models.

    For y drawn by chance and E equations, the mean of y given the figures has the variance
    E / cats at most: equal weights, and models that have nothing in common. A Gaussian mean of this
    variance is right in sqrt(E / (2 pi cats)) more of the orders than a guess. This holds if it is
    known from public CATs how far each model prefers stereotypes; else a figure tells this, too.
    """
    return math.floor(2 * math.pi * LIMIT**2 * cats)


@dataclass(frozen=True)
class Sets:
    """Hidden sets, what models prefer in them, and the labels, which the attacker does not see.

    Attributes:
        prefers: (N, S, K), x of each hidden CAT; +1, -1 or 0.
        public: (M, S, K), x y of each public CAT: +1 if the model prefers the stereotype.
        labels: (N, S), y.
        term: (N, S), the number of each CAT's term, from 0.
        kind: (N, S), 0 or 1, the kind of each CAT.
    """

    prefers: Small
    public: Small
    labels: Small
    term: NDArray[np.int64]
    kind: NDArray[np.int64]


@dataclass(frozen=True)
class Equations:
    """What is published: ``values`` = sum of ``weights`` y over the CATs, within ``error``.

    Attributes:
        weights: (N, S, E).
        values: (S, E), between -1 and 1.
        error: (E,), standard deviation of the rounding.
    """

    weights: Small
    values: Floats
    error: Floats


def draw(
    rng: np.random.Generator,
    sets: int,
    cats: int,
    models: int,
    *,
    related: str = "independent",
    quality: str = "mixed",
    equal: bool = False,
    public: int | None = None,
) -> Sets:
    """Draw sets of CATs, and what models prefer in them.

    Args:
        rng: draws them.
        sets: how many sets.
        cats: hidden CATs of a set.
        models: how many.
        related: a key of ``RELATEDNESS``.
        quality: a key of ``QUALITY``.
        equal: all CATs have the same weight, the worst case; else terms have ten on average.
        public: public CATs of a set; by default a third of the hidden ones, as if dev is 25 %.
    """
    from scipy.special import ndtri

    rho, public = RELATEDNESS[related], cats // PUBLIC if public is None else public
    low, high = QUALITY[quality]
    mean = ndtri(rng.uniform(low, high, (sets, models)) / 100).astype(np.float32)
    latent = rng.standard_normal((cats + public, sets, models), dtype=np.float32)
    latent *= np.sqrt(1 - rho)
    if rho:
        shared = rng.standard_normal((cats + public, sets, 1), dtype=np.float32)
        latent += np.float32(np.sqrt(rho)) * shared
    stereotype = np.sign(latent + mean)
    labels = rng.choice(np.array([-1, 1], np.float32), (cats, sets))
    terms = max(4, cats // CATS_A_TERM)
    term = rng.integers(0, terms, (cats, sets))
    if equal:
        term = np.broadcast_to(np.arange(cats)[:, None], (cats, sets)).copy()
    return Sets(
        prefers=stereotype[:cats] * labels[..., None],
        public=stereotype[cats:],
        labels=labels,
        term=term,
        kind=rng.integers(0, 2, (cats, sets)),
    )


def weights_of(term: NDArray[np.int64], chosen: NDArray[np.bool_]) -> Small:
    """The weight of each CAT in a mean over terms of means over a term's chosen CATs.

    Args:
        term: (N, S).
        chosen: (N, S), which CATs count; the others have weight 0.

    Returns:
        (N, S); the weights of a set add up to 1.
    """
    found = np.zeros(term.shape, np.float32)
    for number in range(term.shape[1]):
        own = chosen[:, number]
        counts = np.bincount(term[own, number])
        found[own, number] = 1 / (counts[term[own, number]] * (counts > 0).sum())
    return found


def figures(sets: Sets, models: int, *, kinds: bool = False, decimals: int = 1) -> Equations:
    """The published ss of the first models: overall, and also of each kind if wished."""
    parts = [np.ones(sets.term.shape, bool)]
    if kinds:
        parts += [sets.kind == kind for kind in (0, 1)]
    found = [weights_of(sets.term, part)[..., None] * sets.prefers[..., :models] for part in parts]
    return published(np.concatenate(found, axis=-1), sets.labels, decimals=decimals)


def published(weights: Small, labels: Small, *, decimals: int = 1) -> Equations:
    """Equations with these weights (N, S, E), whose figures are rounded to so many decimals."""
    ss = 50 + 50 * np.einsum("nse,ns->se", weights, labels).astype(np.float64)
    error = 2 * 0.5 * 10.0**-decimals / 100 / np.sqrt(3)
    return Equations(
        weights, 2 * np.round(ss, decimals) / 100 - 1, np.full(weights.shape[-1], error)
    )


def together(parts: Sequence[Equations]) -> Equations:
    """The equations of several publications about the same CATs."""
    return Equations(
        np.concatenate([part.weights for part in parts], axis=-1),
        np.concatenate([part.values for part in parts], axis=-1),
        np.concatenate([part.error for part in parts]),
    )


# --- without figures, and the linear estimate -----------------------------------------------------


@dataclass(frozen=True)
class Guess:
    """What the attacker believes of each y before seeing a figure.

    Attributes:
        mean: (N, S), between -1 and 1.
        directions: (N, S, J), what moves together if the fit on the public CATs is wrong.
    """

    mean: Small
    directions: Small


def guess(sets: Sets) -> Guess:
    """Predict y from what all models prefer, fitted to the public CATs.

    A linear model: y = x b + noise, where the weights b of the models have the prior covariance
    t (I + J): they may be alike. The evidence of the public CATs chooses t.
    """
    from scipy.special import logsumexp

    cats, _, models = sets.prefers.shape
    alike = (np.sqrt(1 + models) - 1) / models  # I + alike J is the root of I + J
    mean = np.zeros(sets.labels.shape, np.float32)
    directions = np.zeros((cats, len(sets.labels[0]), models), np.float32)
    sizes = np.geomspace(1e-5, 1, 26)
    for number in range(sets.labels.shape[1]):
        known = sets.public[:, number].astype(np.float64)
        known += alike * known.sum(1, keepdims=True)
        values, vectors = np.linalg.eigh(known.T @ known)
        values = np.maximum(values, 0)
        seen = vectors.T @ known.sum(0)
        spread = 1 + sizes[:, None] * values
        evidence = 0.5 * (sizes[:, None] * seen**2 / spread - np.log(spread)).sum(1)
        chance = np.exp(evidence - logsumexp(evidence))
        size = float(np.exp(chance @ np.log(sizes)))
        own = sets.prefers[:, number].astype(np.float64)
        own += alike * own.sum(1, keepdims=True)
        turned = own @ vectors
        mean[:, number] = turned @ (size * seen / (1 + size * values))
        directions[:, number] = turned * np.sqrt(size / (1 + size * values))
    return Guess(np.clip(mean, -CERTAIN, CERTAIN), directions)


def linear(before: Guess, given: Equations) -> Small:
    """The mean of each y (N, S) if all were Gaussian: the guess, corrected by the residuals."""
    found = before.mean.copy()
    for number, (covariance, pull) in enumerate(_solved(before, given)):
        found[:, number] += covariance @ pull
    return found


def pulls(before: Guess, given: Equations) -> Floats:
    """By how much each equation corrects the guess in the linear estimate: (S, E)."""
    return np.array([pull for _, pull in _solved(before, given)])


def _solved(before: Guess, given: Equations) -> Iterator[tuple[Floats, Floats]]:
    """For each set: the covariance (N, E) of y and figures, and the pull of the figures (E,)."""
    for number in range(before.mean.shape[1]):
        weights = given.weights[:, number].astype(np.float64)
        mean = before.mean[:, number].astype(np.float64)
        directions = before.directions[:, number].astype(np.float64)
        free = 1 - mean**2
        covariance = weights * free[:, None] + directions @ (directions.T @ weights)
        of_figures = weights.T @ covariance
        of_figures[np.diag_indices_from(of_figures)] += given.error**2 + 1e-10
        residual = given.values[number] - mean @ weights
        yield covariance, np.linalg.solve(of_figures, residual)


def right(estimate: NDArray[np.floating], labels: Small) -> Floats:
    """The share of right orders of each set (S,), in per cent; no opinion is half right."""
    return np.asarray(50 + 50 * (np.sign(estimate) * labels).mean(axis=0, dtype=np.float64))


# --- annealing ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ends:
    """Variances of terms' means, which the ends of intervals of ss give: quadratic equations.

    Attributes:
        prefers: (N, S, E), as in ``Sets``.
        term: (N, S).
        values: (S, E), mean over the terms of the square of a term's mean of x y.
        error: (S, E), standard deviation of the rounding.
    """

    prefers: Small
    term: NDArray[np.int64]
    values: Floats
    error: Floats


def ends(sets: Sets, models: int) -> Ends:
    """What the published interval ends of the first models give, rounded to one decimal.

    Half the width is t times the standard error of the terms' means, so its square is their
    variance times t² / terms. Both ends are rounded.
    """
    terms = int(sets.term.max()) + 1
    prefers = sets.prefers[..., :models]
    squares = np.zeros((sets.labels.shape[1], models))
    for number in range(len(squares)):
        means = np.zeros((terms, models))
        counts = np.bincount(sets.term[:, number], minlength=terms)
        np.add.at(means, sets.term[:, number], prefers[:, number] * sets.labels[:, number, None])
        squares[number] = ((means / np.maximum(counts, 1)[:, None]) ** 2).sum(0) / terms
    half = 50 * 2 * np.sqrt(squares / terms)
    rounded = np.maximum(np.round(half, 1), 0.1)
    values = (rounded / 100) ** 2 * terms
    return Ends(prefers, sets.term, values, 2 * values * (ROUNDED / np.sqrt(3)) / rounded)


def anneal(
    rng: np.random.Generator,
    before: Guess,
    given: Equations,
    *,
    start: NDArray[np.floating],
    sweeps: int,
    runs: int = 1,
    ends: Ends | None = None,
) -> Small:
    """Search labels that fit all figures and the guess: simulated annealing over single flips.

    The energy is half the sum of squared residuals over their variance, and what the guess says
    against the labels. The variance of residuals falls from what the guess leaves open to the
    rounding. The estimate is the mean of the labels in the second half of the runs, so it is a
    sample of what fits, and not only one solution.

    Args:
        rng: draws the runs.
        before: the guess without figures.
        given: the equations.
        start: (N, S), where to begin: an estimate, from which labels are drawn.
        sweeps: how often each CAT is tried, in each run.
        runs: runs from other draws.
        ends: quadratic equations to fit, too.

    Returns:
        (N, S), between -1 and 1.
    """
    cats, sets, _ = given.weights.shape
    scaled = given.weights / given.error.astype(np.float32)  # residuals in units of the rounding
    squared = (scaled**2).sum(-1)
    prior = np.arctanh(before.mean)
    # If a flip moves a figure by more than its rounding, a smaller variance would freeze all.
    last = np.maximum(np.sqrt((scaled**2).mean((0, 2))), 1.0)
    first = np.maximum(np.sqrt((scaled**2).sum(0).mean(-1)), last)
    total = np.zeros((cats, sets), np.float32)
    chance = (1 + np.clip(start, -CERTAIN, CERTAIN)) / 2
    state = np.where(rng.random((runs, cats, sets)) < chance, 1, -1).astype(np.float32)
    state = np.ascontiguousarray(state.swapaxes(0, 1))  # (N, runs, S)
    residual = given.values / given.error - np.einsum("nse,nrs->rse", scaled, state)
    residual = residual.astype(np.float32)
    quadratic = None if ends is None else _Quadratic(ends, state)
    for sweep in range(sweeps):
        part = min(1.0, sweep / max(1, sweeps * 0.5))
        variance = (first ** (1 - part) * last**part) ** 2
        level = np.log(rng.random(state.shape, dtype=np.float32) + 1e-30)
        for cat in rng.permutation(cats):
            own, label = scaled[cat], state[cat]
            along = np.einsum("se,rse->rs", own, residual)
            cost = 2 * (label * along + squared[cat]) / variance + 2 * prior[cat] * label
            if quadratic is not None:
                cost = cost + quadratic.cost(cat, label) / (variance / last**2)
            flips = np.where(-cost > level[cat], label, 0)
            if flips.any():
                residual += 2 * flips[..., None] * own
                if quadratic is not None:
                    quadratic.flip(cat, flips)
                state[cat] = label - 2 * flips
        if sweep >= sweeps // 2:
            total += state.mean(1)
    total /= sweeps - sweeps // 2
    return total


class _Quadratic:
    """The state of the equations from interval ends: means of terms, and their squares."""

    def __init__(self, ends: Ends, state: Small) -> None:
        self.ends = ends
        cats, sets, models = ends.prefers.shape
        self.terms = int(ends.term.max()) + 1
        self.all = np.arange(sets)
        sums = np.zeros((self.terms, sets, state.shape[1], models))
        counts = np.zeros((self.terms, sets))
        for cat in range(cats):
            term = ends.term[cat]
            sums[term, self.all] += ends.prefers[cat][:, None] * state[cat].T[..., None]
            counts[term, self.all] += 1
        self.counts = np.maximum(counts, 1)
        self.means = sums / self.counts[..., None, None]
        self.squares = (self.means**2).sum(0) / self.terms  # (S, runs, E)

    def _moved(self, cat: int, label: Small) -> Floats:
        """By how much the squares (S, runs, E) change if these labels are flipped; 0: not."""
        term = self.ends.term[cat]
        size = -2 * self.ends.prefers[cat] / self.counts[term, self.all][:, None]
        self.step = size[:, None] * label.T[..., None]
        own = self.means[term, self.all]
        return np.asarray((2 * own * self.step + self.step**2) / self.terms)

    def cost(self, cat: int, label: Small) -> Floats:
        """By how much half the squared residuals grow if the CAT is flipped: (runs, S)."""
        residual = self.ends.values[:, None] - self.squares
        moved = self._moved(cat, label)
        error = self.ends.error[:, None]
        return np.asarray(((moved**2 - 2 * residual * moved) / error**2).sum(-1).T / 2)

    def flip(self, cat: int, flips: Small) -> None:
        """Flip the labels of a CAT that are not 0."""
        self.squares += self._moved(cat, flips)
        self.means[self.ends.term[cat], self.all] += self.step
