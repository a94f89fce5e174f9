"""Terms get their families: people's word, links, spelling variants, plurals."""

import pytest

from curation.files import CurationError
from curation.records import Term
from curation.rules import stable_id
from curation.terms.targets import Edit, new_term, plurals, read_edits, targets


def families(*texts: str, edits: list[Edit] | None = None, language: str = "en") -> dict[str, str]:
    met = [new_term("d", text) for text in texts]
    found = targets(met, edits or [], language=language)
    assert not found.rejections
    return {t.text: str(t.family) for t in found.terms}


def test_an_id_is_the_domain_and_the_text_and_no_edit_changes_it() -> None:
    term = new_term("profession", "baker")
    assert term.id == stable_id("term", "profession", "baker")
    assert term.id != new_term("race", "baker").id
    edits = [Edit(2, "profession", "baker", "bakery")]
    assert targets([term], edits).terms == [term.model_copy(update={"family": "bakery"})]


def test_spelling_variants_and_plurals_are_one_family() -> None:
    assert families("film-maker", "filmmaker", "filmmakers", "Film Makers", "baker") == {
        "film-maker": "filmmaker",
        "filmmaker": "filmmaker",  # the shortest, then the first, names the family
        "filmmakers": "filmmaker",
        "Film Makers": "filmmaker",
        "baker": "baker",
    }
    assert set(families("gentleman", "gentlemen", "lady", "ladies", "box", "boxes").values()) == {
        "gentleman",
        "lady",
        "box",
    }


@pytest.mark.parametrize(("word", "plural"), [("baker", "bakers"), ("lady", "ladies")])
def test_plurals_are_those_of_english(word: str, plural: str) -> None:
    assert plural in plurals(word)
    assert families(word, plural) == {word: word, plural: word}
    assert families(word, plural, language="en-GB") == {word: word, plural: word}
    assert families(word, plural, language="de") == {word: word, plural: plural}


def test_marks_make_variants_in_latin_letters_and_words_in_others() -> None:
    assert set(families("Québécois", "Quebecois").values()) == {"Quebecois"}
    assert len(set(families("किता", "कीता").values())) == 2


def test_peoples_word_wins_over_links_and_links_over_variants() -> None:
    met = [
        Term(id="1", text="Veltland", domain="race", family="linked"),
        Term(id="2", text="Veltlands", domain="race"),
        Term(id="3", text="Veltlander", domain="race", family="linked"),
    ]
    found = {t.id: t.family for t in targets(met, [Edit(2, "race", "Veltlander", "said")]).terms}
    # 2 is the plural of 1, and goes with it where a link or people take that.
    assert found == {"1": "linked", "2": "linked", "3": "said"}


def test_of_the_same_term_the_first_counts_and_order_is_by_domain_and_text() -> None:
    met = [new_term("b", "x"), new_term("a", "z"), new_term("a", "y"), new_term("a", "z")]
    met.append(met[0].model_copy(update={"family": "late"}))
    found = targets(met, []).terms
    assert [(t.domain, t.text, t.family) for t in found] == [
        ("a", "y", "y"),
        ("a", "z", "z"),
        ("b", "x", "x"),
    ]


def test_an_edit_without_a_family_changes_nothing() -> None:
    assert families("baker", "bakers", edits=[Edit(2, "d", "bakers", "")])["bakers"] == "baker"


def test_an_edit_of_an_unknown_term_names_its_line() -> None:
    found = targets([new_term("d", "baker")], [Edit(7, "d", "cook", "x")])
    assert [t.family for t in found.terms] == ["baker"]
    (refused,) = found.rejections
    assert (refused.code, refused.where) == ("unknown_term", "edits.csv line 7")
    assert "no term 'cook' in domain 'd'" in refused.detail


@pytest.mark.parametrize("edited", ["baker", "bakers", "Baker"])
def test_an_edited_term_takes_its_variants_along(edited: str) -> None:
    found = families("baker", "bakers", "Baker", "cook", edits=[Edit(2, "d", edited, "food")])
    assert found == {"baker": "food", "bakers": "food", "Baker": "food", "cook": "cook"}


def test_people_can_part_variants() -> None:
    edits = [Edit(2, "d", "Pole", "people"), Edit(3, "d", "pole", "stick")]
    assert families("Pole", "pole", edits=edits) == {"Pole": "people", "pole": "stick"}


def test_an_edit_must_name_a_term() -> None:
    with pytest.raises(CurationError, match="E line 3: names no domain and term"):
        read_edits([(3, {"domain": "d", "term": " "})], "E")


def test_other_columns_are_named() -> None:
    with pytest.raises(CurationError, match="E: no column 'domain'; it has word, kin") as caught:
        read_edits([(2, {"word": "x", "kin": "y"})], "E")
    assert "domain, term, family" in caught.value.mend
    assert read_edits([(2, {"Bias_Type": "d", "Target": "x"})], "E") == [Edit(2, "d", "x", "")]


def test_two_families_for_one_term_are_refused() -> None:
    rows = [(n, {"domain": "d", "term": "x", "family": f}) for n, f in ((2, "f"), (5, "g"))]
    with pytest.raises(CurationError, match="E lines 2 and 5: two families for 'x'"):
        read_edits(rows, "E")


def test_edits_are_read_without_spaces_around() -> None:
    rows = [(2, {"domain": " d ", "term": "x ", "family": " f", "note": "n"})]
    assert read_edits(rows, "E") == [Edit(2, "d", "x", "f")]
