"""Parses rows of writers' and validators' tables."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from curation.catsets.entries import gap_in
from curation.formats.table_words import NO, YES, Words, key, shipped_words
from curation.formats.toml_files import shipped_table
from curation.kinds import (
    CAT_KINDS,
    FILLED,
    FOLLOWED,
    GOLD_COLUMNS,
    ITEMS,
    LABELS,
    NUMBERS,
    ROUNDS,
    ItemKind,
)
from curation.records import Event
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.parsed import (
    NTH,
    Given,
    Mark,
    Option,
    ParsedAnswer,
    Place,
    Refused,
    UnusableError,
    Written,
    fitting,
    need,
    need_id,
    need_label,
    need_target,
)
from curation.text.item_form import BLANK, fill, filler
from curation.text.rules import nfc, same_text, stable_id
from curation.text.times import ORDERS, read_time

NAMES = {
    other: name
    for name, others in shipped_table("rounds", "columns.toml").items()
    for other in others
}
"""Other names of columns."""

INSTANCE = "instanceid"  # of Potato: the id of what people saw, an item or a task
WRITERS = ("domain", "target", "context", *GOLD_COLUMNS)
VALIDATORS = ("item_id", "annotator", "association", "label")
COLUMNS = {
    *WRITERS,
    *VALIDATORS,
    *(f"association_{n}" for n in NUMBERS),
    *(field for kind in ROUNDS.values() for field in kind.fields),
    "kind",
    "answer_id",
    "submitted_at",
    "updated_at",
    "seconds",
    "task_id",
    "consent",
    "date_order",
    "as_sent",
}
"""Every column that is read, in a table or in the answers of a form."""
CHOSEN = {"label", *LABELS, "flags", "consent", "decision", "merge_into", "reasons"}
"""Columns whose values people choose from a list."""
_JOINED = {name.replace("_", ""): NAMES.get(name, name) for name in (*COLUMNS, *NAMES)}
"""Columns by their names without underscores."""
_ABOUT = {"annotator", "answer_id", "submitted_at", "updated_at", "seconds", "date_order"}
"""What every table may say of an answer."""


_TURK = re.compile(r"\s*(?:input|answer)\.", re.IGNORECASE)
"""What Mechanical Turk puts before the name of a column."""


@lru_cache(maxsize=10_000)
def column(name: str, words: Words | None = None) -> str:
    """The column that a heading means, in any shipped language or in the words of a round.

    >>> column(" Worker ID"), column("anti-stereotype"), column("Label1"), column("note")
    ('annotator', 'anti_stereotype', 'label_1', 'note')
    >>> column("ID Anda"), column("تصنيف النص 1"), column("文法が正しくない？")
    ('annotator', 'label_1', 'flags.ungrammatical')
    >>> column("Answer.label_1"), column("Input.task_id"), column("WorkerId"), column("Input.x")
    ('label_1', 'task_id', 'annotator', 'x')
    """
    meaning = _canonical(name) or (words or shipped_words()).read("column", name)
    if not meaning and (turk := _TURK.match(name)):
        return column(name[turk.end() :], words)
    meaning = meaning or re.sub(r"[\s\-]+", "_", name.strip().casefold())
    return NAMES.get(meaning, meaning)


def choice(name: str, words: Words | None = None) -> tuple[str, str] | None:
    """The field and the value of a heading that has a column of its own for each value, or None.

    Mechanical Turk and Potato write such columns for radio buttons and check boxes; cells are true
    or false, or 1 or empty. Workbooks have them for flags and reasons; cells are yes or empty.

    >>> choice("Answer.label_1.anti-stereotype"), choice("flags.objective"), choice("label_1")
    (('label_1', 'anti-stereotype'), ('flags', 'objective'), None)
    >>> choice("Menyatakan fakta?"), choice("label_1:::unrelated")
    (('flags', 'objective'), ('label_1', 'unrelated'))
    """
    meant = (words or shipped_words()).read("column", name)
    field, *value = re.split(r":::|\.", meant or _TURK.sub("", name, count=1), maxsplit=1)
    field = column(field, words)
    return (field, value[0].strip()) if value and value[0].strip() and field in CHOSEN else None


def _canonical(name: str) -> str | None:
    """The column that a heading names by its own name or by one of ``NAMES``, or None."""
    return _JOINED.get(key(name))


def probable(
    missing: Iterable[str], names: Iterable[str], cells: Mapping[str, str] = MappingProxyType({})
) -> list[str]:
    """For columns that a table does not have, its headings that probably mean them.

    ``cells`` has the cell of each heading, if the table is that of a workbook.

    >>> probable(["label_1", "label_2"], ["lable_1", "e-mail", "answer 2"])
    ["'lable_1' for label_1"]
    """
    few = islice(names, 2000)  # comparing names takes long
    unknown = {column(name): name for name in few if column(name) not in COLUMNS}
    found = []
    for name in missing:
        tries = (get_close_matches(other, unknown, 1, 0.75) for other in _long_names(name))
        if near := next(filter(None, tries), None):
            head = unknown[near[0]]
            cell = f"(cell {cells[head]}) " if head in cells else ""
            found.append(f"{head!r} {cell}for {name}")
    return found


def _long_names(name: str) -> list[str]:
    """A column's own name, and its other names that are too long to be like others by chance."""
    return [name, *(other for other, own in NAMES.items() if own == name and len(other) >= 8)]


