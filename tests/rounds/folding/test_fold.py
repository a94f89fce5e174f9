"""The fold depends on answers and their times, not on how they arrived; nothing vanishes."""

import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.reasons import REASONS
from curation.records import Event
from curation.rounds import people
from curation.rounds.answers import archive
from curation.rounds.answers.interpret import ParsedAnswer, interpret
from curation.rounds.answers.interpret import labels as published_labels
from curation.rounds.answers.parsed import Written
from curation.rounds.folding.fold import Folded, Rules, fold
from curation.text.rules import stable_id

Row = dict[str, Any]
DOMAINS = ("profession", "race")
TERMS = {("profession", word): stable_id("term", "profession", word) for word in ("baker", "nurse")}
TIME = "2026-03-02T09:00:0{}.000Z".format


def written(**changes: Any) -> Row:
    row = {
        "item_id": "i1",
        "annotator": "writer",
        "domain": "profession",
        "target": "baker",
        "kind": "intrasentence",
        "context": "The baker is BLANK.",
        "stereotype": "early",
        "anti_stereotype": "late",
        "unrelated": "algebraic",
    }
    return {key: value for key, value in (row | changes).items() if value is not None}


def label(**changes: Any) -> Row:
    row = {"item_id": "i1", "annotator": "anna", "association": "early", "label": "stereotype"}
    return {key: value for key, value in (row | changes).items() if value is not None}


def published(count: int = 3, **changes: Any) -> Row:
    item: Row = {
        "id": "old",
        "bias_type": "profession",
        "target": "nurse",
        "context": "A nurse came.",
        "sentences": [
            {
                "id": f"old-{n}",
                "sentence": f"Sentence {n}.",
                "gold_label": "unrelated",
                "labels": [{"label": "unrelated", "human_id": "human"}],
            }
            for n in range(count)
        ],
    }
    return {"kind": "intersentence", "where": "f data.intersentence[0]", "item": item | changes}


def said(rows: Iterable[Row], *, round: str = "main") -> list[tuple[str, ParsedAnswer]]:
    found = []
    for position, row in enumerate(rows):
        source = "stereoset" if "where" in row else "answers"
        event = Event(id=f"{round}-{position}", source=source, position=position, payload=row)  # type: ignore[arg-type]
        where = f"{round} line {position + 1}"
        found += [(round, what) for what in interpret(event, round=round, where=where)]
    return found


def folded(
    what: Iterable[tuple[str, ParsedAnswer]], pseudonym: Callable[[str], str] = str
) -> Folded:
    return fold(what, Rules(DOMAINS, TERMS), pseudonym)


def refused(result: Folded, round: str = "main") -> list[tuple[str, str]]:
    """Reason code and place of each rejection."""
    return [(r.code, r.where.rpartition(" ")[2]) for r in result.rejections.get(round, [])]


# --- every reason -------------------------------------------------------------------------------

SENTENCES = {"stereotype": "He is early.", "anti_stereotype": "He is late."}


def without(field: str) -> list[Row]:
    """Sentences of a published item; one lacks a field."""
    sentences: list[Row] = published()["item"]["sentences"]
    del sentences[0][field]
    return sentences


