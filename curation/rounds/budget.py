"""What a budget buys: terms, items, people's hours, kept CATs, and the interval of ss to expect.

The figures that a plan is made from come from the paper, from the user, or from a pilot
(``pilot_figures``). docs/rounds.md, "Plan a campaign", has the formulas.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from curation.files import CurationError
from curation.records import GOLDS, VALUES, Gold
from curation.rounds.plan import further
from curation.stats.intervals import FEW, t_quantile, wilson
from curation.stats.power import spread
from curation.text.rules import Votes, chance_of_agreement, decide

KEPT, AGREEMENT = 0.83, 0.785  # ACL §4.3 and the mean of Table 10
PAPER_TERMS, PAPER_CATS = 321, 26  # ACL Table 1: terms, and kept CATs of a term and kind
MANY = 1_000_000  # degrees of freedom of a figure that no pilot measured
UNSURE = 0.1  # half-width of the interval of a retention that no pilot measured; see ``expected``
ALIKE = 3.0  # how alike items are in how far people agree on them; see ``drawn_items``
DRAWN = 600  # items that are drawn to see how many labels decide an item
PATIENCE = 5  # a task longer than this many medians counts as this long: the person was away

Range = tuple[float, float]
Label = tuple[int, int, int]
"""What one person says of an item's associations: numbers of ``VALUES``."""


@dataclass(frozen=True)
class Figure:
    """A mean per item, and how well it is known.

    ``error`` is the standard error of the mean, with ``df`` degrees of freedom. ``between`` is the
    variance of terms' true means, ``within`` that of items around the mean of their term.
    """

    mean: float
    source: str
    error: float = 0.0
    between: float = 0.0
    within: float = 0.0
    df: int = MANY

    @property
    def is_measured(self) -> bool:
        """Whether a pilot measured it."""
        return self.df < MANY

    def half_width(self, terms: int, items: float) -> float:
        """Half the 95 % prediction interval of the mean over N new terms, with ``items`` each."""
        new = (self.between + self.within / items) / terms
        return t_quantile(0.95, self.df) * math.sqrt(self.error**2 + new)


class Times(NamedTuple):
    """Seconds of a task: the median, for the pay, and the mean, for the hours."""

    median: float
    mean: float
    source: str


@dataclass(frozen=True)
class Basis:
    """What a plan is made from.

    Attributes:
        retention: share of the written items that become CATs.
        agreement: the chance that two labels of a stereotype are the same, as ACL Table 10.
        writes: paid answers for one accepted item.
        labels: paid answers with labels for one item.
        fewer: the same with ``labels = "needed"``.
        write: the time of an item; None if it is not known.
        label: the time of one item's labels; None if it is not known.
    """

    retention: Figure
    agreement: Figure
    writes: Figure
    labels: Figure
    fewer: Figure
    write: Times | None = None
    label: Times | None = None


@dataclass(frozen=True)
class Wish:
    """What a team has and wants.

    Attributes:
        budget: the money, in any currency.
        pay_write: pay for an item.
        pay_label: pay for one item's labels.
        fee: what a platform takes, as a share of the pay.
        terms: how many terms there are, by domain.
        items: items to write of each kind for each term; more if the budget buys more.
        kinds: how many kinds of CATs: 1 or 2.
        more: whether more items are written if money is left for all terms.
        ss: the ss that is expected of a model, in per cent.
        between: the standard deviation of the terms' true ss, in points.
    """

    budget: float
    pay_write: float
    pay_label: float
    terms: Mapping[str, int]
    fee: float = 0.0
    items: int = 5
    kinds: int = 2
    more: bool = True
    ss: float = 60.0
    between: float = 5.0


@dataclass(frozen=True)
class Part:
    """What a domain gets, or the whole. Ranges are 95 % intervals; ``ss`` is half the width."""

    domain: str
    terms: int
    items: int
    kept: float
    kept_range: Range
    ss: float | None


