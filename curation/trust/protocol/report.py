"""The trust report: its order, its counts, five sentences on top, and ``report.md`` for people.

There is no overall verdict. A value may be trusted for one use and not for another, and the rows
say what is known for each criterion. Nothing here knows a criterion but by its title.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from curation.files import dump_json, read_text, shipped
from curation.formats.markdown import inline, paragraphs, table
from curation.records import CRITERIA, Criterion, Interval, Status, Subject
from curation.text.rules import grouped
from curation.text.wording import amount, some
from curation.trust.protocol.attested import Answers, open_questions, questions
from curation.trust.protocol.checks import KINDS, words

_NAMES = 5  # subjects that a sentence names
_WORST: tuple[Status, ...] = ("fail", "inconclusive", "pass")
_COMPARED: tuple[Status, ...] = ("grew", "fell", "moved", "not_shown")
"""What a comparison of two runs shows; it says nothing for or against a measure."""


def ordered(rows: Sequence[Criterion], *, settings: Mapping[str, Any]) -> list[Criterion]:
    """The rows in the order of the report, each with the sha256 of the settings that it used.

    Args:
        rows: the criteria, in any order.
        settings: the thresholds, the seed, versions and so on.
    """
    sha = hashlib.sha256(dump_json(dict(settings))).hexdigest()[:12]
    subjects = get_args(Subject)

    def place(row: Criterion) -> tuple[Any, ...]:
        subject, kind = subjects.index(row.subject), KINDS.index(row.kind)
        return subject, row.name, kind, CRITERIA.index(row.criterion), row.check

    filled = (row if row.settings else row.model_copy(update={"settings": sha}) for row in rows)
    return sorted(filled, key=place)


def counts(rows: Sequence[Criterion]) -> dict[str, int]:
    """How many rows have each status; negative controls are counted apart.

    ``controls`` is their number, ``controls_failed`` counts those that their criterion accepted;
    the same of checks of the software.
    """
    tally = Counter(row.status for row in rows if row.kind == "test")
    controls = [row for row in rows if row.kind == "control"]
    return {
        **{status: tally[status] for status in words().statuses},
        "controls": len(controls),
        "controls_failed": sum(row.status == "fail" for row in controls),
        "software": sum(row.kind == "software" for row in rows),
        "software_broken": sum(row.status == "broken" for row in rows),
    }


def failed(rows: Sequence[Criterion]) -> list[Criterion]:
    """The tests that fail, methods after which bias grew, and broken checks of the software."""

    def is_failure(row: Criterion) -> bool:
        grew = row.criterion == "mitigation" and row.status == "grew"
        return row.status == "broken" or (row.kind == "test" and (row.status == "fail" or grew))

    return [row for row in rows if is_failure(row)]


# --- five sentences -----------------------------------------------------------------------------


def sentences(rows: Sequence[Criterion], *, open: int) -> tuple[str, ...]:
    """What is known and what is not, in five sentences.

    Args:
        rows: the rows of the report.
        open: how many questions of ``attest.toml`` nobody answered.
    """
    tests = [row for row in rows if row.kind == "test" and row.check not in questions().checks]
    if not tests:
        return ()
    tally = Counter[str](row.status for row in tests)
    answers = "every question of attest.toml about them has an answer, which nobody checked"
    if open:
        have = "has" if open == 1 else "have"
        answers = f"{amount(open, 'question')} of attest.toml {have} no answer"
    listed = (_listed(tests, status) for status in ("pass", "fail", "inconclusive"))
    facts: dict[str, Any] = dict(zip(("held", "refuted", "open"), listed, strict=True))
    facts |= {status: tally[status] for status in _WORST}
    facts |= {"decided": tally["pass"] + tally["fail"], "untested": _untested(tests)}
    shown = {status: _rows_with(tests, status) for status in _COMPARED}
    several = any(tally[status] for status in _COMPARED)
    facts["compared"] = words().compared.format(**shown) if several else ""
    return tuple(sentence.format(**facts, answers=answers) for sentence in words().sentences)


def _listed(rows: Sequence[Criterion], status: str) -> str:
    """The criteria whose worst row of a subject has a status, with these subjects; or "nothing"."""
    worst: dict[tuple[str, str], Status] = {}
    for row in rows:
        names = {"dataset": "the dataset", "scores": f"the scores ({row.name})"}
        of = row.criterion, names.get(row.subject, row.name)
        if row.status in _WORST:
            worst[of] = min(row.status, worst.get(of, "pass"), key=_WORST.index)
    found = {
        c: [name for (own, name), w in worst.items() if (own, w) == (c, status)] for c in CRITERIA
    }
    parts = [f"{words().what_holds[c]} of {some(own, _NAMES)}" for c, own in found.items() if own]
    return "; ".join(parts) or "nothing"


def _rows_with(rows: Sequence[Criterion], status: str) -> str:
    """The comparisons with a status, by criterion and subject; or "nothing"."""
    found = dict[str, None]()
    for row in (row for row in rows if row.status == status):
        after, _, before = row.check.partition(":")[2].rpartition(";")
        if not after:  # a run of a measure
            after, before = row.name, before.rpartition(":")[2]
        found[f"{words().what_holds[row.criterion]} of {after} compared with {before}"] = None
    return some(found, _NAMES) or "nothing"


def _untested(rows: Sequence[Criterion]) -> str:
    """The criteria that lack something for some subjects, and of how many; or "nothing"."""
    known: dict[str, dict[tuple[str, str], bool]] = {}
    for row in rows:
        subjects, of = known.setdefault(row.criterion, {}), (row.subject, row.name)
        if row.status in (*_WORST, *_COMPARED, "not_run"):
            subjects[of] = subjects.get(of, False) or row.status != "not_run"
    lacking = {c: [own for own in subjects.values() if not own] for c, subjects in known.items()}
    parts = (
        f"{words().what_holds[c]} of {len(lacking[c])} of {amount(len(known[c]), 'subject')}"
        for c in CRITERIA
        if lacking.get(c)
    )
    return ", ".join(parts) or "nothing"


# --- Markdown -----------------------------------------------------------------------------------

HEADS = (
    "criterion",
    "check",
    "status",
    "statistic",
    ">value",
    "interval",
    ">n",
    ">p",
    ">power",
    ">threshold",
)
"""The columns of a table of rows; those of numbers begin with >."""


def markdown(
    rows: Sequence[Criterion],
    *,
    title: str,
    thresholds: Mapping[str, Any],
    answers: Answers,
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
    from jinja2 import Environment, StrictUndefined  # here: commands start without it

    tested = grouped(((row.subject, row.name), row) for row in rows if row.kind == "test")
    missing = open_questions(answers, {row.subject for row in rows})
    pairs = [(question, answers.get(question.key, "")) for question in questions().asked]
    # Filters escape for Markdown.
    page = Environment(trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)  # noqa: S701
    page.tests["telling"] = lambda row: row.status != "not_applicable" or row.value is not None
    page.filters |= {
        "amount": amount,
        "inline": inline,
        "paragraphs": lambda text: "\n".join(paragraphs(text)),
        "sentence": _sentence,
        "setting": _setting,
        "table": _table,
        "verdict": shown,
    }
    text = page.from_string(read_text(shipped("data", "trust", "report.md.jinja"))).render(
        rows=rows,
        tested=tested,
        title=title,
        words=words(),
        sentences=sentences(rows, open=len(missing)),
        asked=questions().checks,
        left_out=left_out,
        questions=[(q, answer) for q, answer in pairs if answer or q in missing],
        thresholds=thresholds,
    )
    return text.rstrip("\n") + "\n"


def _table(rows: Sequence[Criterion], *, named: bool = False) -> str:
    """Rows under ``HEADS``; if ``named``, with the subject's name before them."""
    escaped = []
    for row in rows:
        made = cells(row)
        name = [inline(row.name)] if named else []
        escaped.append((*name, *map(inline, made[:4]), *made[4:6], inline(made[6]), *made[7:]))
    return "\n".join(table(("of", *HEADS) if named else HEADS, escaped))


def cells(row: Criterion) -> tuple[str, ...]:
    """The cells of a row under ``HEADS``, as plain text."""
    return (
        words().criteria[row.criterion],
        row.check,
        shown(row),
        row.statistic,
        number(row.value),
        interval(row.ci),
        f"{row.n:,} {row.unit}",
        number(row.p, 4),
        number(row.power, 2),
        threshold(row),
    )


def _sentence(text: str) -> str:
    text = " ".join(text.split()) or "not described"
    return inline(text if text.endswith((".", "!", "?")) else f"{text}.")


def _setting(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_setting, value)) or "none"
    return str(value)


def shown(row: Criterion) -> str:
    """The verdict of a row as people read it."""
    own = words().of_controls.get(row.status) if row.kind == "control" else row.verdict
    return own or words().verdict(row.status)


def threshold(row: Criterion) -> str:
    """The threshold of a row, and on which side of it the value must be."""
    return words().limits.get(row.limit, "{threshold}").format(threshold=number(row.threshold))


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


def interval(ci: Interval | None) -> str:
    """An interval.

    >>> interval((-0.25, 0.5)), interval(None)
    ('-0.25 to 0.5', '–')
    """
    return "–" if ci is None else f"{number(ci[0])} to {number(ci[1])}"