BAD: list[tuple[str, list[Row]]] = [
    ("missing_field", [written(context=None)]),
    ("missing_field", [written(), label(annotator=None)]),
    ("missing_field", [written(), label(association=None)]),
    ("missing_field", [published(id=None)]),
    ("missing_field", [published(sentences=None)]),
    ("missing_field", [published(sentences="three")]),
    *(("missing_field", [published(**{k: None})]) for k in ("target", "bias_type", "context")),
    *(("missing_field", [published(sentences=without(k))]) for k in ("id", "sentence")),
    ("bad_value", [written(kind="poem")]),
    ("bad_value", [written(submitted_at="yesterday")]),
    ("bad_value", [written(updated_at="0001-01-01T00:00:00+05:00")]),
    ("bad_value", [written(seconds="soon")]),
    ("bad_value", [written(seconds="-1")]),
    ("bad_value", [written(seconds="inf")]),
    ("bad_value", [written(seconds="nan")]),
    ("bad_value", [written(target=["baker"])]),
    ("bad_value", [written() | {"": ["one cell too many"]}]),
    ("unknown_domain", [written(domain="hobby")]),
    ("unknown_target", [written(target="baker", domain="race")]),
    ("wrong_association_count", [published(0)]),
    ("wrong_association_count", [published(2)]),
    ("wrong_association_count", [published(4)]),
    ("empty_text", [written(unrelated=" ")]),
    ("empty_text", [written(context="")]),
    ("empty_text", [written(), label(label="")]),
    ("blank_missing", [written(context="The baker is kind.")]),
    ("blank_twice", [written(context="The baker is BLANK and BLANK.")]),
    ("blank_glued", [written(context="The baker is BLANKly late.")]),
    ("blank_left", [written(stereotype="BLANK")]),
    ("blank_left", [written(kind="intersentence", context="The baker is BLANK.")]),
    ("target_missing", [written(context="He is BLANK.")]),
    ("template_not_reproduced", [written(stereotype="The baker was early.")]),
    ("same_text_twice", [written(unrelated=" LATE ")]),
    ("duplicate_item", [written(), written(item_id="i2", context="The  baker is BLANK.")]),
    ("clashing_id", [written(), written(context="The baker was BLANK.")]),
    ("clashing_id", [written(), label(answer_id="a"), label(answer_id="a", annotator="ben")]),
    ("duplicate_label", [written(), label(submitted_at=TIME(1)), label(submitted_at=TIME(1))]),
    (
        "superseded",
        [written(submitted_at=TIME(1)), written(submitted_at=TIME(1), updated_at=TIME(2))],
    ),
    (
        "superseded",
        [
            written(),
            label(answer_id="a", updated_at=TIME(2)),
            label(answer_id="a", updated_at=TIME(1)),
        ],
    ),
    ("unknown_label", [written(), label(label="fine")]),
    ("unknown_item", [written(), label(item_id="i9")]),
    ("unknown_association", [written(), label(association="punctual")]),
    ("own_item", [written(), label(annotator="writer")]),
]
OPTIONS: Row = {
    "write_seconds": 10,
    "label_seconds": 3,
    "standing": {"spam": ("excluded", "copied"), "tired": ("withdrawn", "asked")},
    "near": lambda texts, new: next((n for n, t in enumerate(texts) if t[:40] == new[:40]), None),
    "meta": lambda text: "n/a" if text == "n/a" else None,
}
LONG = "The baker from the corner of the old street is BLANK."
BY_KNOBS: list[tuple[str, list[Row]]] = [
    ("too_fast", [written(seconds=9.5)]),
    ("too_fast", [written(seconds=10), label(seconds=2.9)]),
    ("excluded", [written(annotator="spam")]),
    ("excluded", [written(), label(annotator="spam")]),
    ("withdrawn", [written(), label(annotator="tired")]),
    ("near_duplicate", [written(context=LONG), written(context=LONG, item_id="i2", unrelated="x")]),
    ("meta_text", [written(unrelated="n/a")]),
]
OF_TASKS = {
    *("skipped", "unknown_task", "second_answer", "over_person_cap", "over_term_cap"),
    *("edited_by_other", "deleted", "no_consent"),
}  # shown in test_forms.py
EDITED = [  # the writer changed a word after ben, and before zoe, had labelled it
    written(submitted_at=TIME(1)),
    label(submitted_at=TIME(2), annotator="ben"),
    label(submitted_at=TIME(2), annotator="ben", association="late", label="anti-stereotype"),
    written(submitted_at=TIME(1), updated_at=TIME(3), stereotype="early up"),
    label(submitted_at="2026-03-02T09:00:04.000Z", annotator="zoe", association="early up"),
]


def test_a_label_counts_for_the_words_that_were_there() -> None:
    before, after = folded(said(EDITED[:3])), folded(said(EDITED))
    assert sorted(refused(after)) == [("superseded", "1"), ("text_changed", "2")]
    assert [x.annotator for x in after.labels] == ["ben", "zoe"]
    # The association's id stays, and so does the label on the one that was not changed.
    ids = [[a.id for a in result.items[0].associations] for result in (before, after)]
    assert ids[0] == ids[1]
    assert after.items[0].associations[0].sentence == "The baker is early up."


