"""What published scores tell about hidden gold labels: simulated, or from a real release.

Without options: hidden sets of 100 to 6,000 CATs are drawn, and models of several sorts. The attack
of ``hidden_attack.py`` guesses the order of stereotype and anti-stereotype of each CAT, first from
what the models prefer and from public CATs alone, then also from published ss. Its gain is the
share of right orders with the figures, minus the share without, in points. Prints plain tables,
and progress on stderr. Takes about ten minutes on two processors.

With ``--release``, the attack is done on the folder of a release with hidden labels: everything
that it publishes about them is collected (``hidden_release.py``). The models' scores of the public
options come from files of predictions; FILE or MODEL=FILE, the name is that in the release. A gold
file says which option is unrelated, and how much the attack finds out.

    python benchmarks/hidden.py [--sets 200] [--cats 100 222 500 1000 6000] [--jobs 2]
    python benchmarks/hidden.py --release DIR [--earlier DIR] [--gold GOLD] --predictions FILE ...
"""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from hidden_attack import (
    LIMIT,
    RELATEDNESS,
    Equations,
    Floats,
    Guess,
    Sets,
    Small,
    anneal,
    budget,
    draw,
    ends,
    figures,
    guess,
    linear,
    published,
    right,
    together,
    weights_of,
)
from numpy.typing import NDArray

CATS = (100, 222, 500, 1000, 6000)
MODELS = (2, 10, 50, 200)
FIRST = {100: 6, 222: 22, 500: 50}  # figures that an earlier, weaker attack allowed
WORST = (1, 2, 3, 5, 10, 20, 33, 50)
SWEEPS, RUNS = 40, 8
BATCH = 20_000_000  # CATs x sets x models at once
MANY = 1_200_000  # CATs in all sets together of a row at the budget: 200 sets of 6,000
RULES = 6  # baselines, and the sentiment of options
PARTS = (3, 5, 10, 20)  # hidden CATs for each public one
EARLIER = 100  # CATs that an earlier version has and this one lacks, and the other way round


class Job(NamedTuple):
    """One row: what is drawn and published.

    ``known`` are the models that the attacker runs, if more than those with figures. ``annealed``
    is the number of sets of the slower attack. ``public`` is the number of public CATs.
    """

    cats: int
    figures: int
    related: str
    quality: str
    sets: int
    annealed: int
    known: int = 0
    equal: bool = False
    public: int | None = None


class Row(NamedTuple):
    """Means over sets, in points: right without figures, both gains, and standard errors."""

    before: float
    linear: float
    linear_error: float
    annealing: float
    annealing_error: float


