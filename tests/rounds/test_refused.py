"""Which refused answers go back to people; their sheet is read back as it was."""

from pathlib import Path
from typing import Any

import pytest

from curation.formats.table_words import languages, round_words, shipped_texts
from curation.reasons import REASONS
from curation.records import Answer, Round, Shown, Task
from curation.rounds import refused as module
from curation.rounds.answers.forms import AS_SENT, digest, is_unchanged
from curation.rounds.answers.rows import file_row
from curation.rounds.platforms import pages
from curation.rounds.progress import (
    ACCEPTED,
    OTHER,
    REPAIRABLE,
    UNNEEDED,
    RefusedAnswer,
    to_correct,
)
from curation.text.rules import Caps

TASKS = [
    Task(id=id, term=term, domain="d", target="t", wanted=1)
    for id, term in (("t1", "a"), ("t2", "a"), ("t3", "b"))
]


def refused(task: str, person: str, *codes: str, at: int = 0, **more: Any) -> RefusedAnswer:
    codes = codes or ("blank_missing",)
    whole = {"row": {}, "sent": "", "updated": "", "seconds": None, "position": at, **more}
    return RefusedAnswer(task, person, codes, codes, **whole)


def chosen(*answers: RefusedAnswer, **how: Any) -> tuple[dict[str, list[str]], dict[str, int]]:
    rules: dict[str, Any] = {"tasks": TASKS, "answers": [], "complete": set(), "caps": Caps()}
    rules |= {"needed": dict.fromkeys(("t1", "t2", "t3"), 1), "least": 0.0, "out": {}}
    theirs, left = to_correct(answers, **(rules | how))
    return {who: [each.task for each in mine] for who, mine in theirs.items()}, dict(left)


def accepted(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"answers": [Answer(task=t, annotator=p) for t, p in pairs], "complete": set(pairs)}


@pytest.mark.parametrize("code", {**REASONS, **dict.fromkeys(REPAIRABLE)})
def test_only_what_a_person_can_change_goes_back(code: str) -> None:
    assert code in REASONS
    theirs, left = chosen(refused("t1", "p", code))
    others = {} if code in ("skipped", "superseded") else {OTHER: 1}
    assert (theirs, left) == (({"p": ["t1"]}, {}) if code in REPAIRABLE else ({}, others))


def test_one_code_that_cannot_be_corrected_is_enough() -> None:
    assert chosen(refused("t1", "p", "unknown_label", "text_changed")) == ({}, {OTHER: 1})


def test_people_get_their_tasks_in_order_and_each_once() -> None:
    answers = [refused("t3", "p", at=1), refused("t1", "p", at=2), refused("t1", "p", at=3)]
    theirs, left = to_correct(
        answers, TASKS, [], complete=set(), needed={"t1": 1, "t3": 2}, caps=Caps(), least=0, out={}
    )
    assert [(each.task, each.position) for each in theirs["p"]] == [("t1", 3), ("t3", 1)]
    assert not left


def test_what_was_accepted_since_and_unknown_tasks_do_not_go_back() -> None:
    answers = [refused("t1", "p"), refused("t1", "q"), refused("x", "q")]
    theirs, left = chosen(*answers, **accepted(("t1", "p")))
    assert (theirs, left) == ({"q": ["t1"]}, {ACCEPTED: 1, OTHER: 1})


def test_no_more_people_are_asked_than_a_task_needs() -> None:
    late = refused("t1", "a", at=9, sent="2026-05-02T00:00:00.000Z")
    soon = refused("t1", "b", at=10, sent="2026-05-01T00:00:00.000Z")
    assert chosen(late, soon) == ({"b": ["t1"]}, {UNNEEDED: 1})
    assert chosen(late, needed={"t1": 0}) == ({}, {UNNEEDED: 1})


def test_answers_that_would_be_refused_again_do_not_go_back() -> None:
    fast = refused("t1", "p", seconds=2.0)
    assert chosen(fast, least=3.0) == ({}, {OTHER: 1})
    assert chosen(fast, least=2.0)[0] == {"p": ["t1"]}
    assert chosen(refused("t1", "p"), out={"p": ("excluded", "why")}) == ({}, {OTHER: 1})
    own = [TASKS[0].model_copy(update={"barred": "p"}), *TASKS[1:]]
    assert chosen(refused("t1", "p"), tasks=own) == ({}, {OTHER: 1})
    three = [refused("t1", "p"), refused("t2", "p"), refused("t3", "p")]
    assert chosen(*three, caps=Caps(person=2))[0] == {"p": ["t1", "t2"]}
    assert chosen(*three, caps=Caps(term=1))[0] == {"p": ["t1", "t3"]}
    full = accepted(("t1", "p"))
    assert chosen(*three[1:], caps=Caps(person=2), **full)[0] == {"p": ["t2"]}
    assert chosen(*three[1:], caps=Caps(term=1), **full)[0] == {"p": ["t3"]}


