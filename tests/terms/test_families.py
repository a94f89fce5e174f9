"""Families: groups of terms that must be in the same split."""

import pytest

from curation.records import Term
from curation.terms.select import families, new_id


def term(text: str, domain: str = "d", **more: str) -> Term:
    return Term(id=new_id(domain, text), text=text, domain=domain, **more)


def of(*texts: str, by_hand: dict[str, str] | None = None, language: str = "en") -> dict[str, str]:
    """The families of terms by text; people's are given by text as well."""
    by_id = {new_id("d", text): family for text, family in (by_hand or {}).items()}
    return {t.text: str(t.family) for t in families([*map(term, texts)], by_id, language=language)}


def test_spelling_variants_and_plurals_are_one_family() -> None:
    assert of("film-maker", "filmmaker", "filmmakers", "Film Makers", "baker") == {
        "film-maker": "filmmaker",
        "filmmaker": "filmmaker",  # the shortest, then the first, names the family
        "filmmakers": "filmmaker",
        "Film Makers": "filmmaker",
        "baker": "baker",
    }
    found = of("gentleman", "gentlemen", "lady", "ladies", "box", "boxes")
    assert set(found.values()) == {"gentleman", "lady", "box"}


def test_marks_make_variants_in_latin_letters_and_words_in_others() -> None:
    assert set(of("Québécois", "Quebecois").values()) == {"Quebecois"}
    assert len(set(of("किता", "कीता").values())) == 2


def test_peoples_word_wins_over_links_and_links_over_variants() -> None:
    met = [
        Term(id="1", text="Veltland", domain="race", family="linked"),
        Term(id="2", text="Veltlands", domain="race"),
        Term(id="3", text="Veltlander", domain="race", family="linked"),
    ]
    found = {t.id: t.family for t in families(met, {"3": "by_hand"})}
    # 2 is the plural of 1, and goes with it where a link or people take that.
    assert found == {"1": "linked", "2": "linked", "3": "by_hand"}


def test_families_go_across_domains_and_the_order_is_by_domain_and_text() -> None:
    met = [term("x", "b"), term("z", "a"), term("y", "a"), term("X", "a")]
    assert [(t.domain, t.text, t.family) for t in families(met, {})] == [
        ("a", "X", "X"),
        ("a", "y", "y"),
        ("a", "z", "z"),
        ("b", "x", "X"),
    ]


@pytest.mark.parametrize("edited", ["baker", "bakers", "Baker"])
def test_an_edited_term_takes_its_variants_along_unless_people_part_them(edited: str) -> None:
    found = of("baker", "bakers", "Baker", "cook", by_hand={edited: "food"})
    assert found == {"baker": "food", "bakers": "food", "Baker": "food", "cook": "cook"}
    parted = {"Pole": "people", "pole": "stick"}
    assert of("Pole", "pole", by_hand=parted) == parted


def test_ids_and_all_else_stay() -> None:
    before = term("baker").model_copy(update={"wikidata": ("Q1",), "names": ("bread maker",)})
    assert families([before], {before.id: "food"}) == [before.model_copy(update={"family": "food"})]
