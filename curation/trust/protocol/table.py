"""The table of checks, and the rows that it gives for measures, and for a dataset and its scores.

To add a check, write an entry into ``data/trust/checks.toml`` and its function into the module of
its criterion (CONTRIBUTING.md, A check of the trust report).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import Any

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import CRITERIA, Criterion
from curation.settings import TrustSettings
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
    Case,
    Check,
    Found,
    Reason,
    obey_controls,
    row,
)
from curation.trust.protocol.datasets import DatasetCase, DatasetInput, ScoresCase, Tell
from curation.trust.protocol.measures import MeasureCase, MeasureRun, Measures, SeriesCase

MODULES: dict[str, ModuleType] = {
    "agreement": agreement,
    "content": content,
    "correlated": correlated,
    "face": face,
    "hypothesis": hypothesis,
    "sensitivity": sensitivity,
    "split_half": split_half,
}
EVIDENCE = "evidence"


@cache
def table() -> tuple[tuple[Check, ...], Reason]:
    """All checks, in the order of the file; and why there are no rows about scores.

    An entry that has ``like`` begins with what the entry of that criterion and name has.

    Raises:
        ValueError: an entry lacks a key, or names what is not known; the message names the entry.
    """
    read = read_toml(shipped(*CHECKS), fix="see checks.py for its keys")
    known = dict[str, dict[str, Any]]()
    for entry in read["check"]:
        if base := entry.pop("like", ""):
            for key, value in known[base].items():
                merges = key in ("says", "advice", "reasons") and entry.get(key) != {}
                own = entry.get(key, {})
                entry[key] = {**value, **own} if merges else entry.get(key, value)
        known[f"{entry['criterion']} {entry['name']}"] = entry
    return tuple(map(_checked, read["check"])), Reason.model_validate(read["no_scores"])


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


def rows_of(case: Case) -> Iterator[Criterion]:
    """The rows of a case: of each check that applies to it, in the order of the table."""
    for check in table()[0]:
        if case.sort in check.of:
            found = list(_found(check, case))
            if not found and "needs" in check.reasons:
                found = [Found(reason="needs")]
            yield from (row(check, case, each) for each in found)


def _found(check: Check, case: Any) -> Iterable[Found]:
    function = check.of[case.sort]
    if function == EVIDENCE:
        return list(case.run.found(check.criterion, check.name))
    module, _, name = function.partition(".")
    found: Iterable[Found] = getattr(MODULES[module], name)(case)
    return found


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
    every = Measures(tuple(runs), groups)
    rows = list[Criterion]()
    for run in runs:
        files = {"": (run.name,)}
        shared: dict[str, Any] = {"subject": "measure", "settings": settings, "seed": seed}
        case = MeasureCase(sort="measure", name=run.name, files=files, run=run, all=every, **shared)
        own = list(rows_of(case))
        own.sort(key=lambda row: (CRITERIA.index(row.criterion), KINDS.index(row.kind)))
        rows += own
    series = dict[str, list[MeasureRun]]()
    for run in runs:
        if run.year is not None:
            series.setdefault(f"{run.measure}/{run.stem}", []).append(run)
    for name, members in series.items():
        ordered = tuple(sorted(members, key=lambda run: run.year or 0))
        of = groups.get(ordered[0].groups)
        rows += rows_of(SeriesCase(sort="series", name=name, runs=ordered, groups=of, **shared))
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
    shared: dict[str, Any] = {"settings": settings, "seed": seed, "files": data.evidence}
    shared |= {"data": data, "rules": content.judged(data)}
    case = DatasetCase(sort="dataset", subject="dataset", name=data.name, **shared)
    rows = list(rows_of(case))
    silent = frozenset(run.name for run in data.runs if not face.informative(data, run, settings))
    for number, group in enumerate(data.groups, 1):
        tell("trust", number, total)
        of: dict[str, Any] = {"name": group.name, "group": group, "silent": silent}
        of |= {"files": {"": data.evidence.get("", ())}}
        rows += rows_of(ScoresCase(sort="scores", subject="scores", **{**shared, **of}))
    tell("trust", total, total)
    checks, none = table()
    for criterion in dict.fromkeys(c.criterion for c in checks if "scores" in c.of and c.judge):
        if not data.groups:
            rows.append(
                Criterion(
                    subject="scores",
                    name="none",
                    criterion=criterion,
                    check="scores",
                    status=none.status,
                    computed=none.why,
                    change=none.advice,
                    evidence=(*data.evidence.get("", ()), *data.evidence.get(criterion, ())),
                )
            )
    return obey_controls(rows)
