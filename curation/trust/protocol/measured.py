"""The results of a measure as the criteria compare them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from curation.bias import Bias, CriterionName, Evidence
from curation.stats.correlations import r_squared, rho
from curation.trust.framework import Floats
from curation.trust.groups import Groups
from curation.trust.protocol.checks import Case

HUMAN, AUTOMATED = "text-human", "text-automated"
OURS = (HUMAN, AUTOMATED, "vectors", "contextual", "probe")
"""The measures of Bommasani & Liang 2022, Table 1; all others are prior measures."""


class MeasureRun(NamedTuple):
    """A run of a measure: its name (MEASURE/SOURCE), its groups' name, results and evidence."""

    name: str
    measure: str
    groups: str
    biases: tuple[Bias, ...]
    evidence: tuple[Evidence, ...] = ()

    @property
    def source(self) -> str:
        """The groups and what was measured, such as ``gender-wiki+window-1``."""
        return self.name.partition("/")[2]

    @property
    def stem(self) -> str:
        """The source without the variant, such as ``gender-wiki``."""
        return self.source.partition("+")[0]

    @property
    def prior(self) -> bool:
        """Whether it is a prior measure, which has one value instead of a distribution."""
        return self.measure not in OURS

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups, in order; empty if the run has no results."""
        return self.biases[0].groups if self.biases else ()


def directed(bias: Bias) -> tuple[float, ...] | None:
    """A result with its direction: p − p0 of each group, or a prior measure's value."""
    if bias.value is not None:
        return (bias.value,)
    return None if bias.undefined else bias.signed


def size(bias: Bias) -> float | None:
    """How large a bias is, whatever its direction: L1, or the absolute value of a prior measure."""
    return abs(bias.value) if bias.value is not None else bias.l1


class Paired(NamedTuple):
    """Two results on the targets that both have; arrays have shape (targets, entries)."""

    targets: tuple[str, ...]
    first: Floats
    second: Floats


def paired(
    first: Iterable[Bias],
    second: Iterable[Bias],
    of: Callable[[Bias], Sequence[float] | None] = directed,
) -> Paired:
    """The results of two runs on the targets that both have.

    For two groups the entries are equal but for the sign, so only the first is kept. If one side
    is a prior measure, which has one value, so is only the first entry of the other.
    """
    known = {bias.target: values for bias in second if (values := of(bias)) is not None}
    rows = [
        (bias.target, values, known[bias.target])
        for bias in first
        if bias.target in known and (values := of(bias)) is not None
    ]
    width = min((min(len(a), len(b)) for _, a, b in rows), default=1)
    width = 1 if width == 2 else width
    arrays = [
        np.array([row[side][:width] for row in rows], float).reshape(len(rows), width)
        for side in (1, 2)
    ]
    return Paired(tuple(row[0] for row in rows), arrays[0], arrays[1])


class Alike(NamedTuple):
    """How alike two results are: mean Spearman's rho and R² over the groups, and the targets."""

    rho: float | None
    r_squared: float | None
    n: int


def alike(of: Paired) -> Alike:
    """Rank correlation and R² over targets; the mean over groups if there are more than two."""
    columns = range(of.first.shape[1])
    rhos = [rho(of.first[:, at], of.second[:, at]) for at in columns]
    squares = [r_squared(of.first[:, at], of.second[:, at]) for at in columns]
    return Alike(_mean(rhos), _mean(squares), len(of.targets))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


# --- the cases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measures:
    """All runs of bias measures, and the groups by name, with anchors and outcomes."""

    runs: tuple[MeasureRun, ...]
    groups: Mapping[str, Groups]


@dataclass(frozen=True, kw_only=True)
class MeasureCase(Case):
    """A run of a bias measure, among all runs."""

    run: MeasureRun
    all: Measures

    @property
    def groups(self) -> Groups | None:
        """The groups of the run, with anchors and outcomes; None if they are not known."""
        return self.all.groups.get(self.run.groups)

    def own(self, criterion: CriterionName, check: str) -> list[Evidence]:
        """What the run computed for a check."""
        return [
            each for each in self.run.evidence if (each.criterion, each.check) == (criterion, check)
        ]