def test_a_correction_that_changes_no_word_keeps_every_label() -> None:
    rows = [written(submitted_at=TIME(1)), label(submitted_at=TIME(2))]
    rows += [written(submitted_at=TIME(1), updated_at=TIME(3), context="The  Baker is BLANK.")]
    result = folded(said(rows))
    assert len(result.labels) == 1
    assert refused(result) == [("superseded", "1")]


@pytest.mark.parametrize(("code", "rows"), BAD)
def test_every_reason_is_given_for_its_flaw_alone(code: str, rows: list[Row]) -> None:
    what = said(rows)
    result = folded(what)
    assert [c for c, _ in refused(result)] == [code]
    assert len(result.items) + len(result.labels) == len(what) - 1


def test_all_reasons_of_the_rounds_are_shown() -> None:
    # In records.REASONS they stand between those of the terms and those of the filter.
    codes = list(REASONS)
    ours = codes[codes.index("missing_field") : codes.index("round_not_counted")]
    assert {code for code, _ in BAD + BY_KNOBS} | {"text_changed"} | OF_TASKS == set(ours)


@pytest.mark.parametrize(("code", "rows"), BY_KNOBS)
def test_every_reason_that_settings_give(code: str, rows: list[Row]) -> None:
    what = said(rows)
    result = fold(what, Rules(DOMAINS, TERMS, **OPTIONS))
    assert [c for c, _ in refused(result)] == [code]
    assert len(result.items) + len(result.labels) == len(what) - 1
    assert refused(folded(what)) == []  # by default nothing of the kind is asked
    (person,) = (p for p in result.people if p.refused)
    assert person.answers == len([r for r in rows if r["annotator"] == person.id])


def test_what_is_published_is_taken_whatever_the_settings_say() -> None:
    options = OPTIONS | {"standing": {"human": ("excluded", "-")}, "meta": lambda text: text}
    result = fold(said([published()]), Rules(DOMAINS, TERMS, consent=True, **options))
    assert (len(result.items), len(result.labels), result.people) == (1, 3, [])


def test_labels_on_a_refused_item_are_refused_too() -> None:
    result = folded(said([written(domain="hobby"), label()]))
    assert refused(result) == [("unknown_domain", "1"), ("unknown_item", "2")]


def test_labels_of_a_clashing_item_do_not_go_to_the_item_that_has_the_id() -> None:
    other = published()
    for sentence in other["item"]["sentences"]:
        sentence["sentence"] += " Quite another one."
        sentence["labels"][0]["human_id"] = "somebody else"
    result = folded(said([published(), other]))
    assert len(result.items) == 1
    # They were given to other sentences: the three labels on these say nothing of the first's.
    assert len(result.labels) == 3
    assert sorted(c for c, _ in refused(result)) == ["clashing_id"] + ["unknown_item"] * 3


def test_one_bad_label_of_three_leaves_the_others() -> None:
    row = {"item_id": "i1", "annotator": "anna"}
    for n, (word, value) in enumerate([("early", "stereotype"), ("late", "?"), ("algebraic", "")]):
        row |= {f"association_{n + 1}": word, f"label_{n + 1}": value}
    result = folded(said([written(), row]))
    assert [x.value for x in result.labels] == ["stereotype"]
    assert refused(result) == [("unknown_label", "2"), ("empty_text", "2")]


def test_a_row_that_ends_early_loses_no_label_in_silence() -> None:
    row = {"item_id": "i1", "annotator": "anna", "association_1": "early", "label_1": "stereotype"}
    row |= {"association_2": "late", "label_2": "anti-stereotype", "association_3": "algebraic"}
    result = folded(said([written(), row]))
    assert len(result.labels) == 2
    assert refused(result) == [("missing_field", "2")]


# --- names, texts, values -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["early", " EARLY ", "The baker is early.", "the  baker is EARLY."]
)
def test_an_association_may_be_called_by_its_words_its_sentence_or_its_id(name: str) -> None:
    (item,) = folded(said([written()])).items
    for called in (name, item.associations[0].id):
        (found,) = folded(said([written(), label(association=called)])).labels
        assert found.association == item.associations[0].id