def worked(job: Job) -> Row:
    """Draw the sets of a job and attack them."""
    models = max(job.figures, job.known, 1)
    size = max(1, min(job.sets, BATCH // (job.cats * models)))
    drawn: list[Floats] = []
    searched: list[Floats] = []
    for at in range(0, job.sets, size):
        rng = np.random.default_rng([job.cats, models, job.figures, at])
        sets = draw(
            rng, min(size, job.sets - at), job.cats, models,
            related=job.related, quality=job.quality, equal=job.equal, public=job.public,
        )  # fmt: skip
        before, given = guess(sets), figures(sets, job.figures)
        some = min(len(sets.labels[0]), job.annealed - at)
        found = attacked(rng, sets, before, given, annealed=max(0, some))
        drawn.append(found[:2])
        searched.append(found[2, : max(0, some)])
    without, gains = np.concatenate(drawn, axis=1)
    more = np.concatenate(searched)
    return Row(float(without.mean()), *summary(gains), *summary(more))


def attacked(
    rng: np.random.Generator,
    sets: Sets,
    before: Guess,
    given: Equations,
    *,
    annealed: int,
    hidden: int | None = None,
) -> Floats:
    """Right without figures, gain of the linear estimate, gain of annealing: (3, S).

    Annealing is done on the first ``annealed`` sets, the gain of others is not a number. Only the
    first ``hidden`` CATs of a set count. Without equations both gains are 0.
    """
    if not given.weights.shape[-1]:
        nothing = np.zeros(sets.labels.shape[1])
        return np.stack([right(before.mean, sets.labels), nothing, nothing])
    estimate = linear(before, given)
    labels, part = sets.labels[:hidden], slice(0, annealed)
    first = right(before.mean[:hidden], labels)
    found = np.full((3, len(first)), np.nan)
    found[0], found[1] = first, right(estimate[:hidden], labels) - first
    if annealed:
        few = Equations(given.weights[:, part], given.values[part], given.error)
        guessed = Guess(before.mean[:, part], before.directions[:, part])
        start = estimate[:, part]
        better = anneal(rng, guessed, few, start=start, sweeps=SWEEPS, runs=RUNS)
        found[2, part] = right(better[:hidden], labels[:, part]) - first[part]
    return found


def summary(values: Floats) -> tuple[float, float]:
    """Mean and its standard error."""
    if not len(values):
        return float("nan"), float("nan")
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


# --- the tables -----------------------------------------------------------------------------------


def without_budget(count: int, cats: Sequence[int]) -> list[Job]:
    """The ss of 2 to 200 models is published."""
    return [
        Job(n, k, related, quality, count if n * k < 1_000_000 else max(1, count // 5),
            min(count, max(10, 50_000 // n)))
        for n in cats for related in RELATEDNESS for quality in ("good", "bad", "mixed")
        for k in MODELS
    ]  # fmt: skip


def with_budget(count: int, cats: Sequence[int], allowed: Callable[[int], int]) -> list[Job]:
    """As many figures as are allowed; small sets are cheap, so more of them are drawn."""
    return [
        Job(n, allowed(n), related, quality, sets, count)
        for n in cats
        for sets in [max(1, count * MANY // (200 * n))]
        for related in RELATEDNESS
        for quality in ("good", "bad", "mixed")
    ]


def show_without(jobs: Sequence[Job], rows: Sequence[Row]) -> Iterator[str]:
    """The table without a budget: a line per sort of models."""
    yield "Gain without a budget: the overall ss of 2, 10, 50, 200 models is published"
    yield "right: without figures, from 50 models. Gain: linear/annealing, in points."
    yield f"Means of {jobs[0].sets} sets (fewer for 6,000 CATs x 200 models); annealing of fewer."
    yield ""
    names = "".join(f"{f'{k} models':>13}" for k in MODELS)
    yield f"{'CATs':>5} {'models':12} {'ss':6}{'right':>7}{names}"
    for at in range(0, len(jobs), len(MODELS)):
        own, job = rows[at : at + len(MODELS)], jobs[at]
        gains = "".join(f"{f'{r.linear:.1f}/{r.annealing:.1f}':>13}" for r in own)
        yield f"{job.cats:5} {job.related:12} {job.quality:6}{own[2].before:7.1f}{gains}"


def show_with(title: str, jobs: Sequence[Job], rows: Sequence[Row]) -> Iterator[str]:
    """The table with a fixed number of figures: a line per sort of models."""
    yield title
    yield f"Means in points; annealing of {jobs[0].annealed} sets."
    yield ""
    yield (
        f"{'CATs':>5} {'figures':>7} {'models':12} {'ss':6}{'sets':>7}{'right':>7}"
        f"{'linear':>14}{'annealing':>14}  {f'<= {100 * LIMIT:.0f}'}"
    )
    for job, row in zip(jobs, rows, strict=True):
        surely = row.linear - 2 * row.linear_error, row.annealing - 2 * row.annealing_error
        low = max(surely) <= 100 * LIMIT  # with few sets, a mean may be above it by chance
        yield (
            f"{job.cats:5} {job.figures:7} {job.related:12} {job.quality:6}{job.sets:7}"
            f"{row.before:7.1f}{f'{row.linear:.2f} ± {row.linear_error:.2f}':>14}"
            f"{f'{row.annealing:.2f} ± {row.annealing_error:.2f}':>14}  {'yes' if low else 'NO'}"
        )


def smallest(count: int) -> list[Job]:
    """Models at chance and equal weights, the worst case, where the formula says 3 points."""
    jobs = []
    for k in WORST:
        cats = next(n for n in range(1, 100_000) if budget(n) == k)
        sets = max(1, count * MANY * 2 // (200 * cats))
        jobs.append(Job(cats, k, "independent", "chance", sets, 0, equal=True))
    return jobs


def show_smallest(jobs: Sequence[Job], rows: Sequence[Row]) -> Iterator[str]:
    """How many CATs figures need."""
    yield "The smallest sets of the worst case (models at chance, equal weights), linear estimate"
    yield "simulated: CATs x (gain / 3)², because the gain falls with the root of the CATs"
    yield ""
    yield f"{'figures':>7}{'formula':>9}{'sets':>8}{'gain there':>15}{'simulated':>11}"
    for job, row in zip(jobs, rows, strict=True):
        gain = f"{row.linear:.2f} ± {row.linear_error:.2f}"
        cats = job.cats * (row.linear / (100 * LIMIT)) ** 2
        yield f"{job.figures:7}{job.cats:9}{job.sets:8}{gain:>15}{cats:11.0f}"


def fewer_public(count: int, cats: Sequence[int]) -> list[Job]:
    """The budget with fewer public CATs, which say less of what models prefer."""
    return [
        job._replace(annealed=0, public=job.cats // part)
        for job in with_budget(count, [n for n in cats if budget(n) and n < 6000], budget)
        if job.related != "alike"
        for part in PARTS
    ]


def show_fewer(jobs: Sequence[Job], rows: Sequence[Row]) -> Iterator[str]:
    """The gain by number of public CATs."""
    yield "Gain at the budget with fewer public CATs, linear estimate"
    yield "Figures also tell how far models prefer stereotypes, if public CATs do not."
    yield ""
    names = "".join(f"{f'1 for {part}':>14}" for part in PARTS)
    yield f"{'CATs':>5} {'figures':>7} {'models':12} {'ss':6}{names}"
    for at in range(0, len(jobs), len(PARTS)):
        job = jobs[at]
        gains = "".join(
            f"{f'{row.linear:.2f} ± {row.linear_error:.2f}':>14}"
            for row in rows[at : at + len(PARTS)]
        )
        yield f"{job.cats:5} {job.figures:7} {job.related:12} {job.quality:6}{gains}"


def others(job: Job) -> list[tuple[str, int, Row]]:
    """What other numbers add to the overall ss of models: name, equations, row."""
    found: dict[str, list[Floats]] = {}
    equations: dict[str, int] = {}
    size, total = 50, job.cats + EARLIER
    for at in range(0, job.sets, size):
        rng = np.random.default_rng([job.cats, job.figures, at])
        sets = draw(
            rng, min(size, job.sets - at), total, job.figures + RULES,
            related=job.related, quality=job.quality,
        )  # fmt: skip
        neutral = rng.random(sets.prefers.shape[:2]) < 0.6  # options of the same sentiment
        sets.prefers[neutral, -1] = 0
        now = np.broadcast_to(np.arange(total)[:, None] < job.cats, sets.term.shape)
        then = np.broadcast_to(np.arange(total)[:, None] >= EARLIER, sets.term.shape)
        models, rules = sets.prefers[..., : job.figures], sets.prefers[..., job.figures : -1]

        def ss(chosen: NDArray[np.bool_], prefers: Small, sets: Sets = sets) -> Equations:
            return published(weights_of(sets.term, chosen)[..., None] * prefers, sets.labels)

        overall = ss(now, models)
        by_kind = [ss(now & (sets.kind == kind), models) for kind in (0, 1)]
        share = (sets.prefers[..., -1:] * now[..., None] / job.cats).astype(np.float32)
        sentiment = published(share, sets.labels)
        more = {
            "overall ss": [overall],
            "+ ss of each kind": [overall, *by_kind],
            "+ five baselines": [overall, ss(now, rules)],
            "+ sentiment by label": [overall, sentiment],
            "+ an earlier version": [overall, ss(then, models)],
            "all of these": [overall, *by_kind, ss(now, rules), sentiment, ss(then, models)],
        }
        before = guess(sets)
        for name, parts in more.items():
            given = together(parts)
            few = len(sets.labels[0]) if at < job.annealed else 0
            part = attacked(rng, sets, before, given, annealed=few, hidden=job.cats)
            found.setdefault(name, []).append(part)
            equations[name] = given.weights.shape[-1]
        if at < job.annealed:
            own = first_of(sets, job.cats)
            whole = Guess(before.mean[: job.cats], before.directions[: job.cats])
            given = Equations(overall.weights[: job.cats], overall.values, overall.error)
            start = linear(whole, given)
            better = anneal(
                rng, whole, given, start=start, sweeps=SWEEPS, runs=RUNS,
                ends=ends(own, job.figures),
            )  # fmt: skip
            first = right(whole.mean, own.labels)
            moved = right(start, own.labels) - first
            found.setdefault("+ interval ends", []).append(
                np.stack([first, moved, right(better, own.labels) - first])
            )
            equations["+ interval ends"] = job.figures
    rows = []
    for name, measured in found.items():
        without, gain, searched = np.concatenate(measured, axis=1)
        done = searched[~np.isnan(searched)]
        rows.append(
            (name, equations[name], Row(float(without.mean()), *summary(gain), *summary(done)))
        )
    return rows


def first_of(sets: Sets, cats: int) -> Sets:
    """The same sets with the first CATs only."""
    return Sets(
        sets.prefers[:cats], sets.public, sets.labels[:cats], sets.term[:cats], sets.kind[:cats]
    )


def show_others(jobs: Sequence[Job], tables: Sequence[list[tuple[str, int, Row]]]) -> Iterator[str]:
    """What other numbers add."""
    yield f"What other numbers add, at {jobs[0].cats} CATs and independent models"
    yield "Interval ends are quadratic equations, which only annealing uses."
    yield ""
    yield (
        f"{'models':>6} {'ss':6} {'published':22}{'equations':>9}{'right':>7}{'linear':>14}"
        f"{'annealing':>15}"
    )
    for job, table in zip(jobs, tables, strict=True):
        for name, count, row in table:
            yield (
                f"{job.figures:6} {job.quality:6} {name:22}{count:9}{row.before:7.1f}"
                f"{f'{row.linear:.2f} ± {row.linear_error:.2f}':>14}"
                f"{f'{row.annealing:.2f} ± {row.annealing_error:.2f}':>15}"
            )


def simulate(count: int, cats: Sequence[int], workers: int) -> None:
    """Print all tables."""
    start = time.perf_counter()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"  # of the workers
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:

        def run(name: str, jobs: Sequence[Job]) -> list[Row]:
            rows = []
            for row in pool.map(worked, jobs):
                rows.append(row)
                seconds = time.perf_counter() - start
                print(f"\r{name}: {len(rows)} of {len(jobs)}, {seconds:.0f} s",
                      end="", file=sys.stderr, flush=True)  # fmt: skip
            print(file=sys.stderr)
            return rows

        def show(lines: Iterator[str]) -> None:
            print("\n".join(lines), end="\n\n\n", flush=True)

        jobs = with_budget(count, cats, budget)
        show(show_with("Gain at the budget", jobs, run("at the budget", jobs)))
        jobs = with_budget(count, [n for n in cats if n in FIRST], FIRST.__getitem__)
        jobs = [job._replace(sets=count) for job in jobs]
        if jobs:
            title = "Gain at the numbers of figures of an earlier, weaker attack"
            show(show_with(title, jobs, run("earlier numbers", jobs)))
        jobs = [
            job._replace(known=50, sets=count, annealed=count)
            for job in with_budget(count, [n for n in cats if n < 6000], budget)
            if job.related == "independent" and job.figures
        ]
        if jobs:
            title = "Gain at the budget, if the attacker runs 50 models"
            show(show_with(title, jobs, run("50 models", jobs)))
        jobs = fewer_public(count, cats)
        if jobs:
            show(show_fewer(jobs, run("fewer public", jobs)))
        jobs = smallest(count)
        show(show_smallest(jobs, run("smallest sets", jobs)))
        jobs = [
            Job(500, k, "independent", quality, count, min(count, 50))
            for k in (2, 50)
            for quality in ("bad", "good")
        ]
        print("other numbers", file=sys.stderr)
        show(show_others(jobs, list(pool.map(others, jobs))))
        jobs = without_budget(count, cats)
        show(show_without(jobs, run("without a budget", jobs)))
    print(f"{time.perf_counter() - start:.0f} s on {workers} processors", file=sys.stderr)


def main() -> None:
    """Read the options, and simulate or attack."""
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--sets", type=int, default=200, help="simulated sets per row")
    parser.add_argument("--cats", type=int, nargs="+", default=CATS, help="sizes of hidden sets")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--release", type=Path, help="folder of a release with hidden labels")
    parser.add_argument("--earlier", type=Path, help="folder of an earlier version of it")
    parser.add_argument("--gold", type=Path, help="the private gold file of the release")
    parser.add_argument("--predictions", nargs="+", default=[], help="FILE or MODEL=FILE")
    chosen = parser.parse_args()
    if chosen.release is None:
        simulate(chosen.sets, chosen.cats, chosen.jobs)
        return
    from hidden_release import attack_folder, report

    found = attack_folder(
        chosen.release, chosen.predictions, gold=chosen.gold, earlier=chosen.earlier
    )
    print("\n".join(report(found)))


if __name__ == "__main__":
    main()
