"""Passages have the places of their words, and a sample does not depend on workers."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trust.measure.test_automated import DOCUMENTS, GROUPS, TEXTS, finely_cut, write

from curation.text.words import WORD, plain
from curation.trust.measure import scanning
from curation.trust.measure.automated import LabelledPassage, passages
from curation.trust.measure.matching import Lexicon
from curation.trust.measure.scanning import Texts, offsets

__all__ = ["finely_cut"]
WORDS = [word for words in (*GROUPS.words.values(), *GROUPS.targets.values()) for word in words]


@given(DOCUMENTS, st.sampled_from(["en", "tr"]))
def test_places_are_those_of_the_fast_search(texts: list[str], language: str) -> None:
    scanner = scanning.Scanner(Lexicon(WORDS, language))
    scan = scanner.scan(texts)
    fast = [scan.hits.get(document, []) for document in range(len(texts))]
    for text, length, hits in zip(texts, scan.lengths, fast, strict=True):
        located = scanner.locate(text)
        assert len(located.spans) == length
        assert [(place.sentence, place.word) for place in located.places] == hits
        for place in located.places:
            start, end = located.spans[place.sentence]
            assert start <= place.start < place.end <= end
            found = scanner.lexicon.places(
                WORD.findall(plain(text[place.start : place.end], language))
            )
            assert [each.number for each in found] == [place.word]


@given(
    st.text("abİI\u0301\u0300e\xad’ß가\u1100\u1161Å ", max_size=12), st.sampled_from(["en", "tr"])
)
def test_offsets(text: str, language: str) -> None:
    compared = plain(text, language)
    begins, ends = offsets(text, language)
    assert len(begins) == len(ends) == len(compared)
    assert begins == sorted(begins)
    for place, (start, end) in enumerate(zip(begins, ends, strict=True)):
        assert compared[place] in plain(text[start:end], language)


def sample(path: Path, most: int, seed: int = 1, workers: int = 1) -> list[LabelledPassage]:
    return passages(Texts([path], workers=workers), GROUPS, most=most, seed=seed)


@pytest.mark.usefixtures("finely_cut")
def test_a_sample_of_passages(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl")
    every = sample(path, 1000)
    counts = Counter(each.passage.target for each in every)
    assert counts == {"baker": 6, "sailor": 4}  # contexts; documents that repeat count once
    assert len({each.passage.id for each in every}) == len(every)
    for each in every:
        words = {each.passage.text[start:end].lower() for start, end in each.spans}
        assert set() < words <= set(GROUPS.targets[each.passage.target])
    labels = {(each.passage.target, each.group) for each in every}
    assert labels >= {("sailor", "short"), ("baker", "tall"), ("baker", None)}
    few = sample(path, 2)
    assert Counter(each.passage.target for each in few) == {"baker": 2, "sailor": 2}
    assert {each.passage.id for each in few} < {each.passage.id for each in every}
    assert [each for each in every if each in few] == few
    assert sample(path, 2, seed=2) != few


def test_workers_do_not_change_a_sample(tmp_path: Path) -> None:
    paths = [write(tmp_path, name) for name in ("a.jsonl.gz", "b.txt")]
    one, two = (passages(Texts(paths, workers=number), GROUPS, most=3, seed=1) for number in (1, 2))
    assert one == two
    assert TEXTS
