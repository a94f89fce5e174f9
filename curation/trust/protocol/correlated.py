"""Rank correlations over targets or terms: convergent and predictive validity (section 6).

Convergent: automated counts in text agree with people (Table 4); the ss of terms agrees under other
rules, in the other kind of CAT, and with bias measures. Prior measures are not known to be
credible, so agreeing with them gives no verdict. Predictive: bias goes with the groups' shares in
the world, over targets (contemporary) and over years (diachronic, Table 5).

The code of Table 5 compares sizes with sizes: L1 from equal shares on both sides. That hides the
direction, so the signed values are compared too. And noise makes sizes larger: a measure without
any bias has a larger L1 for targets with few contexts. So the correlation of sizes is also computed
with the number of contexts partialled out. All tests on the same groups, or of the scores under one
set of rules, are corrected together (Holm).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from curation.stats import correlations
from curation.stats.correlations import (
    Correlation,
    correlate,
    critical_rho,
    detectable_rho,
    needed_units,
    rank_power,
    rho,
)
from curation.stats.intervals import Floats
from curation.stats.tests import holm
from curation.trust.measure.again import alike, directed, paired
from curation.trust.measure.framework import AUTOMATED, HUMAN
from curation.trust.measure.groups import Groups
from curation.trust.protocol.cases import (
    CHANCE,
    MeasureCase,
    MeasureRun,
    Scored,
    ScoresCase,
    SeriesCase,
    of_runs,
)
from curation.trust.protocol.checks import ALONE, Case, Found

FEWEST = 3  # with fewer units there is no correlation


def correlated(
    found: Correlation,
    threshold: float,
    case: Case,
    *,
    p: float | None = None,
    tests: int = 1,
    facts: Mapping[str, Any] = {},
    **fields: Any,
) -> Found:
    """What is found if two series are correlated over units.

    Args:
        found: the correlation.
        threshold: the least correlation that passes.
        case: has alpha and the least power.
        p: its p, corrected for the number of tests; by default not corrected.
        tests: the number of tests that p is corrected for. The power is that of the strictest of
            them, at alpha / tests.
        facts: those beside the facts of the correlation.
        fields: of what is found, such as its name.
    """
    settings = case.settings
    alpha, p = settings.alpha / max(1, tests), found.p if p is None else p
    power = None
    if threshold > 0:
        power = rank_power(min(threshold, 0.999), found.n, alpha=alpha) if found.n > 3 else 0.0
    own = {"r_squared": found.r_squared, "tests": tests, "raw": found.p, **facts}
    if found.rho is None:
        reason = "short" if found.n < FEWEST else "constant"
        return Found(n=found.n, reason=reason, facts=own, **fields)
    # A corrected p is a multiple of p, so alpha is divided by the same factor.
    strict = settings.alpha * (found.p / p if p and found.p else 1)
    own["least"] = max(threshold, critical_rho(found.n, strict))
    own["more"] = _more(found.n, threshold, alpha, settings.power)
    own.setdefault("decides", own["more"])
    return Found(value=found.rho, ci=found.ci, n=found.n, p=p, power=power, facts=own, **fields)


def _more(n: int, threshold: float, alpha: float, power: float) -> str:
    """How many more units decide whether a correlation reaches the threshold."""
    needed = needed_units(threshold, alpha=alpha, power=power)
    if needed is not None and needed > n:
        return (
            f"{needed - n} more ({needed} in all), with which a correlation of {threshold:g} is "
            f"found with power {power:g}"
        )
    if needed is not None:
        return "more of them: the interval must be on one side of the threshold"
    least = detectable_rho(n, alpha=alpha, power=power)
    seen = "none" if least is None else f"one of {least:.2f} or more"
    return (
        f"more of them: {n} find {seen} with power {power:g}. Set the threshold to the smallest "
        "correlation that matters, so that the report can say that there is none"
    )


# --- convergent, of measures --------------------------------------------------------------------


def others(case: MeasureCase) -> Iterator[Found]:
    """The rank correlations of a measure that is not of text with others: no verdict."""
    if case.run.measure in (HUMAN, AUTOMATED):
        return
    same = [run for run in case.all.runs if run.groups == case.run.groups and run != case.run]
    found = [(other.name, alike(paired(case.run.biases, other.biases))) for other in same]
    parts = [f"{name} {each.rho:.2f} (n {each.n})" for name, each in found if each.rho is not None]
    yield Found(reason="not_credible", facts={"others": ", ".join(parts) or "none"})


def with_people(case: MeasureCase) -> Iterator[Found]:
    """Automated counts beside people's answers about the same source, for each window."""
    run, runs = case.run, case.all.runs
    if run.measure == HUMAN:
        yield Found(reason="people")
    if run.measure != AUTOMATED:
        return
    people = [other for other in runs if other.measure == HUMAN and other.groups == run.groups]
    same = [other for other in people if other.stem == run.stem]
    facts = {"human": HUMAN, "stem": run.stem, "others": ", ".join(other.name for other in people)}
    facts["source"] = run.texts
    if not same:
        yield Found(reason="other_source" if people else "no_labels", facts=facts)
    for other in same:
        both = paired(run.biases, other.biases)
        for column, (first, second) in enumerate(both.columns):
            group = (run.group_names or ("",))[column]
            named = [other.variant, group if len(both.columns) > 1 else ""]
            yield correlated(
                _test(case, first, second),
                case.settings.convergent,
                case,
                name="+".join(filter(None, named)),
                evidence=(other.name,),
                facts={
                    "group": group,
                    "other": other.name,
                    "missing": len(run.biases) - len(both.first),
                },
            )


