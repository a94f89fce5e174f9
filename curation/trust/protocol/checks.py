"""The engine of the trust report: entries of the table of checks, and rows from what they find.

A ``Check`` says what is tested, when it passes, and in which words. Its function looks at a
``Case`` (a run of a measure, a dataset, or the scores under one set of rules) and returns what it
``Found``. ``rows_of`` turns both into rows of the report; it knows no criterion. ``table.py`` has
all checks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Literal, cast, get_args

from curation.bias import Criterion, CriterionName, Pair, Status, Subject
from curation.trust_settings import TrustSettings

Kind = Literal["test", "control", "software"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_LONGEST = 200  # characters of the names in a row


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is tested: one subject of the report, and everything that its checks look at.

    Attributes:
        subject: measure, dataset or scores.
        name: of the run, the dataset, or the set of rules.
        settings: ``[trust]``: the thresholds.
        seed: of random draws.
        files: the files with the numbers, by criterion; those under "" belong to all.
        silent: runs of models whose lms is not surely above chance. A test that rests on one of
            them neither passes nor fails.
    """

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
        statistic, unit: if they are not those of the check.
        status: of what cannot be judged: "not_run", "not_applicable" or "inconclusive".
        why: in words, why there is such a status; it replaces the text of the check.
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
    statistic: str = ""
    unit: str = ""
    status: Status | None = None
    why: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    runs: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


Find = Callable[[Any], Iterable[Found]]
"""The function of a check: from the case of its subject to what it found; nothing if it lacks what
it needs."""
Judge = Callable[[Found, float, TrustSettings], Status]
"""From what was found and the threshold to the status."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """An entry of the table of checks.

    Texts may name facts in braces, as ``str.format`` does, and ``value``, ``n``, ``p``, ``power``
    and ``threshold``. A fact that is None reads "not defined".

    Attributes:
        criterion: the criterion that it belongs to.
        name: the check's name in the report; ``Found.name`` follows after a colon.
        find: its function for each subject that it applies to.
        statistic: what the value is.
        unit: what ``n`` counts.
        judge: decides the status. A software check has none: it holds if the value is 1.
        threshold: a number, or the name of a setting in ``[trust]``.
        source: where the threshold comes from.
        computed: what was computed.
        says: for each status, what the result shows.
        advice: for each status, what would change it.
        needs: what is missing if nothing was found; ``advice["not_run"]`` says how to supply it.
        kind: a test; a negative control, which must fail; or a check of the software, for what
            holds by construction and so shows nothing.
    """

    criterion: CriterionName
    name: str
    find: Mapping[Subject, Find]
    statistic: str = ""
    unit: str = ""
    judge: Judge | None = None
    threshold: float | str | None = None
    source: str = ""
    computed: str = ""
    says: Mapping[Status, str] = field(default_factory=dict)
    advice: Mapping[Status, str] = field(default_factory=dict)
    needs: str = ""
    kind: Kind = "test"


def rows_of(checks: Iterable[Check], case: Case) -> list[Criterion]:
    """The rows of a case: of each check that applies to it, in the order of the table."""
    rows = []
    for check in checks:
        if find := check.find.get(case.subject):
            found = list(find(case))
            if not found and check.needs:
                found = [Found(status="not_run", why=check.needs)]
            rows += [_row(check, case, each) for each in found]
    return rows


def _row(check: Check, case: Case, found: Found) -> Criterion:
    limit = check.threshold
    threshold = getattr(case.settings, limit) if isinstance(limit, str) else limit
    facts = {
        **{"value": found.value, "n": found.n, "p": found.p, "power": found.power},
        **{"threshold": threshold, "alpha": case.settings.alpha, "margin": case.settings.margin},
        **found.facts,
    }
    status = found.status or _status(check, case, found, threshold)
    says, advice = check.says.get(status, ""), check.advice.get(status, "")
    parts = [found.why] if found.why else [check.computed, says]
    silent = sorted(case.silent.intersection(found.runs))
    if silent and status in ("pass", "fail"):
        parts.append(
            f"The verdict would be {status}, but the lms of {', '.join(silent)} is not surely "
            "above 50, so it shows nothing"
        )
        status, advice = "inconclusive", "a model whose lms is surely above 50"
    return Criterion(
        subject=case.subject,
        name=case.name[:_LONGEST],
        criterion=check.criterion,
        check=f"{check.name}:{found.name}"[:_LONGEST] if found.name else check.name,
        status=status,
        kind=check.kind,
        statistic=found.statistic or (check.statistic if found.value is not None else ""),
        value=found.value,
        ci=None if found.ci is None else cast(Pair, tuple(map(float, found.ci))),
        n=found.n,
        unit=found.unit or check.unit,
        p=found.p,
        power=found.power,
        threshold=threshold if found.value is not None else None,
        source=check.source,
        computed=_text(parts, facts),
        change=_text([advice], facts),
        evidence=tuple(
            dict.fromkeys(
                (*case.files.get("", ()), *case.files.get(check.criterion, ()), *found.evidence)
            )
        ),
    )


def _status(check: Check, case: Case, found: Found, threshold: Any) -> Status:
    if check.kind == "software":
        return "holds" if found.value is not None and found.value >= 1 - 1e-6 else "broken"
    if check.judge is None:
        raise ValueError(f"the check «{check.name}» has no judge, and its result no status")
    status = check.judge(found, threshold, case.settings)
    opposite: dict[Status, Status] = {"pass": "fail", "fail": "pass"}
    return opposite.get(status, status) if check.kind == "control" else status


class _Texts(Formatter):
    """``str.format``, in which a value that is None reads "not defined"."""

    def format_field(self, value: Any, format_spec: str) -> str:
        return "not defined" if value is None else str(super().format_field(value, format_spec))


def _text(parts: Iterable[str], facts: Mapping[str, Any]) -> str:
    """The parts as sentences; a part without text is left out."""
    texts = (_Texts().vformat(part, (), facts).strip() for part in parts)
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
    return list(_obeying(rows, controls))


def _obeying(
    rows: Sequence[Criterion], controls: Mapping[tuple[str, ...], Criterion]
) -> Iterator[Criterion]:
    for row in rows:
        control = controls.get((row.subject, row.name, row.criterion))
        if control is None or row.kind != "test" or row.status not in ("pass", "inconclusive"):
            yield row
        elif control.status == "fail":
            yield row.model_copy(
                update={
                    "status": "fail",
                    "computed": f"{row.computed}. It fails because the negative control "
                    f"«{control.check}» was accepted",
                    "change": f"the negative control «{control.check}» must be rejected first",
                }
            )
        elif row.status == "pass":
            yield row.model_copy(
                update={
                    "status": "inconclusive",
                    "computed": f"{row.computed}. It would pass, but the negative control "
                    f"«{control.check}» is undecided",
                    "change": control.change,
                }
            )
        else:
            yield row
