"""``report.md``: the trust report for people."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from curation.bias import Criterion, Pair
from curation.markdown import inline, paragraphs, table
from curation.trust.protocol.consequential import QUESTIONS, WHERE, Attestation, open_questions
from curation.trust.protocol.report import (
    ASPECTS,
    NO_VERDICT,
    STATUSES,
    SUBJECTS,
    by_subject,
)

_HEADS = (
    *("criterion", "check", "status", "statistic"),
    *(">value", "interval", ">n", ">p", ">power", ">threshold"),
)


def report(
    rows: Sequence[Criterion],
    *,
    title: str,
    thresholds: Mapping[str, Any],
    answers: Attestation,
    left_out: Mapping[str, str],
) -> str:
    """The report as Markdown.

    Args:
        rows: the criteria, in order.
        title: the name of the campaign, or of the gold files.
        thresholds: the settings in ``[trust]``.
        answers: what people answered.
        left_out: runs that the report does not use, and why.
    """
    tested = [row for row in rows if row.kind == "test"]
    controls = [row for row in rows if row.kind == "control"]
    lines = [f"# Trust report: {inline(title)}", "", NO_VERDICT, "", *_statuses()]
    lines += _summary(tested)
    for subject, heading in SUBJECTS.items():
        own = [row for row in tested if row.subject == subject]
        if own:
            lines += [f"## {heading}", "", *_subject(own)]
    lines += _controls(controls) + _software([row for row in rows if row.kind == "software"])
    lines += _left_out(left_out) + _attestation(answers)
    lines += _thresholds(thresholds)
    if shas := sorted({row.settings for row in rows if row.settings}):
        lines += [f"The sha256 of all settings of the rows begins with {', '.join(shas)}."]
    return "\n".join(lines).rstrip("\n") + "\n"


def _statuses() -> list[str]:
    return table(("status", "meaning"), ((shown(s), inline(text)) for s, text in STATUSES.items()))


def _summary(rows: Sequence[Criterion]) -> list[str]:
    """How many rows of each subject have each status."""
    cells = [
        (inline(subject), inline(name), *(str(n or "–") for n in counts.values()))
        for (subject, name), counts in by_subject(rows).items()
    ]
    heads = ("subject", "name", *(f">{shown(status)}" for status in STATUSES))
    if not cells:
        return ["There is nothing to test yet: no measure, no dataset and no scores.", ""]
    return ["How many checks have each status:", "", *table(heads, cells)]


def _subject(rows: Sequence[Criterion]) -> list[str]:
    lines = []
    for name in dict.fromkeys(row.name for row in rows):
        own = [row for row in rows if row.name == name]
        lines += [f"### {inline(name)}", "", *table(_HEADS, map(_cells, own)), *_details(own)]
    return lines


def _cells(row: Criterion) -> tuple[str, ...]:
    return (
        ASPECTS[row.criterion],
        inline(row.check),
        shown(row.status),
        inline(row.statistic),
        number(row.value),
        interval(row.ci),
        inline(f"{row.n:,} {row.unit}"),
        number(row.p, 4),
        number(row.power, 2),
        number(row.threshold),
    )


def _details(rows: Iterable[Criterion]) -> list[str]:
    """For each check what was computed, and what would change the verdict."""
    lines = []
    for row in rows:
        head = f"**{ASPECTS[row.criterion]}, {inline(row.check)}: {shown(row.status)}.**"
        parts = [head, f"Computed: {_sentence(row.computed)}"]
        parts += [f"Threshold: {_sentence(row.source)}"] if row.source else []
        parts += [f"What would change it: {_sentence(row.change)}"] if row.change else []
        parts += [f"Evidence: {', '.join(map(inline, row.evidence))}."] if row.evidence else []
        lines += [f"- {' '.join(parts)}"]
    return [*lines, ""] if lines else []


def _sentence(text: str) -> str:
    text = " ".join(text.split()) or "not described"
    return inline(text if text.endswith((".", "!", "?")) else f"{text}.")


def _controls(rows: Sequence[Criterion]) -> list[str]:
    if not rows:
        return []
    return [
        "## Negative controls",
        "",
        "A negative control is wrong on purpose, so its criterion must reject it. «pass» means "
        "that it did. If it accepts one, it cannot tell good measures from bad ones here.",
        "",
        *table(("control of", *_HEADS), ((inline(row.name), *_cells(row)) for row in rows)),
        *_details(rows),
    ]


def _software(rows: Sequence[Criterion]) -> list[str]:
    if not rows:
        return []
    return [
        "## Checks of the software",
        "",
        "What must hold by construction, for any data. It shows nothing about a measure or a "
        "dataset; if a check is broken, report it as a defect.",
        "",
        *table(
            ("of", "criterion", "check", "status", "computed"),
            (
                (
                    *(inline(row.name), ASPECTS[row.criterion], inline(row.check)),
                    *(shown(row.status), inline(row.computed)),
                )
                for row in rows
            ),
        ),
    ]


def _left_out(runs: Mapping[str, str]) -> list[str]:
    if not runs:
        return []
    lines = [f"- {inline(name)}: {_sentence(why)}" for name, why in runs.items()]
    return ["## Runs that are not used", "", *lines, ""]


def _attestation(answers: Attestation) -> list[str]:
    lines = ["## Attestations", "", "What people state in attest.toml. Nobody checked it.", ""]
    missing = {question.key for question in open_questions(answers)}
    for question in (*QUESTIONS, WHERE):
        answer = getattr(answers, question.key)
        if not answer and question.key not in missing:
            continue
        lines += [f"**{inline(question.text)}** (`{question.key}`)", ""]
        lines += paragraphs(answer) or ["Open question.", ""]
    return lines


def _thresholds(settings: Mapping[str, Any]) -> list[str]:
    rows = [(f"`{name}`", inline(_setting(value))) for name, value in settings.items()]
    return ["## Settings", "", *table(("setting in [trust]", "value"), rows)]


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "none"
    return str(value)


def shown(status: str) -> str:
    """A status as people read it."""
    return status.replace("_", " ")


def number(value: float | None, digits: int = 3) -> str:
    """A value with at most ``digits`` decimals; a dash if there is none.

    >>> number(0.5), number(66.66666), number(None), number(0.00001, 4), number(-0.00001)
    ('0.5', '66.667', '–', '<0.0001', '0')
    """
    if value is None:
        return "–"
    if 0 < value < 10**-digits / 2:
        return f"<{10**-digits:.{digits}f}"
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def interval(ci: Pair | None) -> str:
    """An interval.

    >>> interval((-0.25, 0.5)), interval(None)
    ('-0.25 to 0.5', '–')
    """
    return "–" if ci is None else f"{number(ci[0])} to {number(ci[1])}"
