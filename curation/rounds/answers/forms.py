"""Parses answers to a round's tasks: from our own pages, Label Studio, or a file.

All first become a row with the same columns: the task, the person, the answer's own id and times,
and the form's fields. The meaning of a field depends on the round's kind and on the task: label_2
is the label of the association that the task showed second.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from curation.formats.table_words import (
    OTHER,
    SEVERAL,
    SPACE_OF,
    Words,
    canonical_words,
    read_label,
    shipped_words,
)
from curation.kinds import ACTIONS, NUMBERS, ROUNDS, ItemKind, Kind, RoundKindName
from curation.records import FLAGS, Event, FieldTyping, FlagName, Task
from curation.rounds.answers import rows
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import (
    Checked,
    Consented,
    Deleted,
    Given,
    Mark,
    Option,
    ParsedAnswer,
    Place,
    Refused,
    Reply,
    Reviewed,
    UnusableError,
    Written,
    need,
)
from curation.rounds.answers.rows import (
    COLUMNS,
    annotator_of,
    as_sentence,
    file_row,
    flag_words,
    kind_of,
    options_of,
    seconds_of,
    text_of,
    time_of,
    unread,
)
from curation.text.item_form import BLANK, attribute, flaws, read_blank
from curation.text.rules import same_text, stable_id
from curation.text.times import read_time

LONGEST_TYPING = 4096  # bytes of the counts of an answer

CONTROLS = {"consent", *(name for kind in ROUNDS.values() for name in kind.fields)}
OF_TASKS = {
    *(name for kind in ROUNDS.values() for name in kind.tells),
    *(f"{name}_{n}" for name in ("text", "id") for n in NUMBERS),
    "context",
    "merge_choices",
    "answers_needed",
    "item_id",
    "what_to_change",
}
"""Columns of exported tables that say what a task is."""
ARRIVALS = {
    "returned": "the person's submission at Prolific has ended without counting",
    "forged": "Prolific does not confirm the person's submission",
}
"""What is wrong with the submission with which somebody came to our pages, by reason code."""


class _Answer(NamedTuple):
    """A row, and what its platform says about it.

    Attributes:
        row: values by column.
        number: the answer's number on its platform, or its position in the archive.
        words: what words in it mean.
        cancelled: the person skipped the task.
        foreign: somebody else changed the answer last.
        page: what our own pages say besides: whether its place had gone to another person when it
            came (``late``), a reason code if the submission with which its person came is worth
            nothing (``arrival``), why the person ``skipped`` the task, the numbers of the task's
            texts in the ``order`` in which the person saw them, and counts of ``typing``.
    """

    row: dict[str, Any]
    number: int
    words: Words
    cancelled: bool = False
    foreign: bool = False
    page: Mapping[str, Any] = MappingProxyType({})


def is_untouched(row: Mapping[str, Any], kind: RoundKindName) -> bool:
    """Whether nobody has written anything into a row, given by column.

    >>> is_untouched({"task_id": "t-1", "context": "It rains.", "label_1": ""}, "validation")
    True
    """
    names = ("annotator", "consent", *ROUNDS[kind].fields, *rows.unread(row))
    return not any(text_of(row, name) for name in names)


def used_columns(kind: RoundKindName) -> set[str]:
    """The columns of a table that are read as answers to tasks of a round of this kind."""
    return {
        *ROUNDS[kind].fields,
        *_OTHERS,
        "task_id",
        "annotator",
        "answer_id",
        "date_order",
        AS_SENT,
    }


@lru_cache(maxsize=1000)
def _control(name: str) -> str:
    """The field that a control fills, without the number that repeated controls get.

    >>> _control("label_1"), _control("label_1_0"), _control("stereotype_0")
    ('label_1', 'label_1', 'stereotype')
    """
    bare = re.sub(r"_\d+$", "", name)
    return name if name in CONTROLS or bare not in CONTROLS else bare


def _row(event: Event | Sent, where: str, words: Words | None) -> _Answer:
    """An answer as a table has it."""
    return _Answer(file_row(event.payload, words), event.position, words or shipped_words())


def _annotation(event: Event | Sent, where: str, words: Words | None) -> _Answer | Deleted:
    """An annotation as Label Studio sent it, or that it was deleted there."""
    payload = event.payload
    if "deleted" in payload:
        # All versions up to the last change that we know are deleted, by the server's clock.
        at = time_of(payload, "was") or time_of(payload, "seen_at")
        return Deleted(where=where, id=f"{payload.get('task')}\x1f{payload['deleted']}", at=at)
    try:
        annotation = payload["annotation"]
        row: dict[str, Any] = {
            "task_id": payload["task"],
            "annotator": payload["person"],
            "answer_id": annotation["id"],
            "submitted_at": annotation.get("created_at"),
            "updated_at": annotation.get("updated_at"),
            "seconds": annotation.get("lead_time"),
        }
        for entry in annotation.get("result") or ():
            value = entry.get("value")
            if not value:
                continue
            chosen = value.get("choices")
            if chosen is None:
                chosen, gap = value.get("text", value.get("rating")), " "
            else:
                gap = "|"
            if isinstance(chosen, list):
                chosen = chosen[0] if len(chosen) == 1 else gap.join(chosen)
            if chosen:
                row[_control(entry["from_name"])] = rows.composed(chosen)
        by, editor = annotation.get("completed_by"), annotation.get("updated_by")
        by, editor = (p.get("id") if isinstance(p, dict) else p for p in (by, editor))
        number = int(annotation["id"])
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
        problem = "the annotation is not of Label Studio's form"
        raise UnusableError("bad_value", problem) from None
    foreign = editor is not None and str(editor) != str(by)
    cancelled = bool(annotation.get("was_cancelled"))
    return _Answer(row, number, words or shipped_words(), cancelled, foreign)


def typing_of(counts: object, texts: Mapping[str, Any], writes: ItemKind | None) -> dict[str, Any]:
    """How the texts of an answer came about, as data of ``records.FieldTyping`` by field.

    What is not usable is left out.

    Args:
        counts: by field, the counts of the browser; or these as JSON.
        texts: the texts by field, of which only the lengths are taken.
        writes: the kind of items that people write; nothing else is counted.
    """
    if isinstance(counts, str) and len(counts) <= LONGEST_TYPING:
        with suppress(ValueError, RecursionError):
            counts = orjson.loads(counts)
    given: Any = counts if isinstance(counts, dict) else {}
    typing: dict[str, Any] = {}
    for name in writes.fields if writes else ():
        with suppress(KeyError, TypeError, ValidationError):
            own = {**given[name], "characters": len(str(texts.get(name) or ""))}
            typing[name] = FieldTyping.model_validate(own).model_dump()
    return typing


def page_row(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an answer from our own pages by column; they are canonical."""
    return {
        name: "|".join(map(str, value)) if isinstance(value, list) else rows.composed(value)
        for name, value in payload.items()
        if name in COLUMNS
    }


