"""What the criteria see: runs of bias measures, a dataset of CATs, scores on it; and their cases.

Nothing here knows a path or reads a file.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from curation.kinds import GOLDS, KINDS
from curation.records import Bias, Cat, CriterionName, Evidence, Status, Subject
from curation.stats.agreement import Counts
from curation.stats.artefacts import MIRRORED, Artefact
from curation.stats.intervals import FEW, mean_interval
from curation.stats.metrics import judge, percent_interval
from curation.stats.tests import t_test
from curation.text.wording import amount
from curation.trust.measure.framework import COUNTED, DEFAULT, OURS, Floats, Policies
from curation.trust.measure.groups import Groups
from curation.trust.protocol.checks import Case, Found, Sort


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


CHANCE = 50.0
Tell = Callable[[str, int, int], None]
"""Receives progress: what is done, how many are done, how many there are."""


class Scored(NamedTuple):
    """A model's comparisons under one set of scoring rules.

    Attributes:
        name: the run's name, MODEL/RULES.
        model: the model's name.
        rules: the rule of each kind of CAT; empty if the rules are not known.
        variant: how the texts were altered, or "".
        lms: shape (CATs,), the percentage of a CAT's comparisons with the unrelated association
            that the meaningful one won; NaN if the run lacks a score, or the CAT that association.
        ss: shape (CATs,), 100 if the stereotype is preferred, 50 for a tie, else 0; NaN if the run
            lacks a score. If a chat model was asked several times, it is the percentage of times.
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


def of_runs(
    found: Found, *runs: Scored, by_ss: bool = True, facts: Mapping[str, Any] = {}
) -> Found:
    """What is found of runs of models, with their files.

    Args:
        found: its name is by default that of the first run's model.
        runs: the runs; the first is the fact ``run``.
        by_ss: whether it rests on their ss, which says little of a model without meaning.
        facts: those beside the facts of ``found``.
    """
    return replace(
        found,
        name=found.name or runs[0].model,
        facts={"run": runs[0].name, **found.facts, **facts},
        runs=tuple(run.name for run in runs if by_ss),
        evidence=tuple(path for run in runs for path in run.files),
    )


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
        votes: shape (associations, 4), counted votes of each association in the order of the CATs,
            by ``records.VALUES``; None if the votes are not known.
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
    def _by_term(self) -> tuple[list[str], NDArray[np.intp], list[Cat]]:
        """The terms, each CAT's term, and the first CAT of each term."""
        keys = np.array([f"{cat.domain}/{cat.target}" for cat in self.cats], str)
        names, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        return names.tolist(), codes, [self.cats[at] for at in first]

    @property
    def terms(self) -> list[str]:
        """The terms, as ``domain/target``, in order."""
        return self._by_term[0]

    @property
    def codes(self) -> NDArray[np.intp]:
        """Each CAT's term as a number, shape (CATs,)."""
        return self._by_term[1]

    @cached_property
    def targets(self) -> list[str]:
        """The target of each term, in small letters."""
        return [cat.target.casefold() for cat in self._by_term[2]]

    @cached_property
    def domains(self) -> NDArray[np.str_]:
        """The domain of each term, shape (terms,)."""
        return np.array([cat.domain for cat in self._by_term[2]], str)

    @cached_property
    def kinds(self) -> NDArray[np.str_]:
        """The kind of each CAT, shape (CATs,)."""
        return np.array([cat.kind for cat in self.cats], str)

    @cached_property
    def kinds_there(self) -> list[str]:
        """The kinds that there are, in the order of ``kinds.KINDS``."""
        return [kind for kind in KINDS if (self.kinds == kind).any()]

    @cached_property
    def golds(self) -> NDArray[np.int64]:
        """The gold label of each association as a code in ``kinds.GOLDS``."""
        golds = [GOLDS.index(a.gold) for cat in self.cats for a in cat.associations]
        return np.array(golds, np.int64)

    @cached_property
    def cat_of(self) -> NDArray[np.intp]:
        """The number of each association's CAT."""
        sizes = np.array([len(cat.associations) for cat in self.cats], np.intp)
        return np.repeat(np.arange(len(sizes)), sizes)

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

    def paired_means(self, *values: Floats) -> list[Floats]:
        """The same of several values, over the CATs that have all of them."""
        all_there = ~np.isnan(values).any(axis=0)
        return [self.means(np.where(all_there, each, np.nan)) for each in values]

    def of_targets(self, values: Mapping[str, float]) -> Floats:
        """The value of each term's target, shape (terms,), whatever its case; NaN if it lacks one.

        Args:
            values: by target.
        """
        known = {target.casefold(): value for target, value in values.items()}
        return np.array([known.get(target, np.nan) for target in self.targets], float)


