"""The table of checks, and the rows that it gives for measures, and for a dataset and its scores.

To add a check, write an entry into ``data/trust/checks.toml`` and its function into the module of
its criterion (CONTRIBUTING.md, A check of the trust report).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from curation.campaign.settings import TrustSettings
from curation.records import CRITERIA, Criterion
from curation.trust.groups import Groups
from curation.trust.protocol import (
    agreement,
    content,
    correlated,
    face,
    hypothesis,
    judges,
    sensitivity,
    split_half,
)
from curation.trust.protocol.checks import (
    CHECKS,
    KINDS,
    Check,
    Found,
    Reason,
    obey_controls,
    row,
    shipped_table,
)
from curation.trust.protocol.datasets import DatasetCase, DatasetInput, ScoresCase, Tell
from curation.trust.protocol.measures import MeasureCase, MeasureRun, Measures, SeriesCase

CRITERIA_MODULES = (agreement, content, correlated, face, hypothesis, sensitivity, split_half)
MODULES = {module.__name__.rpartition(".")[2]: module for module in CRITERIA_MODULES}
EVIDENCE = "evidence"
_MERGED = ("says", "advice", "reasons")  # an entry adds to these of the entry that it is like


@cache
def table() -> tuple[tuple[Check, ...], Reason]:
    """All checks, in the order of the file; and why there are no rows about scores.

    An entry that has ``like`` begins with what the entry of that criterion and name has.

    Raises:
        ValueError: an entry lacks a key, or names what is not known; the message names the entry.
    """
    read, known, checks = shipped_table(), dict[str, dict[str, Any]](), list[Check]()
    for entry in read["check"]:
        base = known[entry["like"]] if "like" in entry else {}
        own = {key: value for key, value in entry.items() if key != "like"}
        both = {k: {**base[k], **own[k]} for k in _MERGED if own.get(k) and base.get(k)}
        known[f"{own['criterion']} {own['name']}"] = whole = {**base, **own, **both}
        checks.append(_checked(whole))
    return tuple(checks), Reason.model_validate(read["no_scores"])


def _checked(entry: Mapping[str, Any]) -> Check:
    try:
        check = Check.model_validate(entry)
        names = [of.partition(".") for of in check.of.values() if of != EVIDENCE]
        known = {
            "judge": {"", *vars(judges)} >= {check.judge},
            "threshold": not isinstance(check.threshold, str)
            or check.threshold in TrustSettings.model_fields,
            "of": all(hasattr(MODULES.get(module), name) for module, _, name in names),
        }
        if wrong := [name for name, fine in known.items() if not fine]:
            raise ValueError(f"its {wrong[0]} names what does not exist: {entry[wrong[0]]!r}")
    except ValueError as error:
        where = f"{'/'.join(CHECKS)}, check «{entry['criterion']} {entry['name']}»"
        raise ValueError(f"{where}: {error}") from error
    return check


def rows_of(case: Any) -> Iterator[Criterion]:
    """The rows of a ``Case``: of each check that applies to it, in the order of the table."""
    for check in (check for check in table()[0] if case.sort in check.of):
        module, _, name = check.of[case.sort].partition(".")
        if module == EVIDENCE:
            found = list(case.run.found(check.criterion, check.name))
        else:
            found = list(getattr(MODULES[module], name)(case))
        if not found and "needs" in check.reasons:
            found = [Found(reason="needs")]
        yield from (row(check, case, each) for each in found)


# --- measures -----------------------------------------------------------------------------------


def measure_criteria(
    runs: Sequence[MeasureRun], groups: Mapping[str, Groups], settings: TrustSettings, *, seed: int
) -> list[Criterion]:
    """The rows of the trust report about bias measures.

    Each run has at least one row for each criterion but consequential validity, which people
    attest. Runs of one measure on vectors of several years are a series, with rows of its own.

    Args:
        runs: all runs.
        groups: the groups by name, with anchors and outcomes.
        settings: ``[trust]``: thresholds, and the pairs of runs to compare.
        seed: of the permutation tests.

    Returns:
        Rows in the order of the runs, and of the criteria within a run.
    """
    every, rows = Measures(tuple(runs), groups), list[Criterion]()
    series = dict[str, list[MeasureRun]]()
    shared: dict[str, Any] = {"settings": settings, "seed": seed}
    for run in runs:
        case = MeasureCase(name=run.name, files={"": (run.name,)}, run=run, all=every, **shared)
        own = list(rows_of(case))
        rows += sorted(own, key=lambda r: (CRITERIA.index(r.criterion), KINDS.index(r.kind)))
        if run.year is not None:
            series.setdefault(f"{run.measure}/{run.stem}", []).append(run)
    for name, members in series.items():
        ordered = tuple(sorted(members, key=lambda run: run.year or 0))
        of = groups.get(ordered[0].groups)
        rows += rows_of(SeriesCase(name=name, runs=ordered, groups=of, **shared))
    return obey_controls(rows)


# --- a dataset and its scores -------------------------------------------------------------------


def dataset_criteria(
    data: DatasetInput,
    settings: TrustSettings,
    *,
    seed: int,
    tell: Tell = lambda stage, done, total: None,
) -> list[Criterion]:
    """The criteria of a dataset, then those of each set of scoring rules.

    Scores under different rules are never mixed: each set of rules is a subject of its own. Rows
    that rest on the ss of a model whose lms is not surely above chance are never pass or fail.

    Args:
        data: the dataset, its labels, and the runs on it.
        settings: the thresholds.
        seed: of random halves and of shuffled labels.
        tell: receives progress.

    Returns:
        The rows. Every criterion has a row of the dataset or of the scores; if it could not be
        computed, the row says what to supply.
    """
    if not data.cats:
        return []
    total = 1 + len(data.groups)
    tell("trust", 0, total)
    shared: dict[str, Any] = {"settings": settings, "seed": seed, "data": data}
    shared["rules"] = content.judged(data)
    case = DatasetCase(name=data.name, files=data.evidence, **shared)
    rows = list(rows_of(case))
    shared["silent"] = frozenset(r.name for r in data.runs if not face.informative(case, r))
    shared["files"] = {"": data.evidence.get("", ())}
    for number, group in enumerate(data.groups, 1):
        tell("trust", number, total)
        rows += rows_of(ScoresCase(name=group.name, group=group, **shared))
    tell("trust", total, total)
    checks, none = table()
    if not data.groups:
        lacking = replace(case, sort="scores", subject="scores", name="none")
        for criterion in dict.fromkeys(c.criterion for c in checks if "scores" in c.of and c.judge):
            check = Check(criterion=criterion, name="scores", of={}, reasons={"needs": none})
            rows.append(row(check, lacking, Found(reason="needs")))
    return obey_controls(rows)
