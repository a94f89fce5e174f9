"""What a budget buys: terms, items, people's hours, kept CATs, and the interval of ss to expect.

docs/rounds.md, "Plan a campaign", has the formulas and where each of them comes from.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from statistics import linear_regression
from typing import NamedTuple

import numpy as np

from curation.files import CurationError
from curation.kinds import Gold, Work
from curation.rounds.progress import further
from curation.stats.intervals import FEW, mean_and_error, t_quantile, wilson
from curation.stats.tests import spread
from curation.text.rules import Votes, chance_of_agreement, decide

MANY = 1_000_000  # degrees of freedom of a figure that no pilot measured
UNSURE = 0.1  # half the width of the interval of an expected retention
ALIKE = 3.0  # how alike items are in how far people agree on them; see ``drawn_items``
DRAWN = 600  # items that are drawn to see how many labels decide an item
DONE_FOR: tuple[Work, ...] = ("write", "label")  # what people do for an item

Label = tuple[int, int, int]
"""What one person says of an item's associations: numbers of ``VALUES``."""


@dataclass(frozen=True)
class Figure:
    """A number that a plan is made from; mostly a mean per item, and how well it is known.

    ``error`` is the standard error of the mean, with ``df`` degrees of freedom. ``between`` is the
    variance of terms' true means, ``within`` that of items around the mean of their term.
    """

    mean: float
    source: str
    error: float = 0.0
    between: float = 0.0
    within: float = 0.0
    df: int = MANY

    def ahead(self, terms: int, items: int) -> float:
        """The variance of the mean over N new terms, with ``items`` each, around this mean."""
        return self.error**2 + (self.between + self.within / items) / max(terms, 1)

    def half_width(self, terms: int, items: int) -> float:
        """Half the 95 % prediction interval of the mean over N new terms, with ``items`` each."""
        return t_quantile(0.95, self.df) * math.sqrt(self.ahead(terms, items))


Figures = Mapping[str, Figure]
"""The figures of a plan, by name.

An item has retention (the share that become CATs), labels (answers that count), and fewer (the same
if only the needed are asked for). An accepted answer has write_paid and label_paid (answers that
are paid until there is one), pay_write and pay_label, write_seconds and label_seconds (mean; left
out if not known). The whole has fee (a share of the pay), ss (of a model, in per cent), and between
(standard deviation of the terms' true ss, in points).
"""


class Part(NamedTuple):
    """What a domain gets, or the whole; ``kept_range`` is a 95 % interval, ``ss`` half of one."""

    domain: str
    terms: int
    items: int
    kept: float
    kept_range: tuple[float, float]
    ss: float | None


class Plan(NamedTuple):
    """A plan; ``items`` is per term and kind, and hours are None if a time is not known."""

    whole: Part
    domains: list[Part]
    items: int
    cost: float
    cost_range: tuple[float, float]
    answers: dict[Work, float]
    hours: dict[Work, float | None]


# --- the plan -------------------------------------------------------------------------------------