def _test(case: Case, first: Floats, second: Floats) -> Correlation:
    """The correlation of two series, over units that have both."""
    pairs = np.array([first, second], float)
    pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
    if pairs.shape[1] < FEWEST:
        return Correlation(None, None, None, pairs.shape[1], None)
    options: dict[str, Any] = {"confidence": case.settings.confidence, "seed": case.seed}
    return correlate(pairs[0].tolist(), pairs[1].tolist(), **options)


# --- predictive, of measures --------------------------------------------------------------------


class Prediction(NamedTuple):
    """A correlation of a run with outcomes.

    ``group`` is the group whose share it is of; "" for sizes. ``counted`` is the correlation of the
    sizes with a number that they may depend on, such as that of contexts, and ``rest`` that with
    the outcomes without it; None if no such number is known. ``number`` says which it is. ``p`` is
    corrected for ``tests`` tests.
    """

    group: str
    found: Correlation
    number: str = "the number of contexts or the frequency"
    counted: float | None = None
    rest: Correlation | None = None
    p: float | None = None
    tests: int = 1

    def without(
        self, sizes: Floats, gaps: Floats, number: Sequence[float | None], *, confidence: float
    ) -> "Prediction":
        """With what is left if a number, known of some targets, is partialled out."""
        of = np.array(number, float)  # None becomes NaN
        has = ~np.isnan(of)
        if has.sum() <= FEWEST:
            return self
        if has.all() and len({*of.tolist()}) == 1:  # what is equal everywhere explains nothing
            return self._replace(counted=0.0, rest=self.found)
        columns = [each[has] for each in (sizes, gaps, of)]
        rest = correlations.partial(*columns, confidence=confidence)
        return self._replace(counted=rho(columns[0], columns[2]), rest=rest)

    def doubt(self) -> tuple[bool, float]:
        """How much speaks for the number as the explanation of the sizes; for comparisons."""
        rest = self.rest and self.rest.rho
        alone = self.counted is None or abs(self.counted) >= ALONE
        return alone or rest is None, -(rest or 0.0)