def _page(event: Event | Sent, where: str, words: Words | None) -> _Answer | Checked:
    """An answer as our own pages sent it, or an instruction check. Its names are canonical."""
    payload = event.payload
    row = page_row(payload)
    if "check" in payload:
        id, passed = text_of(row, "answer_id"), payload.get("passed") is not False
        return Checked(id=id, person=_person(row), passed=passed)
    words = canonical_words(words.blank if words else BLANK)
    skipped = bool(text_of(payload, "skipped"))
    return _Answer(row, event.position, words, skipped, page=payload)


READERS = {"web": _page, "label_studio": _annotation, "forms": _row}
"""By source, what makes an answer of what it sent."""


def _person(row: Mapping[str, Any]) -> str:
    """The person who answered.

    Raises:
        UnusableError: the row does not name one.
    """
    person = annotator_of(row)
    if not person:
        raise UnusableError("missing_field", "no 'annotator'")
    return person


def read(
    event: Event | Sent,
    *,
    round: str,
    where: str,
    tasks: Mapping[str, Task],
    kind: RoundKindName | None,
    words: Words | None = None,
) -> Iterator[ParsedAnswer]:
    """Parse an answer: an item, labels, a review or a refusal, and consent.

    ``words`` are those of the round; None for those of the shipped languages. Answers from our own
    pages have canonical names.

    Raises:
        UnusableError: the answer cannot be distinguished from others.
    """
    answer = READERS[event.source](event, where, words)
    if not isinstance(answer, _Answer):
        yield answer
        return
    row, page = answer.row, answer.page
    arrival = text_of(page, "arrival")
    person, task = _person(row), tasks.get(text_of(row, "task_id"))
    # The fields that all parsed parts of this answer share.
    frame: dict[str, Any] = {
        "where": where,
        "record": row,
        "source": event.source,
        "person": person,
        "task": task,
        "place": Place("", round, answer.number, 0),
    }
    empty = not any(map(row.get, ROUNDS[kind].fields if kind else CONTROLS))
    empty = empty and not rows.unread(row)
    if answer.foreign:
        detail = "on the platform somebody else changed it last"
        yield Refused(
            code="edited_by_other", detail=detail, empty=empty and answer.cancelled, **frame
        )
        return
    try:
        sent = time_of(row, "submitted_at")
        version = time_of(row, "updated_at") or sent
    except UnusableError as problem:
        yield Refused(code=problem.code, detail=problem.detail, **frame)
        return
    consent = text_of(row, "consent")
    if consent and not answer.cancelled:
        if arrival != "forged":  # it is not consent of the person who is named
            yield Consented(where=where, person=person, version=consent, at=sent)
        if empty and not text_of(row, "task_id"):
            return
    if task is None or kind is None:
        id = text_of(row, "task_id")
        detail = f"the round has no task {id!r}" if id else "no 'task_id'"
        yield Refused(code="unknown_task", detail=detail, **frame)
        return
    own = text_of(row, "answer_id")
    frame["place"] = Place(sent, round, answer.number, 0)
    frame["version"] = version
    # An answer without an id is identified by its time: a later one is another answer.
    frame["id"] = f"{task.id}\x1f{own}" if own else f"{task.id}\x1f\x1f{sent}"
    if answer.cancelled or empty:
        why = text_of(page, "skipped")
        detail = f"no answer to task {task.id}" + (f": {why}" if why else "")
        yield Refused(code="skipped", detail=detail, empty=empty, **frame)
        return
    try:
        if arrival in ARRIVALS:
            raise UnusableError(arrival, ARRIVALS[arrival])
        if page.get("late"):
            detail = f"task {task.id} had all its answers when this one came"
            raise UnusableError("late", detail)
        if written := ROUNDS[kind].writes:
            yield _written(answer, task, frame, written)
        else:
            yield _PARSERS[kind](answer, task, frame)
    except UnusableError as problem:
        yield Refused(code=problem.code, detail=problem.detail, **frame)


