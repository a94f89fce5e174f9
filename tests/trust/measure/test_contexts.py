"""Contexts have the places of their words, and repeated ones count once unless it is said."""

import json
from pathlib import Path

import pytest

from curation.trust.measure.scanning import Texts
from curation.trust.measure.states import Context, sample_contexts

DOCUMENTS = [
    "Hi! The «Bakers’ guild» met a tall-ship. No. Baker saw\ntall ship.",
    "None here. Rain fell. Rain fell.",
    "Rain fell. The baker, the baker slept.",
]


def every(
    texts: Texts, *words: str, most: int | None = None, repeats: bool = False
) -> list[Context]:
    return sample_contexts(texts, words, most=most, seed=1, repeats=repeats).contexts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"text": text}) for text in (*DOCUMENTS, DOCUMENTS[1])]
    path.write_text("\n".join(lines), "utf-8")
    return path


def found(contexts: list[Context]) -> list[tuple[str, list[str], str]]:
    """The word, its places and the text of each context."""
    return [(c.word, [c.text[a:b] for a, b in c.spans], c.text) for c in contexts]


def test_places(path: Path) -> None:
    assert found(every(Texts([path], window=1), "baker", "bakers", "tall ship")) == [
        ("baker", ["Baker"], "No. Baker saw\ntall ship."),
        ("tall ship", ["tall ship"], "No. Baker saw\ntall ship."),
        ("baker", ["baker", "baker"], "The baker, the baker slept."),
        ("bakers", ["Bakers"], "The «Bakers’ guild» met a tall-ship."),
        ("tall ship", ["tall-ship"], "The «Bakers’ guild» met a tall-ship."),
    ]
    wider = found(every(Texts([path], window=2), "baker"))
    assert [places for _, places, _ in wider] == [["baker", "baker"], ["Baker"]]


def test_places_in_languages_without_spaces(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("雨。か\u3099くの看護師\u3002看護", "utf-8")
    assert found(every(Texts([path], "ja", window=1), "看護", "看護師")) == [
        ("看護師", ["看護師"], "か\u3099くの看護師。"),
        ("看護", ["看護"], "看護"),
    ]


def test_repeated_texts_count_once_unless_they_are_asked_for(path: Path) -> None:
    texts = Texts([path], window=1, workers=1)
    once, all_ = (sample_contexts(texts, ["fell"], most=None, seed=1, repeats=r) for r in (0, 1))
    assert [each.text for each in once.contexts] == ["Rain fell."]
    assert [each.text for each in all_.contexts] == ["Rain fell."] * 5  # 2 + 1 + 2 in a copy
    assert once.found == {"fell": 2}  # documents with the text; the copy is no other
    assert all_.found == {"fell": 5}
    assert len(every(texts, "fell", most=3, repeats=True)) == 3
