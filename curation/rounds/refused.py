"""Refused answers: which go back to people, why the others do not, and the sheet of each person."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.formats.table_words import YES, Sections, Words, offered, read_label, round_words
from curation.records import GOLD_COLUMNS, Answer, Round, Task
from curation.rounds.answers import forms
from curation.rounds.answers.forms import FIELDS, LABELS
from curation.rounds.answers.parsed import LONGEST_TEXT
from curation.rounds.answers.rows import file_row, flag_words, text_of, unread
from curation.rounds.workbooks import Column, Row, columns, task_row
from curation.text.rules import Caps

REPAIRABLE = (
    *("missing_field", "bad_value", "unknown_label", "empty_text"),
    *("blank_missing", "blank_twice", "blank_glued", "blank_left"),
    *("target_missing", "template_not_reproduced", "same_text_twice"),
    *("duplicate_item", "near_duplicate", "meta_text", "no_consent"),
)
"""Reason codes of answers that their person can correct. The others cannot be corrected by them:
it is not the answer that is wrong, it is not theirs, or it was not meant to be one."""

NO_ANSWER = frozenset(("skipped", "superseded"))
"""Reason codes of what is not an answer that was refused: no work, or an earlier version."""

Left = Counter[str]
"""Why refused answers do not go back, and how many: ``ACCEPTED``, ``UNNEEDED``, ``OTHER``."""
ACCEPTED = "accepted since"
UNNEEDED = "no longer needed"
OTHER = "not correctable"


class RefusedAnswer(NamedTuple):
    """A refused answer to a task, as it came.

    Attributes:
        task: the task's id.
        person: the pseudonym of the person who gave it.
        codes: the reason codes, the first one first; an answer of three labels can have three.
        details: the sentence of each code.
        row: its values by column.
        sent: when it was sent, as a ``Timestamp``; empty if that is not known.
        updated: when it was changed, as a ``Timestamp``; empty if that is not known.
        seconds: how long it took; None if that is not known.
        position: its position in the archive.
        where: its place in the archive, as rejections name it.
    """

    task: str
    person: str
    codes: tuple[str, ...]
    details: tuple[str, ...]
    row: Mapping[str, Any]
    sent: str
    updated: str
    seconds: float | None
    position: int
    where: str = ""


def to_correct(
    refused: Iterable[RefusedAnswer],
    tasks: Sequence[Task],
    answers: Sequence[Answer],
    *,
    complete: Collection[tuple[str, str]],
    needed: Mapping[str, int],
    caps: Caps,
    least: float,
    out: Collection[str],
) -> tuple[dict[str, list[RefusedAnswer]], Left]:
    """The answers that go back, by person; and how many do not, by why.

    If several answers of a person to a task were refused, the last one goes back. For each task, no
    more people are asked than it needs answers; those who answered first go first.

    Args:
        refused: the refused answers of a round.
        tasks: the round's tasks.
        answers: what became of each answer to them.
        complete: pairs of task and pseudonym for which nothing is missing in what was accepted.
        needed: by task id, how many answers are still needed and not on their way.
        caps: how many answers of a person count.
        least: the least seconds that an answer takes; 0 is no limit.
        out: pseudonyms of people whose answers do not count.

    Returns:
        People's answers in the order of the tasks, and the counts.
    """
    by_id = {task.id: task for task in tasks}
    admitted = {(answer.task, answer.annotator) for answer in answers if answer.code is None}
    given, on_term = Counter[str](), Counter[tuple[str, str]]()
    for task_id, person in admitted:
        given[person] += 1
        if task_id in by_id:
            on_term[person, by_id[task_id].term] += 1
    left: Left = Counter()
    last: dict[tuple[str, str], RefusedAnswer] = {}
    for answer in sorted(refused, key=lambda each: (each.sent, each.position)):
        if not NO_ANSWER.isdisjoint(answer.codes):
            continue
        pair = (answer.task, answer.person)
        task = by_id.get(answer.task)
        too_fast = answer.seconds is not None and answer.seconds < least
        can_correct = set(answer.codes) <= set(REPAIRABLE) and not too_fast
        if not can_correct or answer.person in out or task is None or answer.person in task.writers:
            left[OTHER] += 1
        elif pair in complete:
            left[ACCEPTED] += 1
        # If a part of an answer is accepted, a correction must be a version of that answer.
        elif pair not in admitted or _refused_labels(answer) < len(task.shown):
            last.pop(pair, None)
            last[pair] = answer
    room = dict(needed)
    chosen: dict[str, list[RefusedAnswer]] = {}
    for (task_id, person), answer in last.items():
        term = by_id[task_id].term
        is_new = (task_id, person) not in admitted
        full = (caps.person and given[person] >= caps.person) or (
            caps.term and on_term[person, term] >= caps.term
        )
        if room.get(task_id, 0) < 1:
            left[UNNEEDED] += 1
        elif is_new and full:
            left[OTHER] += 1
        else:
            room[task_id] -= 1
            given[person] += is_new
            on_term[person, term] += is_new
            chosen.setdefault(person, []).append(answer)
    order = {id: number for number, id in enumerate(by_id)}
    for theirs in chosen.values():
        theirs.sort(key=lambda answer: order[answer.task])
    return dict(sorted(chosen.items())), left


def _refused_labels(answer: RefusedAnswer) -> int:
    """How many labels of an answer were refused; a flag that cannot be read is ``bad_value``."""
    return sum(code != "bad_value" for code in answer.codes)


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
        _kept(forms.AS_SENT, texts),
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
        task = task_row(data[each.task], needed=0, annotator=id, plain=plain)
        cells = {**task.cells, WHAT: _what(each, round, texts, asks), "consent": agreed}
        own = _answer(each, round, texts, words, plain=plain) | identity
        cells |= {name: text[:LONGEST_TEXT] for name, text in own.items()}
        if listed := task.lists.get("merge_into"):
            cells["merge_into"] = _choice(cells["merge_into"], data[each.task], listed)
        read = file_row({c.heading: cells.get(c.name, "") for c in shown}, words)
        cells[forms.AS_SENT] = forms.digest(read, round.kind, words)
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
    answer: RefusedAnswer, round: Round, texts: Sections, words: Words, *, plain: bool
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
    names = dict.fromkeys((*FIELDS[round.kind], *KEPT, *GOLD_COLUMNS, "context", *own))
    problems = []
    for code, detail in zip(answer.codes, answer.details, strict=True):
        concerned = [n for n in names if repr(n) in detail or detail.startswith(f"{n} is ")]
        if not concerned and code in ("unknown_label", "bad_value"):  # the detail quotes the cell
            quoted = detail.casefold()
            cells = {name: text_of(answer.row, name) for name in names}
            concerned = [n for n, cell in cells.items() if cell and repr(cell).casefold() in quoted]
        problems.append((code, concerned))
    return problems
