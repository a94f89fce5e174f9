"""The trust report in a release's card: a table of its rows, without an overall verdict."""

from collections import Counter

from curation.formats.markdown import inline, table
from curation.release.facts import Facts, TrustRow
from curation.release.texts.card_results import number
from curation.text.wording import amount

_NO_VERDICT = (
    "What is known about whether the results may be trusted, by the criteria of Bommasani and "
    "Liang. There is no overall verdict: each row is one test of one subject."
)
_STATUSES = (
    "`pass` and `fail`: the data decide. `inconclusive`: they do not. `attested`: people answered "
    "for it. `not run`: data or answers are missing."
)
_HIDDEN = "not published, because that would say too much about the hidden gold labels."


def trust(facts: Facts) -> list[str]:
    """The lines of the section; nothing if the release has no trust report."""
    report = facts.trust
    if report is None:
        return []
    tested = [row for row in report.rows if row.kind == "test"]
    lines = [_NO_VERDICT, "", _STATUSES, "", *_table(tested)]
    if controls := [row for row in report.rows if row.kind == "control"]:
        lines += ["Negative controls, wrong on purpose; `pass` means that they were rejected:", ""]
        lines += _table(controls)
    counts = Counter(row.status for row in tested)
    if counts:
        listed = ", ".join(f"{count} {_words(status)}" for status, count in counts.most_common())
        lines += [f"In all: {listed}.", ""]
    else:
        lines += ["It has no rows.", ""]
    if report.left_out:
        lines += [f"{amount(report.left_out, 'row is', 'rows are')} {_HIDDEN}", ""]
    if report.open:
        text = amount(len(report.open), "question is", "questions are")
        lines += [f"{text} open about the use of the results.", ""]
    return lines


def _table(rows: list[TrustRow]) -> list[str]:
    cells = [
        (
            *(inline(f"{row.subject} {row.name}"), inline(_words(row.criterion))),
            *(inline(row.check), inline(_words(row.status)), inline(row.statistic)),
            _value(row),
            inline(f"{row.n:,} {row.unit}"),
            _short(row.threshold),
        )
        for row in rows
    ]
    heads = ("subject", "criterion", "check", "status", "statistic", ">value (interval)")
    return table((*heads, ">n", ">threshold"), cells)


def _words(code: str) -> str:
    return code.replace("_", " ")


def _value(row: TrustRow) -> str:
    if row.value is None or row.ci is None:
        return _short(row.value)
    return f"{_short(row.value)} ({_short(row.ci[0])} to {_short(row.ci[1])})"


def _short(value: float | None) -> str:
    """A value with at most three decimals."""
    text = number(value, 3)
    return text.rstrip("0").rstrip(".") if "." in text else text
