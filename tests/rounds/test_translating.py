"""The skeleton of a new language: it has every text, can be read at once, and says what is left."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from curation.files import shipped
from curation.formats.table_words import languages, read_shipped
from curation.models.chat import read_prompts
from curation.rounds.platforms import pages
from curation.rounds.platforms.texts import skeleton
from support.expected import fails

ENGLISH = {**read_shipped("text", "en"), **read_shipped("tables", "en")}


def written(folder: Path, text: str) -> Path:
    path = folder / "text.toml"
    path.write_text(text, "utf-8")
    return path


def toml(texts: dict[str, Any]) -> dict[str, Any]:
    """The texts without the prompts."""
    return {section: keys for section, keys in texts.items() if section != "prompts"}


def test_it_has_every_text_with_the_english_beside_it(tmp_path: Path) -> None:
    text = skeleton("sw")
    texts = tomllib.loads(text)
    assert {s: list(keys) for s, keys in toml(texts).items()} == {
        s: list(keys) for s, keys in ENGLISH.items()
    }
    for section, keys in ENGLISH.items():
        for line in (each for v in keys.values() for each in ([v] if isinstance(v, str) else v)):
            assert line in text, section
    assert 'institution = ""  # who carries out the study' in text
    assert "# What people write for the gap of a sentence" in text


def test_an_unfinished_one_names_the_texts_that_are_missing(tmp_path: Path) -> None:
    kept = ("page", "study")
    every = [f"{s}.{k}" for s, keys in ENGLISH.items() if s not in kept for k in keys]
    needed = [name for name in every if not name.partition(".")[0].endswith("_words")]
    needed = [name for name in needed if name not in ("consent.version", "writing.blank")]
    text = skeleton("sw")
    said = f"text.toml, {', '.join(needed[:20])} and {len(needed) - 20} more: they are empty"
    with fails(said, fix="write each text"):
        pages.texts("sw", pages.read_own("sw", written(tmp_path, text)))
    filled = text.replace('""', '"Neno"').replace("= []", '= ["neno"]')
    filled = filled.replace('term = "Neno" # Term\n', 'term = ""\n', 1)
    filled = filled.replace('unknown = "Neno" # Hardly anybody here knows it', "", 1)
    with fails("text.toml, review.term: it is empty"):
        pages.texts("sw", pages.read_own("sw", written(tmp_path, filled)))
    with fails("text.toml: no review.unknown", fix="curation rounds texts sw --to FILE"):
        pages.texts(
            "sw",
            pages.read_own("sw", written(tmp_path, filled.replace('term = ""', 'term = "Neno"'))),
        )


def test_one_that_is_filled_in_is_used(tmp_path: Path) -> None:
    text = skeleton("sw").replace('""', '"Neno"').replace("= []", '= ["neno"]')
    texts = pages.texts("sw", pages.read_own("sw", written(tmp_path, text)))
    assert texts["review"]["term"] == texts["heading"]["term"] == "Neno"
    assert len(texts["review"]["rules"]) == len(ENGLISH["review"]["rules"])
    assert not pages.unread("sw", texts)


@pytest.mark.parametrize("language", languages())
def test_a_variety_of_a_shipped_language_is_filled_in(language: str, tmp_path: Path) -> None:
    path = written(tmp_path, skeleton(f"{language}-XX"))
    assert pages.texts(f"{language}-XX", pages.read_own(f"{language}-XX", path)) == pages.texts(
        language, None
    )
    assert ("[prompts]" in path.read_text("utf-8")) == (language != "en")


def test_a_near_language_is_filled_in_on_request(tmp_path: Path) -> None:
    path = written(tmp_path, skeleton("ms", like="id"))
    assert pages.texts("ms", pages.read_own("ms", path))["writing"]["blank"] == "RUMPANG"


def test_its_prompts_are_those_of_a_file_of_prompts(tmp_path: Path) -> None:
    text = skeleton("sw")
    path = written(tmp_path, text)
    with fails("text.toml line", "again: is missing", fix="again ="):
        read_prompts(path)
    again = text.replace('again = ""', 'again = "A or B?"')
    with fails("text.toml line", "intrasentence: prompt «natural»: text is missing"):
        read_prompts(written(tmp_path, again))
    english = shipped("data", "prompts", "en.toml")
    body = english.read_text("utf-8").replace("[[", "[[prompts.")
    own = written(tmp_path, f'[study]\ncontact = "a"\n\n[prompts]\n{body}')
    prompts, expected = read_prompts(own), read_prompts(english)
    assert (prompts.sha256, prompts.answers) == (expected.sha256, expected.answers)
    assert pages.texts("en", pages.read_own("en", own))["study"]["contact"] == "a"
    wrong = body.replace("[[prompts.intersentence]]", "[[prompts.intersentense]]", 1)
    with fails("text.toml, intersentense: there is no such key"):
        read_prompts(written(tmp_path, f"[prompts]\n{wrong}"))
    with fails("prompts: it is not a section", fix="[prompts]"):
        read_prompts(written(tmp_path, 'prompts = "A or B?"'))
