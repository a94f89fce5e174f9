"""The table of checks, and the rows that it gives for measures, and for a dataset and its scores.

To add a check, write an entry into ``data/trust/checks.toml`` and its function into the module of
its criterion (CONTRIBUTING.md, A check of the trust report).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from string import Formatter
from typing import Any

from curation.campaign.settings import TrustSettings
from curation.records import CRITERIA, Criterion, Status
from curation.trust.measure.groups import Groups
from curation.trust.protocol import (
    checks,
    content,
    correlated,
    hypothesis,
    reliability,
    sensitivity,
)
from curation.trust.protocol.cases import (
    DatasetCase,
    DatasetInput,
    MeasureCase,
    MeasureRun,
    Measures,
    ScoresCase,
    SeriesCase,
    Tell,
)
from curation.trust.protocol.checks import (
    CHECKS,
    KINDS,
    Case,
    Check,
    Found,
    Kind,
    Reason,
    shipped_table,
    words,
)

CRITERIA_MODULES = (content, correlated, hypothesis, reliability, sensitivity)
MODULES = {module.__name__.rpartition(".")[2]: module for module in CRITERIA_MODULES}
EVIDENCE = "evidence"
_LONGEST = 200  # characters of the names in a row
_CLOSE = 1e-6  # what holds by construction may miss 1 by rounding
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
            "judge": {"", *vars(checks)} >= {check.judge},
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
            found = list(getattr(MODULES[module], name)(case, **check.given.get(case.sort, {})))
        if not found and "needs" in check.reasons:
            found = [Found(reason="needs")]
        yield from (row(check, case, each) for each in found)


def row(check: Check, case: Case, found: Found) -> Criterion:
    """The row of what a check found.

    A test that rests on the ss of a model without meaning does not pass or fail: such a model
    cannot tell meaningful from unrelated associations, so whatever its ss does shows nothing.
    """
    limit = check.threshold if found.threshold is None else found.threshold
    threshold = getattr(case.settings, limit) if isinstance(limit, str) else limit
    facts = {**dict(case.settings), **vars(found), "threshold": threshold, "unit": check.unit}
    facts |= found.facts
    kind: Kind = "software" if check.kind == "property" else check.kind
    if found.reason:
        reason = check.reasons[found.reason]
        status, parts, advice = reason.status, [reason.why], reason.advice
    elif found.status:
        status, parts, advice = found.status, [found.why], check.advice.get(found.status, "")
    else:
        status = _status(check, found, threshold, case.settings)
        parts = [check.computed, check.says.get(status, "")]
        advice = check.advice.get(status, "")
        silent = sorted(case.silent.intersection(found.runs))
        if silent and status in check.silenced:
            would = check.verdicts.get(status) or words().verdict(status)
            parts.append(
                f"The verdict would be {would}, but the lms of {', '.join(silent)} is not surely "
                "above 50, so it shows nothing"
            )
            compares = check.criterion in ("amplification", "mitigation")
            status = "not_shown" if compares else "inconclusive"
            advice = "a model whose lms is surely above 50"
    if check.kind == "property" and status != "holds":
        kind, status = "test", "fail" if status == "broken" else status
    named = f"{check.name}:{found.name}" if found.name else check.name
    files = *case.files.get("", ()), *case.files.get(check.criterion, ()), *found.evidence
    about: dict[str, Any] = {
        "statistic": _text([check.statistic], facts),
        "source": _text([check.source], facts),
        "threshold": threshold,
        "limit": found.limit or check.limit if threshold is not None else "",
    }
    return Criterion(
        subject=case.subject,
        name=case.name[:_LONGEST],
        criterion=check.criterion,
        check=named[:_LONGEST],
        status=status,
        verdict=_text([_verdict(check, status, found)], facts),
        kind=kind,
        value=found.value,
        ci=None if found.ci is None else (float(found.ci[0]), float(found.ci[1])),
        n=found.n,
        unit=check.unit,
        p=found.p,
        power=found.power,
        computed=_text(parts, facts),
        change=_text([advice], facts),
        evidence=tuple(dict.fromkeys(files)),
        **(about if found.value is not None else {}),
    )


def _verdict(check: Check, status: Status, found: Found) -> str:
    """The words of a status in this row; "" if they are those of all rows."""
    if status == "not_applicable" and not (found.reason or found.status):
        return words().no_verdict_here
    return check.verdicts.get(status, "")


def _status(check: Check, found: Found, threshold: Any, settings: TrustSettings) -> Status:
    if check.kind in ("software", "property"):
        return "holds" if found.value is not None and found.value >= 1 - _CLOSE else "broken"
    status: Status = getattr(checks, check.judge)(found, threshold, settings)
    opposite: dict[Status, Status] = {"pass": "fail", "fail": "pass"}
    return opposite.get(status, status) if check.kind == "control" else status


class Texts(Formatter):
    """``str.format``, in which a fact that is None or missing reads "not defined"."""

    def get_value(self, key: Any, args: Any, kwargs: Any) -> Any:
        """The fact of this name; None if it is missing."""
        return kwargs.get(key)

    def format_field(self, value: Any, format_spec: str) -> str:
        """A fact as text."""
        return "not defined" if value is None else str(super().format_field(value, format_spec))


def _text(parts: Iterable[str], facts: Mapping[str, Any]) -> str:
    """The parts as sentences; a part without text is left out."""
    texts = (Texts().vformat(part, (), facts).strip() for part in parts)
    return ". ".join(text.rstrip(".") for text in texts if text)


def obey_controls(rows: Sequence[Criterion]) -> list[Criterion]:
    """The rows, where nothing passes whose negative control was not rejected.

    A criterion that accepts its control cannot tell good from bad: its rows that passed, or were
    inconclusive, fail. If the control is undecided, its rows that passed are inconclusive.

    Args:
        rows: rows of all subjects. The status of a control is "pass" if it was rejected, "fail" if
            it was accepted.
    """
    controls: dict[tuple[str, ...], Criterion] = {}
    for row in rows:
        key = (row.subject, row.name, row.criterion)
        if row.kind == "control" and row.status in ("fail", "inconclusive"):
            known = controls.get(key, row)
            controls[key] = known if known.status == "fail" else row
    return [_obeying(row, controls.get((row.subject, row.name, row.criterion))) for row in rows]


def _obeying(row: Criterion, control: Criterion | None) -> Criterion:
    if control is None or row.kind != "test" or row.status not in ("pass", "inconclusive"):
        return row
    if control.status == "fail":
        status, change = "fail", f"the negative control «{control.check}» must be rejected first"
        why = f"It fails because the negative control «{control.check}» was accepted"
    elif row.status == "pass":
        status, change = "inconclusive", control.change
        why = f"It would pass, but the negative control «{control.check}» is undecided"
    else:
        return row
    own = {"status": status, "computed": f"{row.computed}. {why}", "change": change}
    return row.model_copy(update=own)


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
    shared["silent"] = frozenset(r.name for r in data.runs if not content.informative(case, r))
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