class Headings(NamedTuple):
    """Pairs of column and heading: the first heading of each column, and all others."""

    first: tuple[tuple[str, str], ...]
    others: tuple[tuple[str, str], ...]


def values(payload: Mapping[str, Any], headings: Headings) -> dict[str, Any]:
    r"""A row's values by column, with texts in NFC: the archive has them as they were typed.

    If two headings mean the same column, the first value that is not empty is used: a platform may
    give back the empty column of an exported table, and add one of its own.

    >>> values({"target": "nha\u0300"}, Headings((("target", "target"),), ())) == {"target": "nhà"}
    True
    """
    row = {meaning: composed(payload[name]) for meaning, name in headings.first}
    for meaning, name in headings.others:
        if row[meaning] is None or row[meaning] == "":
            row[meaning] = composed(payload[name])
    for meaning in CHOSEN & row.keys():  # some tools write every choice as a list
        if isinstance(row[meaning], list) and len(row[meaning]) == 1:
            row[meaning] = composed(row[meaning][0])
    return row


def composed(value: Any) -> Any:
    """A value in NFC, in which a letter and its marks are one character; only texts change."""
    return nfc(value) if isinstance(value, str) else value


def in_order(pairs: Iterable[tuple[str, str]], words: Words | None = None) -> Headings:
    """Pairs of column and heading, in the order of the table.

    A column's own name goes before other names, and these before words of a language, which a table
    may use for something else.
    """
    known = words or shipped_words()

    def rank(pair: tuple[str, str]) -> int:
        meaning, name = pair
        is_word = _canonical(name) is None and known.read("column", name) is not None
        return 2 if is_word else 1 - (key(name) == key(meaning))

    first: dict[str, str] = {}
    ordered = sorted(pairs, key=rank)
    others = [(mean, name) for mean, name in ordered if first.setdefault(mean, name) != name]
    return Headings(tuple(first.items()), tuple(others))


class _Layout(NamedTuple):
    """The headings of a file that are read.

    Attributes:
        fields: the headings of columns.
        choices: field, value and heading of the columns that are true or false.
        columns: the columns that they all mean.
    """

    fields: Headings
    choices: tuple[tuple[str, str, str], ...]
    columns: frozenset[str]


@lru_cache(maxsize=1000)
def _layout(names: tuple[str, ...], words: Words | None, of_tasks: bool) -> _Layout:
    """What each heading means, computed once for all rows of a table."""
    fields, choices = [], []
    for name in names:
        meaning = "task_id" if of_tasks and key(name) == INSTANCE else column(name, words)
        if meaning in COLUMNS:
            fields.append((meaning, name))
        elif pair := choice(name, words):
            choices.append((*pair, name))
    columns = frozenset(column for column, *_ in (*fields, *choices))
    return _Layout(in_order(fields, words), tuple(choices), columns)


