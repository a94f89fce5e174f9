"""Which tables are out, from the ledger and the answers; by hand."""

from typing import Any

from curation.records import Answer, Dealing
from curation.rounds.held import ERASED, holdings

Out = dict[str, dict[str, int]]


def line(table: str, holder: str = "", action: Any = "deal", came: Any = (), **n: int) -> Dealing:
    """A line of the ledger: a table of ``n`` copies of tasks, and the answers that came before."""
    about: Any = {"table": table, "holder": holder or table, "at": "2026-03-14T00:00:00.000Z"}
    return Dealing(action=action, tasks=n, came=dict(came), **about)


def answers(*pairs: str, code: str | None = None) -> list[Answer]:
    """Answers, each written as "person task"."""
    return [Answer(task=p.split()[1], annotator=p.split()[0], code=code) for p in pairs]


def out(lines: list[Dealing], came: list[Answer], *gone: str) -> Out:
    return {h.table: h.tasks for h in holdings(lines, came, out=gone) if h.tasks}


def test_a_person_holds_a_task_until_any_answer_to_it_comes() -> None:
    lines = [line("1", "p", a=1, b=1, c=1), line("2", "q", a=1)]
    came = [*answers("p a"), *answers("p b", code="too_fast"), *answers("q a", code="skipped")]
    assert out(lines, []) == {"1": {"a": 1, "b": 1, "c": 1}, "2": {"a": 1}}
    assert out(lines, came) == {"1": {"c": 1}}


def test_what_was_recalled_is_not_held_and_a_late_answer_takes_nothing_from_others() -> None:
    lines = [line("1", "p", a=1, b=1), line("1", "p", action="recall", a=1), line("2", a=1)]
    assert out(lines, []) == {"1": {"b": 1}, "2": {"a": 1}}
    assert out(lines, answers("p a")) == {"1": {"b": 1}, "2": {"a": 1}}


def test_people_who_are_out_hold_nothing() -> None:
    lines = [line("1", "p", a=1), line("2", "q", a=1), line("3", ERASED, a=1)]
    assert out(lines, [], "p") == {"2": {"a": 1}}


def test_a_sheet_of_refused_answers_waits_until_each_is_corrected_or_accepted() -> None:
    dealt = line("1", "p", a=1, b=1, c=1)
    sheet = line("s", "p", action="correct", a=1, b=1)
    sheet = sheet.model_copy(update={"refused": {"a": "r/raw/1", "b": "r/raw/2"}})
    came = answers("p a", "p b", code="no_consent")

    def sheets(lines: list[Dealing], *refused: str, gone: Any = ()) -> Out:
        found = holdings(lines, came, out=gone, refused=refused)
        assert {h.table for h in found if h.corrects} <= {"s"}
        return {h.table: h.tasks for h in found if h.tasks}

    lines = [dealt, sheet]
    assert sheets(lines, "r/raw/1", "r/raw/2") == {"1": {"c": 1}, "s": {"a": 1, "b": 1}}
    assert sheets(lines, "r/raw/2", "r/raw/3") == {"1": {"c": 1}, "s": {"b": 1}}
    assert sheets(lines) == {"1": {"c": 1}}
    assert sheets(lines, "r/raw/1", gone=("p",)) == {}
    recalled = [*lines, line("s", "p", action="recall", a=1)]
    assert sheets(recalled, "r/raw/1", "r/raw/2") == {"1": {"c": 1}, "s": {"b": 1}}
    erased = [each.model_copy(update={"holder": ERASED}) for each in lines]
    assert sheets(erased, "r/raw/1") == {}


def test_a_table_for_anybody_waits_for_a_number_of_answers() -> None:
    lines = [line("1", a=3, b=3), line("2", a=1)]
    came = answers("p a", "q a", "p b")
    assert out(lines, came) == {"1": {"a": 1, "b": 2}, "2": {"a": 1}}
    assert out(lines, [*came, *answers("r a", "s a", "t a")]) == {"1": {"b": 2}}
    # Somebody who skipped a task gave a copy back; a later answer in the same copy is no other.
    skipped = answers("r b", code="skipped")
    assert out(lines, [*came, *skipped])["1"] == {"a": 1, "b": 1}
    assert out(lines, [*came, *skipped, *answers("r b")])["1"] == {"a": 1, "b": 1}


def test_answers_that_came_before_the_first_table_are_none_of_it() -> None:
    lines = [line("1", a=2, came={"a": 3})]
    came = answers("p a", "q a", "r a")
    assert out(lines, came) == {"1": {"a": 2}}
    assert out(lines, [*came, *answers("s a")]) == {"1": {"a": 1}}


def test_a_table_that_comes_back_under_another_id_is_no_longer_out() -> None:
    lines = [line("1", "p", a=1, b=1, c=1), line("2", "q", b=1, d=1)]
    # The stranger's answers share three tasks with the first table, and one with the second.
    assert out(lines, answers("stranger a", "stranger b", "stranger c")) == {"2": {"b": 1, "d": 1}}
    # The first table's holder has begun: it is not the stranger's.
    came = answers("p a", "stranger b", "stranger c")
    assert out(lines, came) == {"1": {"b": 1, "c": 1}, "2": {"d": 1}}
    # Somebody with a table of their own is no stranger: their other answers are in addition.
    assert out(lines, answers("q b", "q a")) == {"1": {"a": 1, "b": 1, "c": 1}, "2": {"d": 1}}
