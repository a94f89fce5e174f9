"""Convergent validity: automated counts in text agree with people (section 6, Table 4).

Prior measures are not known to be credible, so agreeing with them gives no verdict (section 6).
Their correlations with each other are reported all the same.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from curation.bias import Criterion
from curation.stats.correlations import correlate
from curation.trust.protocol.correlated import correlation_row
from curation.trust.protocol.measured import AUTOMATED, HUMAN, MeasureRun, alike, paired
from curation.trust.protocol.rows import row
from curation.trust_settings import TrustSettings

LABEL = "label passages of the same texts («curation trust text» with labels)"


class Cell(NamedTuple):
    """Two runs and the rank correlation of their results on the targets that both have."""

    first: str
    second: str
    rho: float | None
    r_squared: float | None
    n: int


def matrix(runs: Sequence[MeasureRun]) -> list[Cell]:
    """How all runs on the same groups correlate, pair by pair; this gives no verdict."""
    return [
        Cell(first.name, second.name, *alike(paired(first.biases, second.biases)))
        for first, second in combinations(runs, 2)
        if first.groups == second.groups and first.group_names == second.group_names
    ]


def convergent_criteria(
    run: MeasureRun, runs: Sequence[MeasureRun], settings: TrustSettings, *, seed: int
) -> list[Criterion]:
    """The rows of convergent validity of a run.

    Automated counts are compared with people's answers about the same source, each length of
    context for itself. For other measures there is no credible measure to compare with.

    Args:
        run: the run.
        runs: all runs.
        settings: the thresholds.
        seed: of the permutations.
    """
    if run.measure == HUMAN:
        why = "people's answers are what automated counts are compared with (section 6)"
        return [row(run, "convergent", HUMAN, "not_applicable", computed=why)]
    if run.measure != AUTOMATED:
        return [row(run, "convergent", "others", "not_applicable", computed=_others(run, runs))]
    human = [
        other
        for other in runs
        if other.measure == HUMAN and other.stem == run.stem and other.groups == run.groups
    ]
    if not human:
        why, todo = f"there is no run of {HUMAN} on {run.stem}", LABEL
        if others := [r.name for r in runs if r.measure == HUMAN and r.groups == run.groups]:
            source = run.stem.removeprefix(f"{run.groups}-")
            why += f", only {', '.join(others)}"
            todo += f"; or, if those labels are of them, measure the labels with --source {source}"
        return [row(run, "convergent", HUMAN, "not_run", computed=why, change=todo)]
    return [each for other in human for each in _against(run, other, settings, seed=seed)]


def _against(
    run: MeasureRun, human: MeasureRun, settings: TrustSettings, *, seed: int
) -> list[Criterion]:
    """One row; with more than two groups, one for each group."""
    both = paired(run.biases, human.biases)
    missing = len(run.biases) - len(both.targets)
    left_out = f"; {missing} targets have no result in one of them" if missing > 0 else ""
    variant = human.source.partition("+")[2]
    rows = []
    for column in range(both.first.shape[1]):
        found = correlate(
            both.first[:, column].tolist(),
            both.second[:, column].tolist(),
            confidence=settings.confidence,
            seed=seed,
        )
        group = (run.group_names or ("",))[column]
        several = [group] if both.first.shape[1] > 1 else []
        rows.append(
            correlation_row(
                run,
                "convergent",
                "+".join([HUMAN, *filter(None, [variant]), *several]),
                found,
                p=found.p,
                threshold=settings.convergent,
                settings=settings,
                computed=f"p − p0 of «{group}», compared with {human.name}{left_out}",
                evidence=(run.name, human.name),
            )
        )
    return rows


def _others(run: MeasureRun, runs: Sequence[MeasureRun]) -> str:
    same = [other for other in runs if other.groups == run.groups and other.name != run.name]
    found = [(other.name, alike(paired(run.biases, other.biases))) for other in same]
    parts = [f"{name} {a.rho:.2f} (n {a.n})" for name, a in found if a.rho is not None]
    why = "no measure of this kind is known to be credible, so that there is no verdict (section 6)"
    return f"{why}; rank correlations: {', '.join(parts)}" if parts else why
