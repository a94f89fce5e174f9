"""Does a campaign turn out as ``curation rounds plan`` says? Simulated campaigns, after a pilot.

    python benchmarks/plan.py [--campaigns 200] [--models 10]

It prints the table of docs/rounds.md, "Plan a campaign". In each simulated world, writers, terms,
items and validators differ, by amounts that are drawn for the world. The plan is shown a pilot of
200 items and nothing else of the world. Then the campaign that it plans is carried out, with other
terms, and with its own rules for votes, stopping and pay. The kept CATs and the cost are compared
with the plan's intervals. Models with other values of ss than the plan expects are then measured
on the kept CATs, and the interval of the project's scores is compared with the plan's width. The
exit status is 1 if a share is outside its limits.

This script shares no code with the plan: ``World`` has its own people and its own 3-of-5 rule.
"""

import argparse
import sys
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.rounds.budget import Figure, PilotItem, label_figures, make_plan, paid_figure
from curation.stats.metrics import percent_interval

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
PAY_WRITE, PAY_LABEL, BUDGET, ITEMS = 0.5, 0.13, 3000.0, 5
WAYS = list(permutations(range(3)))  # which association can be which label


def settled(votes: Ints, labels: int, of: int = 5, needed: int = 3) -> tuple[Ints, Ints]:
    """Which items are kept, and which can still change, after so many labels.

    Args:
        votes: shape (items, 3, 3), by association and label.
        labels: how many labels each association has.
        of: how many it can get.
        needed: how many make a majority.
    """
    gold = votes >= needed
    has_gold = gold.any(axis=2, keepdims=True)
    reach = np.where(has_gold, gold, votes + of - labels >= needed)
    fits = np.any([reach[:, range(3), way].all(axis=1) for way in WAYS], axis=0)
    all_gold = has_gold.all(axis=(1, 2))
    return fits & all_gold, fits & ~all_gold


class Work(NamedTuple):
    """What people did: for each item its term, its writer, and tries to write it; then its labels.

    ``said`` has the shape (items, 5, 3): what five people say of the three associations. Who they
    are, and whether an answer of theirs was refused before, have the shape (items, 5).
    """

    term: Ints
    writer: Ints
    tries: Ints
    said: Ints
    person: Ints
    refused: NDArray[np.bool_]


class World:
    """People, terms and items that nobody knows before they are asked."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.clear = rng.uniform(1.6, 2.2)  # how clear items are on average, in logits
        self.of_terms, self.of_writers = rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.4)
        self.of_items, self.of_people = rng.uniform(0.5, 1.1), rng.uniform(0.2, 0.5)
        self.refusal, self.lost = rng.uniform(0.0, 0.15), rng.uniform(0.0, 0.08)
        self.confused = rng.uniform(0.5, 0.9)  # stereotype and anti-stereotype are mixed up most

    def work(self, terms: int, each: int, *, writers: int, validators: int) -> Work:
        """Have items written on new terms, and labelled by five people each."""
        rng, count = self.rng, terms * each
        term = np.repeat(np.arange(terms), each)
        writer = rng.integers(0, writers, count)
        bad = rng.beta(2, 2 / max(self.refusal, 0.01) - 2, writers)[writer]
        clear = self.clear + self.of_terms * rng.standard_normal(terms)[term]
        clear += self.of_writers * rng.standard_normal(writers)[writer]
        clear += self.of_items * rng.standard_normal(count)
        skill = self.of_people * rng.standard_normal(validators)
        person = rng.random((count, validators)).argsort(axis=1)[:, :5]
        logit = (clear[:, None] + skill[person])[:, :, None]
        right = rng.random((count, 5, 3)) < 1 / (1 + np.exp(-logit))
        near = rng.random((count, 5, 3)) < self.confused
        wrong = np.where(near, [1, 0, 0], [2, 2, 1])  # the likely mistake, and the other one
        said = np.where(right, np.arange(3), wrong)
        lost = rng.beta(2, 2 / max(self.lost, 0.01) - 2, validators)[person]
        refused = rng.random((count, 5)) < lost
        return Work(term, writer, rng.geometric(1 - bad), said, person, refused)


class Outcome(NamedTuple):
    """A campaign that was carried out: CATs kept by term, and its cost."""

    kept: Ints
    cost: float


def carry_out(world: World, terms: int, each: int, *, needed_only: bool) -> Outcome:
    """Carry out a campaign with new terms; stop at five labels, or when an item is settled."""
    work = world.work(terms, each, writers=30, validators=60)
    counts = np.zeros((len(work.term), 3, 3), np.int64)
    labels = np.full(len(work.term), 5)
    open_ = np.ones(len(work.term), bool)
    for number in range(5):
        np.add.at(counts, (np.arange(len(counts))[:, None], np.arange(3), work.said[:, number]), 1)
        _, unsure = settled(counts, number + 1)
        labels[open_ & ~unsure] = number + 1
        open_ &= unsure
    if needed_only:
        labels[world.rng.random(len(labels)) < 0.15] = 5
    else:
        labels[:] = 5
    refused = work.refused & (np.arange(5) < labels[:, None])
    kept, _ = settled(counts, 5)
    cost = PAY_WRITE * work.tries.sum() + PAY_LABEL * (labels.sum() + refused.sum())
    return Outcome(np.bincount(work.term[kept], minlength=terms), float(cost))


class Campaign(NamedTuple):
    """One campaign: whether the plan's intervals held, and how wide they are."""

    retention: float
    kept_held: bool
    cost_held: bool
    kept_half: float
    cost_half: float
    ss_promised: float
    ss_widths: list[float]
    ss_held: list[bool]


