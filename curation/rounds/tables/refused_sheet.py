"""The sheet of a person's refused answers: the tasks, what to change, the answers as they were."""

from collections.abc import Mapping, Sequence
from typing import Any

from curation.records import Round
from curation.rounds.answers import corrections
from curation.rounds.answers.forms import FIELDS, LABELS, file_row
from curation.rounds.answers.parsed import LONGEST_TEXT
from curation.rounds.answers.rows import MEANT, text_of
from curation.rounds.answers.several_values import flag_words, unread
from curation.rounds.refused import RefusedAnswer
from curation.rounds.tables.columns import Column, Row, columns, row
from curation.text.rules import read_label
from curation.text.table_words import YES, Sections, Words, offered, round_words

WHAT = "what_to_change"
KEPT = ("answer_id", "submitted_at", "updated_at", "seconds")
"""The columns by which a corrected answer is recognised as a version of the refused one."""
_MIXED = ("flags", "reasons")  # fields that tables show as a column for each value


def refused_sheet(
    answers: Sequence[RefusedAnswer],
    data: Mapping[str, Mapping[str, Any]],
    round: Round,
    texts: Sections,
    *,
    agreed: str,
    consent: bool,
    plain: bool,
) -> tuple[list[Column], list[Row]]:
    """The columns and rows of a person's sheet.

    Args:
        answers: the refused answers that go back to the person.
        data: by task id, what people may see of the task, as ``pages.task_data`` gives it.
        round: the round.
        texts: the texts of the round, with those of tables.
        agreed: the version of the consent text to which the person agreed; empty if to none.
        consent: whether answers need consent.
        plain: canonical names and values instead of words, for a table that programs read.
    """
    words = round_words(texts)
    asks = round.consent if consent and not agreed else ""
    whole = columns(
        round.kind, texts, consent=round.consent if consent else "", personal=True, plain=plain
    )
    unknown = [field for field in _MIXED if any(_free(each, field, words) for each in answers)]
    concerned = {name for each in answers for _, names in _problems(each, round) for name in names}
    shown = [
        *(column for column in whole if column.name.partition(".")[0] not in unknown),
        *(Column(field, field, "", fill=True) for field in unknown),
        *(_kept(name, texts, fill=name in concerned) for name in KEPT),
        _kept(corrections.AS_SENT, texts),
    ]
    kept = [_identity(each, round) for each in answers]
    empty = {name for name in KEPT if not any(cells[name] for cells in kept)}
    shown = [column for column in shown if column.name not in empty]
    heading = WHAT if plain else texts["heading"][WHAT]
    shown.insert(1, Column(WHAT, heading, texts["hint"][WHAT], long=True))
    rows = []
    for each, identity in zip(answers, kept, strict=True):
        # As it is in this answer: the same address in other letters would be another person's.
        id = text_of(each.row, "annotator")
        task = row(data[each.task], needed=0, annotator=id, plain=plain)
        cells = {**task.cells, WHAT: _what(each, round, texts, asks), "consent": agreed}
        own = _answer(each, round, texts, words, plain=plain) | identity
        cells |= {name: text[:LONGEST_TEXT] for name, text in own.items()}
        if listed := task.lists.get("merge_into"):
            cells["merge_into"] = _choice(cells["merge_into"], data[each.task], listed)
        read = file_row({c.heading: cells.get(c.name, "") for c in shown}, words)
        cells[corrections.AS_SENT] = corrections.digest(read, round.kind, words)
        rows.append(task._replace(cells=cells))
    return shown, rows


def _kept(name: str, texts: Sections, *, fill: bool = False) -> Column:
    return Column(name, name, texts["hint"]["kept"], fill=fill)


def _free(answer: RefusedAnswer, field: str, words: Words) -> bool:
    """Whether a field has words of the person's own, for which there is no column."""
    known = _values(answer, field, words)
    return any(meaning is None for _, meaning in known)


