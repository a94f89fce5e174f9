"""The history of a term: its names, items with an old name, and all other fields."""

from typing import Any

import pytest

from curation.reasons import REASONS
from curation.records import Association, Item
from curation.terms.explain import find_candidates, old_texts, story
from curation.terms.select import new_id
from support.selected import choose, facts

TABLE = {
    "Q1": ("actor", 50, ["Q9"], {"description": "who acts", "aliases": ["player"], "sitelinks": 7}),
    "Q2": ("film actor", 30, ["Q1"]),
    "Q3": ("pilot", 20),
    "Q9": ({"en": "artist", "de": "Künstler"}, 0, [], {"classes": ["Q10"]}),
}


def item(name: str, context: str, *sentences: str, term: str = "pilot") -> Item:
    three = (*sentences, *(f"{context} {n}" for n in range(3 - len(sentences))))
    a, b, c = (Association(id=f"{name}-{n}", sentence=text) for n, text in enumerate(three))
    fields = {"id": name, "kind": "intersentence", "term": new_id("d", term), "round": "main"}
    return Item(context=context, associations=(a, b, c), **fields)


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["airline pilot", "pilot", "Airline  Pilot", "Q3", new_id("d", "pilot")]
)
def test_a_term_is_found_by_texts_item_and_id(name: str) -> None:
    found = choose(TABLE, edits=["pilot,rename,airline pilot"]).selection
    assert [c.text for c in find_candidates(found, name)] == ["airline pilot"]
    assert find_candidates(found, name, "other") == []
    assert len(find_candidates(found, name, "d")) == 1


def test_a_name_may_stand_for_several_and_for_none() -> None:
    found = choose(TABLE | {"Q6": ("Pilot", 3)}).selection
    both = [("pilot", "kept"), ("Pilot", "merged")]
    assert [(c.text, c.status) for c in find_candidates(found, "pilot")] == both
    assert find_candidates(found, "nun") == []


@pytest.mark.parametrize(
    ("name", "item"),
    [
        *((x, "Q1") for x in ("Schauspieler", "Actrice", "Q1", "q1", "actor", "PERFORMER", "mime")),
        ("player", "Q2"),  # a text comes before the alias of another item
    ],
)
def test_a_term_is_found_by_labels_and_aliases_of_its_item(name: str, item: str) -> None:
    more = {"aliases": ["player", "mime"], "feminine": ["actrice"]}
    labels = {"en": "actor", "de": "Schauspieler"}
    known = facts({"Q1": (labels, 50, [], more), "Q2": ("player", 9)})
    found = choose(known, edits=["actor,rename,performer"]).selection
    assert [c.item for c in find_candidates(found, name, entities=known.entities)] == [item]


# --- items with an old name ---------------------------------------------------------------------


def test_items_that_carry_the_old_text_and_not_the_new_are_listed() -> None:
    candidate = choose(TABLE, edits=["pilot,rename,flyer"])["flyer"]
    items = [
        item("old", "The Pilot came."),
        item("new", "The flyer came."),
        item("both", "The flyer came.", "He was a pilot."),
        item("in an association", "She came.", "She is a pilot."),
        item("of another term", "The pilot came.", term="cook"),
    ]
    assert old_texts(candidate, items) == ["old", "both", "in an association"]


@pytest.mark.parametrize(
    ("before", "after", "text", "found"),
    [
        ("pilot", "airline pilot", "The pilot came.", ["it"]),
        ("pilot", "airline pilot", "The airline pilot came.", []),  # the old one is within the new
        ("airline pilot", "pilot", "The airline pilot came.", ["it"]),
        ("airline pilot", "pilot", "The pilot came.", []),
        ("cook", "chef", "The chef baked cookies.", []),  # another word that holds the old text
    ],
)
def test_a_text_within_another_text(before: str, after: str, text: str, found: list[str]) -> None:
    candidate = choose({"Q3": (before, 20)}, edits=[f"{before},rename,{after}"])[after]
    assert old_texts(candidate, [item("it", text, term=before)]) == found


def test_a_term_that_was_never_renamed_has_no_old_text() -> None:
    assert old_texts(choose(TABLE)["pilot"], [item("old", "The pilot came.")]) == []


# --- the story ------------------------------------------------------------------------------------