def predictions(
    run: MeasureRun, groups: Groups, *, confidence: float = 0.95, seed: int = 1
) -> list[Prediction]:
    """The correlations of a run with outcomes: of each group's share, and of sizes.

    Shares in the world are divided by their sum, since groups such as three races do not make up
    everybody. A prior measure's value is compared with the first group's share less the second's.

    Args:
        run: the run.
        groups: has the outcomes, and the frequencies for vectors, which have no contexts.
        confidence: of the intervals.
        seed: of the permutations.
    """
    outcomes = groups.outcomes
    known = [
        (bias, own, shares)
        for bias in run.biases
        if len(outcomes.get(bias.target, ())) == len(bias.groups)
        and (own := directed(bias)) is not None
        and (shares := normalised(outcomes[bias.target])) is not None
    ]
    names, count = run.group_names, len(known)
    values = np.reshape([own for _, own, _ in known], (count, 1 if run.prior else len(names)))
    world = np.reshape([shares for *_, shares in known], (count, len(names)))

    def test(first: Floats, second: Floats) -> Correlation:
        return correlate(first.tolist(), second.tolist(), confidence=confidence, seed=seed)

    found = list[Prediction]()
    if run.prior and len(names) == 2:
        found.append(Prediction(names[0], test(values[:, 0], world[:, 0] - world[:, 1])))
    elif not run.prior:
        for place, name in enumerate(names if len(names) > 2 else names[:1]):
            found.append(Prediction(name, test(values[:, place], world[:, place])))
    # A prior measure for several groups has no direction and may be negative (Table 7).
    plain = run.prior and len(names) > 2
    # Equal sizes of opposite directions are ties; rounding errors must not order them.
    sizes = (values[:, 0] if plain else np.abs(values).sum(axis=1)).round(12)
    gaps = np.abs(world - 1 / max(1, len(names))).sum(axis=1).round(12)
    often = [run.contexts(bias) or groups.frequencies.get(bias.target) for bias, *_ in known]
    of_sizes = Prediction("", test(sizes, gaps))
    explained = [of_sizes.without(sizes, gaps, often, confidence=confidence)]
    units = [bias.units for bias, *_ in known]
    if any(each is not None for each in units):  # the contexts of a document are alike
        named = of_sizes._replace(number="the number of documents or passages")
        explained.append(named.without(sizes, gaps, units, confidence=confidence))
    return [*found, max(explained, key=Prediction.doubt)]


def normalised(shares: Sequence[float]) -> tuple[float, ...] | None:
    """Shares divided by their sum; None if all are 0.

    >>> normalised((0.5, 0.25, 0.25)), normalised((0.25, 0.25)), normalised((0.0, 0.0))
    ((0.5, 0.25, 0.25), (0.5, 0.5), None)
    """
    total = sum(shares)
    return tuple(share / total for share in shares) if total > 0 else None


def of_groups(case: MeasureCase) -> dict[str, list[Prediction]]:
    """The predictions of all runs on the same groups as a run, by run, with Holm's correction.

    Runs of a year are left out: outcomes are of one time, and a series has tests of its own. Runs
    with the same results are one test; such a file was measured twice. They share one list.
    """
    every, name = case.all, case.run.groups
    groups = every.groups.get(name)
    if name not in every.known and groups and groups.outcomes:
        options: dict[str, Any] = {"confidence": case.settings.confidence, "seed": case.seed}
        by_result = dict[tuple[Any, ...], list[Prediction]]()
        by_run = dict[str, list[Prediction]]()
        for run in every.runs:
            if run.groups == name and run.year is None:
                known = [(bias.target, directed(bias)) for bias in run.biases]
                result = tuple((t, own and tuple(np.round(own, 9))) for t, own in known)
                if result not in by_result:
                    by_result[result] = predictions(run, groups, **options)
                by_run[run.name] = by_result[result]
        tests = sum(map(len, by_result.values()))
        corrected = iter(holm([each.found.p for own in by_result.values() for each in own]))
        for own in by_result.values():
            own[:] = [each._replace(p=next(corrected), tests=tests) for each in own]
        every.known[name] = by_run
    return every.known.get(name, {})


def with_world(case: MeasureCase, sizes: bool) -> Iterator[Found]:
    """Whether bias goes with the shares of the groups in the world.

    Args:
        case: the run.
        sizes: whether the size of bias goes with how unequal the shares are, or its direction with
            the shares.
    """
    run, names = case.run, case.run.group_names
    if run.year is not None:
        yield Found(reason="year")
    for each in of_groups(case).get(run.name, ()):
        if sizes and not each.group:
            what = "the absolute value" if run.prior else "L1 of p"
            yield _predicted(case, each, what=what, **_without_contexts(case, each, unit="targets"))
        elif each.group and not sizes:
            what = f"p of {each.group}, and the share of {each.group}"
            if run.prior:
                what = f"the value, and the share of {names[0]} less that of {names[1]}"
            yield _predicted(case, each, name=each.group if len(names) > 2 else "", what=what)


def _predicted(case: Case, of: Prediction, *, name: str = "", **facts: Any) -> Found:
    options: dict[str, Any] = {"p": of.p, "tests": of.tests, "name": name, "facts": facts}
    return correlated(of.found, case.settings.predictive, case, **options)