def _values(answer: RefusedAnswer, field: str, words: Words) -> list[tuple[str, str | None]]:
    """The words in a field, each with its canonical name; None if it is not known."""
    text = text_of(answer.row, field)
    if field == "flags":
        return [(word, words.read("flag", word)) for word in flag_words(text, words)]
    parts = [part.strip() for part in text.split("|") if part.strip()]
    return [(part, words.read("reason", part)) for part in parts]


def _answer(
    answer: RefusedAnswer,
    round: Round,
    texts: Sections,
    words: Words,
    *,
    plain: bool,
) -> dict[str, str]:
    """The cells of the answer's fields, as the person sent them."""
    shown = offered(texts)
    cells: dict[str, str] = dict(unread(answer.row))
    for field in FIELDS[round.kind]:
        text = text_of(answer.row, field)
        cells[field] = text
        if field in _MIXED:
            yes = YES if plain else shown["answer"][YES]
            values = _values(answer, field, words)
            cells |= {f"{field}.{meaning}": yes for _, meaning in values if meaning}
        elif field in LABELS and (label := read_label(text, words)):
            cells[field] = label if plain else shown["label"].get(label, text)
        elif field == "decision" and (decision := words.read("decision", text)):
            cells[field] = decision if plain else shown["decision"][decision]
    if round.kind == "intrasentence" and not cells["template"]:
        cells["template"] = text_of(answer.row, "context")
    return cells


def _choice(text: str, data: Mapping[str, Any], listed: Sequence[str]) -> str:
    """The term to merge into as the list of a workbook shows it; other texts stay as they are."""
    ids = [choice["alias"] for choice in data["choices"]]
    names = dict(zip(ids, listed, strict=True))
    return names.get(text) or names.get(text.partition(": ")[0]) or text


def _identity(answer: RefusedAnswer, round: Round) -> dict[str, str]:
    """The cells that make a corrected row a later version of the refused answer."""
    cells = {name: text_of(answer.row, name) for name in KEPT}
    cells["submitted_at"] = answer.sent or cells["submitted_at"]
    cells["updated_at"] = answer.updated or cells["updated_at"]
    if not cells["submitted_at"] and not cells["updated_at"]:
        # Any time makes it a later version of an answer that has none. This one does not depend on
        # when the sheet is written.
        cells["updated_at"] = round.opened_at or ""
    return cells


def _what(answer: RefusedAnswer, round: Round, texts: Sections, asks: str) -> str:
    """What to change in an answer, in the language of the round's texts."""
    headings = texts["heading"]
    names: dict[str, list[str]] = {}
    for code, concerned in _problems(answer, round):
        too_long = code == "bad_value" and any(
            len(text_of(answer.row, name)) > LONGEST_TEXT for name in concerned
        )
        code = "too_long" if too_long else code
        names.setdefault(code, []).extend(headings.get(name, name) for name in concerned)
    if asks:
        names["no_consent"] = [f"{headings['consent']}: {asks}"]
    parts = []
    for code, shown in names.items():
        more = ", ".join(dict.fromkeys(shown))
        parts.append(texts["refused"][code] + (f" ({more})" if more else ""))
    return " ".join(parts)


def _problems(answer: RefusedAnswer, round: Round) -> list[tuple[str, list[str]]]:
    """The reason codes of an answer, each with the columns that it concerns, if they are known."""
    own = unread(answer.row)
    names = dict.fromkeys((*FIELDS[round.kind], *KEPT, *MEANT, "context", *own))
    problems = []
    for code, detail in zip(answer.codes, answer.details, strict=True):
        concerned = [n for n in names if repr(n) in detail or detail.startswith(f"{n} is ")]
        if not concerned and code in ("unknown_label", "bad_value"):  # the detail quotes the cell
            quoted = detail.casefold()
            cells = {name: text_of(answer.row, name) for name in names}
            concerned = [n for n, cell in cells.items() if cell and repr(cell).casefold() in quoted]
        problems.append((code, concerned))
    return problems
