"""Licences of releases: names, identifiers and whole texts."""

import pytest

from curation.files import CurationError
from curation.release.texts.licences import KNOWN, Known, licence


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.spdx)
def test_each_known_licence_has_its_whole_text(known: Known) -> None:
    spdx, hub, url, names = known
    for name in (spdx, spdx.lower(), *names):
        made = licence(name, holders=["A. Baker"], year="2026")
        assert (made.spdx, made.hub, made.url, made.name) == (spdx, hub, url, name)
        assert len(made.text) > 1000
        assert "[fullname]" not in made.text
        assert made.text.endswith("\n")


def test_names_are_compared_without_hyphens_spaces_and_case() -> None:
    for name in ("CC BY-SA 4.0", "cc-by-sa-4.0", " Cc  by sa 4.0 "):
        assert licence(name).spdx == "CC-BY-SA-4.0"


def test_mit_names_the_authors_or_is_refused() -> None:
    made = licence("MIT", holders=["A. Baker", "B. Cook"], year="2026")
    assert "Copyright (c) 2026 A. Baker, B. Cook\n" in made.text
    with pytest.raises(CurationError, match="names the copyright holders") as caught:
        licence("mit license")
    assert "statement.toml" in str(caught.value.fix)


def test_an_empty_licence_is_an_error() -> None:
    with pytest.raises(CurationError, match="licence is empty"):
        licence("  ")


def test_an_unknown_licence_needs_its_text() -> None:
    with pytest.raises(CurationError, match=r"'CC BY-SA 5\.0' is not shipped") as caught:
        licence("CC BY-SA 5.0")
    assert "did you mean 'CC BY-SA 4.0'?" in caught.value.fix
    assert "7-release/LICENSE.txt" in caught.value.fix
    made = licence("Our terms", "Be kind.\n\n")
    assert (made.name, made.spdx, made.hub, made.text) == ("Our terms", "", "other", "Be kind.\n")


def test_two_texts_of_one_licence_are_refused() -> None:
    with pytest.raises(CurationError, match="two texts"):
        licence("CC BY 4.0", "another text")