def test_items_hold_whole_sentences_and_the_writers_intent() -> None:
    (item,) = folded(said([written(seconds="5,5", submitted_at="2026-03-02 10:00:01+01:00")])).items
    assert [(a.sentence, a.intent) for a in item.associations] == [
        ("The baker is early.", "stereotype"),
        ("The baker is late.", "anti-stereotype"),
        ("The baker is algebraic.", "unrelated"),
    ]
    assert (item.seconds, item.submitted_at) == (5.5, TIME(1))


@pytest.mark.parametrize("seconds", [0, "0", 0.0])
def test_no_time_at_all_is_a_time(seconds: Any) -> None:
    (item,) = folded(said([written(seconds=seconds)])).items
    assert item.seconds == 0


def test_published_items_keep_ids_people_and_gold() -> None:
    result = folded(said([published()]), people.pseudonyms(b"key"))
    assert [a.id for a in result.items[0].associations] == ["old-0", "old-1", "old-2"]
    assert {a.published_gold for a in result.items[0].associations} == {"unrelated"}
    assert {x.annotator for x in result.labels} == {"human"}


def test_people_of_tables_get_pseudonyms_and_are_known_by_them() -> None:
    name = people.pseudonyms(b"key")
    rows = [written(), label(annotator=" anna "), label(annotator="writer")]
    result = folded(said(rows), name)
    assert result.items[0].writer == name("writer")
    assert [x.annotator for x in result.labels] == [name("anna")]
    assert refused(result) == [("own_item", "3")]


def test_an_id_too_long_is_refused_and_stops_nothing() -> None:
    # Ids have at most 200 characters (records.Id); one bad answer must not stop the other.
    longer = published(id="x" * 201)
    result = folded(said([written(item_id="x" * 201), longer, written(item_id="i2")]))
    assert [item.id for item in result.items] == ["i2"]
    assert {code for code, _ in refused(result)} <= {"bad_value", "unknown_item"}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"label": "good", "human_id": "h"}, "unknown_label"),
        ({"label": "", "human_id": "h"}, "empty_text"),
        ({"label": ["stereotype"], "human_id": "h"}, "bad_value"),
        ({"human_id": "h"}, "missing_field"),
        ({"label": "stereotype"}, "missing_field"),
        ({"label": "stereotype", "human_id": None}, "missing_field"),
        ("stereotype", "bad_value"),
    ],
)
def test_a_published_label_that_says_nothing_is_refused_alone(more: Any, code: str) -> None:
    row = published()
    row["item"]["sentences"][2]["labels"].append(more)
    result = folded(said([row]))
    assert [c for c, _ in refused(result)] == [code]
    assert (len(result.items), len(result.labels)) == (1, 3)


@pytest.mark.parametrize("labels", [5, "many", {"label": "stereotype"}, [[]]])
def test_published_labels_that_are_no_list_are_refused(labels: Any) -> None:
    row = published()
    row["item"]["sentences"][1]["labels"] = labels
    assert {code for code, _ in refused(folded(said([row])))} == {"bad_value"}


# --- time ---------------------------------------------------------------------------------------


def test_a_late_edit_keeps_its_place_and_takes_the_new_value() -> None:
    rows = [written()]
    rows += [
        label(answer_id="a", submitted_at=TIME(1), label="unrelated"),
        label(answer_id="b", submitted_at=TIME(2), annotator="ben"),
        label(answer_id="a", submitted_at=TIME(1), updated_at=TIME(3), label="stereotype"),
    ]
    result = folded(said(rows))
    assert [(x.annotator, x.value, x.submitted_at) for x in result.labels] == [
        ("anna", "stereotype", TIME(1)),
        ("ben", "stereotype", TIME(2)),
    ]
    assert refused(result) == [("superseded", "2")]


def test_an_edit_that_came_with_a_later_time_only_keeps_its_place_too() -> None:
    rows = [written()]
    rows += [
        label(answer_id="a", submitted_at=TIME(3), label="unrelated"),
        label(answer_id="b", submitted_at=TIME(2), annotator="ben"),
        label(answer_id="a", submitted_at=TIME(1)),
    ]
    # The version of second 3 is the last; it takes the place of second 1, before ben's.
    assert [(x.annotator, x.value) for x in folded(said(rows)).labels] == [
        ("anna", "unrelated"),
        ("ben", "stereotype"),
    ]