def simulate(
    seed: int, *, models: int = 10, pilot: tuple[int, int] = (40, 5), needed_only: bool = False
) -> Campaign:
    """One world: its pilot, the plan, the campaign, and models that are measured on it.

    Args:
        seed: of the world.
        models: how many models.
        pilot: its terms, and the items on each.
        needed_only: whether an item gets labels only until it is settled.
    """
    rng = np.random.default_rng(seed)
    world = World(rng)
    shown = world.work(*pilot, writers=30, validators=40)
    items = [
        PilotItem(str(term), str(writer), [*map(str, people)], [(a, b, c) for a, b, c in said])
        for term, writer, people, said in zip(
            shown.term, shown.writer, shown.person, shown.said.tolist(), strict=True
        )
    ]
    figures = label_figures(items, source="pilot")
    written, tries = np.bincount(shown.writer), np.bincount(shown.writer, shown.tries)
    figures["write_paid"] = paid_figure(tries.tolist(), written.tolist(), "pilot")
    given = np.bincount(shown.person.ravel())
    paid = given + np.bincount(shown.person.ravel(), shown.refused.ravel())
    figures["label_paid"] = paid_figure(paid.tolist(), given.tolist(), "pilot")
    figures["labels"] = figures["fewer" if needed_only else "labels"]
    values = {"fee": 0, "ss": 60, "between": 5, "pay_write": PAY_WRITE, "pay_label": PAY_LABEL}
    figures |= {name: Figure(value, "") for name, value in values.items()}
    plan = make_plan(BUDGET, {"all": 321}, figures, items=ITEMS)
    whole = plan.whole
    done = carry_out(world, whole.terms, whole.items // whole.terms, needed_only=needed_only)
    kept, (low, high), ends = int(done.kept.sum()), whole.kept_range, plan.cost_range
    widths, held = [], []
    for _ in range(models):
        ss, between = rng.uniform(50, 70), rng.uniform(0, 8)
        true = np.clip(rng.normal(ss, between, len(done.kept)), 0, 100)[done.kept > 0]
        sizes = done.kept[done.kept > 0]
        measured_ss = 100 * rng.binomial(sizes, true / 100) / sizes
        ci = percent_interval(measured_ss, observations=kept)
        widths.append((ci[1] - ci[0]) / 2)
        held.append(ci[0] <= ss <= ci[1])
    return Campaign(
        kept / whole.items,
        low <= kept <= high,
        ends[0] <= done.cost <= ends[1],
        (high - low) / 2 / whole.kept,
        (ends[1] - ends[0]) / 2 / plan.cost,
        whole.ss or 0.0,
        widths,
        held,
    )


def share(held: Sequence[bool]) -> float:
    """In per cent."""
    return 100 * float(np.mean(held))


def report(name: str, found: Sequence[Campaign]) -> bool:
    """Print a row of the table; whether all of it is inside the limits."""
    kept, cost = share([c.kept_held for c in found]), share([c.cost_held for c in found])
    halves = 100 * np.array([c.kept_half for c in found])
    narrow = share([half <= 15 for half in halves])
    cost_half = 100 * max(c.cost_half for c in found)
    promised = np.mean([c.ss_promised for c in found])
    width = float(np.mean([w for c in found for w in c.ss_widths]) / promised)
    covered = share([h for c in found for h in c.ss_held])
    print(
        f"| {name} | {kept:.1f} | {cost:.1f} | {halves.mean():.1f}, {halves.max():.1f} "
        f"| {narrow:.1f} | {cost_half:.1f} | {promised:.2f} | {width:.2f} | {covered:.1f} |",
        flush=True,
    )
    shares = min(kept, cost) >= 90 and narrow >= 95 and cost_half <= 15
    return shares and abs(width - 1) <= 0.15 and 93 <= covered <= 97


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--models", type=int, default=10)
    options = parser.parse_args()
    print(
        "| pilot, labels | kept CATs inside | cost inside | kept ±: mean, most | kept ± at most 15 "
        "| cost ±: most | ss ± promised | measured / promised | ss covered |\n" + "|---" * 9 + "|"
    )
    fine = True
    for terms, each in ((40, 5), (20, 10)):
        for needed_only in (False, True):
            found = [
                simulate(seed, models=options.models, pilot=(terms, each), needed_only=needed_only)
                for seed in range(options.campaigns)
            ]
            labels = "needed" if needed_only else "all"
            fine &= report(f"{terms} terms × {each} items, `{labels}`", found)
    sys.exit(not fine)


if __name__ == "__main__":
    main()
