"""Repeated items and texts about the task are refused; ordinary texts are accepted."""

import csv
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.checks import content
from curation.checks.content import gist, meta_patterns, meta_text, near
from curation.files import shipped
from support.expected import fails
from support.written import beside

CASES = beside(__file__)

BAKER = gist("The baker is BLANK at the party.", ["The baker is quiet at the party.", "loud"])
ROWS = list(csv.DictReader(shipped("data", "words", "meta_text.csv").read_text().splitlines()))


def test_the_gist_has_the_words_that_fill_the_blank_or_whole_sentences() -> None:
    assert BAKER == "The baker is BLANK at the party.\nquiet\nloud"
    assert gist("A baker  came.", ["He sang.\n", "She\nslept."]) == (
        "A baker came.\nHe sang.\nShe slept."
    )


@pytest.mark.parametrize(
    ("context", "words", "index"),
    [
        ("The baker is BLANK at the party.", ["quiet", "loud"], 0),
        ("the Baker is  BLANK at the party", ["Quiet", "loud."], 0),
        ("The baker is BLANK at the prty.", ["quiet", "loud"], 0),
        ("The baker is BLANK at a party.", ["quiet", "loud"], None),
        ("The baker is BLANK at the party.", ["quiet", "loud", "octal"], None),
        ("The baker is BLANK at the party.", ["calm", "loud"], None),
        ("The baker is BLANK at the party.", ["loud", "quiet"], None),
        ("The baker was seen to be BLANK.", ["quiet", "loud"], None),
        ("", ["", ""], None),
    ],
)
def test_each_line_must_be_near(context: str, words: list[str], index: int | None) -> None:
    assert near([BAKER], gist(context, words), likeness=0.95) == index
    assert near(["something else", BAKER], gist(context, words), likeness=0.95) == (
        None if index is None else 1
    )


def test_a_long_template_does_not_make_other_words_alike() -> None:
    template = "The civil servant was a BLANK at heart, so he knew where he really belonged."
    one, two = (gist(template, words) for words in (["bureaucrat", "rebel"], ["poet", "cynic"]))
    assert near([one], two, likeness=0.8) is None
    assert near([one], one, likeness=1.0) == 0
    # Nor are opposites by a prefix alike.
    for word, opposite in (("intelligent", "unintelligent"), ("educated", "uneducated")):
        one, two = (gist("They are BLANK.", [w, "tall"]) for w in (word, opposite))
        assert near([one], two, likeness=0.95) is None


def test_the_first_that_is_near_is_named() -> None:
    assert near([BAKER, BAKER], BAKER, likeness=0.95) == 0
    assert near([], BAKER, likeness=0.95) is None


@given(st.text(max_size=30), st.text(max_size=30), st.floats(0.05, 1))
def test_near_is_symmetric_and_a_text_is_near_itself(a: str, b: str, likeness: float) -> None:
    assert near([a], a, likeness=likeness) == 0
    assert near([a], b, likeness=likeness) == near([b], a, likeness=likeness)


def test_ten_thousand_items_of_random_letters_are_not_near() -> None:
    random = Random(1)
    before: list[list[str]] = [[] for _ in range(300)]
    for _ in range(10_000):
        words = ["".join(random.choices("abcdefgh ", k=40)) for _ in range(3)]
        new, seen = gist(words[0], words[1:]), random.choice(before)
        assert near(seen, new, likeness=0.95) is None
        seen.append(new)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["example"])
def test_every_pattern_finds_its_own_example(row: dict[str, str]) -> None:
    language = "xx" if row["language"] == "*" else row["language"]
    pattern = re.compile(row["pattern"], re.IGNORECASE)
    assert meta_text(row["example"], [pattern])
    assert meta_text(row["example"], meta_patterns(language))
    assert list(row) == ["language", "pattern", "example"]


@pytest.mark.parametrize("text", CASES["about_the_task"])
def test_text_about_the_task_is_found(text: str) -> None:
    assert meta_text(text, meta_patterns("en"))


@pytest.mark.parametrize("text", CASES["ordinary"])
def test_what_people_write_passes(text: str) -> None:
    assert meta_text(text, meta_patterns("en")) is None


def test_a_language_has_its_own_patterns_and_those_of_all() -> None:
    assert meta_patterns("en-GB") == meta_patterns("EN") == meta_patterns("en")
    assert 0 < len(meta_patterns("id")) < len(meta_patterns("en")) == len(ROWS)
    assert meta_text("idk", meta_patterns("id")) is None
    assert meta_text("asdfasdf", meta_patterns("id")) == "asdfasdf"
    assert meta_text("ไม่รู้", meta_patterns("th")) is None
    assert meta_text("はい", meta_patterns("ja")) is None


@given(st.text(max_size=200))
@settings(max_examples=300)
def test_any_text_is_read(text: str) -> None:
    found = meta_text(text, meta_patterns("en"))
    assert found is None or found.strip() or not text.strip()


@pytest.mark.parametrize(
    "text", ["a " * 20_000, "ab" * 20_000, "i " * 20_000, "this is just " * 5_000, "." * 50_000]
)
def test_the_search_in_long_texts_comes_to_an_end(text: str) -> None:
    assert meta_text(text + "!b", meta_patterns("en")) is None


def test_a_pattern_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "read_text", lambda _: "language,pattern,example\n*,a(,a\n")
    with fails("meta_text.csv line 2: invalid regular expression: missing )"):
        meta_patterns("none of them")