def _without_contexts(case: Case, of: Prediction, *, unit: str) -> dict[str, Any]:
    """The facts about the number of contexts, or the frequencies, that may explain sizes."""
    rest, value = of.rest or Correlation(None, None, None, 0, None), of.found.rho
    noise = f"{of.number} is equal, known of few, or orders all alone"
    decides = "targets whose frequency does not go with their shares in the world"
    if of.rest is None:
        noise = "how rare they are is not known"
        decides = "a table of frequencies in [groups.NAME], for each year of a series"
    elif of.counted is not None and rest.rho is not None and rest.p is not None:
        noise = (
            f"without {of.number}, with which the size correlates {of.counted:.2f}, it correlates "
            f"{rest.rho:.2f} with the world (p {rest.p:.2g})"
        )
        decides = "sizes that do not go with how rare a target is: more texts of the rare ones"
    facts = {"counted": of.counted, "partial": rest.rho, "partial_p": rest.p, "noise": noise}
    p = of.found.p if of.p is None else of.p
    if value is None or value < case.settings.predictive or (p or 1) > case.settings.alpha:
        return {**facts, "undecided": f"The {unit} are too few to say so"}
    return {**facts, "undecided": "How rare targets are may explain it", "decides": decides}


# --- predictive, over years ---------------------------------------------------------------------


def by_year(case: SeriesCase) -> Floats:
    """Means over targets for each year that has vectors and shares.

    Only targets count that have a result and shares in each of these years, as in the code of
    Table 5.

    Returns:
        Shape (years, 6): the year; the mean of L1 from equal shares of the measure, and of the
        shares in the world; the mean of the first group's p less its equal share (or of the value),
        and of its share in the world; and the mean logarithm of the frequency, NaN if it is not
        known.
    """
    groups = case.groups or Groups("", {}, {})
    years = [
        (run.year, run.biases)
        for run in case.runs
        if run.year is not None and run.year in groups.history
    ]
    values = [
        {bias.target: own for bias in found if (own := directed(bias)) is not None}
        for _, found in years
    ]
    shares = [
        {target: own for target, row in groups.history[year].items() if (own := normalised(row))}
        for year, _ in years
    ]
    targets = sorted(set.intersection(*map(set, [*values, *shares]))) if years else []
    rows = []
    for (year, _), mine, world in zip(years, values, shares, strict=True) if targets else ():
        p, q = (np.array([each[target] for target in targets]) for each in (mine, world))
        counts = groups.frequencies_by_year.get(year, {})
        known = [counts[target] for target in targets if target in counts]
        gaps = np.abs(q - 1 / q.shape[1]).sum(axis=1)
        first = q[:, 0] - (q[:, 1] if p.shape[1] == 1 and q.shape[1] > 1 else 0)
        own = (np.abs(p).sum(axis=1).mean(), gaps.mean(), p[:, 0].mean(), first.mean())
        rows.append((year, *own, np.log(known).mean() if known else np.nan))
    return np.array(rows, float).reshape(-1, 6)


def over_years(case: SeriesCase, column: int) -> Iterator[Found]:
    """Whether bias follows the shares in the world, year by year.

    Args:
        case: the series.
        column: of ``by_year``: 1 for mean sizes, 3 for the mean direction.
    """
    table = by_year(case)
    if not len(table):
        return
    years, first, second, counts = table[:, [0, column, column + 1, 5]].T
    each = Prediction("", _test(case, first, second))
    if column == 1 and not np.isnan(counts).any():
        confidence = case.settings.confidence
        each = each.without(first, second, counts.tolist(), confidence=confidence)
    # Rounded: equal steps are ties, whatever the processor.
    steps = _test(case, np.diff(first).round(9), np.diff(second).round(9))
    both = [[round(value, 3) + 0 for value in side.tolist()] for side in (first, second)]  # no -0
    listed = (
        f"{year:.0f} {mine:.3f} and {world:.3f}"
        for year, mine, world in zip(years, *both, strict=True)
    )
    facts: dict[str, Any] = {
        "years": ", ".join(listed),
        "group": (case.runs[0].group_names or ("",))[0],
    }
    facts |= {"steps": steps.rho, "steps_p": steps.p}
    if column == 1:
        facts |= _without_contexts(case, each, unit="years")
    found = _predicted(case, each, **facts)
    yield replace(found, evidence=tuple(run.name for run in case.runs))


# --- of scores ----------------------------------------------------------------------------------


