"""The selection of terms: an item's candidates, their checks, permanent ids, and totals."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.campaign.settings import DomainSettings
from curation.reasons import REASONS
from curation.records import Term
from curation.terms.facts import Facts
from curation.terms.select import first_name, new_id, select_terms
from curation.text.rules import stable_id
from support.selected import choose, facts

ENTITY = "Q35120"  # the top of all


# --- the place of an item in the hierarchy --------------------------------------------------------

# Q1 is the domain's root; above it is what people do.
ROOTED = {"Q1": ("occupation", 9, ["Q2"]), "Q2": ("activity", 8, [ENTITY]), ENTITY: ("entity", 0)}


@pytest.mark.parametrize(
    ("parents", "more", "fate"),
    [
        (["Q1"], {}, "kept"),
        (["Q4"], {}, "kept"),  # Q4 is a kind of Q1
        ([], {"classes": ["Q1"]}, "kept"),  # an instance of a root
        (["Q5"], {}, "kept"),  # Q5 is an instance of Q1
        (["Q2"], {}, "dropped outside_roots"),  # beside the root
        ([ENTITY], {}, "dropped outside_roots"),
        (["Q6"], {}, "dropped outside_roots"),  # Q6 and Q7 are kinds of each other
        ([], {}, "kept"),  # nothing is known of it: the benefit of the doubt
        (["Q8"], {}, "kept"),  # nothing is known of what it is a kind of
        (["Q2", "Q8"], {}, "kept"),  # nor here, on one of two ways up
    ],
)
def test_a_term_lies_under_a_root(parents: Any, more: Any, fate: str) -> None:
    table = ROOTED | {
        "Q3": ("baker", 5, parents, more),
        "Q4": ("craft", 0, ["Q1"]),
        "Q5": ("trade", 0, [ENTITY], {"classes": ["Q1"]}),
        "Q6": ("music", 0, ["Q7"]),
        "Q7": ("art", 0, ["Q6"]),
    }
    assert choose(table, roots=["Q1"], merge="none").fates["baker"] == fate


def test_a_root_and_what_lies_above_it_are_too_general() -> None:
    found = choose(ROOTED | {"Q3": ("baker", 5, ["Q1"]), ENTITY: ("entity", 7)}, roots=["Q1"])
    generic = dict.fromkeys(("occupation", "activity", "entity"), "dropped generic_term")
    assert found.fates == generic | {"baker": "kept"}
    assert "Q1 is a root of the domain" in found["occupation"].detail


def test_what_is_named_generic_falls_alone() -> None:
    table = {"Q5": ("human", 9), "Q3": ("baker", 5, ["Q5"])}
    assert choose(table).fates == {"human": "dropped generic_term", "baker": "kept"}
    assert choose(table, generic=["Q3"]).fates == {"human": "kept", "baker": "dropped generic_term"}


def test_an_excluded_class_is_no_place_for_a_term() -> None:
    table = {
        "Q1": ("knight", 9, [], {"classes": ["Q7"]}),
        "Q2": ("baron", 8, ["Q7"]),
        "Q3": ("baker", 5),
        "Q7": ("title of nobility", 7),
    }
    found = choose(table, exclude=["Q7", "Q8"])
    excluded = dict.fromkeys(("knight", "baron", "title of nobility"), "dropped excluded_class")
    assert found.fates == excluded | {"baker": "kept"}
    assert found["baron"].detail == "it is below Q7"


COUNTRY = {"classes": ["Q6256"]}
PLACES = {
    "Q1": ("Veltland", 9, [], COUNTRY),
    "Q2": ("Lower Ostramar", 8, [], {"classes": ["Q100"]}),
    "Q3": ("Tamora", 7, ["Q3624078"]),
    "Q4": ("Harrowfolk", 6, [], {"classes": ["Q101"]}),
    "Q100": ("province", 0, ["Q56061"]),
    "Q101": ("ethnic group", 0, [ENTITY]),
    ENTITY: ("entity", 0),
}
DEMONYM = {"demonyms": ["Veltlander"]}


def test_places_among_ethnic_groups_fall_where_none_are_let_in() -> None:
    found = choose(PLACES)
    places = {  # a class of what lies above counts, and a kind of place is a place
        "Veltland": "it is a country (Q6256)",
        "Lower Ostramar": "it is a administrative territorial entity (Q56061)",
        "Tamora": "it is a sovereign state (Q3624078)",
    }
    assert found.fates == dict.fromkeys(places, "dropped is_place") | {"Harrowfolk": "kept"}
    assert {text: found[text].detail for text in places} == places
    # They may be let in, and some of them kept out.
    assert set(choose(PLACES, places=True).fates.values()) == {"kept"}
    some = choose(PLACES, places=True, exclude=["Q6256"])
    assert some.fates["Veltland"] == "dropped excluded_class"


def test_a_place_without_a_demonym_is_none_among_demonyms() -> None:
    table = PLACES | {"Q1": ("Veltland", 9, [], COUNTRY | DEMONYM)}
    assert choose(table, places=True, form="demonym").fates == {
        "Veltlander": "kept",
        "Lower Ostramar": "dropped no_demonym",
        "Tamora": "dropped no_demonym",
        "Harrowfolk": "kept",  # a people's name needs no demonym
    }


# --- labels ---------------------------------------------------------------------------------------


def test_an_item_without_a_label_in_the_language_falls_under_its_fallback() -> None:
    table = {
        "Q1": ({"en": "baker", "id": "tukang roti"}, 9),
        "Q2": ({"en": "cook"}, 8),
        "Q3": ({"mul": "DJ"}, 7),  # of all languages, and so of this
        "Q4": (None, 6),
        "Q6": ({"nl": "slager"}, 5),  # Dutch is no fallback here
    }
    found = choose(table, language="id", fallbacks=["en"])
    fallen = dict.fromkeys(("cook", "Q4", "Q6"), "dropped no_label")
    assert found.fates == {"tukang roti": "kept", "DJ": "kept"} | fallen
    assert found["cook"].detail == "no label in id, mul; to give it one, rename Q2 in edits.csv"


def test_a_region_takes_its_languages_label_where_it_has_none_of_its_own() -> None:
    table = {"Q1": ({"pt": "padeiro", "pt-br": "confeiteiro"}, 9), "Q2": ({"pt": "cozinheiro"}, 8)}
    assert list(choose(table, language="pt-BR").kept) == ["confeiteiro", "cozinheiro"]


def test_an_item_that_was_not_looked_up_falls_under_its_id() -> None:
    found = choose(facts({"Q1": ("baker", 9)}, unseen={"Q2": 4, "Q3": 6}), least=5)
    assert found.fates == {"baker": "kept", "Q3": "dropped no_label", "Q2": "dropped too_rare"}
    assert found["Q2"].detail == "not looked up: see least in [terms]"
    assert found["Q3"].detail == "no label in en, mul; to give it one, rename Q3 in edits.csv"


def test_a_label_that_looks_vandalised_falls() -> None:
    """All that makes a label odd is in test_language.py."""
    article = {"title": "Baker", "aliases": ["bread maker"]}
    found = choose({"Q1": ("cook", 5), "Q9": ("Relajación", 9, [], article)})
    assert found.fates == {"cook": "kept", "Relajación": "dropped odd_label"}
    assert found["Relajación"].detail.startswith("not similar to its article")


def test_an_odd_label_is_no_reason_against_an_items_demonym() -> None:
    found = choose({"Q1": ("Hahaha", 9, [], DEMONYM)}, form="both")
    assert found.fates == {"Hahaha": "dropped odd_label", "Veltlander": "kept"}
    # A wrong place is named before an odd label.
    assert choose({"Q1": ("???", 9, [], COUNTRY)}).fates == {"???": "dropped is_place"}


# --- an item's forms ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        ("name", ["Veltland", "Ostramar"]),
        ("demonym", ["Veltlander", "Ostramar"]),
        ("both", ["Veltland", "Veltlander", "Ostramar"]),
    ],
)
def test_a_name_its_demonym_or_both(form: str, texts: list[str]) -> None:
    found = choose({"Q1": ("Veltland", 9, [], DEMONYM), "Q2": ("Ostramar", 4)}, form=form)
    assert list(found.fates.items()) == [(text, "kept") for text in texts]


def test_of_several_demonyms_the_nearest_to_the_name_is_taken() -> None:
    demonyms = ["Moorish", "Veltlandish", "Veltlander", "Veltlanden"]
    # Begins as the name does; then the shorter; then in order of letters.
    found = choose({"Q1": ("Veltland", 9, [], {"demonyms": demonyms})}, form="both")
    others = dict.fromkeys(demonyms[:3], "merged other_form Veltlanden")
    assert found.ends == {"Veltland": 9, "Veltlanden": 9} | others  # one item's, counted once


def test_of_gendered_languages_all_demonyms_are_terms() -> None:
    table = {"Q1": ("España", 9, [], {"demonyms": ["español", "española"]})}
    found = choose(table, language="es", form="demonym", gendered=True)
    assert list(found.kept) == ["español", "española"]
    assert found.families == {"español": "España", "española": "España"}


def test_the_last_items_demonym_is_taken_with_its_name() -> None:
    # The two items hold all statements; a form more of the second adds none and takes none away.
    table = {
        "Q1": ("Veltland", 8, [], DEMONYM),
        "Q2": ("Ostramar", 6, [], {"demonyms": ["Ostramarian"]}),
    }
    forms = ["Veltland", "Veltlander", "Ostramar", "Ostramarian"]
    assert list(choose(table, form="both").kept) == forms
    # 8 of 14 is 57 %: the first item alone, with its two forms.
    assert list(choose(table, form="both", coverage=0.5).kept) == forms[:2]


def test_two_forms_of_one_item_with_one_stem_are_counted_once() -> None:
    found = choose({"Q1": ("Poles", 8, [], {"demonyms": ["Pole"]})}, form="both")
    assert sum(found.kept.values()) in (8, 16)  # as one term, or as two
    assert max(found.kept.values()) == 8


GERMAN = {
    "Q1": ("Lehrer", 8, [], {"feminine": ["Lehrerin"], "masculine": ["Lehrer"]}),
    "Q2": ("Arzt", 6, [], {"feminine": ["Ärztin", "Doktorin"]}),
}


def test_female_and_male_forms_are_terms_of_one_family() -> None:
    found = choose(GERMAN, language="de", gendered=True)
    # The male form that is the label itself is no term more.
    assert list(found.kept) == ["Lehrer", "Lehrerin", "Arzt", "Doktorin", "Ärztin"]
    teachers = dict.fromkeys(("Lehrer", "Lehrerin"), "Lehrer")
    assert found.families == teachers | dict.fromkeys(("Arzt", "Ärztin", "Doktorin"), "Arzt")
    assert [found[text].form for text in teachers] == ["name", "feminine"]
    # Female forms are left out where they are not asked for.
    assert list(choose(GERMAN, language="de").fates) == ["Lehrer", "Arzt"]


# --- several domains and properties ---------------------------------------------------------------


def test_an_items_count_is_the_sum_over_its_domains_properties() -> None:
    found = facts({"Q1": ("Veltland", 5), "Q2": ("Ostramar", 7)})
    p27 = [c.model_copy(update={"property": "P27"}) for c in found.counts[:1]]
    other = [c.model_copy(update={"property": "P9", "count": 99}) for c in found.counts]
    elsewhere = [c.model_copy(update={"domain": "e", "count": 3}) for c in found.counts[1:]]
    domains = {n: DomainSettings(properties=("P106", "P27")) for n in "de"}
    counts = [*found.counts, *p27, *other, *elsewhere]
    chosen = select_terms(domains, facts=Facts(counts, found.entities))
    # d: 5 + 5 of Veltland by two properties, 7 of Ostramar; P9 is not asked for. e: 3.
    assert [(c.domain, c.text, c.rolled) for c in chosen.candidates] == [
        ("d", "Veltland", 10), ("d", "Ostramar", 7), ("e", "Ostramar", 3),
    ]  # fmt: skip
    assert [(t.domain, t.text) for t in chosen.terms] == [
        ("d", "Ostramar"), ("d", "Veltland"), ("e", "Ostramar"),
    ]  # fmt: skip


def test_a_word_list_and_facts_meet_in_one_term() -> None:
    found = choose({"Q1": ("baker", 3), "Q2": ("cook", 9)}, words=["baker", "nun"], min_count=5)
    assert found.kept == {"cook": 9, "baker": 3, "nun": 0}
    assert [t.count for t in found.selection.terms] == [3, 9, None]
    assert (found["nun"].source, found["baker"].item) == ("words", "Q1")


def test_words_of_a_list_have_its_families() -> None:
    words = {"himself": "he", "nun": "", "Veltlander": "people"}
    # What a list says goes before what an item links.
    families = words | {"nun": "nun", "Veltland": "Veltland"}
    assert (
        choose({"Q1": ("Veltland", 9, [], DEMONYM)}, form="both", words=words).families == families
    )


# --- permanent ids --------------------------------------------------------------------------------


def test_an_id_is_the_domain_and_the_first_text() -> None:
    assert new_id("profession", "baker") == stable_id("term", "profession", "baker")
    assert new_id("profession", "baker") != new_id("race", "baker")
    assert choose({"Q1": ("baker", 3)}).ids == {"baker": new_id("d", "baker")}
    term = Term(id=new_id("d", "a"), text="c", domain="d", names=("b", "a"))
    assert first_name(term) == "a"
    assert first_name(term.model_copy(update={"id": "given"})) == "c"


def test_answers_keep_a_term_whose_label_changed() -> None:
    before = choose({"Q1": ("baker", 9)})
    after = choose({"Q1": ("bread maker", 9)}, met={"baker": ["Q1"]})
    assert after.ids == before.ids
    assert after.kept == {"baker": 9}
    assert after.term("baker").wikidata == ("Q1",)


def test_answers_keep_a_term_through_thresholds_roots_and_odd_labels() -> None:
    table = {
        "Q1": ("baker", 3),
        "Q2": ("cook", 9, [ENTITY]),
        "Q3": ("Hahaha", 4),
        "Q5": ("human", 4),
        "Q7": ("film cook", 9, ["Q2"]),
        ENTITY: ("entity", 0),
    }
    options = {"min_count": 100, "roots": ["Q8"], "merge": "all"}
    assert choose(table, **options).kept == {}
    names = {"baker": ["Q1"], "cook": ["Q2"], "Hahaha": ["Q3"], "human": ["Q5"], "film cook": []}
    assert set(choose(table, **options, met=names).kept) == set(names)


def test_answers_keep_a_term_that_wikidata_knows_no_more() -> None:
    found = choose({"Q1": ("cook", 9)}, met={"baker": ["Q2"]})
    assert found.kept == {"cook": 9, "baker": 0}
    assert found["baker"].source == "answers"
    (baker, _) = found.selection.terms
    assert (baker.wikidata, baker.count) == (("Q2",), None)


@pytest.mark.parametrize("label", ["baker", "bread maker"])
def test_an_id_and_a_family_that_came_with_answers_stay(label: str) -> None:
    term = Term(id="term-of-old", text="baker", domain="d", family="food", wikidata=("Q1",))
    domains = {"d": DomainSettings(properties=("P106",))}
    (found,) = select_terms(domains, facts=facts({"Q1": (label, 9)}), met=[term]).terms
    assert found == term.model_copy(update={"count": 9})


def test_two_terms_of_one_item_stay_two_where_the_demonym_is_gone() -> None:
    table = {"Q1": ("Veltland", 8, [], DEMONYM)}
    met = {"Veltland": ["Q1"], "Veltlander": ["Q1"]}
    assert set(choose(table, form="both", met=met).kept) == set(met)
    for form in ("name", "demonym"):
        assert set(choose(table, met=met, form=form).ids) == set(met)
    assert set(choose({"Q1": ("Veltland", 8)}, form="both", met=met).ids) == set(met)


def test_no_two_terms_have_one_id() -> None:
    # «pilot» was the name of both; one is called otherwise now, the other keeps the name.
    found = choose({"Q1": ("pilot", 8), "Q2": ("pilot", 6)}, edits=["pilot,rename,airline pilot"])
    assert len(set(found.ids.values())) == len(found.ids)
    assert found.ids["airline pilot"] == new_id("d", "pilot")


# --- every candidate, whatever the table ----------------------------------------------------------

NAMES = ["actor", "actor", "film actor", "silent film actor", "Actors", "cook", None]
EDITS = [
    "actor,drop", "cook,keep", "film actor,merge,cook", "cook,merge,actor", "Q1,rename,mime",
    "film actor,rename,screen actor", "nun,add", "voice actor,keep", "actor,,,stage",
]  # fmt: skip
items = [f"Q{n}" for n in range(1, 6)]
rows = st.tuples(
    st.sampled_from(NAMES),
    st.integers(0, 12),
    st.lists(st.sampled_from([*items, "Q90"]), max_size=2, unique=True),  # circles among them
    st.fixed_dictionaries(
        {},
        optional={
            "classes": st.just(["Q6256"]),
            "demonyms": st.lists(st.sampled_from(["Velt", "Oster"]), max_size=2, unique=True),
            "feminine": st.just(["actress"]),
        },
    ),
)
tables = st.dictionaries(st.sampled_from(items), rows, max_size=5)
options = st.fixed_dictionaries(
    {
        "min_count": st.integers(0, 9),
        "top": st.integers(0, 4),
        "coverage": st.sampled_from([0.3, 0.8, 1.0]),
        "merge": st.sampled_from(["all", "rare", "none"]),
        "head": st.sampled_from(["last", "first", "none"]),
        "language": st.sampled_from(["en", "de"]),
        "roots": st.sampled_from([[], ["Q5"]]),
        "form": st.sampled_from(["name", "demonym", "both"]),
        "gendered": st.booleans(),
    }
)
words = st.lists(st.sampled_from(["actor", "nun", "Cook"]), max_size=2, unique=True)
edits = st.lists(st.sampled_from(EDITS), max_size=3, unique_by=lambda e: e.split(",")[0])


many = settings(max_examples=250, deadline=None)


@many
@given(tables, options, words, edits)
def test_every_candidate_ends_in_one_way(table: Any, options: Any, words: Any, edits: Any) -> None:
    found = choose(table, met=words, words=words[:1], edits=edits, **options).selection
    assert {r.where for r in found.rejections} <= {"E line 2", "E line 3", "E line 4"}
    for c in found.candidates:
        assert c.status in ("kept", "merged", "dropped")
        assert c.reason in REASONS if c.status != "kept" else c.reason in (None, "edited")
        last = c
        for _ in found.candidates:
            last = last.into or last
        assert last.into is None, "a circle of merges"
        if c.status == "merged":
            assert last.alive, "merged into what is dropped"
    alive = sorted((c for c in found.candidates if c.alive), key=lambda c: c.text)
    assert [t.id for t in found.terms] == [c.id for c in alive]
    for one_of in ({t.id for t in found.terms}, {t.text for t in found.terms}):
        assert len(one_of) == len(found.terms)


@many
@given(tables, options, st.randoms(use_true_random=False))
def test_the_order_of_facts_does_not_count(table: Any, options: Any, draw: Any) -> None:
    code = options["language"]
    one = facts(table, code=code)
    counts, entities = [*one.counts], [*one.entities]
    draw.shuffle(counts)
    draw.shuffle(entities)
    found = [choose(f, **options).selection for f in (one, Facts(counts, entities))]
    assert found[0].terms == found[1].terms
    seen = [[(c.text, c.item, c.status, c.reason, c.detail) for c in f.candidates] for f in found]
    assert seen[0] == seen[1]


@many
@given(tables, options, edits)
def test_statements_are_moved_never_lost_or_made(table: Any, options: Any, edits: Any) -> None:
    plain = {
        item: (*row[:3], {k: v for k, v in row[3].items() if k == "classes"})
        for item, row in table.items()
    }
    found = choose(plain, edits=edits, **options).selection
    # Of what went up nowhere each statement is counted once.
    ends = sum(c.rolled for c in found.candidates if c.into is None)
    assert ends == sum(count for _, count, *_ in table.values())


@many
@given(tables, options, tables, options)
def test_what_answers_named_keeps_its_id(table: Any, options: Any, other: Any, others: Any) -> None:
    before = choose(table, **options)
    # What the import of answers on every term writes down: id, first text, items.
    met = {term.text: term.wikidata for term in before.selection.terms}
    assert before.ids.items() <= choose(other, met=met, **others).ids.items()


def test_nothing_at_all_gives_nothing() -> None:
    assert choose({}).selection == ([], [], [], [], [])
