"""Runs of bias measures as the criteria compare them, and the cases that their checks look at."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from curation.records import Bias, CriterionName, Evidence, Status, Subject
from curation.stats.correlations import r_squared, rho
from curation.stats.intervals import mean_interval
from curation.stats.tests import t_test
from curation.trust.framework import DEFAULT, Floats, Policies
from curation.trust.groups import Groups
from curation.trust.protocol.checks import Case, Found, Sort

HUMAN, AUTOMATED = "text-human", "text-automated"
COUNTED = (HUMAN, AUTOMATED, "probe")
"""Measures whose strengths of association are counts of contexts."""
OURS = (*COUNTED, "vectors", "contextual")
"""The measures of Bommasani & Liang 2022, Table 1; all others are prior measures."""


class MeasureRun(NamedTuple):
    """A run of a measure.

    Attributes:
        name: MEASURE/SOURCE.
        measure: the measure's name.
        groups: the groups' name.
        biases: its results, one per target.
        evidence: what it computed for the report.
        policies: how its strengths became a distribution.
        words: the groups' words that it was measured with.
        fitted: the words that a method was fitted on which changed the vectors; see ``debias``.
        year: the year that the vectors are of; None if they are of no year.
        reference: the run that the groups have as their reference; "" for another one.
    """

    name: str
    measure: str
    groups: str
    biases: tuple[Bias, ...]
    evidence: tuple[Evidence, ...] = ()
    policies: Policies = DEFAULT
    words: frozenset[str] = frozenset()
    fitted: frozenset[str] = frozenset()
    year: int | None = None
    reference: str = ""

    @property
    def source(self) -> str:
        """The groups and what was measured, such as ``gender-wiki+window-1``."""
        return self.name.partition("/")[2]

    @property
    def stem(self) -> str:
        """The source without the variant, such as ``gender-wiki``."""
        return self.source.partition("+")[0]

    @property
    def variant(self) -> str:
        """What distinguishes the source from others with this stem, such as ``window-1``."""
        return self.source.partition("+")[2]

    @property
    def texts(self) -> str:
        """What was measured, whatever the groups and the variant: ``wiki``."""
        return self.stem.removeprefix(f"{self.groups}-")

    @property
    def prior(self) -> bool:
        """Whether it is a prior measure, which has one value instead of a distribution."""
        return self.measure not in OURS

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups, in order; empty if the run has no results."""
        return self.biases[0].groups if self.biases else ()

    @property
    def kind(self) -> str:
        """What its values are made of; only sizes of one kind can be compared.

        Normalised counts may be anywhere from 0 to 1; normalised cosines lie near equal shares.
        """
        return "counts of contexts" if self.measure in COUNTED else f"values of {self.measure}"

    def contexts(self, bias: Bias) -> float | None:
        """The number of contexts that a result rests on; None for word vectors."""
        if self.measure in COUNTED:
            return float(sum(strength or 0 for strength in bias.soa))
        return float(bias.n) if self.measure == "contextual" else None

    def found(self, criterion: CriterionName, check: str) -> Iterator[Found]:
        """What it computed for a check of the report.

        Evidence without a value is not applicable if it has no units either; its detail says why.
        With units it is inconclusive.
        """
        for own in self.evidence:
            if (own.criterion, own.check) != (criterion, check):
                continue
            facts = {**own.facts, "detail": own.detail}
            if own.value is None:
                status: Status = "inconclusive" if own.n else "not_applicable"
                yield Found(status=status, why=own.detail or own.statistic, n=own.n, facts=facts)
            else:
                yield Found(value=own.value, ci=own.ci, p=own.p, n=own.n, facts=facts)


def directed(bias: Bias) -> tuple[float, ...] | None:
    """A result with its direction: p of each group less an equal share, or a prior measure's value.

    The reference plays no part. If it differs between targets, p − p0 of any two measures correlate
    through p0, so what is compared must not contain it.
    """
    if bias.value is not None:
        return (bias.value,)
    return None if bias.p is None else tuple(share - 1 / len(bias.p) for share in bias.p)


class Paired(NamedTuple):
    """Two results on the targets that both have; arrays have shape (targets, entries)."""

    first: Floats
    second: Floats

    @property
    def columns(self) -> list[tuple[Floats, Floats]]:
        """Both values of each entry, over targets."""
        return list(zip(self.first.T, self.second.T, strict=True))


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
        (values, known[bias.target])
        for bias in first
        if bias.target in known and (values := of(bias)) is not None
    ]
    width = min((len(values) for row in rows for values in row), default=1)
    width = 1 if width == 2 else width
    cut = np.array([[a[:width], b[:width]] for a, b in rows], float).reshape(len(rows), 2, width)
    return Paired(cut[:, 0], cut[:, 1])


class Alike(NamedTuple):
    """How alike two results are: mean Spearman's rho and R² over the groups, and the targets."""

    rho: float | None
    r_squared: float | None
    n: int


def alike(of: Paired) -> Alike:
    """Rank correlation and R² over targets; the mean over groups if there are more than two."""
    rhos = [rho(first, second) for first, second in of.columns]
    squares = [r_squared(first, second) for first, second in of.columns]
    return Alike(_mean(rhos), _mean(squares), len(of.first))


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 12) if len(known) == len(values) else None


def mean_change(values: Sequence[float] | Floats, *, confidence: float) -> Found:
    """The mean of differences over targets with Student's interval, p and n.

    >>> found = mean_change([1.0, 2.0, 3.0], confidence=0.95)
    >>> found.value, found.n, round(found.p, 3)
    (2.0, 3, 0.074)
    """
    if not len(array := np.asarray(values, float)):
        return Found()
    ends = mean_interval(array, confidence=confidence)
    return Found(value=float(array.mean()), ci=ends, p=t_test(array), n=len(array))


# --- the cases ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measures:
    """All runs of bias measures, and the groups by name, with anchors and outcomes.

    ``known`` keeps by groups and run what several rows share: tests that are corrected together.
    """

    runs: tuple[MeasureRun, ...]
    groups: Mapping[str, Groups]
    known: dict[str, dict[str, list[Any]]] = field(default_factory=dict)

    def named(self, name: str) -> MeasureRun | None:
        """The run of this name."""
        return next((run for run in self.runs if run.name == name), None)


@dataclass(frozen=True, kw_only=True)
class MeasureCase(Case):
    """A run of a bias measure, among all runs."""

    sort: Sort = "measure"
    subject: Subject = "measure"
    run: MeasureRun
    all: Measures

    @property
    def groups(self) -> Groups | None:
        """The groups of the run, with anchors and outcomes; None if they are not known."""
        return self.all.groups.get(self.run.groups)


@dataclass(frozen=True, kw_only=True)
class SeriesCase(Case):
    """Runs of one measure on vectors of several years, in order of the years."""

    sort: Sort = "series"
    subject: Subject = "measure"
    runs: tuple[MeasureRun, ...]
    groups: Groups | None