def make_plan(
    budget: float,
    terms: Mapping[str, int],
    figures: Figures,
    *,
    items: int = 5,
    kinds: int = 2,
    more: bool = True,
) -> Plan:
    """What a budget buys.

    If the budget does not reach for ``items`` items on all terms, there are fewer terms: with a
    fixed number of items, more terms give a narrower interval of ss than more items.

    Args:
        budget: the money.
        terms: how many terms there are, by domain.
        figures: what the plan is made from.
        items: items to write of each kind on each term.
        kinds: how many kinds of CATs: 1 or 2.
        more: whether more items are written if money is left for all terms.

    Raises:
        CurationError: the budget buys less than one item of each kind.
    """
    pays = {work: (1 + figures["fee"].mean) * figures[f"pay_{work}"].mean for work in DONE_FOR}
    answers = {work: _answers(work, figures) for work in DONE_FOR}
    one = sum(pay * answers[work].mean for work, pay in pays.items())
    buys = math.floor(budget / one / kinds + 1e-9)
    if not buys:
        raise CurationError(
            f"a budget of {budget:,.2f} buys less than one item of each kind",
            f"an item costs {one:,.2f} with its labels: raise the budget, or name one --kind",
        )
    items, total = min(items, buys), sum(terms.values())
    count = min(total, buys // items)
    if more and count == total:
        items = buys // total
    each = items * kinds
    whole = _part("all", count, each, figures)
    in_all = {work: whole.items * of.mean for work, of in answers.items()}
    hours = {
        work: n * figures[time].mean / 3600 if (time := f"{work}_seconds") in figures else None
        for work, n in in_all.items()
    }
    half = math.hypot(*(pay * answers[work].half_width(count, each) for work, pay in pays.items()))
    ends = (whole.items * max(one - half, 0.0), whole.items * (one + half))
    domains = [_part(name, n, each, figures) for name, n in shared(count, terms).items()]
    return Plan(whole, domains, items, whole.items * one, ends, in_all, hours)


def _answers(work: Work, figures: Figures) -> Figure:
    """The answers that are paid for one item."""
    paid, labels = figures[f"{work}_paid"], figures["labels"]
    if work == "write":
        return paid
    return Figure(
        labels.mean * paid.mean,
        "",
        math.hypot(labels.error * paid.mean, labels.mean * paid.error),
        labels.between * paid.mean**2,
        labels.within * paid.mean**2,
        min(labels.df, paid.df),
    )


def _part(domain: str, terms: int, each: int, figures: Figures) -> Part:
    """What N terms give, with ``each`` items of all kinds on each."""
    items, share = terms * each, figures["retention"]
    n = (share.between + share.within) / share.ahead(terms, each)  # items that say as much
    ends = wilson(share.mean, n, t_quantile(0.95, share.df))
    ss = ss_half_width(terms, each, figures)
    return Part(domain, terms, items, items * share.mean, (items * ends[0], items * ends[1]), ss)


def ss_half_width(terms: int, items: int, figures: Figures) -> float | None:
    """Half the width, in points, that the 95 % interval of ss has on average.

    The interval is that of ``stats.intervals.share_interval`` over terms. A term's ss has the
    variance between² + within · E(1/m). Here within is ss (100 − ss) − between², and m is the
    number of CATs that are kept of the term's items: binomial, and at least one, because a term
    without CATs is not among the terms.

    Args:
        terms: how many terms.
        items: written items on each, of all kinds.
        figures: with retention, ss and between.

    Returns:
        None with fewer than two terms.
    """
    kept, share = min(figures["retention"].mean, 1 - 1e-9), figures["ss"].mean / 100
    units = terms * (1 - (1 - kept) ** items)
    if units < 2:
        return None
    most = min(items, MANY)  # with more, E(1/m) is in proportion to one over the items
    sizes = np.arange(1, most + 1)
    ratios = (most - sizes + 1) / sizes * kept / (1 - kept)  # of the binomial's neighbours
    chances = np.cumsum(np.log(ratios))
    chances = np.exp(chances - chances.max())
    inverse = float((chances / sizes).sum() / chances.sum()) * most / items
    between = (figures["between"].mean / 100) ** 2
    within = max(share * (1 - share) - between, 0.0)
    n = share * (1 - share) * units / (between + within * inverse)
    low, high = wilson(share, n, t_quantile(0.95, round(units) - 1))
    return 50 * (high - low)


def narrower(
    plan: Plan, terms: Mapping[str, int], figures: Figures, *, kinds: int = 2
) -> dict[str, float | None]:
    """What makes the interval of ss narrower: half its width after each change of the plan.

    All but the first change cost what the plan costs, which may be less than the budget.
    """

    def half(cost: float, terms: Mapping[str, int], figures: Figures, items: int) -> float | None:
        return make_plan(cost, terms, figures, items=items, kinds=kinds).whole.ss

    fewer, many = (
        {**figures, "labels": figures["fewer"]},
        {name: 3 * n for name, n in terms.items()},
    )
    some = math.ceil(plan.items / 2)
    return {
        "twice the cost": half(2 * plan.cost, terms, figures, plan.items),
        'labels = "needed"': half(plan.cost, terms, fewer, plan.items),
        f"more terms, with {some} items of a kind on each": half(plan.cost, many, figures, some),
    }


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
    """An item that people labelled.

    Attributes:
        term: its term.
        writer: who wrote it.
        people: who labelled it, in order of submission.
        labels: what each of them says.
        intents: what its writer meant, if each gold label must equal it.
    """

    term: str
    writer: str
    people: Sequence[str]
    labels: Sequence[Label]
    intents: tuple[Gold | None, ...] | None = None


def expected(share: float, source: str) -> Figure:
    """An expected retention. Before a pilot, it may be wrong by 10 points."""
    within = max(share * (1 - share), 0.05)  # also if all or none are expected to be kept
    return Figure(share, source, UNSURE / t_quantile(0.95, MANY), within=within)


def measured(terms: Sequence[str], values: Sequence[float], source: str) -> Figure:
    """The mean over the terms of a pilot; over its items if it has fewer than five terms."""
    names, codes = np.unique(np.asarray(terms), return_inverse=True)
    by_term = len(names) >= FEW
    of = spread(codes if by_term else np.arange(len(values)), np.asarray(values, float))
    between, within = (of.between, of.within or 0.0) if by_term else (0.0, of.of_means)
    return Figure(of.mean, source, math.sqrt(of.of_means / of.terms), between, within, of.terms - 1)


def _added(people: Sequence[str], values: Sequence[float], effect: float) -> float:
    """The variance that people add to the mean: those of a pilot, and as many others after it.

    Args:
        people: who gave each answer.
        values: of the answers; the variance between people's true means is computed from them.
        effect: how far the mean changes if all people's values are higher by one.
    """
    names, codes = np.unique(np.asarray(people), return_inverse=True)
    if len(names) < 2:
        return 0.0
    return 2 * effect**2 * spread(codes, np.asarray(values, float)).between / len(names)


def paid_figure(paid: Sequence[int], accepted: Sequence[int], source: str) -> Figure:
    """The answers that are paid for an accepted one, over the people of a pilot.

    The campaign has other people. It is taken to have as many, so that the error is √2 times that
    of the pilot's mean.

    Args:
        paid: by person, how many answers are paid.
        accepted: how many of these were accepted.
        source: where they come from.
    """
    mean, error = mean_and_error(np.asarray(paid, float), np.asarray(accepted, float))
    return Figure(mean, source, math.sqrt(2) * error, df=len(paid) - 1)


def label_figures(
    items: Sequence[PilotItem],
    *,
    needed: int = 3,
    of: int = 5,
    sample: float = 0.15,
    free: int = 0,
    source: str = "",
) -> dict[str, Figure]:
    """What the labels on a pilot's items show: retention, agreement, labels and fewer.

    Retention's error is at least that of a random sample of two more items, one kept and one not:
    if a small pilot keeps all its items, a campaign need not. Writers and validators add to it:
    writers differ in how many of their items are kept, validators in how many of their labels are
    those of the majority. What one such label more does for an item is the slope of a line.

    Args:
        items: the pilot's items, or ``drawn_items``. Items that are not decided are left out.
        needed: votes that make a gold label.
        of: labels that count for an association.
        sample: if only needed labels are asked for, the share of items that get all anyway.
        free: how many of the labels are not asked for: 1 if the writer's intent counts.
        source: where the items come from.

    Raises:
        CurationError: fewer than two items are decided.
    """
    terms, rows, writers = list[str](), [], list[str]()
    people, agree, whole = list[str](), list[int](), list[tuple[int, bool]]()
    for each in items:
        labels = list(each.labels[:of])
        votes = _votes(labels)
        outcome = decide(votes, needed=needed, of=of, intents=each.intents)
        if outcome.reason != "too_few_labels":
            stop = free
            while more := further(
                _votes(labels[:stop]), needed=needed, of=of, intents=each.intents
            ):
                stop += more
            stops = sample * (of - free) + (1 - sample) * (stop - free)
            alike = chance_of_agreement(max(votes))  # most often called a stereotype
            terms.append(each.term)
            writers.append(each.writer)
            if len(labels) == of:
                most = [votes_on.index(max(votes_on)) for votes_on in votes]
                same = [sum(map(eq, label, most)) for label in labels[free:]]
                people += each.people[: of - free]
                agree += same
                whole.append((sum(same), outcome.kept))
            rows.append((outcome.kept, alike, of - free, stops))
    if len(rows) < 2:
        raise CurationError(
            f"{source}: fewer than two items have enough labels to be decided",
            "collect their labels: «curation rounds open validation --name pilot-labels»",
        )
    columns = zip(
        ("retention", "agreement", "labels", "fewer"), zip(*rows, strict=True), strict=True
    )
    figures = {name: measured(terms, values, source) for name, values in columns}
    kept, share = figures["retention"], (sum(row[0] for row in rows) + 1) / (len(rows) + 2)
    least = share * (1 - share)
    added = _added(writers, [row[0] for row in rows], 1)
    if len({right for right, _ in whole}) > 1:
        slope = linear_regression(*zip(*whole, strict=True)).slope
        added += _added(people, agree, slope * (of - free))
    error = math.sqrt(max(kept.error**2, least / len(rows)) + added)
    within = max(kept.within, least)
    figures["retention"] = Figure(kept.mean, source, error, kept.between, within, kept.df)
    return figures


def _votes(labels: Sequence[Label]) -> list[Votes]:
    """The votes of each association."""
    three = [Counter(label[place] for label in labels) for place in range(3)]
    return [(votes[0], votes[1], votes[2], votes[3]) for votes in three]


def drawn_items(agreement: float, of: int) -> list[PilotItem]:
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
        PilotItem("", "", [""] * of, [(a, b, c) for a, b, c in item]) for item in values.tolist()
    ]
