"""Terms get their families: people's word, links, spelling variants, plurals."""

import pytest

from curation.files import CurationError
from curation.records import Term
from curation.rules import stable_id
from curation.terms.targets import Edit, new_term, plurals, read_edits, targets


def families(*texts: str, edits: list[Edit] | None = None, language: str = "en") -> dict[str, str]:
    met = [new_term("d", text) for text in texts]
    return {t.text: str(t.family) for t in targets(met, edits or [], language=language)}


def test_an_id_is_the_domain_and_the_text_and_no_edit_changes_it() -> None:
    term = new_term("profession", "baker")
    assert term.id == stable_id("term", "profession", "baker")
    assert term.id != new_term("race", "baker").id
    edits = [Edit(2, "profession", "baker", "bakery")]
    assert targets([term], edits) == [term.model_copy(update={"family": "bakery"})]


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
    found = {t.id: t.family for t in targets(met, [Edit(2, "race", "Veltlander", "said")])}
    # 2 is no longer the plural of 1: that one's family is the link's.
    assert found == {"1": "linked", "2": "Veltlands", "3": "said"}


def test_of_the_same_term_the_first_counts_and_order_is_by_domain_and_text() -> None:
    met = [new_term("b", "x"), new_term("a", "z"), new_term("a", "y"), new_term("a", "z")]
    met.append(met[0].model_copy(update={"family": "late"}))
    found = targets(met, [])
    assert [(t.domain, t.text, t.family) for t in found] == [
        ("a", "y", "y"),
        ("a", "z", "z"),
        ("b", "x", "x"),
    ]


def test_an_edit_without_a_family_changes_nothing() -> None:
    assert families("baker", "bakers", edits=[Edit(2, "d", "bakers", "")])["bakers"] == "baker"


def test_an_edit_of_an_unknown_term_names_its_line() -> None:
    with pytest.raises(CurationError, match=r"edits.csv line 7: no term 'cook' in domain 'd'") as e:
        families("baker", edits=[Edit(7, "d", "cook", "x")])
    assert "targets.jsonl" in e.value.mend


@pytest.mark.parametrize("row", [{"term": "x"}, {"domain": "d", "term": " "}, {}])
def test_an_edit_must_name_a_term(row: dict[str, str]) -> None:
    with pytest.raises(CurationError, match="E line 3: domain and term must be given"):
        read_edits([(3, row)], "E")


def test_edits_are_read_without_spaces_around() -> None:
    rows = [(2, {"domain": " d ", "term": "x ", "family": " f", "note": "n"})]
    assert read_edits(rows, "E") == [Edit(2, "d", "x", "f")]