def columns_of(
    names: Iterable[str], words: Words | None = None, *, of_tasks: bool = True
) -> frozenset[str]:
    """The columns that the headings of a file mean; unknown ones are left out.

    ``of_tasks`` says that the rows are answers to tasks: Potato's instance is the task then.
    """
    return _layout(tuple(names), words, of_tasks).columns


def file_row(
    payload: Mapping[str, Any], words: Words | None = None, *, of_tasks: bool = True
) -> dict[str, Any]:
    """The values of a file's row by column; unknown columns are left out.

    Args:
        payload: the row, by heading. A cell of a yes-column that is neither yes nor no stays there.
        words: the words of the row's round; None for those of the shipped languages.
        of_tasks: as for ``columns_of``.

    >>> file_row({"Answer.label_1.stereotype": "true", "Answer.label_1.unrelated": "false"})
    {'label_1': 'stereotype'}
    """
    layout = _layout(tuple(payload), words, of_tasks)
    row = values(payload, layout.fields)
    chosen: dict[str, list[str]] = {}
    for field, value, name in layout.choices:
        answer = answer_in(payload[name], words or shipped_words())
        if answer == YES:
            chosen.setdefault(field, []).append(value)
        elif answer not in ("", NO):
            row[f"{field}.{value}"] = answer
    for field, named in chosen.items():
        if not row.get(field):
            row[field] = "|".join(named)
    return row


