"""What bias-bench and StereoSet's own code misread, held against how they read."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import dataset
from curation.records import Cat
from curation.release.harness_files import misread_by_bias_bench
from curation.text.item_form import options
from support import harnesses
from support.cats import REAL, cat, development_set, intra

VOTES = [("p1", "stereotype"), ("p2", "related")]


def labelled(*cats: Cat) -> dict[str, list[tuple[str, str]]]:
    return {a.id: VOTES for each in cats for a in each.associations}


def words(path: Path) -> dict[str, str | None]:
    """The filler of each sentence as bias-bench reads it."""
    return {s.id: s.word for read in harnesses.bias_bench(path) for s in read.sentences}


def file(tmp_path: Path, cats: list[Cat], labels: Any = None) -> Path:
    path = tmp_path / "test.json"
    content = dataset(cats, labelled(*cats) if labels is None else labels, version="1")
    path.write_text(json.dumps(content), "utf-8")
    return path


GOOD = intra("The baker is BLANK.", "kind", "strict", "square", name="good")
CUT = intra("The baker is BLANK.", "very kind", "strict", "square", name="cut")
MARKS = intra("The baker is BLANK.", "well-read", "strict", "square", name="marks")
GLUED = intra("The baker is unBLANK.", "kind", "just", "even", name="glued")
SHIFTED = intra("The  baker  is BLANK.", "a", "b", "c", name="shifted")
BARE = cat(
    "The baker is late.", "The baker is a.", "The baker is b.", "The baker is c.",
    name="bare", kind="intrasentence",
)  # fmt: skip
TWICE = intra("A BLANK baker is BLANK.", "kind", "strict", "square", name="twice")
SHORT = cat(
    "Here the baker is BLANK.", "Kind.", "Here the baker is strict.", "Here the baker is square.",
    name="short", kind="intrasentence",
)  # fmt: skip
EMPTY = intra("The baker is BLANK now.", "!", "strict", "square", name="empty")


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (GOOD, []),
        (CUT, [("cut0", "filler_cut", "misread", "'very kind' is read as 'very'")]),
        (MARKS, [("marks0", "filler_punctuation", "misread", "'well-read' is read as 'wellread'")]),
        (
            GLUED,
            [
                (f"glued{n}", "blank_glued", "misread", f"{word!r} is read as {'un' + word!r}")
                for n, word in enumerate(("kind", "just", "even"))
            ],
        ),
        (SHIFTED, []),  # the sentences have the same double spaces
        (BARE, [(None, "blank_missing", "stops", "no BLANK in 'The baker is late.'")]),
        (
            TWICE,
            [
                (
                    *(None, "blank_twice", "misread"),
                    "'A BLANK baker is BLANK.': one filler is read, and put into every BLANK",
                )
            ],
        ),
        (
            SHORT,
            [("short0", "filler_misread", "stops", "'Kind.' has no word at the place of BLANK")],
        ),
        (EMPTY, [("empty0", "filler_misread", "stops", "'!' is read as an empty text")]),
    ],
    ids=lambda value: value.id if isinstance(value, Cat) else "",
)
def test_a_filler_that_is_misread(
    item: Cat, expected: list[tuple[str | None, str, str, str]], tmp_path: Path
) -> None:
    found = misread_by_bias_bench([item], labelled(item))
    assert [(m.option, m.code, m.effect, m.detail) for m in found] == expected
    assert {m.cat for m in found} <= {item.id}
    path = file(tmp_path, [item])
    if [m for m in found if m.effect == "stops" and "empty" not in m.detail]:
        with pytest.raises((IndexError, ValueError)):
            harnesses.bias_bench(path)
        return
    read = words(path)
    fillers = dict(zip((a.id for a in item.associations), options(item), strict=True))
    wrong = {m.option for m in found} - {None}
    assert {name for name, word in read.items() if word != fillers[name]} == wrong


def test_sentences_of_a_template_with_other_spaces_are_misread(tmp_path: Path) -> None:
    wider = intra("The baker  is BLANK.", "a", "b", "c")
    item = wider.model_copy(update={"context": "The baker is BLANK."})
    found = misread_by_bias_bench([item], labelled(item))
    assert [(m.code, m.detail) for m in found] == [
        ("filler_misread", f"{word!r} is read as 'is'") for word in "abc"
    ]
    assert set(words(file(tmp_path, [item])).values()) == {"is"}


def test_a_sentence_without_labels_stops_both_loaders(tmp_path: Path) -> None:
    after = cat("Our baker sings.", "Softly.", "Loudly.", "Water is wet.", name="after")
    labels = {**labelled(GOOD, after), "good1": [], "after2": []}
    found = misread_by_bias_bench([GOOD, after], labels)
    assert [(m.option, m.code, m.effect) for m in found] == [
        ("good1", "no_labels", "stops"),
        ("after2", "no_labels", "stops"),
    ]
    with pytest.raises(IndexError):
        harnesses.bias_bench(file(tmp_path, [GOOD, after], labels))
    with pytest.raises(IndexError):
        harnesses.stereoset(file(tmp_path, [after], labels))


def test_other_domains_and_targets_in_two_domains_are_not_counted() -> None:
    other = intra("A Quillon is BLANK.", "a", "b", "c", name="o", domain="island", target="Quillon")
    again = intra("A Quillon is BLANK.", "a", "b", "c", name="q", domain="race", target="Quillon")
    cats = [GOOD, other, again]
    found = misread_by_bias_bench(cats, labelled(*cats))
    assert [(m.cat, m.code, m.effect) for m in found] == [
        ("o", "other_domain", "not_counted"),
        ("o", "target_in_two_domains", "not_counted"),
        ("q", "target_in_two_domains", "not_counted"),
    ]
    assert "'Quillon' is in 'island' and 'race'" in found[1].detail


@pytest.mark.realdata
@pytest.mark.skipif(not REAL.exists(), reason="no StereoSet data")
def test_twelve_options_of_stereosets_own_development_set_are_misread(tmp_path: Path) -> None:
    cats = development_set()
    found = misread_by_bias_bench(cats, labelled(*cats))
    # Four contexts join BLANK to letters: «BLANKed», «sometimes,BLANK» and the like.
    wrong = {m.option for m in found if m.option}
    assert len(wrong) == 12
    fillers = {
        a.id: words
        for each in cats
        if each.kind == "intrasentence"
        for a, words in zip(each.associations, options(each), strict=True)
    }
    read = words(file(tmp_path, cats))
    assert {name for name, word in read.items() if word != fillers[name]} == wrong
