"""Convergent validity: the ss of terms beside other rules, the other kind, and bias measures."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from curation.bias import Criterion, CriterionName, Status
from curation.stats.correlations import Correlation, correlate
from curation.stats.intervals import Floats
from curation.stats.power import needed_units, rank_power
from curation.trust.protocol.data import DatasetInput, RuleGroup, Scored
from curation.trust.protocol.dataset.rows import About, Rows
from curation.trust.protocol.verdicts import Limits, verdict
from curation.trust_settings import TrustSettings

EVEN = 50.0  # the ss of a CAT with a tie
FEWEST = 3  # with fewer terms there is no correlation


class Pair(NamedTuple):
    """Two runs of one model under different rules, the first one in this group."""

    first: Scored
    second: Scored
    group: str


def pairs(data: DatasetInput, group: RuleGroup) -> Iterator[Pair]:
    """The runs of a group with runs of the same model in later groups, each pair once."""
    place = [each.name for each in data.groups].index(group.name)
    seen = set()
    for number in group.runs:
        for other in data.groups[place + 1 :]:
            for second in other.runs:
                same_model = data.runs[second].model == data.runs[number].model
                if same_model and second != number and (number, second) not in seen:
                    seen.add((number, second))
                    yield Pair(data.runs[number], data.runs[second], other.name)


def earlier(data: DatasetInput, group: RuleGroup) -> list[str]:
    """The groups before this one with the same models: their rows have the comparisons."""
    own = {data.runs[number].model: number for number in group.runs}
    names = []
    for other in data.groups:
        if other.name == group.name:
            break
        numbers = {data.runs[number].model: number for number in other.runs}
        if any(model in own and own[model] != number for model, number in numbers.items()):
            names.append(other.name)
    return names


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
    a, b = first > EVEN, second > EVEN
    clear = (first != EVEN) & (second != EVEN)
    a, b, n = a[clear], b[clear], int(clear.sum())
    if not n:
        return None, 0
    expected = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    if expected > 1 - 1e-12:
        return None, n
    return round(float(((a == b).mean() - expected) / (1 - expected)), 12), n


def convergent(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings, *, seed: int
) -> Rows:
    """The ss of terms under other rules, of the other kind, and beside bias measures.

    Returns:
        Rows, each with the runs whose ss it uses.
    """
    rows: Rows = []
    found = [
        pair
        for pair in pairs(data, group)
        if pair.first.variant == pair.second.variant
        and not (pair.first.rules and pair.first.rules == pair.second.rules)
    ]
    for first, second, name in found:
        common = ~np.isnan(first.ss) & ~np.isnan(second.ss)
        if not common.any():
            continue
        agree, cats = kappa(first.ss[common], second.ss[common])
        both = [data.means(np.where(common, run.ss, np.nan)) for run in (first, second)]
        text = "not defined" if agree is None else f"{agree:.2f}"
        row = _correlated(
            both[0],
            both[1],
            about,
            settings,
            criterion="convergent",
            check=f"rules:{first.model}:{second.under}",
            says=f"ss of terms of {first.name} and of {second.name} ({name}); kappa of their "
            f"preferences in {cats} CATs without a tie: {text}",
            seed=seed,
        )
        rows.append((row, (first, second)))
    names = earlier(data, group)
    if not found and names:
        row = about.row(
            "convergent",
            "rules",
            "not_applicable",
            computed=f"the rows of {', '.join(names)} compare those rules with these",
            change="a third set of rules for these models",
        )
        rows.append((row, ()))
    elif not found:
        rows.append(
            (
                about.not_run(
                    "convergent",
                    "rules",
                    "needs the same model under two sets of rules, and no model has them",
                    "score a model under another rule: curation scores models MODEL --rule RULE",
                ),
                (),
            )
        )
    rows += _kinds(data, group, about, settings, seed=seed)
    rows += _measures(data, group, about, settings, seed=seed)
    return rows


def _kinds(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings, *, seed: int
) -> Iterator[tuple[Criterion, tuple[Scored, ...]]]:
    """The ss of terms in intrasentence CATs beside that in intersentence CATs."""
    kinds = data.kinds_there
    if len(kinds) < 2:
        row = about.row(
            "convergent",
            "kinds",
            "not_applicable",
            computed=f"the dataset has {kinds[0]} CATs only",
            change="CATs of the other kind",
        )
        yield row, ()
        return
    lacking = []
    for run in (data.runs[number] for number in group.runs):
        first, second = (data.means(np.where(data.kinds == kind, run.ss, np.nan)) for kind in kinds)
        if np.isnan(first).all() or np.isnan(second).all():
            lacking.append(run.name)
            continue
        row = _correlated(
            first,
            second,
            about,
            settings,
            criterion="convergent",
            check=f"kinds:{run.model}",
            says=f"{run.name}: ss of terms in {kinds[0]} CATs and in {kinds[1]} CATs",
            seed=seed,
        )
        yield row, (run,)
    if lacking:
        row = about.not_run(
            "convergent",
            "kinds",
            f"needs scores of both kinds of CAT; these have one kind only: {', '.join(lacking)}",
            "score the CATs of the other kind with these models",
        )
        yield row, ()


def _measures(
    data: DatasetInput, group: RuleGroup, about: About, settings: TrustSettings, *, seed: int
) -> Iterator[tuple[Criterion, tuple[Scored, ...]]]:
    """The ss of terms beside bias measures of the same terms."""
    if not data.measures:
        row = about.not_run(
            "convergent",
            "measures",
            "needs a bias measure of the dataset's terms, and there is no run of one",
            "in a campaign, measure the terms of a domain: curation trust text, vectors, "
            "contextual or probe",
        )
        yield row, ()
    for measure in data.measures:
        values = {target.casefold(): value for target, value in measure.values.items()}
        other = np.array([values.get(target, np.nan) for target in data.targets])
        for run in (data.runs[number] for number in group.runs):
            row = _correlated(
                data.means(run.ss),
                other,
                about,
                settings,
                criterion="convergent",
                check=f"measure:{run.model}:{measure.name}",
                says=f"ss of terms of {run.name} and {measure.name} of the same terms",
                seed=seed,
            )
            yield row, (run,)


def _correlated(
    first: Floats,
    second: Floats,
    about: About,
    settings: TrustSettings,
    *,
    criterion: CriterionName,
    check: str,
    says: str,
    seed: int,
) -> Criterion:
    """A row on the rank correlation over terms that have both values."""
    both = ~np.isnan(first) & ~np.isnan(second)
    n = int(both.sum())
    if n < FEWEST:
        return about.not_run(
            criterion,
            check,
            f"{says}: only {n} terms have both",
            f"at least {needed_units(settings.convergent) or 15} terms with both",
        )
    found = correlate(
        first[both].tolist(), second[both].tolist(), confidence=settings.confidence, seed=seed
    )
    threshold, power = (
        settings.convergent,
        rank_power(min(settings.convergent, 0.999), n, alpha=settings.alpha),
    )
    status: Status = verdict(
        found.rho,
        threshold=threshold,
        ci=found.ci,
        p=1.0 if found.p is None else found.p,
        power=power,
        limits=Limits(settings.alpha, settings.power),
    )
    return about.row(
        criterion,
        check,
        status,
        **fields(found),
        threshold=threshold,
        power=power,
        computed=f"{says}. {r_squared(found)}",
        change=_more(found, threshold, settings, status),
    )


def fields(found: Correlation) -> dict[str, object]:
    """The fields of a row that are those of a correlation."""
    return {
        "statistic": "Spearman's rho over terms",
        "value": found.rho,
        "ci": found.ci,
        "n": found.n,
        "unit": "terms",
        "p": found.p,
    }


def r_squared(found: Correlation) -> str:
    """R² as text, or why there is none."""
    if found.r_squared is None:
        return "All terms have the same value, so there is no correlation"
    return f"R² {found.r_squared:.2f}"


def _more(found: Correlation, threshold: float, settings: TrustSettings, status: Status) -> str:
    if status == "inconclusive":
        needed = needed_units(threshold, alpha=settings.alpha, power=settings.power)
        if needed and needed > found.n:
            return f"about {needed - found.n} more terms, for a power of {settings.power:g}"
        return "more CATs per term, which make the ss of terms more exact, or more terms"
    if status == "fail":
        return "more CATs per term, if the ss of terms is not reliable (split half); other rules"
    return f"a rho below {threshold:g} on other terms"
