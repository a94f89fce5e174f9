"""Answers to tasks, from Label Studio and from files, are read and checked; none is lost."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from curation.kinds import WORKS, RoundKindName
from curation.records import Answer, Event, Label, Review, Shown, Task
from curation.rounds.answers import people
from curation.rounds.answers.forms import is_untouched
from curation.rounds.answers.interpret import interpret, named, person_of
from curation.rounds.answers.parsed import Given, ParsedAnswer, Refused, Reviewed
from curation.rounds.answers.rows import file_row
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules, lines
from curation.text.rules import Caps
from support import answers
from support.answers import TERMS, Row, Said, Source, archived, codes, cut

BAKER, NURSE = TERMS.values()
PSEUDONYM = people.pseudonyms(b"key")
ANNA, BEN, WRITER = (f"{name}@example.invalid" for name in ("anna", "ben", "writer"))
WORDS = {"template": "The baker is BLANK.", **answers.WORDS, "consent": "1"}
LABELS = {"label_1": "stereotype", "label_2": "anti-stereotype", "label_3": "unrelated"}
MARKS = {**LABELS, "consent": "1"}
WRITING: RoundKindName = "intrasentence"


def at(second: int) -> str:
    """A time as Label Studio writes it."""
    return f"2026-03-02T09:{second // 60:02d}:{second % 60:02d}.123456Z"


def ours(second: int) -> str:
    return at(second)[:23] + "Z"


def entry(name: str, value: Any) -> Row:
    if name in WORDS and name != "consent":
        return {"from_name": name, "type": "textarea", "value": {"text": [value]}}
    chosen = value if isinstance(value, list) else [value]
    return {"from_name": name, "type": "choices", "value": {"choices": chosen}}


def sent(
    fields: Row,
    *,
    id: int = 1,
    task: str = "t1",
    person: str = ANNA,
    created: int = 1,
    updated: int | None = None,
    by: int | None = 7,
    **changes: Any,
) -> Row:
    """An annotation as it is pulled."""
    annotation = {
        "id": id, "completed_by": 7, "updated_by": by, "was_cancelled": False, "lead_time": 30.5,
        "created_at": at(created), "updated_at": at(created if updated is None else updated),
        "result": [entry(name, value) for name, value in fields.items()],
    }  # fmt: skip
    return {"task": task, "person": person, "annotation": annotation | changes}


def gone(id: int, *, task: str = "t1", person: str = ANNA, seen: int = 50) -> Row:
    return {"task": task, "person": person, "deleted": id, "seen_at": ours(seen)}


def plan(kind: RoundKindName, **changes: Any) -> dict[str, Task]:
    """Two tasks about the baker, one about the nurse."""
    found = {}
    for name, term in (("t1", BAKER), ("t2", BAKER), ("t3", NURSE)):
        target = "nurse" if term == NURSE else "baker"
        task = Task(id=name, term=term, domain="profession", target=target, wanted=5)
        found[name] = task.model_copy(update=changes)
    return found


WRITE = plan(WRITING)


def say(
    payloads: Iterable[Row],
    tasks: dict[str, Task] = WRITE,
    kind: RoundKindName | None = WRITING,
    *,
    source: Source = "label_studio",
    round: str = "main",
) -> Said:
    return answers.say(payloads, source, round=round, tasks=tasks, kind=kind)


def folded(
    said: Iterable[tuple[str, ParsedAnswer]],
    pseudonym: Callable[[str], str] = PSEUDONYM,
    **options: Any,
) -> Folded:
    return fold(said, Rules(["profession"], TERMS, **{"consent": True, **options}), pseudonym)


def validation() -> tuple[Said, dict[str, Task]]:
    """Two items by one writer, and tasks that show their associations in reverse order."""
    second = sent(WORDS | {"stereotype": "up early"}, id=2, task="t2", person=WRITER)
    written = say([sent(WORDS, person=WRITER), second])
    tasks = {}
    for task, found in zip(("t1", "t2"), folded(written).items, strict=True):
        c, b, a = found.associations
        shown = tuple(Shown(id=f"s-{x.id}", text=x.sentence, association=x.id) for x in (a, b, c))
        about = {"item": found.id, "shown": shown, "barred": found.writer}
        tasks[task] = WRITE[task].model_copy(update=about)
    return written, tasks


def labelled(
    payloads: list[Row], more: Iterable[Any] = (), source: Source = "label_studio", **options: Any
) -> Folded:
    """The items, with these answers of a round of validation, and more answers to other rounds."""
    written, tasks = validation()
    given = say(payloads, tasks, "validation", source=source, round="v")
    return folded([*written, *given, *more], **options)


# --- writing ------------------------------------------------------------------------------------


def test_words_become_an_item_with_keyed_ids() -> None:
    (item,) = folded(say([sent(WORDS)])).items
    assert [(a.sentence, a.intent) for a in item.associations] == [
        ("The baker is early.", "stereotype"),
        ("The baker is late.", "anti-stereotype"),
        ("The baker is algebraic.", "unrelated"),
    ]
    assert (item.kind, item.term, item.writer) == (WRITING, BAKER, PSEUDONYM(ANNA))
    assert (item.submitted_at, item.seconds) == (ours(1), 30.5)
    other = people.pseudonyms(b"another key")
    assert folded(say([sent(WORDS)]), pseudonym=other).items[0].id != item.id


def test_no_edit_changes_an_id_and_a_label_keeps_to_its_words() -> None:
    edit = sent(WORDS | {"stereotype": "asleep"}, updated=9)
    first, second = folded(say([sent(WORDS)])), folded(say([sent(WORDS), edit]))
    alone = folded(say([edit]))  # pulled only after the edit
    items = [result.items[0] for result in (first, second, alone)]
    assert len({(item.id, *(a.id for a in item.associations)) for item in items}) == 1
    assert second.items[0].associations[0].sentence == "The baker is asleep."
    assert codes(second) == [("superseded", "1")]


def test_a_follow_up_sentence_stays_a_sentence() -> None:
    fields = {"context": "A  baker\n came.", "stereotype": "He rose early.",
              "anti_stereotype": "He rose late.", "unrelated": "Sums are odd."}  # fmt: skip
    (item,) = folded(say([sent(fields)], kind="intersentence"), consent=False).items
    assert item.context == "A baker came."
    assert [a.sentence for a in item.associations] == list(fields.values())[1:]


def test_a_renamed_term_keeps_its_tasks_items() -> None:
    tasks = plan(WRITING, target="baker of old")
    words = WORDS | {"template": "The baker of old is BLANK."}
    assert [i.term for i in folded(say([sent(words)], tasks)).items] == [BAKER]


# --- validation ---------------------------------------------------------------------------------


def test_a_label_is_for_the_association_that_stood_there() -> None:
    result = labelled([sent(MARKS | {"flags": ["ungrammatical", "objective"]}, id=9)])
    (item, _) = result.items
    a, b, c = (x.id for x in item.associations)
    # The task shows the associations from the last to the first.
    wanted = [(c, "stereotype"), (b, "anti-stereotype"), (a, "unrelated")]
    assert [(x.association, x.value) for x in result.labels] == wanted
    about = {(x.item, x.annotator, x.round, x.seconds) for x in result.labels}
    assert about == {(item.id, PSEUDONYM(ANNA), "v", 30.5)}
    wanted = [(item.id, PSEUDONYM(ANNA), "ungrammatical"), (item.id, PSEUDONYM(ANNA), "objective")]
    assert [(f.item, f.annotator, f.flag) for f in result.flags] == wanted
    assert result.answers["v"][0].code is None


def test_a_bad_label_falls_alone() -> None:
    result = labelled([sent(MARKS | {"label_1": "fine", "label_3": [], "flags": ["odd"]}, id=9)])
    assert [x.value for x in result.labels] == ["anti-stereotype"]
    refused = ("unknown_label", "missing_field", "bad_value")
    assert codes(result, "v") == [(code, "1") for code in refused]
    assert [(p.answers, p.refused) for p in result.people if p.id == PSEUDONYM(ANNA)] == [(1, 0)]


def test_a_yes_column_that_cannot_be_read_is_refused_alone() -> None:
    flags = {"Menyatakan fakta?": "maybe", "flags.ungrammatical": "ya", "文法が正しくない？": "no"}
    result = labelled([{"task_id": "t1", "annotator": ANNA, **MARKS, **flags}], source="forms")
    assert [flag.flag for flag in result.flags] == ["ungrammatical"]
    assert len(result.labels) == 3
    (refused,) = result.rejections["v"]
    detail = "'flags.objective' is 'maybe', which is neither yes nor no"
    assert (refused.code, refused.detail) == ("bad_value", detail)
    assert result.answers["v"][0].code is None


def test_a_correction_replaces_labels_and_keeps_their_ids_and_place() -> None:
    rows = [sent(MARKS, id=9, created=1), sent(MARKS, id=10, person=BEN, created=2)]
    late = sent(MARKS | {"label_1": "unrelated"}, id=9, created=1, updated=5)
    before, after = labelled(rows), labelled([*rows, late])
    assert [x.id for x in before.labels] == [x.id for x in after.labels]
    assert after.labels[0].value == "unrelated"
    assert codes(after, "v") == [("superseded", "1")]


def test_what_the_writer_changed_after_it_was_shown_is_not_labelled() -> None:
    edit = say([sent(WORDS | {"unrelated": "octal"}, person=WRITER, updated=2)])
    # Given after the edit, but the task still showed the old words; the last stands first there.
    result = labelled([sent(MARKS | {"flags": "objective"}, id=9, created=8)], edit)
    assert [x.value for x in result.labels] == ["anti-stereotype", "unrelated"]
    assert codes(result, "v") == [("text_changed", "1"), ("text_changed", "1")]
    assert result.flags == []


def test_controls_that_repeat_have_a_number_more() -> None:
    fields = {"label_1_0": "stereotype", "label_2": "unrelated", "label_3_12": "anti-stereotype"}
    values = [x.value for x in labelled([sent(fields, id=9)], consent=False).labels]
    assert values == ["stereotype", "unrelated", "anti-stereotype"]


# --- our own pages --------------------------------------------------------------------------------


PAGE = {"task_id": "t1", "annotator": ANNA, "answer_id": "a" * 32, "submitted_at": ours(1)}
PAGE |= {"seconds": 30.5, "consent": "1"}


def test_an_answer_from_our_pages_has_canonical_names_only() -> None:
    (item,) = folded(say([PAGE | WORDS], source="web")).items
    assert (item.writer, item.submitted_at, item.seconds) == (PSEUDONYM(ANNA), ours(1), 30.5)
    flags = {"order": [2, 0, 1], "flags": ["objective", "ungrammatical"]}
    result = labelled([PAGE | MARKS | flags], source="web")
    assert [x.value for x in result.labels] == [*LABELS.values()]
    assert [flag.flag for flag in result.flags] == ["objective", "ungrammatical"]
    # Words of languages are for tables.
    result = labelled([PAGE | MARKS | {"label_1": "tidak berkaitan"}], source="web")
    assert codes(result, "v") == [("unknown_label", "1")]
    assert (
        len(labelled([PAGE | MARKS | {"label_1": "tidak berkaitan"}], source="forms").labels) == 3
    )


@pytest.mark.parametrize(
    "order", [[3, 1, 2], [1, 2, 3], [2, 0, 1], [1, 1, 2], "3", None, 7, ["3", "1", "2"]]
)
def test_labels_are_in_the_order_in_which_the_person_saw_the_texts(order: Any) -> None:
    seen = order if order == [3, 1, 2] else [1, 2, 3]  # others are no orders
    result = labelled([PAGE | MARKS | {"order": order}], source="web")
    plain = labelled([PAGE | MARKS], source="web").labels
    assert result.labels == [plain[n - 1] for n in seen]
    assert [x.value for x in result.labels] == [LABELS[f"label_{n}"] for n in seen]


def test_our_pages_say_why_a_task_was_skipped_and_that_an_answer_was_late() -> None:
    skipped = {key: PAGE[key] for key in ("task_id", "annotator", "answer_id", "submitted_at")}
    late = PAGE | MARKS | {"answer_id": "b" * 32, "task_id": "t2", "late": True}
    result = labelled([skipped | {"skipped": "upsetting"}, late], source="web")
    assert [(r.code, r.detail) for r in result.rejections["v"]] == [
        ("skipped", "no answer to task t1: upsetting"),
        ("late", "task t2 had all its answers when this one came"),
    ]
    assert result.labels == []
    (person,) = (p for p in result.people if p.id == PSEUDONYM(ANNA))
    assert (person.answers, person.refused) == (1, 1)  # a skip is no answer; the late one is


def test_a_submission_that_is_gone_takes_its_answers_along_and_can_come_back() -> None:
    """Each change is a later version of the answer; consent of a forged one is nobody's."""
    answer, gone = PAGE | MARKS, {"arrival": "returned", "arrival_changes": 1}
    result = labelled([answer, answer | gone], source="web")
    assert codes(result, "v") == [("superseded", "1"), ("returned", "2")]
    back = {"arrival": "checked", "arrival_changes": 2}
    result = labelled([answer, answer | gone, answer | back], source="web")
    assert codes(result, "v") == [("superseded", "1"), ("superseded", "2")]
    assert len(result.labels) == 3
    result = labelled([answer | {"arrival": "forged", "arrival_changes": 1}], source="web")
    assert codes(result, "v") == [("forged", "1")]
    (person,) = (p for p in result.people if p.id == PSEUDONYM(ANNA))
    assert (person.consent, person.refused) == (None, 1)