def counted(values: Floats) -> int:
    """How many CATs have a value."""
    return int(np.count_nonzero(~np.isnan(values)))


def lms_and_ss(cats: Sequence[Cat], scores: Mapping[str, float]) -> tuple[Floats, Floats]:
    """The lms and ss of each CAT by scores of its associations, as in ``Scored``; ties half."""
    by_gold = [{a.gold: scores.get(a.id, np.nan) for a in cat.associations} for cat in cats]
    values = np.array([[own.get(gold, np.nan) for gold in GOLDS] for own in by_gold], float)
    values = values.reshape(-1, len(GOLDS))
    known = (~np.isnan(values)).sum(axis=1)
    meaningful, stereotype, _ = judge(values)
    lms = np.where(known < len(GOLDS), np.nan, 50 * meaningful)
    return lms, np.where(known < [len(own) for own in by_gold], np.nan, 100 * stereotype)


class Rule(NamedTuple):
    """A rule that understands nothing, judged on one kind of CAT.

    Attributes:
        artefact: its scores, and what it does.
        kind: of the CATs.
        lms: shape (CATs,), NaN for other kinds and for CATs that have no lms.
        ss: shape (CATs,), NaN for other kinds.
    """

    artefact: Artefact
    kind: str
    lms: Floats
    ss: Floats

    @property
    def metrics(self) -> dict[str, Floats]:
        """Lms and ss by name, if any CAT has a value."""
        both = {"lms": self.lms, "ss": self.ss}
        return {name: values for name, values in both.items() if counted(values)}

    @property
    def mirror(self) -> str:
        """The rule whose values are 100 less those of this one; "" if there is none."""
        return next((name for name, of in MIRRORED.items() if of == self.artefact.name), "")


# --- over terms ---------------------------------------------------------------------------------


def more_terms(found: Found, limit: float) -> str:
    """About how many more terms decide whether a value is beyond a limit.

    The half-width of an interval shrinks with the root of the number of terms.

    >>> more_terms(Found(value=56.0, ci=(44.0, 68.0), n=10), 50.0)  # from ± 12 to ± 6
    'about 30 more terms, if the value stays'
    >>> more_terms(Found(value=51.0, ci=(41.0, 61.0), n=30), 50.0)
    'more than 1,000 more terms, if the value stays'
    """
    if found.ci is None:
        return "CATs of at least 5 terms"
    distance, half = abs((found.value or 0) - limit), (found.ci[1] - found.ci[0]) / 2
    if distance < 1e-9 or half / distance > 100:
        return "many more terms: the value is at the limit"
    needed = math.ceil(found.n * (half / distance) ** 2 - 1e-9) - found.n
    if needed > 1000:
        return "more than 1,000 more terms, if the value stays"
    return f"about {amount(max(1, needed), 'more term')}, if the value stays"