def tell(
    text: str, *edits: str, table: Any = TABLE, unseen: Any = None, **options: Any
) -> dict[str, Any]:
    """The story of the candidate of a text in the selection from a table."""
    about = {"items": options.pop("items", ()), "languages": options.pop("languages", ("en",))}
    known = facts(table, unseen=unseen)
    chosen = choose(known, edits=edits, **options)
    return story(chosen[text], chosen.selection, facts=known, **about)


def test_the_story_of_a_kept_term() -> None:
    items = [item("i", "x", term="actor")]
    assert tell("actor", "actor,,,stage", items=items, merge="all") == {
        "term": "actor",
        "domain": "d",
        "id": new_id("d", "actor"),
        "status": "kept",
        "reason": None,
        "meaning": None,
        "detail": "",
        "into": None,
        "source": "wikidata",
        "form": "name",
        "count": 50,
        "rolled_up": 80,  # with 30 film actors
        "old_names": [],
        "wikidata": [
            {
                "id": "Q1",
                "counts": {"P106": 50},
                "labels": {"en": "actor"},
                "description": "who acts",
                "aliases": ["player"],
                "kind_of": {"Q9": "artist"},
                "instance_of": {},
                "sitelinks": 7,
                "demonyms": [],
            }
        ],
        "merged_into_it": [{"term": "film actor", "reason": "too_fine", "count": 30}],
        "edits": [{"line": 2, "term": "actor", "family": "stage"}],
        "family": "stage",
        "relatives": [],
        "items": 1,
        "items_with_an_old_name": [],
    }


def test_the_story_of_a_merged_term() -> None:
    told = tell("film actor", merge="all")
    assert told.items() >= {
        "status": "merged", "reason": "too_fine", "into": "actor", "detail": "a kind of actor",
        "meaning": REASONS["too_fine"], "family": None,
    }.items()  # fmt: skip
    assert told["relatives"] == []
    assert told["wikidata"][0]["kind_of"] == {"Q1": "actor"}


def test_the_story_of_a_dropped_term() -> None:
    told = tell("pilot", min_count=40, merge="none")
    assert (told["status"], told["reason"]) == ("dropped", "too_rare")
    assert told["detail"] == "20 statements; the domain requires 40"
    assert tell("Q7", unseen={"Q7": 2})["wikidata"] == [{"id": "Q7", "counts": {"P106": 2}}]


def test_the_story_of_a_renamed_term_has_its_old_names_edits_and_items() -> None:
    items = [item("one", "The pilot came."), item("two", "The flyer came.")]
    told = tell("flyer", "pilot,rename,flyer,,others steer", items=items)
    edit = {"term": "pilot", "action": "rename", "into": "flyer", "note": "others steer"}
    assert (told["id"], told["old_names"]) == (new_id("d", "pilot"), ["pilot"])
    assert told["edits"] == [{"line": 2, **edit}]
    assert (told["items"], told["items_with_an_old_name"]) == (2, ["one"])


def test_the_story_shows_the_edits_of_both_sides_and_what_was_not_applied() -> None:
    lines = ["pilot,merge,actor", "Q3,drop", "actor,keep"]
    edits = tell("actor", *lines)["edits"]
    assert [(edit["line"], edit["action"]) for edit in edits] == [(2, "merge"), (4, "keep")]
    edits = tell("pilot", *lines)["edits"]
    assert [(edit["line"], "not_applied" in edit) for edit in edits] == [(2, True), (3, False)]
    for text in ("pilot", "actor"):
        (edit,) = tell(text, lines[0])["edits"]
        assert (edit["line"], edit["term"], edit["into"]) == (2, "pilot", "actor")


def test_the_story_of_a_word_of_a_list_has_no_counts() -> None:
    told = tell("nun", words=["nun"])
    assert (told["source"], told["count"], told["rolled_up"]) == ("words", None, None)
    assert told["wikidata"] == []


def test_the_story_names_relatives_and_what_lies_above_by_the_nearest_label() -> None:
    more = {"demonyms": ["Veltlander"], "classes": ["Q9", "Q10"]}
    table = {"Q1": ("Veltland", 9, [], more), "Q9": ({"en": "realm", "de": "Reich"}, 0)}
    told = tell("Veltlander", table=table, languages=("de", "en"), form="both")
    assert (told["family"], told["relatives"]) == ("Veltland", ["Veltland"])
    assert told["form"] == "demonym"
    assert told["wikidata"][0]["instance_of"] == {"Q9": "Reich", "Q10": None}
    assert told["wikidata"][0]["demonyms"] == ["Veltlander"]