def test_consent_alone_is_no_answer() -> None:
    alone = {key: PAGE[key] for key in ("annotator", "answer_id", "submitted_at", "consent")}
    result = folded(say([alone], source="web"))
    assert (result.items, result.rejections, result.answers) == ([], {}, {})
    (person,) = result.people
    assert (person.id, person.consent, person.consented_at) == (PSEUDONYM(ANNA), "1", ours(1))
    assert person_of(Event(id="e", source="web", position=0, payload=alone)) == ANNA


# --- review -------------------------------------------------------------------------------------


def test_a_reason_that_cannot_be_read_is_refused_alone() -> None:
    row = {"task_id": "t1", "annotator": ANNA, "consent": "1", "decision": "drop"}
    row |= {"reasons.insult": "✓", "reasons.too_general": "si"}
    result = folded(say([row], plan("review"), "review", source="forms", round="r"))
    assert [(review.action, review.note) for review in result.reviews] == [("drop", "insult")]
    (refused,) = result.rejections["r"]
    assert "'reasons.too_general' is 'si'" in refused.detail
    assert not is_untouched(file_row({"reasons.insult": "si"}), "review")
    alone = {"task_id": "t1", "annotator": ANNA, "flags.objective": "maybe"}
    result = folded(say([alone], plan("review"), "review", source="forms"))
    assert codes(result) == [("missing_field", "1")]


