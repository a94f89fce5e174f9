"""The strings of the report in every language."""

import re

import pytest

from curation.files import shipped
from curation.formats.table_words import FIRST, Sections, read_shipped
from curation.pages.steps import texts

LANGUAGES = sorted(path.stem for path in shipped("annotation_configs", "report").glob("*.toml"))
ENGLISH = read_shipped("report", FIRST)


def keys(sections: Sections) -> set[tuple[str, str]]:
    return {(section, key) for section, strings in sections.items() for key in strings}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_keys_and_places_of_english(language: str) -> None:
    own = read_shipped("report", language)
    assert keys(own) <= keys(ENGLISH)
    for section, key in keys(own):
        places = [sorted(re.findall(r"\{\w+\}", of[section][key])) for of in (ENGLISH, own)]
        assert places[0] == places[1], (language, section, key)


def test_english_stands_in_for_what_a_language_lacks() -> None:
    assert texts("xx") == ENGLISH
    assert keys(texts("id-ID")) == keys(ENGLISH)
    assert texts("id-ID")["summary"]["title"] == "Ringkasan"
    assert texts("ar")["statement"]["doi"] == "DOI"