def test_an_edited_item_keeps_its_place_and_takes_the_new_text() -> None:
    rows = [
        written(submitted_at=TIME(1)),
        written(item_id="i2", submitted_at=TIME(2), context="The baker was BLANK."),
        written(submitted_at=TIME(1), updated_at=TIME(3), stereotype="asleep"),
    ]
    result = folded(said(rows))
    assert [item.id for item in result.items] == ["i1", "i2"]
    assert result.items[0].associations[0].sentence == "The baker is asleep."
    assert refused(result) == [("superseded", "1")]


def test_without_times_the_order_of_the_file_counts() -> None:
    rows = [written(), label(annotator="zoe"), label(annotator="anna"), label(annotator="mia")]
    names = [x.annotator for x in folded(said(rows)).labels]
    assert names == ["zoe", "anna", "mia"]


# --- determinism --------------------------------------------------------------------------------

times = st.sampled_from([None, TIME(1), TIME(2), TIME(3)])
items = st.builds(
    written,
    item_id=st.sampled_from([None, "i1", "i2"]),
    annotator=st.sampled_from([None, "writer", "anna"]),
    domain=st.sampled_from(["profession", "profession", "hobby"]),
    context=st.sampled_from(["The baker is BLANK.", "The baker was BLANK.", "The baker is."]),
    stereotype=st.sampled_from(["early", "asleep", "late"]),
    submitted_at=times,
    updated_at=times,
)
labels = st.builds(
    label,
    item_id=st.sampled_from(["i1", "i1", "i2", "i9"]),
    annotator=st.sampled_from(["anna", "ben", "writer", None]),
    association=st.sampled_from(["early", "late", "algebraic", "The baker is late.", "what"]),
    label=st.sampled_from(["stereotype", "unrelated", "related", "fine"]),
    answer_id=st.sampled_from([None, "a", "b"]),
    submitted_at=times,
    updated_at=times,
)
olds = st.builds(published, st.sampled_from([2, 3, 3]), context=st.sampled_from(["A", "B"]))
answers = st.lists(st.one_of(items, labels, labels, olds), max_size=12)


def counts_add_up(what: Sequence[tuple[str, ParsedAnswer]], result: Folded) -> None:
    rejected = sum(map(len, result.rejections.values()))
    old = [x for _, x in what if isinstance(x, Written) and x.source == "stereoset"]
    given = len(what) + sum(len([*published_labels(item)]) for item in old)
    assert given == len(result.items) + len(result.labels) + rejected


@settings(max_examples=300, deadline=None)
@given(answers, answers, st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_count(
    one: list[Row], two: list[Row], draw: random.Random
) -> None:
    what = said(one, round="one") + said(two, round="two")
    first = folded(what)
    counts_add_up(what, first)
    draw.shuffle(what)
    second = folded(what)
    assert (first.items, first.labels) == (second.items, second.labels)
    counts_add_up(what, second)


def archived(raw: Path) -> Folded:
    what = []
    for where, event in archive.read(raw):
        what += [("main", x) for x in interpret(event, round="main", where=where)]
    result = folded(what)
    counts_add_up(what, result)
    return result


def deliver(raw: Path, rows: list[Row]) -> archive.Delivery:
    return archive.deliver(raw, "answers", rows)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.one_of(items, labels), max_size=12), st.lists(st.integers(0, 12), max_size=3))
def test_growing_and_repeated_deliveries_give_what_one_gives(
    rows: list[Row], ends: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        once, often = Path(folder, "once"), Path(folder, "often")
        deliver(once, rows)
        for end in [*sorted(ends), len(rows), *ends]:  # as an export grows; then old ones again
            deliver(often, rows[:end])
        one, many = archived(once), archived(often)
    assert (one.items, one.labels) == (many.items, many.labels)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(items, labels), max_size=12, unique_by=lambda row: tuple(sorted(row.items()))
    ),
    st.lists(st.integers(0, 12), max_size=3),
)
def test_parts_in_their_order_give_what_the_whole_gives(rows: list[Row], cuts: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = Path(folder, "whole"), Path(folder, "parts")
        deliver(whole, rows)
        ends = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
        for start, end in pairwise(ends):
            deliver(parts, rows[start:end])
        one, many = archived(whole), archived(parts)
    assert (one.items, one.labels) == (many.items, many.labels)