def reviewed(**fields: Any) -> tuple[list[Review], list[tuple[str, str]]]:
    tasks = plan("review", choices=(NURSE,))
    payload = sent({"decision": "keep"} | fields)
    result = folded(say([payload], tasks, "review", round="r"), consent=False)
    assert len(result.reviews) + len(codes(result, "r")) == 1
    return result.reviews, codes(result, "r")


OTHER = {"decision": "merge", "merge_into": "other"}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ("keep", None, None, "")),
        ({"rename": " Master  baker "}, ("keep", None, "Master baker", "")),
        (
            {"decision": "drop", "reasons": ["insult", "unknown"]},
            ("drop", None, None, "insult, unknown"),
        ),
        ({"decision": "merge", "merge_into": NURSE}, ("merge", NURSE, None, "")),
        (OTHER | {"merge_into_other": "cook"}, ("merge", None, None, "cook")),
    ],
)
def test_a_review(fields: Row, expected: tuple[Any, ...]) -> None:
    ((review,), _) = reviewed(**fields)
    assert (review.action, review.into, review.name, review.note) == expected
    assert (review.term, review.annotator) == (BAKER, PSEUDONYM(ANNA))


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"decision": "burn"}, "bad_value"),
        ({"decision": [], "reasons": ["insult"]}, "missing_field"),
        ({"decision": "merge"}, "missing_field"),
        (OTHER, "missing_field"),
        ({"decision": "merge", "merge_into": "term-of-nowhere"}, "bad_value"),
    ],
)
def test_a_review_that_says_nothing_usable(fields: Row, code: str) -> None:
    assert [c for c, _ in reviewed(**fields)[1]] == [code]