def _labels(answer: _Answer, task: Task, frame: dict[str, Any]) -> Given:
    """The labels of an answer, in the order in which the person saw the texts."""
    if task.item is None or not task.shown:
        raise UnusableError("unknown_task", f"task {task.id} shows no item")
    row, words, marks = answer.row, answer.words, []
    for number in _seen_order(answer.page.get("order"), len(task.shown)):
        name, shown = f"label_{number}", task.shown[number - 1]
        text = row.get(name)
        if not text:
            marks.append(Mark(shown.association, None, ("missing_field", f"no {name!r}")))
            continue
        value = read_label(str(text), words)
        problem = None if value else ("unknown_label", f"{text!r} is not a label")
        marks.append(Mark(shown.association, value, problem))
    marks += [Mark("", None, problem) for problem in rows.problems(row)]
    flags: list[FlagName] = []
    if flags_text := row.get("flags"):
        for word in dict.fromkeys(rows.flag_words(str(flags_text), words)):
            flag = next((name for name in FLAGS if name == words.read("flag", word)), None)
            if flag is None:
                marks.append(Mark("", None, ("bad_value", f"{word!r} is not a flag")))
            elif flag not in flags:
                flags.append(flag)
    return Given(
        item=task.item, marks=tuple(marks), flags=tuple(flags), seconds=seconds_of(row), **frame
    )


def _seen_order(given: object, size: int) -> Sequence[int]:
    """The numbers of a task's texts in the order that an answer names; without one, from 1."""
    numbers = range(1, size + 1)
    named = given if isinstance(given, list) else []
    seen = [number for each in named for number in numbers if number == each]
    return seen if sorted(seen) == [*numbers] else numbers


def _written(answer: _Answer, task: Task, frame: dict[str, Any], kind: ItemKind) -> Written:
    row, about = answer.row, kind.context
    if not row.get(about) and row.get("context"):
        about = "context"
    context, *texts = (_text_in(answer, name) for name in (about, *kind.columns))
    return Written(
        kind=kind.name,
        domain=task.domain,
        target=task.target,
        context=context,
        options=options_of(kind, context, task.target, texts),
        seconds=seconds_of(row),
        typing=typing_of(answer.page.get("typing"), row, kind),
        **frame,
    )


def _text_in(answer: _Answer, name: str) -> str:
    """A text that a person wrote, on one line, with BLANK for the gap.

    Raises:
        UnusableError: as for ``need``.
    """
    return read_blank(_flat(need(answer.row, name)), answer.words.blank)


def _neutral(answer: _Answer, task: Task, frame: dict[str, Any]) -> Written:
    """A neutral association beside those of an item; the fold completes it."""
    if task.item is None:
        raise UnusableError("unknown_task", f"task {task.id} shows no item")
    context, text = task.context or "", _text_in(answer, "neutral")
    kind = kind_of(context)
    return Written(
        kind=kind.name,
        domain=task.domain,
        target=task.target,
        context=context,
        options=(Option(None, as_sentence(kind, context, task.target, text), None, None),),
        seconds=seconds_of(answer.row),
        **frame,
    )