def understood(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The values by column of a row that is not an answer to a task."""
    return file_row(payload, of_tasks=False)


def has_label_columns(columns: Collection[str]) -> bool:
    """Whether these are the columns of a validators' table, and not of a writers' table."""
    return not {"label", *LABELS}.isdisjoint(columns)


def missing_columns(columns: Collection[str]) -> list[str]:
    """The columns that a table of this kind needs and does not have."""
    if not has_label_columns(columns):
        kinds = [ITEMS[kind] for kind in CAT_KINDS] if "kind" in columns else [FILLED, FOLLOWED]
        optional = {name for kind in kinds for name in GOLD_COLUMNS if name not in kind.columns}
        return [name for name in WRITERS if name not in optional.union(columns)]
    needed = [name for name in VALIDATORS if name != "label"]
    if "label" not in columns:
        needed[-1:] = [f"association_{n}" for n in NUMBERS if f"label_{n}" in columns]
    return [name for name in needed if name not in columns]


def is_potato(names: Iterable[str]) -> bool:
    """Whether a table has columns as Potato writes them: a column for each value."""
    return any(":::" in name for name in names)


def used_columns(columns: Collection[str]) -> set[str]:
    """The columns that are read of a table of this kind, whether it has them or not.

    >>> sorted(used_columns(["label"]) - used_columns(["context"]))
    ['association', 'label']
    """
    if not has_label_columns(columns):
        return {*WRITERS, "item_id", "kind"} | _ABOUT
    ends = ("",) if "label" in columns else [f"_{n}" for n in NUMBERS]
    pairs = {f"{name}{end}" for name in ("association", "label") for end in ends}
    return {"item_id"} | pairs | _ABOUT


def masked(record: Mapping[str, Any], pseudonym: Callable[[str], str]) -> dict[str, Any]:
    """What the rejection of a row shows: known columns only, and the person's pseudonym.

    >>> masked({"Worker ID": "A1", "label": "x", "e-mail": "a@b"}, lambda person: "p-1")
    {'Worker ID': 'p-1', 'label': 'x'}
    """
    shown = {n: value for n, value in record.items() if column(n) in COLUMNS or choice(n)}
    return {
        name: pseudonym(str(value)) if value and column(name) == "annotator" else value
        for name, value in shown.items()
    }


def read(event: Event | Sent, *, round: str, where: str) -> Iterator[ParsedAnswer]:
    """A writer's item, or a validator's labels.

    Raises:
        UnusableError: the row is not usable.
    """
    row, columns = understood(event.payload), columns_of(event.payload, of_tasks=False)
    if event.payload.get(""):
        raise UnusableError("bad_value", "the row has more cells than the table has columns")
    sent, version = time_of(row, "submitted_at"), time_of(row, "updated_at")
    place = Place(sent, round, event.position, 0)
    if wrong := problems(row):
        raise UnusableError(*wrong[0])
    if has_label_columns(columns):
        yield from _labels(event, row, _ends(columns), place, version or sent, where)
    else:
        yield _written(event, row, place, version or sent, where)


def _written(
    event: Event | Sent, row: dict[str, Any], place: Place, version: str, where: str
) -> Written:
    context = need(row, "context")
    default = FILLED if gap_in(context) else kind_of(context)
    name = str(row.get("kind") or "").strip().casefold() or default.name
    kind = next((ITEMS[kind] for kind in CAT_KINDS if kind == name), None)
    if kind is None:
        raise UnusableError("bad_value", f"kind is neither of {', '.join(CAT_KINDS)}")
    domain, target = need_id(row, "domain"), need_target(row)
    options = options_of(kind, context, target, [need(row, n).strip() for n in kind.columns])
    texts = [option.sentence for option in options]
    item_id = need_id(row, "item_id") if text_of(row, "item_id") else ""
    return Written(
        place=place,
        where=where,
        record=event.payload,
        id=item_id or stable_id("item", kind.name, domain, target, context, *texts),
        kind=kind.name,
        domain=domain,
        target=target,
        context=context.strip(),
        options=options,
        person=annotator_of(row) or None,
        seconds=seconds_of(row),
        version=version,
        source=event.source,
    )


def options_of(
    kind: ItemKind, context: str, target: str, texts: Iterable[str]
) -> tuple[Option, ...]:
    """The associations that a writer wrote, in the order of the kind's roles."""
    sentences = [as_sentence(kind, context, target, text) for text in texts]
    pairs = zip(sentences, kind.roles, strict=True)
    return tuple(Option(None, sentence, role, None) for sentence, role in pairs)


def kind_of(context: str) -> ItemKind:
    """The kind of an item of which only the context is known."""
    return FILLED if BLANK in context else FOLLOWED


def as_sentence(kind: ItemKind, context: str, target: str, text: str) -> str:
    """The sentence that an association of a kind is; words that fill a gap are completed."""
    return whole_sentence(context, target, text) if kind.has_gap else text


ENDS = tuple(".!?。！？؟।…")
REPEATED = 12  # a filling word does not share this many characters with the context by chance


def whole_sentence(context: str, target: str, text: str) -> str:
    """The sentence that a fill word makes; a text that is a sentence stays as it is."""
    plain = same_text(text)
    frame = [same_text(part) for part in context.split(BLANK)]
    is_sentence = (
        filler(context, text) is not None
        or plain.endswith(ENDS)
        or (same_text(target) in plain and same_text(target) in same_text(context))
        or _repeats(frame, plain)
    )
    return text if is_sentence else fill(context, text)


def _repeats(frame: Iterable[str], text: str) -> bool:
    """Whether a text repeats ``REPEATED`` characters in a row of a part of the context."""
    runs = {text[i : i + REPEATED] for i in range(len(text) - REPEATED + 1)}
    return any(
        part[i : i + REPEATED] in runs for part in frame for i in range(len(part) - REPEATED + 1)
    )


@lru_cache(maxsize=1000)
def _ends(columns: frozenset[str]) -> tuple[str, ...]:
    """The endings of the names of a row's pairs of columns (association and label)."""
    if "label" in columns:
        return ("",)
    return tuple(f"_{n}" for n in NUMBERS if {f"label_{n}", f"association_{n}"} & columns)


def _labels(
    event: Event | Sent,
    row: dict[str, Any],
    ends: Iterable[str],
    place: Place,
    version: str,
    where: str,
) -> Iterator[ParsedAnswer]:
    """One label, or the labels of all the item's associations (``association_1``, ``label_1``, …).

    Each label is an answer of its own, because a table may have each in a row of its own.
    """
    item, person = need_id(row, "item_id"), need_id(row, "annotator")
    answer = text_of(row, "answer_id")
    sent, round, position, _ = place
    for index, end in enumerate(ends):
        try:
            at = end[1:] if f"association{end}" not in row and is_potato(event.payload) else ""
            association = f"{NTH}{at}" if at else need(row, f"association{end}").strip()
            value = need_label(row, f"label{end}")
            # An answer without an id is identified by its content: it stays the same if the table
            # is exported again with more columns or in another order.
            identity = (answer,) if answer else (person, value, sent)
            yield Given(
                place=Place(sent, round, position, index),
                where=where,
                record=event.payload,
                id=stable_id("label", round, item, association, *identity),
                item=item,
                marks=(Mark(association, value),),
                person=person,
                seconds=seconds_of(row),
                version=version,
                source=event.source,
            )
        except UnusableError as problem:
            yield Refused(
                where=where,
                record=event.payload,
                code=problem.code,
                detail=problem.detail,
                source=event.source,
                person=person,
            )


def text_of(row: Mapping[str, Any], name: str) -> str:
    """A field as text, without surrounding spaces; empty if it is missing."""
    value = row.get(name)
    return "" if value is None else str(value).strip()


def annotator_of(row: Mapping[str, Any]) -> str:
    """The person who answered; empty if the row does not name one.

    Raises:
        UnusableError: the name is too long.
    """
    return fitting("annotator", text_of(row, "annotator"))


def seconds_of(row: Mapping[str, Any]) -> float | None:
    """How many seconds an answer took; None if that is not known.

    Raises:
        UnusableError: it is not a duration.
    """
    value = row.get("seconds")
    text = "" if value is None else str(value).strip()
    return _duration(text) if text else None


LONGEST_TIME = 1e8  # about three years, in seconds: a page can stay open for long


@lru_cache(maxsize=10_000)
def _duration(text: str) -> float:
    hours, minutes, rest = 0, 0, text
    if clock := re.fullmatch(r"(\d{1,4}):([0-5]\d):([0-5]\d(?:[.,]\d+)?)", text, re.ASCII):
        hours, minutes, rest = int(clock[1]), int(clock[2]), clock[3]
    try:
        seconds = float(rest.replace(",", ".")) + 60 * minutes + 3600 * hours
    except ValueError:
        raise UnusableError("bad_value", "seconds is not a number of seconds") from None
    if not 0 <= seconds < LONGEST_TIME:
        raise UnusableError("bad_value", "seconds is not a duration")
    return seconds


def time_of(row: Mapping[str, Any], name: str) -> str:
    """A field that is a time, as a ``Timestamp``; empty if it is missing.

    The row's ``date_order`` says how a date such as 3/4/2026 is read.

    Raises:
        UnusableError: it is not a time, or could be two days.
    """
    text = text_of(row, name)
    if not text:
        return ""
    said = text_of(row, "date_order").casefold() if "date_order" in row else ""
    try:
        return read_time(text, next((order for order in ORDERS if order == said), None))
    except ValueError as error:
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise UnusableError(
            "bad_value", f"{name} is {shown!r}: {error}; write it as 2026-03-14T10:22:05Z"
        ) from None


SHOWN = 60  # characters of a cell in a message


def flag_words(text: str, words: Words) -> Iterator[str]:
    """The words for flags in a cell; a part of it that is not one is split at its spaces."""
    for part in filter(None, map(str.strip, re.split(r"[|,;،؛、\n]+", text.casefold()))):
        yield from [part] if words.read("flag", part) else part.split()


def answer_in(cell: Any, words: Words) -> str:
    """What a cell of a yes-column says: yes, no, its text if it is neither, or nothing.

    >>> from curation.formats.table_words import shipped_words
    >>> [answer_in(cell, shipped_words()) for cell in (" Ya", "✗", None, "maybe ")]
    ['yes', 'no', '', 'maybe']
    """
    text = "" if cell is None else str(cell).strip()
    meaning = words.read("answer", text)
    return meaning if meaning in (YES, NO) else text


def unread(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of yes-columns that are neither yes nor no, by column.

    >>> unread({"task_id": "t-1", "flags": "objective", "flags.ungrammatical": "maybe"})
    {'flags.ungrammatical': 'maybe'}
    """
    return {name: str(text) for name, text in row.items() if "." in name}


def problems(row: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """The reason code and a sentence for each cell that is neither yes nor no."""
    return tuple(
        ("bad_value", f"{name!r} is {_short(text)!r}, which is neither yes nor no")
        for name, text in unread(row).items()
    )


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