# --- every reason -------------------------------------------------------------------------------

SKIP = {"was_cancelled": True, "result": []}
OCTAL = WORDS | {"unrelated": "octal"}
ON_NURSE = sent(WORDS | {"template": "The nurse is BLANK."}, id=2, task="t3")
BAD: list[tuple[str, list[Row], Row]] = [
    ("skipped", [sent(WORDS, **SKIP)], {}),
    ("skipped", [sent(WORDS, was_cancelled=True)], {}),
    ("skipped", [sent({})], {}),
    ("unknown_task", [sent(WORDS, task="t9")], {}),
    ("missing_field", [sent(WORDS | {"unrelated": None})], {}),
    ("missing_field", [sent(WORDS, person="")], {}),
    ("empty_text", [sent(WORDS | {"unrelated": " "})], {}),
    ("bad_value", [sent(WORDS, result=5)], {}),
    ("bad_value", [sent(WORDS, created_at="yesterday")], {}),
    ("bad_value", [sent(WORDS, lead_time="soon")], {}),
    ("edited_by_other", [sent(WORDS, by=8)], {}),
    ("edited_by_other", [sent(WORDS, **SKIP, by=8)], {}),
    ("deleted", [sent(WORDS), gone(1)], {}),
    ("deleted", [gone(1), sent(WORDS)], {}),
    ("superseded", [sent(WORDS), sent(WORDS, updated=2)], {}),
    ("superseded", [sent(WORDS), sent(WORDS)], {}),
    ("second_answer", [sent(WORDS), sent(OCTAL, id=2, created=2)], {}),
    ("no_consent", [sent(WORDS | {"consent": None})], {}),
    ("excluded", [sent(WORDS)], {"standing": {PSEUDONYM(ANNA): ("excluded", "spam")}}),
    ("withdrawn", [sent(WORDS)], {"standing": {PSEUDONYM(ANNA): ("withdrawn", "asked")}}),
    ("too_fast", [sent(WORDS, lead_time=9.9)], {"write_seconds": 10}),
    ("over_person_cap", [sent(WORDS), ON_NURSE], {"caps": {"write": Caps(1), "label": Caps(9, 9)}}),
    (
        "over_term_cap",
        [sent(WORDS), sent(OCTAL, id=2, task="t2")],
        {"caps": {"write": Caps(term=1)}},
    ),
]