@dataclass(frozen=True)
class Plan:
    """A plan; ``items`` is per term and kind, and ``hours`` is None if times are not known.

    ``narrower`` has half the width of the interval of ss that each change gives.
    """

    whole: Part
    domains: list[Part]
    items: int
    item_cost: float
    cost: float
    cost_range: Range
    write_answers: float
    label_answers: float
    write_hours: float | None
    label_hours: float | None
    narrower: dict[str, float | None] = field(default_factory=dict)

    @property
    def hours(self) -> float | None:
        """All hours; None if a time is not known."""
        if self.write_hours is None or self.label_hours is None:
            return None
        return self.write_hours + self.label_hours


# --- the plan -------------------------------------------------------------------------------------


def make_plan(wish: Wish, basis: Basis, *, changes: bool = True) -> Plan:
    """What a budget buys.

    If the budget does not reach for ``items`` items on all terms, there are fewer terms: with a
    fixed number of items, more terms give a narrower interval of ss than more items. If it buys
    more, there are more items.

    Args:
        wish: what the team has and wants.
        basis: what the plan is made from.
        changes: also compute what makes the interval of ss narrower.

    Raises:
        CurationError: the budget buys less than one item of each kind.
    """
    pays = ((wish.pay_write, basis.writes), (wish.pay_label, basis.labels))
    one = (1 + wish.fee) * sum(pay * figure.mean for pay, figure in pays)
    buys = math.floor(wish.budget / one / wish.kinds + 1e-9)  # items of each kind
    if not buys:
        raise CurationError(
            f"a budget of {wish.budget:,.2f} buys less than one item of each kind",
            f"one item costs {one:,.2f} with its labels: raise the budget, or name one --kind",
        )
    items = min(wish.items, buys)
    terms = min(sum(wish.terms.values()), buys // items)
    if wish.more and terms == sum(wish.terms.values()):
        items = buys // terms
    each = items * wish.kinds
    halves = (pay * figure.half_width(terms, each) for pay, figure in pays)
    half = (1 + wish.fee) * math.hypot(*halves)
    whole = _part("all", terms, each, wish, basis)
    writes, labels = (whole.items * figure.mean for _, figure in pays)
    return Plan(
        whole=whole,
        domains=[
            _part(domain, n, each, wish, basis) for domain, n in shared(terms, wish.terms).items()
        ],
        items=items,
        item_cost=one,
        cost=whole.items * one,
        cost_range=(whole.items * max(one - half, 0.0), whole.items * (one + half)),
        write_answers=writes,
        label_answers=labels,
        write_hours=basis.write and writes * basis.write.mean / 3600,
        label_hours=basis.label and labels * basis.label.mean / 3600,
        narrower=_narrower(wish, basis, terms, items) if changes else {},
    )


def _part(domain: str, terms: int, each: int, wish: Wish, basis: Basis) -> Part:
    """What N terms give, with ``each`` items of all kinds on each."""
    items, share = terms * each, basis.retention.mean
    half = basis.retention.half_width(terms, each) if terms else 0.0
    low, high = (items * min(max(share + side, 0.0), 1.0) for side in (-half, half))
    ss = ss_half_width(terms, each, share, ss=wish.ss, between=wish.between)
    return Part(domain, terms, items, items * share, (low, high), ss)


def _narrower(wish: Wish, basis: Basis, terms: int, items: int) -> dict[str, float | None]:
    """Half the width of the interval of ss after each change."""

    def after(basis: Basis = basis, **changed: object) -> float | None:
        return make_plan(replace(wish, **changed), basis, changes=False).whole.ss  # type: ignore[arg-type]

    ways = {"twice the budget": after(budget=2 * wish.budget)}
    if basis.fewer.mean < basis.labels.mean:
        ways['labels = "needed"'] = after(replace(basis, labels=basis.fewer))
    if items > 1:
        more = {domain: 3 * n for domain, n in wish.terms.items()}
        ways["half the items on each term, on twice as many terms"] = after(
            items=math.ceil(items / 2), terms=more, more=False
        )
    ways["any number of items on these terms, at best"] = ss_half_width(
        terms, 10_000, 1.0, ss=wish.ss, between=wish.between
    )
    return ways


def ss_half_width(
    terms: int, items: int, retention: float, *, ss: float = 60.0, between: float = 5.0
) -> float | None:
    """Half the width, in points, that the 95 % interval of ss has on average.

    The interval is that of ``stats.intervals.share_interval`` over terms. A term's ss has the
    variance between² + within · E(1/m). Here within is ss (100 − ss) − between², and m is the
    number of CATs that are kept of the term's items: binomial, and at least one, because a term
    without CATs is not among the terms.

    Args:
        terms: how many terms.
        items: written items on each, of all kinds.
        retention: share of the items that become CATs.
        ss: expected, in per cent.
        between: standard deviation of the terms' true ss, in points.

    Returns:
        None with fewer than two terms.

    >>> round(ss_half_width(40, 5, 1.0, ss=50.0), 1)
    7.1
    """
    none = (1 - retention) ** items
    units = terms * (1 - none)
    if units < 2:
        return None
    sizes = np.arange(1, items + 1)
    share = ss / 100
    inverse = 1 / items
    if retention < 1:
        steps = np.log((items - sizes + 1) / sizes * retention / (1 - retention))
        chances = np.exp(items * math.log(1 - retention) + np.cumsum(steps))
        inverse = float((chances / sizes).sum() / chances.sum())
    within = share * (1 - share) - (between / 100) ** 2
    variance = ((between / 100) ** 2 + max(within, 0.0) * inverse) / units
    low, high = wilson(share, share * (1 - share) / variance, t_quantile(0.95, round(units) - 1))
    return 50 * (high - low)


def shared(total: int, of: Mapping[str, int]) -> dict[str, int]:
    """Share out a number in proportion; the largest remainders are rounded up.

    >>> shared(10, {"gender": 40, "race": 149, "religion": 12})
    {'gender': 2, 'race': 7, 'religion': 1}
    """
    exact = {name: total * n / sum(of.values()) for name, n in of.items()}
    parts = {name: math.floor(n) for name, n in exact.items()}
    by_remainder = sorted(exact, key=lambda name: parts[name] - exact[name])
    for name in by_remainder[: total - sum(parts.values())]:
        parts[name] += 1
    return parts


# --- the figures ----------------------------------------------------------------------------------


class PilotItem(NamedTuple):
    """An item that a pilot labelled.

    Attributes:
        term: its term.
        labels: what people say of it, in order of submission.
        paid: answers with labels that came in for it, with those that were refused.
        intents: what its writer meant, if each gold label must equal it.
    """

    term: str
    labels: Sequence[Label]
    paid: int
    intents: tuple[Gold | None, ...] | None = None


def expected(share: float, source: str) -> Figure:
    """An expected retention. Before a pilot, it may be wrong by 10 points."""
    return Figure(share, source, UNSURE / t_quantile(0.95, MANY), within=share * (1 - share))


def measured(terms: Sequence[str], values: Sequence[float], source: str) -> Figure:
    """The mean over the terms of a pilot; over its items if it has fewer than five terms."""
    _, codes = np.unique(np.asarray(terms), return_inverse=True)
    by_term = len(set(terms)) >= FEW
    of = spread(codes if by_term else np.arange(len(values)), np.asarray(values, float))
    between, within = (of.between, of.within or 0.0) if by_term else (0.0, of.of_means)
    error = math.sqrt(of.of_means / of.terms)
    return Figure(of.mean, source, error, between, within, of.terms - 1)


def label_figures(
    items: Sequence[PilotItem], *, needed: int, of: int, sample: float, free: int, source: str
) -> tuple[Figure, Figure]:
    """Paid answers with labels for one item: if all labels are asked for, and only the needed.

    Args:
        items: the pilot's items, or ``drawn_items``.
        needed: votes that make a gold label.
        of: labels that count for an association.
        sample: with needed labels, the share of items that get all labels anyway.
        free: how many of the labels are not asked for: 1 if the writer's intent counts.
        source: where the items come from.
    """
    extra = [each.paid / max(len(each.labels) - free, 1) for each in items]
    stops = [_answers_until_decided(each, needed, of, free) for each in items]
    terms = [each.term for each in items]
    all_ = [(of - free) * factor for factor in extra]
    fewer = [
        (sample * (of - free) + (1 - sample) * n) * factor
        for n, factor in zip(stops, extra, strict=True)
    ]
    return measured(terms, all_, source), measured(terms, fewer, source)


def _answers_until_decided(item: PilotItem, needed: int, of: int, free: int) -> int:
    taken = free
    while more := further(_votes(item.labels[:taken]), needed=needed, of=of, intents=item.intents):
        if taken + more > len(item.labels):
            return of - free if taken < len(item.labels) else taken - free
        taken += more
    return taken - free


def _votes(labels: Sequence[Label]) -> list[Votes]:
    votes = np.zeros((3, len(VALUES)), int)
    for label in labels:
        votes[range(3), label] += 1
    return [(s, a, u, r) for s, a, u, r in votes.tolist()]


def drawn_items(agreement: float, of: int, *, free: int = 0) -> list[PilotItem]:
    """Items as people would label them who agree so far, for a plan before a pilot.

    All labels on an item are right with the same probability p, and wrong ones are shared out
    evenly. p has a beta distribution over items, because people agree on some items more than on
    others. With ``ALIKE`` = 3, an agreement of .785 gives 77 % kept, and 24 % fewer labels if only
    the needed are asked for; StereoSet's own labels give 83 % and 26 %. Of ``of`` labels, two drawn
    with replacement are the same with the probability 1/of + (1 − 1/of) E(p² + (1 − p)²/2), which
    is the agreement.
    """
    same = max(agreement - 1 / of, 0.0) / max(1 - 1 / of, 1e-9)
    spread = 1 / (ALIKE + 1)
    root = (1 - 1.5 * spread) ** 2 + 6 * (1 - spread) * (same - 0.5)
    mean = min((1 - 1.5 * spread + math.sqrt(max(root, 0.0))) / (3 * (1 - spread)), 1 - 1e-6)
    rng = np.random.default_rng(1)  # the same items for the same agreement
    right = rng.beta(mean * ALIKE, (1 - mean) * ALIKE, (DRAWN, 1, 1))
    wrong = rng.random((DRAWN, of, 3)) >= right
    values = (np.arange(3) + wrong * rng.integers(1, 3, wrong.shape)) % 3
    return [
        PilotItem("drawn", [(a, b, c) for a, b, c in item], of - free) for item in values.tolist()
    ]


def retention(items: Sequence[PilotItem], *, needed: int, of: int, source: str) -> Figure:
    """The share of a pilot's decided items that are kept, over its terms.

    Its error is at least that of a random sample of two more items, one kept and one not: if a small
    pilot keeps all its items, a campaign need not.

    Raises:
        CurationError: fewer than two items are decided.
    """
    outcomes = [
        (each.term, decide(_votes(each.labels[:of]), needed=needed, of=of, intents=each.intents))
        for each in items
    ]
    done = [(term, way.kept) for term, way in outcomes if way.reason != "too_few_labels"]
    if len(done) < 2:
        raise CurationError(
            f"{source}: fewer than two of the pilot's items have enough labels to be decided",
            "collect their labels: «curation rounds open validation --name pilot-labels»",
        )
    n, kept = len(done), [float(is_kept) for _, is_kept in done]
    figure = measured([term for term, _ in done], kept, source)
    share = (sum(kept) + 1) / (n + 2)
    least = share * (1 - share)
    error = max(figure.error, math.sqrt(least / n))
    return replace(figure, error=error, within=max(figure.within, least))


def agreement_of(items: Sequence[PilotItem], source: str) -> Figure:
    """The chance that two labels of a stereotype are the same, over a pilot's items."""
    alike = [
        chance_of_agreement(votes)
        for each in items
        for votes in _votes(each.labels)
        if max(votes) == votes[VALUES.index(GOLDS[0])] > 0
    ]
    return Figure(float(np.mean(alike)) if alike else 0.0, source)


def times_of(seconds: Sequence[float], source: str) -> Times | None:
    """The time of a task, by the answers whose time is known; None if there are none."""
    if not len(seconds):
        return None
    median = float(np.median(seconds))
    capped = np.minimum(np.asarray(seconds, float), PATIENCE * median)
    return Times(median, float(capped.mean()), source)
