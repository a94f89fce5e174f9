"""A whole table is checked before any of it is kept: its columns, and the order of its dates."""

from typing import Any

import pytest

from curation.kinds import RoundKindName
from curation.rounds.answers.rows import file_row, understood
from curation.rounds.answers.table_checks import (
    check_answers,
    check_columns,
    check_tasks,
    settle_dates,
    settle_person,
)
from support.expected import fails

Row = dict[str, Any]
WHO = {"task_id": "t", "annotator": "v"}


def check_refused(check: Any, *given: Any, says: Any = (), fix: str = "", **how: Any) -> None:
    with fails("answers.csv", *([says] if isinstance(says, str) else says), fix=fix):
        check(*given, **how)


# --- columns


@pytest.mark.parametrize(
    "names",
    [
        ("label_1", "label_2", "label_3"),
        ("Label1", "label 2", "LABEL_3"),
        ("Answer.label_1", "Answer.label-2", "Answer.Label3"),
        tuple(f"Answer.label_{n}.{v}" for n in (1, 2, 3) for v in ("stereotype", "unrelated")),
    ],
)
def test_names_of_the_columns_with_labels(names: tuple[str, ...]) -> None:
    assert check_answers([WHO | dict.fromkeys(names, "")], "validation", "answers.csv") == ""


@pytest.mark.parametrize(
    ("kind", "names", "expected"),
    [
        ("validation", ("lable_1", "Q2"), "'lable_1' for label_1"),
        ("review", ("decisions",), "'decisions' for decision"),
        ("intersentence", ("stereotypes",), "'stereotypes' for stereotype"),
        ("intrasentence", ("label_1",), ""),
    ],
)
def test_a_table_without_answers_is_an_error(
    kind: RoundKindName, names: tuple[str, ...], expected: str
) -> None:
    says = (f"no column with answers to a round of {kind}", expected)
    says += (f"it has task_id, annotator, {', '.join(names)}",)
    table = [WHO | dict.fromkeys(names, "x")]
    check_refused(check_answers, table, kind, "answers.csv", says=says)


def test_a_table_with_some_of_the_columns_gives_a_warning_with_names() -> None:
    table = [WHO | {"label_1": "unrelated", "label_2": "related", "lable_3": "stereotype"}]
    warning = check_answers(table, "validation", "answers.csv")
    assert warning == (
        "answers.csv: no column label_3, so every answer in it is incomplete. "
        "Probably 'lable_3' for label_3"
    )
    table = [{"item_id": "i", "annotator": "v", "association1": "a", "Label1": "unrelated"}]
    assert "no column label_2, label_3" in check_columns(table, "answers.csv")


def test_a_context_is_a_template_and_consent_alone_is_not_an_answer() -> None:
    words = dict.fromkeys(("context", "stereotype", "anti_stereotype", "unrelated"), "x")
    assert check_answers([WHO | words], "intrasentence", "answers.csv") == ""
    consent = {"task_id": "", "annotator": "v", "consent": "1"}
    for row in (consent, WHO | {"consent": "1"}):
        assert check_answers([row], "validation", "answers.csv") == ""
    for table in ([consent, WHO], [WHO | {"consent": "1", "Lbl_1": "x"}]):
        check_refused(check_answers, table, "validation", "answers.csv")


def test_the_error_on_a_table_of_answers_names_probable_columns() -> None:
    table = [{"item_id": "i", "annotator": "v", "asociation": "a", "lable": "unrelated"}]
    names = "'asociation' for association, 'lable' for label"
    says = ("it has item_id, annotator, asociation, lable", names)
    check_refused(check_columns, table, "answers.csv", says=says)


# --- Mechanical Turk's columns of true and false


def test_a_column_for_each_value_is_read() -> None:
    row = file_row({
        "Input.task_id": "t", "WorkerId": "v",
        "Answer.label_1.stereotype": "true", "Answer.label_1.anti-stereotype": "false",
        "Answer.label_2.stereotype": "FALSE", "Answer.label_2.anti-stereotype": "TRUE",
        "Answer.label_3.stereotype": True, "Answer.label_3.unrelated": True,
        "Answer.flags.objective": "true", "Answer.flags.ungrammatical": "true",
        "Answer.consent.1-3fa9c2": "on", "Answer.other.x": "true",
    })  # fmt: skip
    assert row == {
        "task_id": "t", "annotator": "v", "label_1": "stereotype", "label_2": "anti-stereotype",
        "label_3": "stereotype|unrelated",  # two answers to one question: not a label
        "flags": "objective|ungrammatical", "consent": "1-3fa9c2",
    }  # fmt: skip


# --- dates


def dated(*times: str) -> list[Row]:
    return [{"task_id": "t", "Timestamp": time} for time in times]


def settled_dates(table: list[Row], order: Any = None, **how: Any) -> list[Row]:
    return settle_dates(table, understood, order=order, where="answers.csv", **how)