@pytest.mark.parametrize(("code", "payloads", "options"), BAD)
def test_every_reason_is_given_for_its_flaw_alone(
    code: str, payloads: list[Row], options: Row
) -> None:
    result = folded(say(payloads), **options)
    assert [c for c, _ in codes(result)] == [code]
    assert len(result.items) == sum("annotation" in p for p in payloads) - 1
    shown = msgspec.json.encode([r.record for r in result.rejections["main"]])
    assert b"example.invalid" not in shown


def test_labels_for_a_task_that_shows_no_item() -> None:
    assert codes(folded(say([sent(MARKS)], kind="validation"))) == [("unknown_task", "1")]


def test_nobody_labels_what_they_wrote() -> None:
    result = labelled([sent(MARKS, id=9, person=WRITER)])
    assert codes(result, "v") == [("own_item", "1")]
    assert result.answers["v"][0].code == "own_item"


def test_the_empty_answer_that_keeps_a_writer_away_is_no_answer() -> None:
    ours_ = [sent({}, id=9, person=WRITER, by=by, **SKIP) for by in (7, 1, None)]
    result = labelled(ours_)
    assert result.rejections == {}
    assert result.answers.get("v") is None
    assert [(p.answers, p.refused) for p in result.people] == [(2, 0)]
    # Had the writer answered after all, that would be an answer.
    late = labelled([*ours_, sent(MARKS, id=9, person=WRITER, updated=3)])
    assert codes(late, "v") == [("own_item", "4")]


def test_labels_on_an_excluded_writers_item_say_why() -> None:
    result = labelled([sent(MARKS, id=9)], standing={PSEUDONYM(WRITER): ("excluded", "copied")})
    assert codes(result) == [("excluded", "1"), ("excluded", "2")]
    (rejection,) = result.rejections["v"]
    assert rejection.code == "unknown_item"
    assert "excluded" in rejection.detail


# --- time ---------------------------------------------------------------------------------------


def test_what_somebody_else_changed_leaves_the_own_version() -> None:
    foreign = sent(WORDS | {"stereotype": "asleep"}, updated=5, by=8)
    result = folded(say([sent(WORDS), foreign]))
    assert result.items[0].associations[0].sentence == "The baker is early."
    assert codes(result) == [("edited_by_other", "2")]
    again = folded(say([sent(WORDS), foreign, sent(WORDS | {"stereotype": "up"}, updated=6)]))
    assert again.items[0].associations[0].sentence == "The baker is up."


def test_consent_that_somebody_else_gave_is_none() -> None:
    foreign = sent(WORDS, updated=5, by=8)
    result = folded(say([sent(WORDS | {"consent": None}), foreign]))
    assert sorted(c for c, _ in codes(result)) == ["edited_by_other", "no_consent"]


