"""The history of a term: its names, items with an old name, and all other fields."""

from typing import Any

import pytest

from curation.reasons import REASONS
from curation.records import Association, Item
from curation.terms.explain import named, old_texts, story
from curation.terms.select import new_id

TABLE = {
    "Q1": ("actor", 50, ["Q9"], {"description": "who acts", "aliases": ["player"], "sitelinks": 7}),
    "Q2": ("film actor", 30, ["Q1"]),
    "Q3": ("pilot", 20),
    "Q9": ({"en": "artist", "de": "Künstler"}, 0, [], {"classes": ["Q10"]}),
}


def item(name: str, context: str, *sentences: str, term: str = "pilot") -> Item:
    three = (*sentences, *(f"{context} {n}" for n in range(3 - len(sentences))))
    a, b, c = (Association(id=f"{name}-{n}", sentence=text) for n, text in enumerate(three))
    return Item(
        id=name,
        kind="intersentence",
        term=new_id("d", term),
        context=context,
        associations=(a, b, c),
        round="main",
    )


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["airline pilot", "pilot", "Airline  Pilot", "Q3", new_id("d", "pilot")]
)
def test_a_term_is_found_by_texts_item_and_id(choose: Any, name: str) -> None:
    found = choose(TABLE, edits=["pilot,rename,airline pilot"]).selection
    assert [c.text for c in named(found, name)] == ["airline pilot"]
    assert named(found, name, "other") == []
    assert len(named(found, name, "d")) == 1


def test_a_name_may_stand_for_several_and_for_none(choose: Any) -> None:
    found = choose(TABLE | {"Q6": ("Pilot", 3)}).selection
    assert [(c.text, c.status) for c in named(found, "pilot")] == [
        ("pilot", "kept"),
        ("Pilot", "merged"),
    ]
    assert named(found, "nun") == []


@pytest.mark.parametrize(
    "name", ["player", "Schauspieler", "Actrice", "Q1", "q1", "actor", "PERFORMER"]
)
def test_a_term_is_found_by_labels_and_aliases_of_its_item(
    choose: Any, facts: Any, name: str
) -> None:
    more = {"aliases": ["player"], "feminine": ["actrice"]}
    known = facts({"Q1": ({"en": "actor", "de": "Schauspieler"}, 50, [], more), "Q2": ("cook", 9)})
    found = choose(known, edits=["actor,rename,performer"]).selection
    assert [c.text for c in named(found, name, entities=known.entities)] == ["performer"]


def test_a_text_comes_before_the_alias_of_another_item(choose: Any, facts: Any) -> None:
    known = facts({"Q1": ("actor", 50, [], {"aliases": ["player"]}), "Q2": ("player", 9)})
    found = choose(known).selection
    assert [c.item for c in named(found, "player", entities=known.entities)] == ["Q2"]


def test_the_story_shows_the_edits_of_both_sides_and_what_was_not_applied(
    choose: Any, facts: Any
) -> None:
    known = facts(TABLE)
    chosen = choose(known, edits=["pilot,merge,actor", "Q3,drop", "actor,keep"])
    edits = tell(chosen, known, "actor")["edits"]
    assert [(edit["line"], edit["action"]) for edit in edits] == [(2, "merge"), (4, "keep")]
    edits = tell(chosen, known, "pilot")["edits"]
    assert [(edit["line"], "not_applied" in edit) for edit in edits] == [(2, True), (3, False)]
    chosen = choose(known, edits=["pilot,merge,actor"])
    for text in ("pilot", "actor"):
        (edit,) = tell(chosen, known, text)["edits"]
        assert (edit["line"], edit["term"], edit["into"]) == (2, "pilot", "actor")


# --- items with an old name ---------------------------------------------------------------------


def test_items_that_carry_the_old_text_and_not_the_new_are_listed(choose: Any) -> None:
    candidate = choose(TABLE, edits=["pilot,rename,flyer"])["flyer"]
    items = [
        item("old", "The Pilot came."),
        item("new", "The flyer came."),
        item("both", "The flyer came.", "He was a pilot."),
        item("in an association", "She came.", "She is a pilot."),
        item("of another term", "The pilot came.", term="cook"),
    ]
    assert old_texts(candidate, items) == ["old", "both", "in an association"]


def test_an_old_text_within_the_new_one_is_not_the_old_one(choose: Any) -> None:
    candidate = choose(TABLE, edits=["pilot,rename,airline pilot"])["airline pilot"]
    items = [item("old", "The pilot came."), item("new", "The airline pilot came.")]
    assert old_texts(candidate, items) == ["old"]