class Outcome(NamedTuple):
    """What a value comes to if its interval shrinks: fail or pass, once it excludes a limit."""

    found: Found
    limit: float
    fails: bool

    @property
    def ratio(self) -> float:
        """By what factor the interval must be shorter; infinite at the limit."""
        ci, value = self.found.ci, self.found.value or 0
        half = math.inf if ci is None else (ci[1] - ci[0]) / 2
        return half / abs(value - self.limit) if value != self.limit else math.inf


def more_to_decide(outcomes: Collection[Outcome]) -> str:
    """As ``more_terms``, of a test that fails if one value fails, and passes if all pass."""
    failing = [each for each in outcomes if each.fails]
    pick: Callable[..., Outcome] = min if failing else max
    chosen = pick(failing or outcomes, key=lambda each: each.ratio)
    return more_terms(chosen.found, chosen.limit)


def span(ci: Sequence[float] | None) -> str:
    """An interval as text.

    >>> span((1.0, 2.25)), span(None)
    ('[1.0, 2.2]', 'no interval')
    """
    return "no interval" if ci is None else f"[{ci[0]:.1f}, {ci[1]:.1f}]"


# --- the cases ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class DatasetCase(Case):
    """A dataset of CATs and the labels of its annotators."""

    sort: Sort = "dataset"
    subject: Subject = "dataset"
    data: DatasetInput
    rules: Sequence[Rule] = ()

    def share(self, values: Floats) -> Found:
        """The mean of percentages over terms, its interval, and the number of terms.

        With fewer than five terms an interval says little, so there is none.

        Args:
            values: shape (CATs,), NaN for CATs without a value.
        """
        means, ci, confidence = self.data.means(values), None, self.settings.confidence
        if not len(means := means[~np.isnan(means)]):
            return Found()
        if len(means) >= FEW:
            ci = percent_interval(means, observations=counted(values), confidence=confidence)
        return Found(value=float(means.mean()), ci=ci, n=len(means))

    def change(self, differences: Floats) -> Found:
        """The mean difference over terms with Student's interval, and the number of terms.

        If all terms differ by the same amount, the interval is that amount alone: there is no
        variance. With fewer than five terms there is no interval.

        Args:
            differences: shape (terms,), NaN for terms without a value.
        """
        ci = None
        if not len(values := differences[~np.isnan(differences)]):
            return Found()
        mean = float(values.mean())
        if len(values) >= FEW:
            ci = mean_interval(values, confidence=self.settings.confidence) or [mean, mean]
        return Found(value=mean, ci=ci, n=len(values))


@dataclass(frozen=True, kw_only=True)
class ScoresCase(DatasetCase):
    """The scores of models on a dataset under one set of rules."""

    sort: Sort = "scores"
    subject: Subject = "scores"
    group: RuleGroup

    @property
    def runs(self) -> list[Scored]:
        """The runs of the group."""
        return [self.data.runs[number] for number in self.group.runs]

    @property
    def by_choice(self) -> bool:
        """Whether the group is that of models that were asked in words."""
        return self.group.by_choice(self.data.runs)

    @property
    def _place(self) -> int:
        return [each.name for each in self.data.groups].index(self.group.name)

    @cached_property
    def others(self) -> list[tuple[Scored, Scored, str]]:
        """Its runs with those of the same model in later groups, whose name is third; each once."""
        runs, pairs = self.data.runs, dict[tuple[int, int], str]()
        for first in self.group.runs:
            for other in self.data.groups[self._place + 1 :]:
                for second in other.runs:
                    if runs[second].model == runs[first].model and second != first:
                        pairs.setdefault((first, second), other.name)
        return [(runs[first], runs[second], name) for (first, second), name in pairs.items()]

    @cached_property
    def earlier(self) -> list[RuleGroup]:
        """The groups before this one with the same models: their rows have the comparisons."""
        runs = self.data.runs
        own = {runs[number].model: number for number in self.group.runs}
        return [
            other
            for other in self.data.groups[: self._place]
            if any(own.get(runs[number].model, number) != number for number in other.runs)
        ]
