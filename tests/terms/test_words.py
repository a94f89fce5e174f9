"""Word lists: tables and text files, their languages, and errors."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from curation.files import shipped
from curation.formats.rows import read_rows
from curation.terms.lists import Word, read_words, text_rows
from support.expected import fails

LIST = Path("gender.csv")
Row = dict[str, Any]


def words(rows: Iterable[Row], *languages: str, domain: str = "gender") -> list[Word]:
    return read_words(
        enumerate(rows, 2),
        LIST,
        domain=domain,
        languages=languages or ("en",),
        wanted=Path("1-terms/gender.csv"),
    )


def row(term: str, language: str = "en", **more: str) -> Row:
    return {"term": term, "language": language, **more}


def test_a_word_has_its_family_and_its_place() -> None:
    rows = [row("grandmother"), row(" grand  dad ", family=" grandfather ", domain="gender")]
    assert words(rows) == [
        Word("grandmother", "", "gender.csv line 2"),
        Word("grand dad", "grandfather", "gender.csv line 3"),
    ]


def test_columns_may_be_written_in_capitals_and_others_are_passed_over() -> None:
    rows = [{"Term": "bapak", " Language ": "ID", "note": "x", "": ["stray"]}]
    assert [w.text for w in words(rows, "id")] == ["bapak"]


def test_rows_of_other_domains_and_languages_are_passed_over() -> None:
    rows = [row("boy"), row("baker", domain="profession"), row("Junge", "de"), row("girl")]
    assert [w.text for w in words(rows)] == ["boy", "girl"]
    assert [w.text for w in words(rows, domain="profession")] == ["boy", "baker", "girl"]


def test_the_nearest_language_counts_alone() -> None:
    rows = [row("mum", "en-GB"), row("mother"), row("mãe", "pt")]
    assert [w.text for w in words(rows, "en-gb", "en")] == ["mum"]
    assert [w.text for w in words(rows, "en-us", "en")] == ["mother"]


def test_a_missing_language_names_the_file_to_supply() -> None:
    with fails("gender.csv: no words for the domain 'gender' in 'id'; it has de, en") as error:
        words([row("boy"), row("Junge", "de")], "id")
    fix = error.value.fix
    assert "supply 1-terms/gender.csv with the columns term, language, domain" in fix
    assert "«# language: id»" in fix
    assert "[domains.gender]" in fix


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([row("baker", domain="profession")], "it has none for this domain"),
        ([{"term": "boy", "kin": ""}], "gender.csv: no column 'language'; it has term, kin"),
        ([{"word": "boy", "language": "en"}], "no column 'term'"),
        ([row("girl"), row(" ")], "gender.csv line 3: term or language is missing"),
        ([row("girl"), row("boy", "")], "gender.csv line 3: term or language is missing"),
    ],
)
def test_what_is_missing_is_named_with_its_line(rows: list[Row], says: str) -> None:
    with fails(says):
        words(rows)


def test_second_spellings_are_split_by_semicolons() -> None:
    found = words([row("Norwegian", also=" Norweigan;Norse  man ; "), row("Swedish", also="")])
    assert [w.also for w in found] == [("Norweigan", "Norse man"), ()]


@pytest.mark.parametrize("other", [row("Columbian"), row("Colombian", also="x;Columbian")])
def test_a_spelling_names_one_word(other: Row) -> None:
    place = f"{other['term']!r} (gender.csv line 2)"
    with fails(f"gender.csv line 3: 'Columbian' in «also» also names {place}"):
        words([other, row("Bogotan", also="Columbian")])
    # In another language it is another word.
    assert len(words([other | {"language": "de"}, row("Bogotan", also="Columbian")])) == 1


# --- text files -----------------------------------------------------------------------------------

TEXT = """\
# words of kinship
# Language: id

bapak
 ibu
# language: jv
# domain: other
mbah
"""


def test_a_text_file_has_a_word_a_line_under_its_language() -> None:
    assert text_rows(TEXT, LIST) == [
        (4, {"term": "bapak", "language": "id", "domain": ""}),
        (5, {"term": "ibu", "language": "id", "domain": ""}),
        (8, {"term": "mbah", "language": "jv", "domain": "other"}),
    ]


def test_a_word_before_the_language_is_an_error_with_its_line() -> None:
    with fails("list.txt line 2: this word comes before"):
        text_rows("# my words\nbapak\n", Path("list.txt"))


# --- the list that ships --------------------------------------------------------------------------


def shipped_words(domain: str) -> list[Word]:
    path = shipped("data", "words", f"{domain}.csv")
    return read_words(read_rows(path), path, domain=domain, languages=("en",), wanted=path)


@pytest.mark.parametrize(
    ("domain", "count"),
    # Table 1 of either paper; ACL Table 10 lists twelve more terms of religion.
    [("gender", 40), ("profession", 120), ("race", 149), ("religion", 24)],
)
def test_the_shipped_lists_have_the_papers_words(domain: str, count: int) -> None:
    found = shipped_words(domain)
    assert len({w.text for w in found}) == len(found) == count
    assert all(w.family for w in found)


def test_families_and_spellings_of_the_shipped_lists() -> None:
    found = {w.text: w for d in ("gender", "profession", "race", "religion")
             for w in shipped_words(d)}  # fmt: skip
    family = {text: w.family for text, w in found.items()}
    assert family["himself"] == family["he"] == family["his"] != family["she"]
    assert family["Ethiopia"] == family["Ethiopian"]
    assert family["Netherlands"] == family["Dutch people"]
    assert family["South Africa"] != family["Africa"] != family["African Americans"]
    assert {text: w.also for text, w in found.items() if w.also} == {
        "attorney": ("attourney",), "hairstylist": ("hairdresser",), "Norwegian": ("Norweigan",),
        "Argentinian": ("Argentian",), "Eritrea": ("Eriteria",), "Columbia": ("Colombia",),
        "Columbian": ("Colombian",), "Sierra Leon": ("Sierra Leone",),
    }  # fmt: skip
