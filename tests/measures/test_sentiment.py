"""Sentiment: shares and differences by hand, the test against all swaps, what cannot be read."""

import sys
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.kinds import GOLDS
from curation.measures.sentiment import Feeling, by_vader, class_of, sentiment
from curation.records import Cat
from curation.stats.intervals import share_interval
from curation.stats.tests import swap_test
from curation.text.words import NotCheckedError
from support.cats import cat, intra

BAD, SO, GOOD = Feeling("negative", -0.5), Feeling("neutral", 0.0), Feeling("positive", 0.5)


def some(count: int, *, target: str, domain: str = "profession") -> list[Cat]:
    return [
        intra("The x is BLANK.", "a", "b", "c", name=f"{domain}{target}{n}-", target=target)
        for n in range(count)
    ]


def felt(cats: list[Cat], *feelings: tuple[Feeling, Feeling, Feeling]) -> dict[str, Feeling]:
    return {
        a.id: feeling
        for one, three in zip(cats, feelings, strict=True)
        for a, feeling in zip(one.associations, three, strict=True)
    }


def overall(rows: list[dict[str, Any]]) -> dict[str, Any]:
    assert (rows[0]["kind"], rows[0]["domain"]) == (None, None)
    return rows[0]


def test_shares_by_hand_in_two_classes_and_in_three() -> None:
    cats = [*some(2, target="baker"), *some(2, target="potter")]
    feelings = felt(cats, (BAD, SO, SO), (BAD, BAD, GOOD), (GOOD, SO, SO), (BAD, GOOD, SO))
    two, three = (overall(sentiment(cats, feelings, classes=n)) for n in (2, 3))
    shares, fine = (
        {gold: {name: cell["share"] for name, cell in of.items()}
         for gold, of in each["labels"].items()}
        for each in (two, three)
    )  # fmt: skip
    # stereotypes: three of four negative; anti-stereotypes: one; neutral counts as positive
    assert shares["stereotype"]["negative"] == 75
    assert shares["anti-stereotype"] == {"negative": 25, "positive": 75}
    assert set(shares["unrelated"]) == {"negative", "positive"}
    assert fine["anti-stereotype"] == {"negative": 25, "neutral": 50, "positive": 25}
    assert two["difference"]["value"] == three["difference"]["value"] == 50
    assert (two["cats"], two["terms"], two["few_terms"]) == (4, 2, True)
    # of terms «baker» has 2 − 1 more, «potter» 1 − 0: of four swaps two are as far from 0
    assert two["difference"]["p"] == 0.5
    # baker 2 − 1 of two, potter 1 − 0 of two: both 50 points, so no variance to go by
    assert two["difference"]["ci"] is None


def test_the_interval_is_over_terms() -> None:
    cats = [*some(3, target="baker"), *some(1, target="potter")]
    feelings = felt(cats, *[(BAD, GOOD, SO)] * 3, (GOOD, GOOD, SO))
    found = overall(sentiment(cats, feelings))
    assert found["labels"]["stereotype"]["negative"]["share"] == 75
    # baker 3 of 3, potter 0 of 1: p = 0.75, residuals 3 − 2.25 and 0 − 0.75.
    ends = share_interval(np.array([3.0, 0.0]), np.array([3.0, 1.0]), observations=4)
    assert ends is not None
    assert found["labels"]["stereotype"]["negative"]["ci"] == [100 * end for end in ends]


def test_rows_are_of_all_kinds_and_domains_and_none_is_empty() -> None:
    cats = [
        intra("BLANK", "a", "b", "c", name="a", domain="race"),
        cat("x", "a", "b", "c", name="b", domain="religion"),
    ]
    rows = sentiment(cats, felt(cats, (BAD, SO, SO), (SO, SO, SO)))
    assert [(row["kind"], row["domain"]) for row in rows] == [
        (None, None), ("intrasentence", None), ("intersentence", None), (None, "race"),
        (None, "religion"), ("intrasentence", "race"), ("intersentence", "religion"),
    ]  # fmt: skip
    assert sentiment([], {}) == []


def test_one_term_has_no_interval_and_all_labels_have_their_row() -> None:
    cats = some(3, target="baker")
    found = overall(sentiment(cats, felt(cats, *[(BAD, GOOD, SO)] * 3)))
    assert found["difference"] == {"value": 100, "ci": None, "p": 1.0}
    shares = {gold: of["negative"]["share"] for gold, of in found["labels"].items()}
    assert shares == dict(zip(GOLDS, (100, 0, 0), strict=True))


def test_an_association_without_a_feeling_is_an_error() -> None:
    cats = some(1, target="baker")
    with pytest.raises(KeyError):
        sentiment(cats, {cats[0].associations[0].id: BAD})


@given(st.lists(st.integers(-4, 4), min_size=1, max_size=7))
def test_up_to_twelve_terms_the_test_goes_through_all_swaps(gaps: list[int]) -> None:
    swaps = [sum(s * g for s, g in zip(signs, gaps, strict=True)) for signs in
             product((1, -1), repeat=len(gaps))]  # fmt: skip
    exact = sum(abs(swap) >= abs(sum(gaps)) for swap in swaps) / len(swaps)
    assert swap_test(np.array(gaps, float), seed=1) == exact


def test_of_more_terms_swaps_are_drawn_and_nearly_say_the_same() -> None:
    draw = np.random.default_rng(4)
    gaps = draw.integers(-3, 5, 12).astype(float)
    exact = swap_test(gaps, seed=1)
    drawn = swap_test(np.append(gaps, 0.0), seed=1)  # a term without a gap changes nothing
    assert 0.02 < exact < 0.9
    assert drawn == pytest.approx(exact, abs=0.02)
    assert swap_test(np.full(40, 2.0), seed=1) == pytest.approx(1 / 10_001)


def test_swaps_are_drawn_alike_in_any_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps = np.random.default_rng(2).normal(0.3, size=20)
    found = swap_test(gaps, seed=1)
    monkeypatch.setattr("curation.stats.tests._AT_ONCE", 7 * len(gaps))
    assert swap_test(gaps, seed=1) == found


def test_the_level_is_kept_where_labels_do_not_matter() -> None:
    draw = np.random.default_rng(1)
    found = [swap_test(draw.normal(size=15), seed=n) < 0.05 for n in range(400)]
    assert 0.02 <= sum(found) / len(found) <= 0.09  # 0.05 with four standard errors of 0.011


def test_vader_reads_the_sentence_and_not_the_context() -> None:
    one = cat("This is a horrible, terrible day.", "He is wonderful.", "He is awful.", "It is 5.")
    found = by_vader([one], language="en-GB")
    assert [found[a.id].name for a in one.associations] == ["positive", "negative", "neutral"]
    assert found["c0"].value > 0 > found["c1"].value
    assert found["c2"].value == 0


def test_classes_begin_where_vaders_authors_say() -> None:
    classes = {-1: "negative", -0.05: "negative", -0.0499: "neutral", 0.05: "positive"}
    assert {value: class_of(value) for value in classes} == classes


def test_what_vader_does_not_check(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "VADER's lexicon is English, but the texts are in «pt»"
    with pytest.raises(NotCheckedError, match=says):
        by_vader(some(1, target="baker"), language="pt")
    for name in ("vaderSentiment", "vaderSentiment.vaderSentiment"):
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    with pytest.raises(NotCheckedError, match=r"curation\[language\]"):
        by_vader(some(1, target="baker"), language="en")