def test_a_part_of_an_answer_goes_back_as_that_answer() -> None:
    shown = tuple(Shown(id=f"s{n}", text="x", association=f"a{n}") for n in range(3))
    task = TASKS[0].model_copy(update={"item": "i", "shown": shown})
    part = refused("t1", "p", "unknown_label", at=1)
    whole = refused("t1", "p", *["unknown_label"] * 3)
    answers = [Answer(task="t1", annotator="p")]
    theirs, _ = chosen(part, whole, tasks=[task], answers=answers, caps=Caps(person=1))
    assert theirs == {"p": ["t1"]}
    flagged = refused("t1", "p", "missing_field", "missing_field", "bad_value")  # and one flag
    assert chosen(flagged, tasks=[task], answers=answers)[0] == theirs
    complete = {("t1", "p")}
    assert chosen(part, tasks=[task], answers=answers, complete=complete) == ({}, {ACCEPTED: 1})


def test_a_row_is_unchanged_however_a_program_writes_it() -> None:
    row: dict[str, Any] = {"label_1": "related", "flags": "objective|ungrammatical"}
    row |= {"seconds": "31", "submitted_at": "2026-05-01T00:01:00.000Z", "consent": "1-abc"}
    sent = {**row, AS_SENT: digest(row, "validation")}
    same = {"flags": "Ungrammatical, objective", "seconds": 31.0, "label_1": "related ",
            "submitted_at": "2026-05-01 00:01", "note": "x"}  # fmt: skip
    assert is_unchanged({**sent, **same}, "validation")
    other = {"label_1": "unrelated", "label_2": "related", "consent": "", "flags": ""}
    for name, value in {**other, "seconds": "32", "submitted_at": "2026-05-02"}.items():
        assert not is_unchanged({**sent, name: value}, "validation"), name
    assert not is_unchanged(row, "validation")


# --- the sheet ----------------------------------------------------------------------------------

ROUND = Round(
    name="v", kind="validation", platform="files", state="open", seed=1, labels="all", answers=5,
    consent="1-abc", pay=0.0, opened_at="2026-05-01T00:00:00.000Z",
)  # fmt: skip
ANSWER = RefusedAnswer(
    task="t1", person="p", sent="", updated="", seconds=None, position=0,
    codes=("unknown_label", "missing_field", "bad_value"),
    details=("'foo' is not a label", "no 'label_3'",
             "'flags.ungrammatical' is 'maybe', which is neither yes nor no"),
    row={"annotator": "Ann", "label_1": "unrelated", "label_2": "foo", "flags": "objective",
         "flags.ungrammatical": "maybe"},
)  # fmt: skip
BAKER = {"task_id": "t1", "target": "baker", "domain": "profession"}
DATA = {"t1": {**BAKER, "context": "c", "text_1": "a", "text_2": "b", "text_3": "c"}}


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("language", languages())
def test_every_language_is_shown_and_read_back(language: str, plain: bool) -> None:
    texts = {**pages.texts("en", pages.read_own("en", Path("none"))), **shipped_texts(language)}
    words = round_words(texts)
    how: dict[str, Any] = {"agreed": "", "consent": True, "plain": plain}
    columns, (row,) = module.refused_sheet([ANSWER], DATA, ROUND, texts, **how)
    what = row.cells["what_to_change"]
    heads = texts["heading"]
    for code, names in (("unknown_label", heads["label_2"]), ("missing_field", heads["label_3"]),
                        ("bad_value", heads["flags.ungrammatical"]),
                        ("no_consent", f"{heads['consent']}: 1-abc")):  # fmt: skip
        assert f"{texts['refused'][code]} ({names})" in what
    back = {column.heading: row.cells.get(column.name, "") for column in columns}
    assert len(back) == len(columns)
    read = file_row(back, words)
    assert is_unchanged(read, "validation", words)
    assert (read["annotator"], read["flags"], read["label_2"]) == ("Ann", "objective", "foo")
    assert read["updated_at"] == ROUND.opened_at
    assert read["flags.ungrammatical"] == "maybe"
    for name, cell in (("label_3", "related"), ("flags.ungrammatical", "")):
        changed = {next(c.heading for c in columns if c.name == name): cell}
        assert not is_unchanged(file_row({**back, **changed}, words), "validation", words)


def test_a_text_that_is_too_long_is_said_to_be() -> None:
    texts = {**pages.texts("en", pages.read_own("en", Path("none"))), **shipped_texts("en")}
    long = {"codes": ("bad_value",), "details": ("'stereotype' has more than 10,000 characters",)}
    answer = ANSWER._replace(row={"annotator": "Ann", "stereotype": "x" * 10_001}, **long)
    writing = ROUND.model_copy(update={"kind": "intrasentence"})
    how: dict[str, Any] = {"agreed": "1-abc", "consent": True, "plain": False}
    _, (row,) = module.refused_sheet([answer], {"t1": BAKER}, writing, texts, **how)
    assert row.cells["what_to_change"] == "A text is too long. Please make it shorter. (Stereotype)"
