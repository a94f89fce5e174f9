"""The engine of the trust report: checks, and rows from what their functions find.

A check is an entry of ``data/trust/checks.toml``. It names the function that looks at a ``Case`` (a
run of a measure, a series of runs, a dataset, or the scores under one set of rules), the judge that
decides, the threshold and where it comes from, and has all texts. The function returns what it
``Found``; ``row`` turns both into a row of the report. The engine knows no criterion.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from string import Formatter
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict

from curation.campaign.settings import TrustSettings
from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.records import Criterion, CriterionName, Status, Subject
from curation.trust.protocol import judges

CHECKS = "data", "trust", "checks.toml"
"""The table of checks, among the files that come with curation."""
Kind = Literal["test", "control", "software"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Sort = Literal["measure", "series", "dataset", "scores"]
_LONGEST = 200  # characters of the names in a row
_CLOSE = 1e-6  # what holds by construction may miss 1 by rounding


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is tested: one subject of the report, and everything that its checks look at.

    Attributes:
        sort: which functions apply to it.
        subject: measure, dataset or scores.
        name: of the run, the series, the dataset, or the set of rules.
        settings: ``[trust]``: the thresholds.
        seed: of random draws.
        files: the files with the numbers, by criterion; those under "" belong to all.
        silent: runs of models whose lms is not surely above chance. A test that rests on one of
            them decides nothing.
    """

    sort: Sort
    subject: Subject
    name: str
    settings: TrustSettings
    seed: int = 0
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a check found; each becomes a row.

    Attributes:
        name: what distinguishes this row from others of the check, such as a model; or "".
        value: the statistic; None if it could not be computed.
        ci: its interval.
        n: how many units.
        p: of the hypothesis that there is no effect.
        power: the probability of a significant result if the true value were at the threshold.
        threshold: if it is not that of the check.
        limit: the same.
        reason: the key of the check's reason why nothing can be judged.
        status: of what cannot be judged for a reason that the function words itself.
        why: these words.
        facts: what the texts of the check name in braces.
        runs: the names of the runs of models that it rests on.
        evidence: the files or runs with its numbers, beside those of the case.
    """

    name: str = ""
    value: float | None = None
    ci: Sequence[float] | None = None
    n: int = 0
    p: float | None = None
    power: float | None = None
    threshold: float | None = None
    limit: str = ""
    reason: str = ""
    status: Status | None = None
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


class Entry(BaseModel):
    """A part of the table of checks; a key that is not known is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Reason(Entry):
    """Why a check judges nothing: the row's status and text, and what would change it."""

    status: Status = "not_run"
    why: str
    advice: str = ""


class Check(Entry):
    """An entry of the table of checks.

    Texts may name facts in braces, as ``str.format`` does, and ``value``, ``n``, ``p``, ``power``,
    ``threshold`` and settings. A fact that is None or missing reads "not defined".

    Attributes:
        criterion: the criterion that it belongs to.
        name: the check's name in the report; ``Found.name`` follows after a colon.
        of: for each sort of case to which it applies, its function as MODULE.FUNCTION, or
            "evidence" for what the run of a measure computed under the check's name.
        statistic: what the value is.
        unit: what ``n`` counts.
        judge: the function of ``judges`` that decides the status.
        threshold: a number, or the name of a setting in ``[trust]``.
        limit: where the value must be: at_least or at_most the threshold, or above it; within it
            on both sides of 0; near it; or no_change, if it is the value without a change.
        source: where the threshold comes from.
        computed: what was computed.
        verdicts: the words of a status, if they are not those of all checks (``Words.verdicts``).
        says: for each status, what the result shows.
        advice: for each status, what would change it.
        reasons: why it may judge nothing. «needs» is the reason if the function finds nothing;
            without it there is then no row.
        kind: a test; a negative control, which must fail; a check of the software, for what holds
            by construction and so shows nothing; or a property, which is a check of the software if
            it holds, and a test that fails if it does not.
        silenced: the verdicts that a model without meaning cannot give.
    """

    criterion: CriterionName
    name: str
    of: dict[Sort, str]
    statistic: str = ""
    unit: str = ""
    judge: str = ""
    threshold: float | str | None = None
    limit: str = ""
    source: str = ""
    computed: str = ""
    verdicts: dict[Status, str] = {}
    says: dict[Status, str] = {}
    advice: dict[Status, str] = {}
    reasons: dict[str, Reason] = {}
    kind: Literal["test", "control", "software", "property"] = "test"
    silenced: tuple[Status, ...] = ("pass", "fail", "grew", "fell", "moved")


class Words(Entry):
    """The words of the report.

    Attributes:
        no_verdict: why there is no overall verdict.
        sentences: the sentences on top.
        compared: what is added to the first of them if two runs were compared.
        statuses: what each status of a test means. A negative control passes if its criterion
            rejected it. A check of the software «holds» or is «broken»: what holds by construction
            shows nothing.
        verdicts: the words of a status, if they are not the status itself.
        of_controls: those of a negative control.
        no_verdict_here: those of a value that shows nothing.
        limits: how a threshold reads, by ``Check.limit``.
        subjects: the titles of the report's parts, in order.
        criteria: the titles of the criteria.
        what_holds: each criterion within a sentence, as what holds or does not.
        apart: title and text of the parts for rows that are no tests.
        folded: what stands for the checks of a subject that do not apply to it.
    """

    no_verdict: str
    sentences: list[str]
    compared: str
    statuses: dict[Status, str]
    verdicts: dict[str, str]
    of_controls: dict[Status, str]
    no_verdict_here: str
    limits: dict[str, str]
    subjects: dict[Subject, str]
    criteria: dict[CriterionName, str]
    what_holds: dict[CriterionName, str]
    apart: dict[Kind, tuple[str, str]]
    folded: str

    def verdict(self, status: str) -> str:
        """A status as people read it."""
        return self.verdicts.get(status, status.replace("_", " "))


@cache
def shipped_table() -> dict[str, Any]:
    """The content of the table of checks, as it is in the file."""
    return read_toml(shipped(*CHECKS), fix="see checks.py for its keys")


@cache
def words() -> Words:
    """The words of the report, from the table of checks."""
    return Words.model_validate(shipped_table()["words"])


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
    status: Status = getattr(judges, check.judge)(found, threshold, settings)
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
