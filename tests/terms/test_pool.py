"""Manual edits when several candidates have one text, share an item, or pass a text on."""

from typing import Any

import pytest

from support.selected import choose

TWO = {"Q1": ("librarian", 8), "Q2": ("librarian", 3), "Q3": ("baker", 6), "Q4": ("bakers", 1)}


def test_a_small_q_names_an_item_too() -> None:
    assert "baker" not in choose(TWO, edits=["q3,drop"]).kept


@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        ("baker,drop", {"librarian": 11}),
        ("baker,rename,bread baker", {"librarian": 11, "bread baker": 7}),
        ("baker,merge,librarian", {"librarian": 18}),
        ("baker,keep", {"librarian": 11, "baker": 7}),
    ],
)
def test_variants_follow_what_is_said_of_a_text(edit: str, kept: Any) -> None:
    assert choose(TWO, edits=[edit]).kept == kept


@pytest.mark.parametrize(
    "edits",
    [["Veltlander,merge,Veltland"], ["Veltland,merge,Veltlander", "Veltlandish,merge,Veltlander"]],
)
def test_forms_of_one_item_that_people_merge_are_counted_once(edits: list[str]) -> None:
    table = {"Q1": ("Veltland", 8, [], {"demonyms": ["Veltlander", "Veltlandish"]})}
    assert set(choose(table, form="both", edits=edits).kept.values()) == {8}


def test_names_may_be_handed_on_in_any_order() -> None:
    table = {"Q1": ("pilot", 8), "Q2": ("baker", 3)}
    lines = ["pilot,rename,flyer", "baker,rename,pilot"]
    for edits in (lines, lines[::-1]):
        found = choose(table, edits=edits)
        assert found.kept == {"flyer": 8, "pilot": 3}
        assert len(set(found.ids.values())) == 2


def test_what_has_no_name_cannot_be_kept_without_one() -> None:
    table = {"Q1": (None, 8), "Q2": ("baker", 3)}
    found = choose(table, edits=["Q1,keep"])
    (rejection,) = found.selection.rejections
    assert (rejection.code, rejection.where) == ("edit_conflict", "E line 2")
    assert "'Q1' has no label in the language; use the action rename" in rejection.detail
    assert found.kept == {"baker": 3}
    assert choose(table, edits=["Q1,rename,cook"]).kept == {"cook": 8, "baker": 3}
    found = choose(table, edits=["Q1,merge,baker"])
    assert found.kept == {"baker": 11}
    assert all("Q1" not in t.names for t in found.selection.terms)


def test_a_term_stays_with_the_item_it_was_met_under() -> None:
    # Q1 was «nurse» when answers came; it is called otherwise now, and another item is «nurse».
    found = choose({"Q1": ("registered nurse", 9), "Q2": ("nurse", 5)}, met={"nurse": ["Q1"]})
    assert found.kept == {"nurse": 14}  # one text is one term
    (term,) = found.selection.terms
    assert set(term.wikidata) == {"Q1", "Q2"}


def test_places_whose_people_bear_one_name_are_one_family() -> None:
    people = {"demonyms": ["Veltish"]}
    table = {"Q1": ("Velt", 8, [], people), "Q2": ("Velt Republic", 5, [], people)}
    found = choose(table, form="both")
    assert set(found.kept) == {"Velt", "Velt Republic", "Veltish"}
    assert len(set(found.families.values())) == 1
    # A place is no plural of its people.
    found = choose({"Q1": ("Laos", 8, [], {"demonyms": ["Lao"]})}, form="both")
    assert found.kept == {"Laos": 8, "Lao": 8}


def test_accents_make_words_but_in_english() -> None:
    table = {"Q1": ("papá", 8), "Q2": ("papa", 5)}
    assert choose(table, language="es").kept == {"papá": 8, "papa": 5}
    assert choose(table, language="en").kept == {"papá": 13}


def test_a_variant_that_people_call_otherwise_takes_its_statements_along() -> None:
    # «baker» takes «bakers» along, and Q4 is then taken back from it.
    found = choose(TWO, edits=["baker,keep", "Q4,rename,pastry cooks"])
    assert found.kept == {"librarian": 11, "baker": 6, "pastry cooks": 1}
    assert found.term("baker").wikidata == ("Q3",)


# --- second spellings of word lists --------------------------------------------------------------

NORWEGIAN = {"Norwegian": ["Norweigan"]}
COLOMBIA = {"Q739": ("Colombia", 9), "Q2": ("Norweigan", 4), "Q3": ("norweigans", 2)}


def test_candidates_under_a_second_spelling_are_the_same_term() -> None:
    spellings = {"Columbia": ["Colombia"], "Norwegian": ["Norweigan"]}
    found = choose(COLOMBIA, words=list(spellings), also=spellings)
    # Their statements and items come along: 9, and 4 + 2.
    assert found.ends == {
        "Columbia": 9, "Norwegian": 6, "Colombia": "merged variant Columbia",
        "Norweigan": "merged variant Norwegian", "norweigans": "merged variant Norwegian",
    }  # fmt: skip
    term = found.term("Columbia")
    assert (term.wikidata, term.names) == (("Q739",), ("Colombia",))
    # Without the column they are two terms.
    assert choose(COLOMBIA, words=["Columbia"]).kept.keys() >= {"Columbia", "Colombia"}


@pytest.mark.parametrize(
    "met", [["Norweigan"], ["Norweigan", "Norwegian"], ["Norwegian", "Norweigan"]]
)
@pytest.mark.parametrize("table", [{}, COLOMBIA])
def test_what_answers_spell_otherwise_is_the_same_term(table: Any, met: list[str]) -> None:
    found = choose(table, met=met, words={"Norwegian": "Norway"}, also=NORWEGIAN, min_count=5)
    (term,) = (t for t in found.selection.terms if t.text.startswith("Nor"))
    assert (term.text, term.family, term.names) == ("Norwegian", "Norway", ("Norweigan",))
    # Each keeps its own id, so that nothing is lost if the list changes again.
    assert term.id == choose({}, met=["Norwegian"]).ids["Norwegian"]
    other = found["Norweigan"]
    assert other.id == choose({}, met=["Norweigan"]).ids["Norweigan"]
    assert (other.status, other.reason, other.into) == ("merged", "variant", found["Norwegian"])


def test_edits_may_name_a_term_by_its_second_spelling() -> None:
    known = {"words": ["Columbian"], "also": {"Columbian": ["Colombian"]}}
    assert choose({}, **known, edits=["Colombian,drop"]).kept == {}
    found = choose({}, **known, edits=["Columbian,rename,Colombian"])
    assert list(found.kept) == ["Colombian"]
    assert found.selection.terms[0].names == ("Columbian",)


@pytest.mark.parametrize("met", [[], ["Norweigan"], ["Norwegian"]])
@pytest.mark.parametrize(
    ("edit", "kept"),
    [
        ("Norweigan,drop", set()),
        ("Norweigan,rename,northerner", {"northerner"}),
        ("Norweigan,keep", {"Norwegian", "Norweigan"}),
    ],
)
def test_a_line_means_the_same_before_and_after_answers_use_a_second_spelling(
    met: list[str], edit: str, kept: set[str]
) -> None:
    found = choose({}, met=met, words=["Norwegian"], also=NORWEGIAN, edits=[edit])
    assert {*found.kept} == kept
    # Each name that answers may use is that of one term.
    names = [name for t in found.selection.terms for name in (t.text, *t.names)]
    assert len({*names}) == len(names)