def test_an_answer_that_was_gone_and_changed_later_is_back() -> None:
    rows = [sent(WORDS), gone(1, seen=50), sent(WORDS, updated=60)]
    assert len(folded(say(rows)).items) == 1
    assert len(folded(say([*rows, gone(1, seen=70)])).items) == 0
    assert len(folded(say(rows[:2]), keep_deleted=True).items) == 1


def test_what_was_answered_and_then_skipped_is_skipped() -> None:
    result = folded(say([sent(WORDS), sent(WORDS, updated=3, **SKIP)]))
    assert codes(result) == [("superseded", "1"), ("skipped", "2")]
    back = folded(say([sent(WORDS, **SKIP), sent(WORDS, updated=3)]))
    assert (len(back.items), codes(back)) == (1, [("superseded", "1")])


def test_consent_in_any_round_counts_for_all() -> None:
    answer = sent(LABELS, id=9, person=BEN)
    assert codes(labelled([answer]), "v") == [("no_consent", "1")]
    other = WORDS | {"stereotype": "drowsy", "consent": "2"}
    result = labelled([answer], say([sent(other, id=5, person=BEN, created=7)], round="later"))
    assert len(result.labels) == 3
    (ben,) = (p for p in result.people if p.id == PSEUDONYM(BEN))
    assert (ben.consent, ben.consented_at, ben.answers, ben.refused) == ("2", ours(7), 2, 0)


def test_a_refused_answer_counts_towards_no_cap_and_is_no_first_answer() -> None:
    fast = sent(WORDS, lead_time=2)
    slow = sent(WORDS, id=2, created=2)
    result = folded(say([fast, slow]), write_seconds=10, caps={"write": Caps(person=1)})
    assert (len(result.items), codes(result)) == (1, [("too_fast", "1")])
    assert [(a.task, a.code) for a in result.answers["main"]] == [("t1", "too_fast"), ("t1", None)]
    # A quick correction does not make the answer quick.
    quick = sent(WORDS | {"stereotype": "up"}, created=1, updated=9, lead_time=2)
    assert len(folded(say([sent(WORDS), quick]), write_seconds=10).items) == 1


# --- files --------------------------------------------------------------------------------------


def test_mechanical_turks_results_are_read() -> None:
    row = {"HITId": "H", "AssignmentId": "A1", "WorkerId": "W1", "AssignmentStatus": "Rejected",
           "SubmitTime": "Mon Mar 02 09:00:01 UTC 2026", "WorkTimeInSeconds": "31",
           "Input.task_id": "t1", "Input.context": "x"}  # fmt: skip
    row |= {f"Answer.{name}": cell for name, cell in MARKS.items()}
    result = labelled([row | {"Answer.flags": "objective|ungrammatical"}], source="forms")
    assert [(x.annotator, x.value, x.submitted_at, x.seconds) for x in result.labels] == [
        (PSEUDONYM("W1"), value, "2026-03-02T09:00:01.000Z", 31.0) for value in LABELS.values()
    ]
    assert [f.flag for f in result.flags] == ["objective", "ungrammatical"]


def test_a_missing_cell_is_named_as_in_the_table_and_an_answer_without_a_task_is_booked() -> None:
    row = {"task_id": "t1", "annotator": ANNA, "consent": "1", "stereotype": "early"}
    result = folded(say([row, row | {"task_id": ""}], source="forms"))
    wanted = {("missing_field", "no 'template'"), ("unknown_task", "no 'task_id'")}
    assert {(r.code, r.detail) for r in result.rejections["main"]} == wanted


def test_rows_without_an_id_are_second_answers_unless_they_say_when_they_changed() -> None:
    base = {"Task ID": "t1", "participant id": "P", "submitted_at": "2026-03-02 09:00"} | WORDS
    later = base | {"submitted_at": "2026-03-02 09:30", "stereotype": "asleep"}
    edit = base | {"updated_at": "2026-03-02 10:00", "stereotype": "up"}
    result = folded(say([base, later, edit], source="forms"))
    assert result.items[0].associations[0].sentence == "The baker is up."
    assert sorted(codes(result)) == [("second_answer", "2"), ("superseded", "1")]
    timeless = [{k: v for k, v in row.items() if not k.endswith("_at")} for row in (base, later)]
    assert codes(folded(say(timeless, source="forms"))) == [("second_answer", "2")]


