"""Statistics: each figure by hand, empty and ragged cases, languages without spaces."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.kinds import CAT_KINDS, GOLDS
from curation.measures.statistics import different_in_sample, statistics, word_count
from curation.stats.intervals import mean_interval
from curation.text.words import NotCheckedError
from support.cats import cat, intra

BAKER = intra("The baker is BLANK.", "kind", "very gruff", "Purple", name="a")
AGAIN = intra("A baker seems BLANK today.", "Kind", "late", "square", name="b")
INTER = cat("He bakes.", "She is up early.", "He sleeps.", "Snow is cold.", name="c")
POTTER = intra("The potter is BLANK.", "kind", "rude", "wet", name="d", target="potter")
NUN = cat("A nun.", "She prays.", "She sings loudly.", "Go.", name="e", domain="religion")
CATS = [BAKER, AGAIN, INTER, POTTER, NUN]


def test_table_1_counts_terms_cats_and_words_by_hand() -> None:
    found = statistics(CATS, language="en")
    intra_, inter = (found["kinds"][kind] for kind in ("intrasentence", "intersentence"))
    # words: 4, 5, 4 of BAKER; 5, 5, 5 of AGAIN; 4, 4, 4 of POTTER: 40 of 9 texts
    assert intra_["overall"]["mean_words"] == pytest.approx(40 / 9)
    assert (intra_["overall"]["terms"], intra_["overall"]["cats"]) == (2, 3)
    # of context and one association: 2 + 4, 2 + 2, 2 + 3 of INTER
    assert inter["domains"]["profession"]["mean_words"] == pytest.approx(15 / 3)
    # «A nun. She prays.», «A nun. She sings loudly.», «A nun. Go.»: 17 + 24 + 10 characters
    assert inter["domains"]["religion"]["mean_characters"] == pytest.approx(51 / 3)
    assert (found["overall"]["terms"], found["overall"]["cats"]) == (3, 5)


def test_cats_are_counted_by_tier() -> None:
    tiers = (3, 5, 5, None)
    four = [one.model_copy(update={"tier": n}) for one, n in zip(CATS, tiers, strict=False)]
    found = statistics(four, language="en")["overall"]
    assert [found[f"tier_{name}"] for name in ("3", "4", "5", "unknown")] == [1, 0, 2, 1]


def test_gaps_are_of_what_differs_and_not_of_the_context() -> None:
    rows = statistics(CATS, language="en")["gaps"]
    gap = {(r["kind"], r["unit"]): r for r in rows if (r["first"], r["second"]) == GOLDS[:2]}
    # words of stereotype less anti-stereotype: 1 - 2, 1 - 1, 1 - 1
    found = gap["intrasentence", "words"]
    assert (found["mean"], found["differ"]) == pytest.approx((-1 / 3, 100 / 3))
    assert found["few_terms"]
    # intersentence: 4 - 2 and 2 - 3
    assert gap["intersentence", "words"]["mean"] == pytest.approx(0.5)
    assert gap["intersentence", "characters"]["mean"] == pytest.approx((6 - 7) / 2)
    ends = mean_interval(np.array([-1.0, 0.0]), np.array([2.0, 1.0]))
    assert found["ci"] == pytest.approx(ends)


def test_tokens_are_counted_where_a_tokenizer_is_named() -> None:
    without, found = (statistics(CATS, language="en", tokens=count) for count in (None, len))
    assert without["overall"]["mean_tokens"] is None
    assert "--tokenizer" in without["not_checked"]["tokens"]
    assert {row["unit"] for row in without["gaps"]} == {"words", "characters"}
    assert found["overall"]["mean_tokens"] == found["overall"]["mean_characters"]
    assert "tokens" not in found["not_checked"]


def test_the_commonest_attribute_of_a_term_by_hand() -> None:
    rows = statistics(CATS, language="en")["terms"]
    # A target in two domains is two terms.
    assert [(row["domain"], row["term"], row["cats"]) for row in rows] == [
        ("profession", "baker", 3), ("profession", "potter", 1), ("religion", "baker", 1),
    ]  # fmt: skip
    # «kind» and «Kind» are the same; «late» and «very gruff» stand once each, the first is told
    found = rows[0]["attributes"]
    assert found["stereotype"] == {"text": "kind", "count": 2, "share": 100.0}
    assert found["anti-stereotype"] == {"text": "late", "count": 1, "share": 50.0}
    assert rows[2]["attributes"] == {}  # no intrasentence CAT


def test_writers_by_hand() -> None:
    wrote = {"a": "w1", "b": "w1", "c": "w2", "d": "w1", "e": None}
    found = statistics(CATS, language="en", writers=wrote)
    # w1 three, w2 one, one of nobody known; all of «potter» but one CAT is no sign of anything
    assert found["writers"] == {
        "writers": 2, "cats": 4, "cats_of_nobody_known": 1, "median_cats": 2.0, "most_cats": 3,
        "share_of_most": 75.0, "terms_of_one_writer": 0,
    }  # fmt: skip
    assert [row["writers"] for row in found["terms"]] == [2, 1, None]
    alone = statistics([BAKER, AGAIN], language="en", writers=wrote)
    assert alone["writers"]["terms_of_one_writer"] == 1
    # Who wrote a gold file is not known.
    gold = statistics(CATS, language="en")
    assert gold["writers"] is None
    assert "gold file" in gold["not_checked"]["writers"]


def test_vocabulary_by_hand() -> None:
    rows = statistics([BAKER, AGAIN, POTTER], language="en")["vocabulary"]
    by_label = {row["label"]: row for row in rows}
    # kind kind kind | very gruff late rude | purple square wet
    cells = {gold: (r["words"], r["different"], r["once"]) for gold, r in by_label.items()}
    assert cells == dict(zip(GOLDS, [(3, 1, 0), (4, 4, 4), (3, 3, 3)], strict=True))
    assert by_label["stereotype"]["in_sample"] is None


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5), st.integers(1, 5))
def test_different_words_are_those_of_an_average_sample(counts: list[int], size: int) -> None:
    total, found = sum(counts), different_in_sample(counts, size)
    if total < size:
        assert found is None
        return
    # A word is missing from C(total − n, size) of the C(total, size) samples.
    every = math.comb(total, size)
    seen = sum(1 - math.comb(total - n, size) / every for n in counts)
    assert found == pytest.approx(seen)


def test_nothing_collected_has_no_means() -> None:
    found = statistics([], language="en")
    assert found["overall"] == {
        **dict.fromkeys(("mean_words", "mean_characters", "mean_tokens")),
        **dict.fromkeys(("terms", "cats", "tier_3", "tier_4", "tier_5", "tier_unknown"), 0),
    }
    assert all(found["kinds"][kind]["domains"] == {} for kind in CAT_KINDS)
    assert all(row["mean"] is None and row["cats"] == 0 for row in found["gaps"])
    assert found["vocabulary"] == found["terms"] == []


@pytest.mark.parametrize("language", ["th", "km", "ja"])
def test_unspaced_words_are_not_counted(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)  # type: ignore[arg-type]
    thai = cat("เขาอบขนมปัง", "เขาใจดี", "เขาใจร้าย", "หิมะเย็น")
    found = statistics([thai], language=language)
    assert found["overall"]["mean_words"] is None
    assert found["overall"]["mean_characters"] > 0
    assert found["vocabulary"] is None
    assert f"«{language}»" in found["not_checked"]["words"]
    assert set(found["not_checked"]) == {"words", "vocabulary", "tokens", "writers"}
    with pytest.raises(NotCheckedError):
        word_count(language)