def test_a_new_text_within_the_old_one_is_not_the_new_one(choose: Any) -> None:
    table = {"Q3": ("airline pilot", 20)}
    candidate = choose(table, edits=["airline pilot,rename,pilot"])["pilot"]
    items = [
        item("old", "The airline pilot came.", term="airline pilot"),
        item("new", "The pilot came.", term="airline pilot"),
    ]
    assert old_texts(candidate, items) == ["old"]


def test_a_word_that_only_holds_the_old_text_is_another_word(choose: Any) -> None:
    table = {"Q3": ("cook", 20)}
    candidate = choose(table, edits=["cook,rename,chef"])["chef"]
    assert old_texts(candidate, [item("new", "The chef baked cookies.", term="cook")]) == []


def test_a_term_that_was_never_renamed_has_no_old_text(choose: Any) -> None:
    assert old_texts(choose(TABLE)["pilot"], [item("old", "The pilot came.")]) == []


# --- the story ------------------------------------------------------------------------------------


def tell(chosen: Any, facts: Any, text: str, **more: Any) -> dict[str, Any]:
    known = {"items": (), "languages": ("en",)} | more
    return story(chosen[text], chosen.selection, facts=facts, **known)


def test_the_story_of_a_kept_term(choose: Any, facts: Any) -> None:
    known = facts(TABLE)
    chosen = choose(known, merge="all", edits=["actor,,,stage"])
    history = tell(chosen, known, "actor", items=[item("i", "x", term="actor")])
    assert history == {
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


def test_the_story_of_a_merged_term(choose: Any, facts: Any) -> None:
    known = facts(TABLE)
    history = tell(choose(known, merge="all"), known, "film actor")
    assert (history["status"], history["reason"], history["into"]) == (
        "merged",
        "too_fine",
        "actor",
    )
    assert history["meaning"] == REASONS["too_fine"]
    assert history["detail"] == "a kind of actor"
    assert (history["family"], history["relatives"]) == (None, [])
    assert history["wikidata"][0]["kind_of"] == {"Q1": "actor"}


def test_the_story_of_a_dropped_term(choose: Any, facts: Any) -> None:
    known = facts(TABLE, unseen={"Q7": 2})
    history = tell(choose(known, min_count=40, merge="none"), known, "pilot")
    assert (history["status"], history["reason"]) == ("dropped", "too_rare")
    assert history["detail"] == "20 statements; the domain requires 40"
    history = tell(choose(known), known, "Q7")
    assert history["wikidata"] == [{"id": "Q7", "counts": {"P106": 2}}]


def test_the_story_of_a_renamed_term_has_its_old_names_edits_and_items(
    choose: Any, facts: Any
) -> None:
    known = facts(TABLE)
    chosen = choose(known, edits=["pilot,rename,flyer,,others steer"])
    items = [item("one", "The pilot came."), item("two", "The flyer came.")]
    history = tell(chosen, known, "flyer", items=items)
    assert history["id"] == new_id("d", "pilot")
    assert history["old_names"] == ["pilot"]
    assert history["edits"] == [
        {
            "line": 2,
            "term": "pilot",
            "action": "rename",
            "into": "flyer",
            "note": "others steer",
        }
    ]
    assert (history["items"], history["items_with_an_old_name"]) == (2, ["one"])


def test_the_story_of_a_word_of_a_list_has_no_counts(choose: Any, facts: Any) -> None:
    known = facts(TABLE)
    history = tell(choose(known, words=["nun"]), known, "nun")
    assert (history["source"], history["count"], history["rolled_up"]) == ("words", None, None)
    assert history["wikidata"] == []


def test_the_story_names_relatives_and_what_lies_above_by_the_nearest_label(
    choose: Any, facts: Any
) -> None:
    known = facts(
        {
            "Q1": ("Veltland", 9, [], {"demonyms": ["Veltlander"], "classes": ["Q9", "Q10"]}),
            "Q9": ({"en": "realm", "de": "Reich"}, 0),
        }
    )
    chosen = choose(known, form="both")
    history = tell(chosen, known, "Veltlander", languages=("de", "en"))
    assert (history["family"], history["relatives"]) == ("Veltland", ["Veltland"])
    assert history["form"] == "demonym"
    assert history["wikidata"][0]["instance_of"] == {"Q9": "Reich", "Q10": None}
    assert history["wikidata"][0]["demonyms"] == ["Veltlander"]