def test_who_answered_and_what_an_answer_names() -> None:
    def event(source: Any, payload: Row) -> Event:
        return Event(id="e", source=source, position=0, payload=payload)

    for source, payload, who in (
        ("label_studio", sent(WORDS), ANNA),
        ("label_studio", gone(1), ANNA),
        ("forms", {"WorkerId": " W1 ", "Input.task_id": "t"}, "W1"),
        ("answers", {"validator": "v"}, "v"),
        ("answers", {"label": "v"}, None),
        ("stereoset", {"item": {}}, None),
        ("erased", {}, None),
    ):
        assert person_of(event(source, payload)) == who
    assert named(event("label_studio", sent(WORDS))) is None
    assert list(interpret(event("erased", {}), round="r", where="w")) == []


# --- nothing vanishes, however it arrives -------------------------------------------------------

versions = st.fixed_dictionaries(
    {
        "label_1": st.sampled_from(["stereotype", "unrelated", "fine", None]),
        "flag": st.sampled_from([None, "objective", "odd"]),
        "consent": st.sampled_from(["1", "2", None]),
        "cancelled": st.sampled_from([False, False, True]),
        "by": st.sampled_from([7, 7, 8]),
        "seconds": st.sampled_from([1, 30]),
    }
)
history = st.fixed_dictionaries(
    {
        "task": st.sampled_from(["t1", "t2", "t9"]),
        "person": st.sampled_from([ANNA, BEN, WRITER]),
        "created": st.integers(0, 3),
        "versions": st.lists(versions, min_size=1, max_size=3),
        "gone": st.sampled_from([None, 0, 1, 2]),  # after which version; a later one is back
    }
)
histories = st.lists(history, max_size=6)


def events(history: list[Row], *, kind: str) -> list[Row]:
    """What is pulled over time, in order."""
    timed: list[tuple[int, Row]] = []
    for number, answer in enumerate(history, 1):
        time = answer["created"]
        who = {"id": number, "task": answer["task"], "person": answer["person"]}
        for n, version in enumerate(answer["versions"]):
            time = answer["created"] + 10 * n
            fields: Row = {"consent": version["consent"]}
            if kind == "v":
                fields |= {**MARKS, **fields, "label_1": version["label_1"]}
                fields["flags"] = version["flag"]
            else:
                fields |= {**WORDS, **fields, "unrelated": version["label_1"]}
            kept = {name: value for name, value in fields.items() if value}
            payload = sent(kept, **who, created=answer["created"], updated=time, by=version["by"],
                           was_cancelled=version["cancelled"],
                           lead_time=version["seconds"])  # fmt: skip
            timed.append((time, payload))
        if answer["gone"] is not None:
            time = answer["created"] + 10 * answer["gone"] + 5
            timed.append((time, gone(**who, seen=time)))
    return [payload for _, payload in sorted(timed, key=lambda pair: pair[0])]


def outcome(result: Folded) -> tuple[Any, ...]:
    """The result of a fold without places in the archive."""
    refused = {
        round: sorted((r.code, r.detail, msgspec.json.encode(r.record)) for r in rejections)
        for round, rejections in result.rejections.items()
    }
    return (*result[:5], refused, result.answers)


KNOBS = {"label_seconds": 3, "write_seconds": 3, "caps": dict.fromkeys(WORKS, Caps(2, 2))}


def counts_add_up(said: Said, result: Folded) -> None:
    parts = {w.where: len(w.marks) + len(w.flags) for _, w in said if isinstance(w, Given)}
    whole, single, other = 0, 0, 0
    for rejection in (r for rejections in result.rejections.values() for r in rejections):
        if rejection.where not in parts:
            other += 1
        elif rejection.code in ("missing_field", "unknown_label", "bad_value", "text_changed"):
            single += 1
        else:
            whole += parts[rejection.where]
    assert sum(parts.values()) == len(result.labels) + len(result.flags) + whole + single
    replies = sum(hasattr(w, "record") and not isinstance(w, Given) for _, w in said)
    bars = sum(
        isinstance(w, Refused)
        and w.empty
        and w.task is not None
        and w.task.barred == PSEUDONYM(w.person or "")
        for _, w in said
    )
    assert replies == len(result.items) + other + bars
    given_ = Counter(a.annotator for rows in result.answers.values() for a in rows)
    for person in result.people:
        assert 0 <= person.refused <= person.answers
        assert person.consent or not person.answers or person.refused == person.answers
        assert given_[person.id] or not person.answers or person.refused