@pytest.mark.parametrize(
    ("times", "order", "expected"),
    [
        (("3/4/2026 10:22", "14/3/2026 9:00"), None, ["day-first", None]),
        (("3/14/2026 10:22", "3/4/2026 9:00"), None, [None, "month-first"]),
        (("3/4/2026 10:22",), "day-first", ["day-first"]),
        (("3/3/2026 10:22", "2026-03-04", "4.3.2026", ""), None, [None] * 4),
    ],
)
def test_a_date_settles_the_others(
    times: tuple[str, ...], order: Any, expected: list[str | None]
) -> None:
    table = dated(*times)
    settled = settled_dates(table, order)
    assert [row.get("date_order") for row in settled] == expected
    assert [row["Timestamp"] for row in settled] == list(times)
    assert table == dated(*times)
    assert settled_dates(settled) == settled


@pytest.mark.parametrize(
    ("times", "order", "message"),
    [
        (("3/3/2026", "3/4/2026 10:22"), None, "row 2, submitted_at '3/4/2026 10:22': this could"),
        (("3/14/2026", "14/3/2026"), None, "dates are written in two orders: row 2"),
        (("3/14/2026", "14/3/2026"), "day-first", "dates are written in two orders: row 2"),
        (("3/14/2026", "3/4/2026"), "day-first", "row 1, submitted_at '3/14/2026': this date has"),
        (
            ("", "46095,43"),
            None,
            ("row 2, submitted_at '46095,43': ", "date as a number, probably 2026-03-14 10:19:12"),
        ),
    ],
)
def test_dates_that_nothing_settles(times: tuple[str, ...], order: Any, message: Any) -> None:
    check_refused(settled_dates, dated(*times), order, says=message)


def test_dates_in_two_orders_have_one_way_out_whatever_the_option_says() -> None:
    table = dated("14/3/2026", "3/15/2026", "1/2/2026", "16/3/2026")
    errors = set()
    for order in (None, "day-first", "month-first"):
        with fails() as caught:
            settled_dates(table, order)
        errors.add((caught.value.what, caught.value.fix))
    ((what, fix),) = errors
    assert what == (
        "answers.csv: dates are written in two orders: row 1, submitted_at '14/3/2026', row 4, "
        "submitted_at '16/3/2026' (day-first); row 2, submitted_at '3/15/2026' (month-first)"
    )
    assert "--dates" not in fix
    assert "add a column date_order with day-first or month-first in each row" in fix
    said = ("day-first", "month-first", "month-first", "day-first")
    table = [row | {"date_order": order} for row, order in zip(table, said, strict=True)]
    assert settled_dates(table) == settled_dates(table, "day-first") == table


def test_rows_and_cells_of_a_workbook_are_named() -> None:
    table = dated("3/3/2026", "46095.43")
    check_refused(settled_dates, table, numbers=[4, 7], says="row 7, submitted_at")
    names = {"task_id": "A4", "annotator": "B4", "lable_1": "C4"}
    given = ([dict.fromkeys(names, "x")], "validation", "answers.csv")
    says = "Probably 'lable_1' (cell C4) for label_1"
    check_refused(check_answers, *given, cells=names, says=says)


def test_other_numbers_are_not_dates() -> None:
    table = dated("1773483725", "20260314", "999", "")
    assert settled_dates(table) == table


def test_rows_without_an_id_are_those_of_the_only_person() -> None:
    def settled(*rows: tuple[str, str]) -> tuple[list[str], int]:
        table = [{"task_id": task, "ID Anda": person, "label_1": "x"} for task, person in rows]
        result, count = settle_person(table, file_row)
        return [str(file_row(row)["annotator"]) for row in result], count

    assert settled(("t-1", ""), ("t-2", "Ann "), ("", "")) == (["Ann", "Ann ", "Ann"], 2)
    for unclear in (
        [("t-1", "Ann"), ("t-2", "Ben"), ("t-3", "")],  # two people
        [("t-1", "Ann"), ("t-1", "")],  # one task twice: probably two people
        [("t-1", ""), ("t-2", "")],
        [("t-1", "Ann"), ("t-2", "Ann")],
    ):
        assert settled(*unclear) == ([person for _, person in unclear], 0)


def test_a_column_that_slipped_down_a_row_is_an_error() -> None:
    def checked(*rows: tuple[str, str, str]) -> None:
        names = ("task_id", "Label teks 1", "label_2")
        table = [dict(zip(names, row, strict=True)) for row in rows]
        check_tasks(table, file_row, "validation", where="answers.csv", numbers=[2, 3, 4])

    for slipped in (
        [("t-1", "", "x"), ("t-2", "x", "x"), ("", "x", "")],
        [("t-1", "", ""), ("t-2", "x", "x"), ("", "x", "x")],
    ):
        says = ("answers.csv row 4: label_1", "a column has probably slipped down")
        check_refused(checked, *slipped, says=says)
    checked(("t-1", "x", "x"), ("t-2", "", ""), ("", "x", ""))  # refused alone
    checked(("t-1", "", ""), ("t-2", "x", "x"), ("", "", ""))  # skipped
    checked(("", "x", "x"))
