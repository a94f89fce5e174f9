"""The fold depends on answers and their times, not on how they arrived; nothing vanishes."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.reasons import REASONS
from curation.records import Correction
from curation.rounds.answers import people
from curation.rounds.answers.interpret import labels as published_labels
from curation.rounds.answers.parsed import ParsedAnswer, Written
from curation.rounds.fold import Folded, fold
from curation.rounds.gate import Rules
from support.answers import TERMS, Row, archived, codes, cut, label, say, written

DOMAINS = ("profession", "race")
TIME = "2026-03-02T09:00:0{}.000Z".format


def published(count: int = 3, **changes: Any) -> Row:
    sentences = [
        {"id": f"old-{n}", "sentence": f"Sentence {n}.", "gold_label": "unrelated",
         "labels": [{"label": "unrelated", "human_id": "human"}]}
        for n in range(count)
    ]  # fmt: skip
    item = {"id": "old", "bias_type": "profession", "target": "nurse", "context": "A nurse came."}
    return {
        "kind": "intersentence",
        "where": "f data.intersentence[0]",
        "item": item | {"sentences": sentences} | changes,
    }


def folded(
    what: Iterable[tuple[str, ParsedAnswer]], pseudonym: Callable[[str], str] = str, **rules: Any
) -> Folded:
    return fold(what, Rules(DOMAINS, TERMS, **rules), pseudonym)


# --- every reason -------------------------------------------------------------------------------


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
    *(("bad_value", [written(seconds=odd)]) for odd in ("soon", "-1", "inf", "nan", "1e300")),
    ("bad_value", [written(target=["baker"])]),
    ("bad_value", [written() | {"": ["one cell too many"]}]),
    ("unknown_domain", [written(domain="hobby")]),
    ("unknown_target", [written(target="baker", domain="race")]),
    *(("wrong_association_count", [published(count)]) for count in (0, 2, 4)),
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
    ("superseded", [written(submitted_at=TIME(1), updated_at=when) for when in (None, TIME(2))]),
    ("superseded", [written(), *(label(answer_id="a", updated_at=TIME(n)) for n in (2, 1))]),
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
    "meta": lambda text: text if text in ("n/a", "HITs are ok") else None,
}
LONG = "The baker from the corner of the old street is BLANK."
BY_KNOBS: list[tuple[str, list[Row]]] = [
    ("too_fast", [written(seconds=9.5)]),
    ("too_fast", [written(seconds=10), label(seconds=2.9)]),
    ("excluded", [written(annotator="spam")]),
    ("excluded", [written(), label(annotator="spam")]),
    ("withdrawn", [written(), label(annotator="tired")]),
    ("near_duplicate", [written(context=LONG), written(context=LONG, item_id="i2", unrelated="x")]),
    *(("meta_text", [written(unrelated=text)]) for text in ("n/a", "HITs are ok")),
]
OF_TASKS = {
    *("skipped", "unknown_task", "second_answer", "over_person_cap", "over_term_cap"),
    *("edited_by_other", "deleted", "no_consent", "late", "time_impossible"),
    *("returned", "forged"),
}  # shown in test_forms.py and test_times.py
EDITED = [  # the writer changed a word after ben, and before zoe, had labelled it
    written(submitted_at=TIME(1)),
    label(submitted_at=TIME(2), annotator="ben"),
    label(submitted_at=TIME(2), annotator="ben", association="late", label="anti-stereotype"),
    written(submitted_at=TIME(1), updated_at=TIME(3), stereotype="early up"),
    label(submitted_at="2026-03-02T09:00:04.000Z", annotator="zoe", association="early up"),
]


def test_a_label_counts_for_the_words_that_were_there() -> None:
    before, after = folded(say(EDITED[:3])), folded(say(EDITED))
    assert sorted(codes(after)) == [("superseded", "1"), ("text_changed", "2")]
    assert [x.annotator for x in after.labels] == ["ben", "zoe"]
    # The association's id stays, and so does the label on the one that was not changed.
    ids = [[a.id for a in result.items[0].associations] for result in (before, after)]
    assert ids[0] == ids[1]
    assert after.items[0].associations[0].sentence == "The baker is early up."


def test_a_correction_that_changes_no_word_keeps_every_label() -> None:
    rows = [written(submitted_at=TIME(1)), label(submitted_at=TIME(2))]
    rows += [written(submitted_at=TIME(1), updated_at=TIME(3), context="The  Baker is BLANK.")]
    result = folded(say(rows))
    assert len(result.labels) == 1
    assert codes(result) == [("superseded", "1")]


def correction(at: int, association: str | None, text: str, item: str = "i1") -> Correction:
    return Correction(
        **{"item": item, "round": "r", "association": association, "text": text},
        **{"by": "p-team", "why": "wrong", "at": TIME(at)},
    )


def test_a_correction_of_the_team_is_a_later_version() -> None:
    (item,) = folded(say(EDITED[:3])).items
    early = item.associations[0].id
    with_it = {"corrections": {"i1": [correction(5, early, "friendly")]}}
    result = folded(say(EDITED[:3]), **with_it)
    assert result.items[0].associations[0].sentence == "The baker is friendly."
    assert [a.id for a in result.items[0].associations] == [a.id for a in item.associations]
    assert codes(result) == [("text_changed", "2")]
    assert len(result.labels) == 1  # on the word that is as it was
    # A label that comes after the correction counts.
    late = label(submitted_at=TIME(6), annotator="zoe", association="friendly")
    assert len(folded(say([*EDITED[:3], late]), **with_it).labels) == 2
    # A writer who changes the item after that has the last word.
    before = {"corrections": {"i1": [correction(2, early, "friendly")]}}
    result = folded(say(EDITED), **before)
    assert result.items == folded(say(EDITED)).items
    left_out = [r for r in result.rejections["r"] if "correction" in r.where]
    assert [(r.code, r.record["text"]) for r in left_out] == [("superseded", "friendly")]


@pytest.mark.parametrize(
    ("code", "lost"),
    [
        ("unknown_item", correction(5, None, "x", item="i9")),
        ("unknown_association", correction(5, "a-9", "x")),
    ],
)
def test_a_correction_of_nothing_is_refused(code: str, lost: Correction) -> None:
    result = folded(say(EDITED[:3]), corrections={lost.item: [lost]})
    assert result.items == folded(say(EDITED[:3])).items
    assert [r.code for r in result.rejections["r"]] == [code]


def test_a_published_text_that_is_corrected_loses_its_gold_label() -> None:
    lost = correction(5, "old-1", "Another sentence.", item="old")
    (item,) = folded(say([published()]), corrections={"old": [lost]}).items
    golds = [a.published_gold for a in item.associations]
    assert golds == ["unrelated", None, "unrelated"]


@pytest.mark.parametrize(("code", "rows"), BAD)
def test_every_reason_is_given_for_its_flaw_alone(code: str, rows: list[Row]) -> None:
    what = say(rows)
    result = folded(what)
    assert [c for c, _ in codes(result)] == [code]
    assert len(result.items) + len(result.labels) == len(what) - 1


def test_all_reasons_of_the_rounds_are_shown() -> None:
    # In records.REASONS they stand between those of the terms and those of the filter.
    every = list(REASONS)
    ours = every[every.index("missing_field") : every.index("round_not_counted")]
    assert {code for code, _ in BAD + BY_KNOBS} | {"text_changed"} | OF_TASKS == set(ours)


@pytest.mark.parametrize(("code", "rows"), BY_KNOBS)
def test_every_reason_that_settings_give(code: str, rows: list[Row]) -> None:
    what = say(rows)
    result = folded(what, **OPTIONS)
    assert [c for c, _ in codes(result)] == [code]
    assert len(result.items) + len(result.labels) == len(what) - 1
    assert codes(folded(what)) == []  # by default nothing of the kind is asked
    (person,) = (p for p in result.people if p.refused)
    assert person.answers == len([r for r in rows if r["annotator"] == person.id])


def test_what_is_published_is_taken_whatever_the_settings_say() -> None:
    options = OPTIONS | {"standing": {"human": ("excluded", "-")}, "meta": lambda text: text}
    result = folded(say([published()]), consent=True, **options)
    assert (len(result.items), len(result.labels), result.people) == (1, 3, [])


def test_labels_on_a_refused_item_are_refused_too() -> None:
    result = folded(say([written(domain="hobby"), label()]))
    assert codes(result) == [("unknown_domain", "1"), ("unknown_item", "2")]


def test_labels_of_a_clashing_item_do_not_go_to_the_item_that_has_the_id() -> None:
    other = published()
    for sentence in other["item"]["sentences"]:
        sentence["sentence"] += " Quite another one."
        sentence["labels"][0]["human_id"] = "somebody else"
    result = folded(say([published(), other]))
    # They were given to other sentences: the three labels on these say nothing of the first's.
    assert (len(result.items), len(result.labels)) == (1, 3)
    assert sorted(c for c, _ in codes(result)) == ["clashing_id"] + ["unknown_item"] * 3


def test_one_bad_label_of_three_leaves_the_others() -> None:
    row = {"item_id": "i1", "annotator": "anna"}
    for n, (word, value) in enumerate([("early", "stereotype"), ("late", "?"), ("algebraic", "")]):
        row |= {f"association_{n + 1}": word, f"label_{n + 1}": value}
    result = folded(say([written(), row]))
    assert [x.value for x in result.labels] == ["stereotype"]
    assert codes(result) == [("unknown_label", "2"), ("empty_text", "2")]


def test_a_row_that_ends_early_loses_no_label_in_silence() -> None:
    row = {"item_id": "i1", "annotator": "anna", "association_1": "early", "label_1": "stereotype"}
    row |= {"association_2": "late", "label_2": "anti-stereotype", "association_3": "algebraic"}
    result = folded(say([written(), row]))
    assert len(result.labels) == 2
    assert codes(result) == [("missing_field", "2")]


# --- names, texts, values -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["early", " EARLY ", "The baker is early.", "the  baker is EARLY."]
)
def test_an_association_may_be_called_by_its_words_its_sentence_or_its_id(name: str) -> None:
    (item,) = folded(say([written()])).items
    for called in (name, item.associations[0].id):
        (found,) = folded(say([written(), label(association=called)])).labels
        assert found.association == item.associations[0].id


def test_items_hold_whole_sentences_and_the_writers_intent() -> None:
    (item,) = folded(say([written(seconds="5,5", submitted_at="2026-03-02 10:00:01+01:00")])).items
    assert [(a.sentence, a.intent) for a in item.associations] == [
        ("The baker is early.", "stereotype"),
        ("The baker is late.", "anti-stereotype"),
        ("The baker is algebraic.", "unrelated"),
    ]
    assert (item.seconds, item.submitted_at) == (5.5, TIME(1))


def test_no_time_at_all_is_a_time() -> None:
    for seconds in (0, "0", 0.0):
        assert folded(say([written(seconds=seconds)])).items[0].seconds == 0


def test_published_items_keep_ids_people_and_gold() -> None:
    result = folded(say([published()]), people.pseudonyms(b"key"))
    assert [a.id for a in result.items[0].associations] == ["old-0", "old-1", "old-2"]
    assert {a.published_gold for a in result.items[0].associations} == {"unrelated"}
    assert {x.annotator for x in result.labels} == {"human"}


def test_people_of_tables_get_pseudonyms_and_are_known_by_them() -> None:
    name = people.pseudonyms(b"key")
    rows = [written(), *(label(annotator=who) for who in (" anna ", "writer"))]
    result = folded(say(rows), name)
    assert result.items[0].writer == name("writer")
    assert [x.annotator for x in result.labels] == [name("anna")]
    assert codes(result) == [("own_item", "3")]


def test_an_id_too_long_is_refused_and_stops_nothing() -> None:
    # Ids have at most 200 characters (records.Id); one bad answer must not stop the other.
    longer = published(id="x" * 201)
    result = folded(say([written(item_id="x" * 201), longer, written(item_id="i2")]))
    assert [item.id for item in result.items] == ["i2"]
    assert {code for code, _ in codes(result)} <= {"bad_value", "unknown_item"}


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
    result = folded(say([row]))
    assert [c for c, _ in codes(result)] == [code]
    assert (len(result.items), len(result.labels)) == (1, 3)


@pytest.mark.parametrize("labels", [5, "many", {"label": "stereotype"}, [[]]])
def test_published_labels_that_are_no_list_are_refused(labels: Any) -> None:
    row = published()
    row["item"]["sentences"][1]["labels"] = labels
    assert {code for code, _ in codes(folded(say([row])))} == {"bad_value"}


# --- time ---------------------------------------------------------------------------------------


def test_a_late_edit_keeps_its_place_and_takes_the_new_value() -> None:
    rows = [
        written(),
        label(answer_id="a", submitted_at=TIME(1), label="unrelated"),
        label(answer_id="b", submitted_at=TIME(2), annotator="ben"),
        label(answer_id="a", submitted_at=TIME(1), updated_at=TIME(3), label="stereotype"),
    ]
    result = folded(say(rows))
    wanted = [("anna", "stereotype", TIME(1)), ("ben", "stereotype", TIME(2))]
    assert [(x.annotator, x.value, x.submitted_at) for x in result.labels] == wanted
    assert codes(result) == [("superseded", "2")]


def test_an_edit_that_came_with_a_later_time_only_keeps_its_place_too() -> None:
    rows = [
        written(),
        label(answer_id="a", submitted_at=TIME(3), label="unrelated"),
        label(answer_id="b", submitted_at=TIME(2), annotator="ben"),
        label(answer_id="a", submitted_at=TIME(1)),
    ]
    # The version of second 3 is the last; it takes the place of second 1, before ben's.
    found = [(x.annotator, x.value) for x in folded(say(rows)).labels]
    assert found == [("anna", "unrelated"), ("ben", "stereotype")]


def test_an_edited_item_keeps_its_place_and_takes_the_new_text() -> None:
    rows = [
        written(submitted_at=TIME(1)),
        written(item_id="i2", submitted_at=TIME(2), context="The baker was BLANK."),
        written(submitted_at=TIME(1), updated_at=TIME(3), stereotype="asleep"),
    ]
    result = folded(say(rows))
    assert [item.id for item in result.items] == ["i1", "i2"]
    assert result.items[0].associations[0].sentence == "The baker is asleep."
    assert codes(result) == [("superseded", "1")]


def test_without_times_the_order_of_the_file_counts() -> None:
    names = ["zoe", "anna", "mia"]
    result = folded(say([written(), *(label(annotator=name) for name in names)]))
    assert [x.annotator for x in result.labels] == names


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


@settings(max_examples=300)
@given(answers, answers, st.randoms(use_true_random=False))
def test_the_order_does_not_count(one: list[Row], two: list[Row], draw: random.Random) -> None:
    what = say(one, round="one") + say(two, round="two")
    first = folded(what)
    counts_add_up(what, first)
    draw.shuffle(what)
    second = folded(what)
    assert (first.items, first.labels) == (second.items, second.labels)
    counts_add_up(what, second)


def fold_archived(deliveries: Iterable[Sequence[Row]]) -> tuple[Any, Any]:
    what = archived(deliveries, "answers")
    result = folded(what)
    counts_add_up(what, result)
    return result.items, result.labels


rows_of_tables = st.one_of(items, labels)
places = st.lists(st.integers(0, 12), max_size=3)


@settings(max_examples=60)
@given(st.lists(rows_of_tables, max_size=12), places)
def test_growing_and_repeated_deliveries_give_the_same(rows: list[Row], ends: list[int]) -> None:
    # as an export grows; then old ones again
    grown = [rows[:end] for end in (*sorted(ends), len(rows), *ends)]
    assert fold_archived(grown) == fold_archived([rows])


unlike = st.lists(rows_of_tables, max_size=12, unique_by=lambda row: tuple(sorted(row.items())))


@settings(max_examples=60)
@given(unlike, places)
def test_parts_in_their_order_give_what_the_whole_gives(rows: list[Row], cuts: list[int]) -> None:
    assert fold_archived(cut(rows, cuts)) == fold_archived([rows])