def neutral_flaw(
    kind: Kind,
    context: str,
    others: Sequence[str],
    text: str,
    meta: Callable[[str], str | None] | None,
) -> tuple[str, str] | None:
    """What is wrong with a neutral association: the reason code and a sentence, or None.

    Args:
        kind: the kind of the item.
        context: its context.
        others: its associations as whole sentences.
        text: the neutral association as a whole sentence.
        meta: gives the phrase which shows that a text is about the task, or None.
    """
    form = {"name_target": False, "blank_alone": False}  # the context is somebody else's
    for each in flaws(kind, (), context, [text], **form):
        if each.at is not None:
            return each.code, each.detail
    if same_text(text) in map(same_text, others):
        return "same_text_twice", f"{text!r} is already an association of the item"
    words = text[slice(*attribute(context, text))] or text
    phrase = meta(words) if meta else None
    return ("meta_text", f"{phrase!r} in {words!r}") if phrase else None


def _review(answer: _Answer, task: Task, frame: dict[str, Any]) -> Reviewed:
    row, words = answer.row, answer.words
    decision = need(row, "decision").strip()
    action = next((name for name in ACTIONS if name == words.read("decision", decision)), None)
    if action is None:
        raise UnusableError("bad_value", f"{decision!r} is not one of {', '.join(ACTIONS)}")
    into, text, must_name = None, "", False
    reasons = text_of(row, "reasons").split("|")
    notes = [", ".join(words.read("reason", reason) or reason for reason in reasons)]
    if action == "merge":
        chosen, other = _flat(text_of(row, "merge_into")), _flat(text_of(row, "merge_into_other"))
        into = _choice(chosen, task)
        if into is None and chosen and words.read("answer", chosen) != OTHER:
            text, must_name = chosen, True
        elif into is None and not other:
            name = "merge_into_other" if chosen else "merge_into"
            raise UnusableError("missing_field", f"no {name!r}")
        elif into is None:
            text = other
            notes.append(other)
    return Reviewed(
        action=action,
        into=into,
        into_text=text,
        must_name=must_name,
        name=_flat(text_of(row, "rename")) or None if action != "drop" else None,
        note="; ".join(filter(None, notes)),
        problems=rows.problems(row),
        seconds=seconds_of(row),
        **frame,
    )


_PARSERS: dict[str, Callable[..., Reply]] = {
    "review": _review,
    "validation": _labels,
    "neutral": _neutral,
}
"""What parses answers of a round in which nobody writes items."""


def _choice(chosen: str, task: Task) -> str | None:
    """The id of the offered term that is chosen by its id, its first text, or both («id: text»)."""
    names = (chosen, chosen.partition(": ")[0], stable_id("term", task.domain, chosen))
    return next((name for name in names if name in task.choices), None)


def _flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


AS_SENT = "as_sent"
_TIMES = ("submitted_at", "updated_at")
# What a cell of a workbook cannot hold, and what is written in its place.
_NO_CELL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffd-\uffff]")
_OTHERS = ("consent", "seconds", *_TIMES)


def digest(row: Mapping[str, Any], kind: RoundKindName, words: Words | None = None) -> str:
    """A digest of what a person can change in a row: the form's fields, consent, and times.

    Spaces, the language of a word, and the form of numbers and times make no difference.

    Args:
        row: values by column.
        kind: the kind of the round.
        words: the words of the round; None for those of the shipped languages.

    >>> digest({"label_1": "unrelated", "seconds": "5"}, "validation") == digest(
    ...     {"label_1": " Tidak berkaitan ", "seconds": 5.0, "flags": None}, "validation")
    True
    """
    known = words or shipped_words()
    cells = [_plain(name, row.get(name), known) for name in (*ROUNDS[kind].fields, *_OTHERS)]
    cells += [f"{name}={text}" for name, text in sorted(unread(row).items())]
    return hashlib.sha256("\x1f".join(cells).encode()).hexdigest()[:16]


def is_unchanged(row: Mapping[str, Any], kind: RoundKindName, words: Words | None = None) -> bool:
    """Whether a row, by column, is of a sheet of refused answers and has the answer as it was."""
    before = str(row.get(AS_SENT) or "").strip()
    return bool(before) and before == digest(row, kind, words)


def _plain(name: str, value: Any, words: Words) -> str:
    text = " ".join(_NO_CELL.sub("", str("" if value is None else value)).split())
    space = SPACE_OF.get(name)
    if space and name in SEVERAL:
        parts = flag_words(text, words) if name == "flags" else map(str.strip, text.split("|"))
        return "|".join(sorted({words.read(space, part) or part for part in parts if part}))
    if space:
        return words.read(space, text) or text
    try:
        return read_time(text) if name in _TIMES and text else repr(float(text))
    except ValueError:
        return text