@settings(max_examples=150)
@given(histories, histories, st.randoms(use_true_random=False))
def test_the_order_in_which_answers_are_read_does_not_count(
    writing: list[Row], marking: list[Row], draw: random.Random
) -> None:
    written, tasks = validation()
    said = [
        *written,
        *say(events(writing, kind="w"), round="more"),
        *say(events(marking, kind="v"), tasks, "validation", round="v"),
    ]
    first = folded(said, **KNOBS)
    counts_add_up(said, first)
    draw.shuffle(said)
    second = folded(said, **KNOBS)
    counts_add_up(said, second)
    assert outcome(first) == outcome(second)


@settings(max_examples=60)
@given(histories, st.lists(st.integers(0, 20), max_size=3), st.randoms(use_true_random=False))
def test_deliveries_in_any_parts(marking: list[Row], cuts: list[int], draw: random.Random) -> None:
    written, tasks = validation()
    payloads = events(marking, kind="v")
    batches = cut(payloads, cuts)
    draw.shuffle(batches)
    how: Row = {"round": "v", "tasks": tasks, "kind": "validation"}
    one, many = (
        folded([*written, *archived(deliveries, "label_studio", **how)], **KNOBS)
        for deliveries in ([payloads], [*batches, *batches[:1]])
    )
    assert outcome(one) == outcome(many)


def test_what_is_written_is_what_the_records_say() -> None:
    result = labelled([sent(MARKS, id=9), sent(MARKS, id=10, created=9)])
    for rows, record in ((result.labels, Label), (result.answers["v"], Answer)):
        written = b"".join(lines(rows))  # type: ignore[arg-type]
        found = [TypeAdapter(record).validate_json(line) for line in written.splitlines()]
        plain = [msgspec.structs.asdict(row) for row in rows]
        assert [x.model_dump() for x in found] == plain  # type: ignore[attr-defined]
        assert list(plain[0]) == list(record.model_fields)


def test_the_empty_column_of_an_exported_table_does_not_hide_the_platforms_own() -> None:
    row = file_row({"task_id": "t", "annotator": "", "PROLIFIC_PID": "p-1", "worker": "w"})
    assert row == {"task_id": "t", "annotator": "p-1"}
    assert file_row({"annotator": "ann", "worker": "w"}) == {"annotator": "ann"}
    assert file_row({"annotator": None, "worker": ""}) == {"annotator": ""}
    assert file_row({"peserta": "nomor 7", "worker": "w"}) == {"annotator": "w"}
    turk = {"Task number": "7", "Input.task_id": "t", "Peserta": "7", "WorkerId": "w"}
    assert file_row(turk) == {"task_id": "t", "annotator": "w"}


@pytest.mark.parametrize("cell", ["It states a fact | unknown_target", "Ini fakta، 対象を知らない"])
def test_flags_are_read_in_any_language(cell: str) -> None:
    shown = tuple(Shown(id=f"s{n}", text="x", association=f"a{n}") for n in (1, 2, 3))
    tasks = plan("validation", item="item-1", shown=shown)
    answer = {"task_id": "t1", "annotator": "v", **MARKS, "flags": cell}
    (_, (_, labels)) = say([answer], tasks, "validation", source="forms", round="v")
    assert isinstance(labels, Given)
    assert labels.flags == ("objective", "unknown_target")
    assert not any(mark.problem for mark in labels.marks)


def test_answers_to_a_review_are_read_in_any_language() -> None:
    tasks = plan("review", choices=(NURSE,))
    rows = [
        {"task": "t1", "peserta": "v", "Keputusan": "Gabungkan dengan istilah lain",
         "Gabungkan dengan": NURSE},
        {"課題": "t2", "あなたのID": "v", "判断": "外す", "外す理由：悪口である？": "はい"},
        {"المهمة": "t3", "معرّفك": "v", "القرار": "نُبقيه", "كلمة أفضل": "nurse practitioner"},
    ]  # fmt: skip
    said: list[Any] = [what for _, what in say(rows, tasks, "review", source="forms", round="r")]
    assert {type(what) for what in said} == {Reviewed}
    assert [(r.action, r.into, r.note, r.name) for r in said] == [
        ("merge", NURSE, "", None),
        ("drop", None, "insult", None),
        ("keep", None, "", "nurse practitioner"),
    ]