def kappa(first: Floats, second: Floats) -> tuple[float | None, int]:
    """Cohen's kappa of two runs' preferences for the stereotype; CATs with a tie are left out.

    Args:
        first: ss of each CAT under one set of rules; above 50, the stereotype is preferred.
        second: the same under another.

    Returns:
        kappa, or None if a run always prefers the same; and the number of CATs.

    >>> kappa(np.array([100.0, 100, 0, 0]), np.array([100.0, 0, 0, 50]))
    (0.4, 3)
    """
    a, b = first > CHANCE, second > CHANCE
    clear = (first != CHANCE) & (second != CHANCE)
    a, b, n = a[clear], b[clear], int(clear.sum())
    if not n:
        return None, 0
    expected = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    if expected > 1 - 1e-12:
        return None, n
    return round(float(((a == b).mean() - expected) / (1 - expected)), 12), n


def rules(case: ScoresCase) -> Iterator[Found]:
    """The ss of terms under another set of rules."""
    same = False
    for first, second, group in case.others:
        there = ~np.isnan(first.ss) & ~np.isnan(second.ss)
        alike_rules = first.rules and first.rules == second.rules
        if first.variant != second.variant or alike_rules or not there.any():
            continue
        same = True
        agree, cats = kappa(first.ss[there], second.ss[there])
        both = case.data.paired_means(first.ss, second.ss)
        facts = {"one": first.name, "other": second.name, "group": group, "kappa": agree}
        name = f"{first.model}:{second.under}"
        yield _of_terms(case, both, first, second, name=name, cats=cats, **facts)
    if not same and case.earlier:
        groups = ", ".join(group.name for group in case.earlier)
        yield Found(reason="earlier", facts={"groups": groups})


def kinds(case: ScoresCase) -> Iterator[Found]:
    """The ss of terms in CATs of each kind beside that in CATs of each other kind."""
    there, data = case.data.kinds_there, case.data
    if len(there) < 2:
        yield Found(reason="one_kind", facts={"kind": there[0]})
        return
    lacking = []
    for run in case.runs:
        means = {kind: data.means(np.where(data.kinds == kind, run.ss, np.nan)) for kind in there}
        if any(np.isnan(own).all() for own in means.values()):
            lacking.append(run.name)
            continue
        for first, second in combinations(there, 2):
            name = run.model if len(there) == 2 else f"{run.model}:{first}-{second}"
            named = f"{first} CATs and in {second} CATs"
            yield _of_terms(case, (means[first], means[second]), run, name=name, kinds=named)
    if lacking:
        yield Found(reason="lacking", facts={"runs": ", ".join(lacking)})


def measures(case: ScoresCase) -> Iterator[Found]:
    """The ss of terms beside bias measures of the same terms."""
    for measure in case.data.measures:
        other = case.data.of_targets(measure.values)
        for run in case.runs:
            name, both = f"{run.model}:{measure.name}", (case.data.means(run.ss), other)
            yield _of_terms(case, both, run, name=name, measure=measure.name)


def outcomes(case: ScoresCase, *, unequal: bool) -> Iterator[Found]:
    """The ss of terms beside the outcomes of each table; p has Holm's correction over both kinds.

    Args:
        case: the scores.
        unequal: beside how unequal the shares are, not beside the first group's share. If
            stereotypes follow the world, a model prefers them most for terms whose shares are
            unequal.
    """
    tests = list[tuple[Scored, Groups, bool, Correlation]]()
    for groups in case.data.tables.values():
        shares = groups.outcomes
        gaps = {target: sum(abs(x - 1 / len(p)) for x in p) for target, p in shares.items()}
        first = {target: p[0] for target, p in shares.items()}
        for run in case.runs if shares else ():
            ss = case.data.means(run.ss)
            for is_unequal, values in ((True, gaps), (False, first)):
                found = _test(case, ss, case.data.of_targets(values))
                tests.append((run, groups, is_unequal, found))
    corrected = holm([found.p for *_, found in tests])
    number = sum(found.p is not None for *_, found in tests)
    for (run, groups, is_unequal, found), p in zip(tests, corrected, strict=True):
        if is_unequal == unequal:
            name = f"{run.model}:{groups.name}"
            facts = {"table": groups.name, "group": groups.names[0]}
            own = correlated(
                found, case.settings.predictive, case, p=p, tests=number, name=name, facts=facts
            )
            yield of_runs(own, run)


def _of_terms(
    case: ScoresCase, both: Sequence[Floats], *runs: Scored, name: str, **facts: Any
) -> Found:
    """The rank correlation over terms that have both values; it rests on the runs."""
    found = correlated(_test(case, *both), case.settings.convergent, case, name=name, facts=facts)
    return of_runs(found, *runs)
