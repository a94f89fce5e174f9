"""What the criteria of a dataset and its scores are computed from: no paths, no files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.records import GOLDS, KINDS, Cat
from curation.stats.agreement import Counts
from curation.stats.artefacts import Artefact
from curation.stats.intervals import Floats
from curation.stats.metrics import judge
from curation.trust.groups import Groups
from curation.trust.protocol.checks import Case

Tell = Callable[[str, int, int], None]
"""Receives progress: what is done, how many are done, how many there are."""


class Scored(NamedTuple):
    """A model's comparisons under one set of scoring rules.

    Attributes:
        name: the run's name, MODEL/RULES.
        model: the model's name.
        rules: the rule of each kind of CAT; empty if the rules are not known.
        variant: how the texts were altered, or "".
        lms: shape (CATs,), the percentage of a CAT's two comparisons with the unrelated
            association that the meaningful one won; NaN if the run lacks a score.
        ss: shape (CATs,), 100 if the stereotype is preferred, 50 for a tie, else 0; NaN as above.
            If a chat model was asked several times, it is the percentage of times.
        where: the folder or file of its scores, as the report names it.
    """

    name: str
    model: str
    rules: Mapping[str, str]
    variant: str
    lms: Floats
    ss: Floats
    where: str = ""

    @property
    def under(self) -> str:
        """The rules as the run's name has them, without the model."""
        return self.name.removeprefix(f"{self.model}/")

    @property
    def files(self) -> tuple[str, ...]:
        """``where``, as the evidence of a row."""
        return (self.where,) if self.where else ()

    @property
    def by_choice(self) -> bool:
        """Whether the model was asked in words, so that there are no scores of associations."""
        return "choice" in self.rules.values()


class RuleGroup(NamedTuple):
    """Runs under the same rules, which may be compared: its name and the numbers of its runs."""

    name: str
    runs: tuple[int, ...]

    def by_choice(self, runs: Sequence[Scored]) -> bool:
        """Whether the group is that of models that were asked in words."""
        return any(runs[number].by_choice for number in self.runs)


class PitfallCount(NamedTuple):
    """In how many units a known pitfall was found; None if it was not looked for."""

    code: str
    severity: str
    unit: str
    found: int | None
    of: int | None
    why: str = ""


class Retest(NamedTuple):
    """Labels of the same associations at two times.

    Attributes:
        name: how the second label came about.
        cats: shape (n,), the number of each association's CAT.
        labels: shape (n, 2), codes in ``records.VALUES``, the first label first.
        note: what readers must know about them, after a full stop and a space; or "".
    """

    name: str
    cats: NDArray[np.int64]
    labels: NDArray[np.int64]
    note: str = ""


class MeasureValues(NamedTuple):
    """A bias measure's value of each target, by the target's text."""

    name: str
    values: Mapping[str, float]


@dataclass(frozen=True)
class DatasetInput:
    """A dataset with everything that its criteria are computed from.

    Attributes:
        name: what the dataset is called, such as test.
        cats: the CATs.
        language: language code of their texts.
        votes: shape (3 · CATs, 4), counted votes of each association in the order of the CATs, by
            ``records.VALUES``; None if the votes are not known.
        retests: labels that were collected twice.
        runs: models' comparisons; published predictions are runs, too.
        groups: runs that may be compared, at most one per model.
        artefacts: the scores of rules that understand nothing.
        unigram: scores of UnigramLM with the sum in place of the mean; None if not computed.
        pitfalls: known pitfalls; None if they were not looked for.
        tables: groups with outcomes, by the name of the table.
        directions: terms for which it is known what models prefer, by target: "stereotype" or
            "anti-stereotype".
        measures: bias measures of the same terms.
        evidence: by criterion or "", the names of the files with the numbers.
    """

    name: str
    cats: Sequence[Cat]
    language: str
    votes: Counts | None = None
    retests: Sequence[Retest] = ()
    runs: Sequence[Scored] = ()
    groups: Sequence[RuleGroup] = ()
    artefacts: Sequence[Artefact] = ()
    unigram: Mapping[str, float] | None = None
    pitfalls: Sequence[PitfallCount] | None = None
    tables: Mapping[str, Groups] = field(default_factory=dict)
    directions: Mapping[str, str] = field(default_factory=dict)
    measures: Sequence[MeasureValues] = ()
    evidence: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @cached_property
    def _factorized(self) -> tuple[list[str], NDArray[np.intp]]:
        keys = [f"{cat.domain}/{cat.target}" for cat in self.cats]
        names = sorted(set(keys))
        place = {name: number for number, name in enumerate(names)}
        return names, np.array([place[key] for key in keys], np.intp)

    @property
    def terms(self) -> list[str]:
        """The terms, as ``domain/target``, in order."""
        return self._factorized[0]

    @property
    def codes(self) -> NDArray[np.intp]:
        """Each CAT's term as a number, shape (CATs,)."""
        return self._factorized[1]

    @cached_property
    def targets(self) -> list[str]:
        """The target of each term, in small letters."""
        targets = dict.fromkeys(self.terms, "")
        targets |= {f"{cat.domain}/{cat.target}": cat.target.casefold() for cat in self.cats}
        return list(targets.values())

    @cached_property
    def domains(self) -> NDArray[np.str_]:
        """The domain of each term, shape (terms,)."""
        domains = {f"{cat.domain}/{cat.target}": cat.domain for cat in self.cats}
        return np.array([domains[term] for term in self.terms], str)

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """The kind of each CAT, shape (CATs,)."""
        return np.array([cat.kind for cat in self.cats], str)

    @cached_property
    def kinds_there(self) -> list[str]:
        """The kinds that there are, in the order of ``records.KINDS``."""
        return [kind for kind in KINDS if (self.kinds == kind).any()]

    @cached_property
    def golds(self) -> NDArray[np.int64]:
        """The gold label of each association as a code in ``records.GOLDS``, shape (CATs, 3)."""
        return np.array(
            [[GOLDS.index(a.gold) for a in cat.associations] for cat in self.cats], np.int64
        ).reshape(-1, 3)

    def means(self, values: Floats) -> Floats:
        """Means over each term's CATs, shape (terms,); NaN for a term without a value.

        Args:
            values: one value per CAT, NaN if there is none.
        """
        has = ~np.isnan(values)
        sums = np.bincount(self.codes[has], weights=values[has], minlength=len(self.terms))
        counts = np.bincount(self.codes[has], minlength=len(self.terms))
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / counts)


def won(cats: Sequence[Cat], scores: Mapping[str, float]) -> tuple[Floats, Floats]:
    """The lms and ss of each CAT by scores of its associations, as in ``Scored``; ties half."""
    values = np.array(
        [
            [next(scores.get(a.id, np.nan) for a in cat.associations if a.gold == g) for g in GOLDS]
            for cat in cats
        ],
        float,
    ).reshape(-1, 3)
    missing = np.isnan(values).any(axis=1)
    meaningful, stereotype, _ = judge(values)
    lms, ss = 50 * meaningful, 100 * stereotype
    lms[missing] = ss[missing] = np.nan
    return lms, ss


# --- the cases ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DatasetCase(Case):
    """A dataset of CATs and the labels of its annotators."""

    data: DatasetInput


@dataclass(frozen=True, kw_only=True)
class ScoresCase(DatasetCase):
    """The scores of models on a dataset under one set of rules."""

    group: RuleGroup

    @property
    def runs(self) -> list[Scored]:
        """The runs of the group."""
        return [self.data.runs[number] for number in self.group.runs]
