"""Checks of a whole table before any of it is kept: its columns, tasks, dates and people."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from curation.files import CurationError
from curation.formats.table_words import Words, read_label
from curation.formats.tables import list_columns
from curation.kinds import CAT_KINDS, ITEMS, LABELS, ROUNDS, RoundKindName
from curation.rounds.answers import forms, rows
from curation.text.times import ORDERS, Order, order_of, spreadsheet_day
from curation.text.wording import some

Row = dict[str, Any]
SHOWN = 10  # dates that an error names
NO_RATERS = {"gold", "gold_label", "intended", "intent", "majority"}  # nobody's own labels
NO_CELLS: Mapping[str, str] = MappingProxyType({})


def check_columns(
    table: Sequence[Mapping[str, Any]], where: str, cells: Mapping[str, str] = NO_CELLS
) -> str:
    """Check the columns of a writers' or a validators' table.

    Args:
        table: its rows, by heading.
        where: the file, for messages.
        cells: the cell of each heading, if the table is that of a workbook.

    Returns:
        A warning if the table has only some of the columns with labels; empty if it has all.

    Raises:
        CurationError: a column is missing that every such table needs.
    """
    names = _headings(table)
    refuse_full_json(names, where)
    columns = rows.columns_of(names, of_tasks=False)
    missing = rows.missing_columns(columns)
    unnamed = [name.replace("label", "association") for name in LABELS if name in columns]
    if unnamed and missing == unnamed and rows.is_potato(names):
        return (
            f"{where}: no column {', '.join(unnamed)}; label_1 is taken for the first text of each "
            "item in items.jsonl, label_2 for the second, and so on"
        )
    if missing:
        _refuse_raters(table, names, columns, where)
        raise CurationError(
            f"{where}: no column {', '.join(missing)}; it has {list_columns(names)}"
            + _did_you_mean([*missing, *rows.VALIDATORS, *LABELS], names, cells),
            f"a writers' table has {', '.join(rows.WRITERS)}; a validators' table has "
            f"{', '.join(rows.VALIDATORS)}, or association_1, label_1 to "
            f"association_{len(LABELS)}, {LABELS[-1]}; "
            "if each rater has a column, see «A column for each rater» in docs/tables.md",
        )
    if not rows.has_label_columns(columns) or "label" in columns:
        return ""
    return _incomplete(_missing(LABELS, columns), names, where, cells)


def _missing(needed: Sequence[str], columns: frozenset[str] | set[str]) -> list[str]:
    """The columns that answers need and a table lacks; labels can be as many as some kind has."""
    sizes = {ITEMS[kind].size for kind in CAT_KINDS} if needed == LABELS else {len(needed)}
    enough = [needed[:size] for size in sorted(sizes)]
    if any(columns.issuperset(each) for each in enough):
        return []
    return [name for name in needed if name not in columns]


def refuse_full_json(names: Collection[str], where: str) -> None:
    """Refuse Label Studio's full JSON, whose answers are nested.

    Raises:
        CurationError: these are its columns.
    """
    if {"annotations", "data", "predictions"} <= {*names}:
        raise CurationError(
            f"{where}: is Label Studio's full JSON",
            "export it from Label Studio as JSON_MIN or CSV, and import that file",
        )


def _refuse_raters(
    table: Sequence[Mapping[str, Any]], names: Iterable[str], columns: Collection[str], where: str
) -> None:
    """Refuse a table that seems to have a column for each rater, and say how it is read.

    Raises:
        CurationError: columns that are not used have labels and nothing else.
    """
    if "annotator" in columns:
        return
    # label_1, label_2 and so on are one person's labels of several texts, unless each row has one.
    others = NO_RATERS | ({"label"} if "association" in columns else {"label", *LABELS})
    raters = []
    for name in names:
        cells = {text for row in table if (text := rows.text_of(row, name))}
        if rows.column(name) not in others and cells and all(map(read_label, cells)):
            raters.append(name)
    lacking = [name for name in ("item_id", "association") if name not in columns]
    if not raters or (lacking and len(raters) < 2):
        return
    path, lines = Path(where.partition(" sheet ")[0]), json.dumps(raters, ensure_ascii=False)
    more = f"; and name the columns {', '.join(lacking)}" if lacking else ""
    raise CurationError(
        f"{where}: {list_columns(raters)} have labels, and no column says who gave them",
        f"if each is the column of a rater, write a file {path.stem}.toml with the lines files = "
        f"[{json.dumps(path.name, ensure_ascii=False)}] and raters = {lines}, and import that"
        f"{more}",
    )


def check_answers(
    table: Sequence[Mapping[str, Any]],
    kind: RoundKindName,
    where: str,
    words: Words | None = None,
    cells: Mapping[str, str] = NO_CELLS,
) -> str:
    """Check that a table of answers to tasks has the columns of its round's answers.

    Args:
        table: its rows, by heading.
        kind: the kind of the round.
        where: the file, for messages.
        words: the words of the round's own texts; None for those of the shipped languages.
        cells: the cell of each heading, if the table is that of a workbook.

    Returns:
        A warning if the table has only some of these columns; empty if it has all.

    Raises:
        CurationError: it has none of them, and it is not a table of consent alone.
    """
    names = _headings(table)
    columns = set(rows.columns_of(names, words))
    needed, writes = ROUNDS[kind].needed, ROUNDS[kind].writes
    if writes and "context" in columns:
        columns.add(writes.context)
    missing = _missing(needed, columns)
    if missing != list(needed):
        return _incomplete(missing, names, where, cells)
    if _is_consent(table, names, words):
        return ""
    of_turk = f"Answer.{needed[0]}"
    if needed[0] in rows.CHOSEN:
        of_turk += f" or, for each value, {of_turk}.VALUE"
    raise CurationError(
        f"{where}: no column with answers to a round of {kind}; it has {list_columns(names)}"
        + _did_you_mean(needed, names, cells),
        f"name the columns {', '.join(needed)}; columns of Mechanical Turk may be {of_turk}",
    )


def unused_columns(
    table: Sequence[Mapping[str, Any]],
    where: str,
    kind: RoundKindName | None = None,
    words: Words | None = None,
    cells: Mapping[str, str] = NO_CELLS,
) -> str:
    """A note of the columns with data that are kept and not used; empty if there are none.

    Args:
        table: its rows, by heading.
        where: the file, for messages.
        kind: the kind of the round, if these are answers to its tasks.
        words: the words of the round's own texts; None for those of the shipped languages.
        cells: the cell of each heading, if the table is that of a workbook.
    """
    names = _headings(table)
    has = rows.columns_of(names, words, of_tasks=kind is not None)
    if kind:
        used = forms.used_columns(kind)
    else:  # JSON may have rows of writers and of validators
        shapes = {rows.columns_of(row, of_tasks=False) for row in table}
        used = set().union(*map(rows.used_columns, shapes))
    own = used | forms.OF_TASKS if kind else used
    unused = [
        name
        for name in names
        if rows.columns_of([name], words, of_tasks=kind is not None).isdisjoint(own)
        and rows.column(name, words) not in own
    ]
    if not unused:
        return ""
    near = _did_you_mean(sorted(used - has), unused, cells)
    return f"{where}: columns that are not used: {list_columns(unused)}{near}"


def filled_in(row: Mapping[str, Any], kind: RoundKindName) -> set[str]:
    """The columns with an answer in a row, given by column."""
    names = (*ROUNDS[kind].fields, *rows.unread(row))
    return {name for name in names if rows.text_of(row, name)}


def check_tasks(
    table: Sequence[Row],
    read: Callable[[Mapping[str, Any]], Row],
    kind: RoundKindName,
    *,
    where: str,
    numbers: Sequence[int] = (),
) -> None:
    """Check that no column of answers has slipped down a row.

    Then the last answer is in a row without a task, and the first task has no answer. All answers
    in between would count for other tasks.

    Args:
        table: its rows, by heading.
        read: gives the values of a row by column.
        kind: the kind of the round.
        where: the file, for messages.
        numbers: the number of each row in its file; by default they are counted from 1.

    Raises:
        CurationError: a column has probably slipped.
    """
    first: set[str] | None = None
    for number, heads in enumerate(table):
        row = read(heads)
        filled = filled_in(row, kind)
        if rows.text_of(row, "task_id"):
            first = filled if first is None else first
        elif first is not None and filled and not filled & first:
            place = f"{where} row {numbers[number] if numbers else number + 1}"
            raise CurationError(
                f"{place}: {', '.join(sorted(filled))} without a task_id, and the first task has "
                "none; a column has probably slipped down",
                "compare the table with the one that went out, and move the cells back to their "
                "tasks; if the row is a note, delete it",
            )


def settle_dates(
    table: Sequence[Row],
    read: Callable[[Mapping[str, Any]], Row],
    *,
    order: Order | None,
    where: str,
    numbers: Sequence[int] = (),
) -> list[Row]:
    """Say how dates such as 3/4/2026 are read, in the column ``date_order`` of their rows.

    The other dates of the table settle it: 14/3/2026 has the day first. A row that has the column
    already stays as it is.

    Args:
        table: its rows, by heading.
        read: gives the values of a row by column.
        order: what comes first in such a date, if you know it.
        where: the file, for messages.
        numbers: the number of each row in its file; by default they are counted from 1.

    Raises:
        CurationError: a date could be two days and nothing settles it, dates contradict each other
            or ``order``, or a spreadsheet wrote a date as a number.
    """
    seen: dict[str, list[str]] = {}  # the dates of each order, with their places
    unclear: list[int] = []
    for number, heads in enumerate(table):
        row = read(heads)
        if rows.text_of(row, "date_order"):
            continue
        for name in ("submitted_at", "updated_at"):
            text = rows.text_of(row, name)
            place = f"row {numbers[number] if numbers else number + 1}, {name} {text!r}"
            if day := spreadsheet_day(text):
                raise CurationError(
                    f"{where} {place}: this is a date as a number, probably {day}",
                    "import the workbook (.xlsx) itself, or show the column as dates before you "
                    "save the table as CSV",
                )
            if order_said := order_of(text):
                seen.setdefault(order_said, []).append(place)
                if order_said == "either" and number not in unclear[-1:]:
                    unclear.append(number)
    said = [known for known in ORDERS if known in seen]
    if len(said) > 1:
        texts = "; ".join(f"{some(seen[known], SHOWN)} ({known})" for known in said)
        raise CurationError(
            f"{where}: dates are written in two orders: {texts}",
            f"add a column date_order with {' or '.join(ORDERS)} in each row, or write all times "
            "as 2026-03-14T10:22:05Z",
        )
    if order is not None and said and order not in said:
        other = said[0]
        raise CurationError(
            f"{where} {seen[other][0]}: this date has the {other.removesuffix('-first')} first, "
            f"and --dates is {order}",
            f"leave out --dates, or use --dates {other}",
        )
    settled = order or next(iter(said), None)
    if unclear and settled is None:
        raise CurationError(
            f"{where} {seen['either'][0]}: this could be two days, and no other row settles which",
            f"say it with {' or '.join(f'--dates {known}' for known in ORDERS)}, or write times "
            "as 2026-03-14T10:22:05Z",
        )
    result = list(table)
    for number in unclear:
        result[number] = {**table[number], "date_order": settled}
    return result


def settle_person(
    table: Sequence[Row], read: Callable[[Mapping[str, Any]], Row]
) -> tuple[list[Row], int]:
    """Say who answered, in the column ``annotator`` of rows that do not, if it can be one person.

    People often type their id into one row only. The table is one person's if it names one person
    and has no task twice; otherwise it stays as it is.

    Args:
        table: its rows, by heading, without those in which nobody wrote anything.
        read: gives the values of a row by column.

    Returns:
        The rows, and how many of them did not have the person's id.
    """
    values = [read(row) for row in table]
    ids = {rows.text_of(row, "annotator"): None for row in values}
    named = [id for id in ids if id]
    tasks = Counter(rows.text_of(row, "task_id") for row in values)
    tasks.pop("", None)
    lacking = [n for n, row in enumerate(values) if not rows.text_of(row, "annotator")]
    if len(named) != 1 or not lacking or max(tasks.values(), default=0) > 1:
        return list(table), 0
    result = list(table)
    for number in lacking:
        result[number] = {**table[number], "annotator": named[0]}
    return result, len(lacking)


def _headings(table: Iterable[Mapping[str, Any]]) -> list[str]:
    return list({name: None for row in table for name in row if name})


def _is_consent(
    table: Iterable[Mapping[str, Any]], names: Iterable[str], words: Words | None
) -> bool:
    """Whether every row says consent, and no column or task could be about an answer."""
    read = [rows.file_row(row, words) for row in table]
    known = all(rows.columns_of([name], words) for name in names)
    return all(rows.text_of(row, "consent") for row in read) and (
        known or not any(rows.text_of(row, "task_id") for row in read)
    )


def _incomplete(
    missing: Sequence[str], names: Sequence[str], where: str, cells: Mapping[str, str]
) -> str:
    if not missing:
        return ""
    return (
        f"{where}: no column {', '.join(missing)}, so every answer in it is incomplete"
        + _did_you_mean(missing, names, cells)
    )


def _did_you_mean(missing: Iterable[str], names: Iterable[str], cells: Mapping[str, str]) -> str:
    near = rows.probable(missing, names, cells)
    return f". Probably {', '.join(near)}" if near else ""
