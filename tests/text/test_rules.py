"""The decision, compared with a slow and plain version; normal forms of texts."""

from functools import cache
from itertools import combinations_with_replacement, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.formats.table_words import read_label
from curation.kinds import GOLDS, Gold
from curation.records import VALUES, Value
from curation.text.rules import Votes, decide, spelling_key, tier

Labels = tuple[Value, ...]


def gold_of(labels: Labels, needed: int) -> Gold | None:
    """The gold label of a full set of labels, straight from the definition."""
    for gold in GOLDS:
        if sum(label == gold for label in labels) >= needed:
            return gold
    return None


@cache
def golds_of(labels: Labels, needed: int, of: int) -> set[Gold | None]:
    """The gold labels, under every way in which the missing labels could still come."""
    return {gold_of(labels + rest, needed) for rest in product(VALUES, repeat=of - len(labels))}


def oracle(three: tuple[Labels, ...], needed: int, of: int) -> set[bool]:
    """Whether the item is kept, under every way in which the missing labels could still come."""
    options = [golds_of(labels, needed, of) for labels in three]
    return {set(golds) == set(GOLDS) for golds in product(*options)}


def votes_of(labels: Labels) -> Votes:
    s, a, u, r = (labels.count(value) for value in VALUES)
    return s, a, u, r


def reachable(of: int) -> list[Labels]:
    return [s for n in range(of + 1) for s in combinations_with_replacement(VALUES, n)]


@pytest.mark.parametrize(("needed", "of"), [(1, 1), (2, 2), (2, 3), (3, 3)])
def test_decide_equals_the_oracle_on_every_small_case(needed: int, of: int) -> None:
    cases = list(product(reachable(of), repeat=3))
    assert len(cases) == {1: 5, 2: 15, 3: 35}[of] ** 3
    for three in cases:
        fates = oracle(three, needed, of)
        outcome = decide([votes_of(labels) for labels in three], needed=needed, of=of)
        if fates == {True}:
            assert outcome == (True, None, tuple(gold_of(s, needed) for s in three)), three
        else:
            assert not outcome.kept, three
            assert (outcome.reason == "too_few_labels") == (len(fates) == 2), three


FIVE = list(product(VALUES, repeat=5))


def test_three_of_five_on_all_1024_vote_sequences_of_one_association() -> None:
    for labels in FIVE:
        others: list[Votes] = [(0, 5, 0, 0), (0, 0, 5, 0)]
        outcome = decide([votes_of(labels), *others])
        gold = gold_of(labels, 3)
        assert outcome.golds == (gold, "anti-stereotype", "unrelated")
        assert outcome.kept == (gold == "stereotype")
        if gold is None:
            related = labels.count("related") >= 3
            assert outcome.reason == ("majority_related" if related else "no_majority")
        elif gold != "stereotype":
            assert outcome.reason == "two_of_a_kind"


sequences = st.lists(st.sampled_from(VALUES), max_size=5).map(tuple)


@given(st.tuples(sequences, sequences, sequences), st.sampled_from([3, 4, 5]))
def test_decide_equals_the_oracle_with_five_labels(three: tuple[Labels, ...], needed: int) -> None:
    fates = oracle(three, needed, 5)
    outcome = decide([votes_of(labels) for labels in three], needed=needed)
    assert outcome.kept == (fates == {True})
    assert (outcome.reason == "too_few_labels") == (len(fates) == 2)


@given(st.tuples(sequences, sequences, sequences), st.permutations([0, 1, 2]))
def test_any_order_of_associations(three: tuple[Labels, ...], order: list[int]) -> None:
    votes = [votes_of(labels) for labels in three]
    straight, turned = decide(votes), decide([votes[i] for i in order])
    assert (straight.kept, straight.reason) == (turned.kept, turned.reason)


def test_a_clash_that_no_label_can_resolve_is_not_a_lack_of_labels() -> None:
    # Two associations are stereotypes already; the third has one label of five.
    assert decide([(3, 0, 0, 0), (3, 1, 0, 0), (0, 0, 1, 0)]).reason == "two_of_a_kind"
    # 2 + 2 + 1: nothing can reach three any more, whatever the others lack.
    assert decide([(2, 2, 1, 0), (0, 0, 0, 0), (0, 0, 0, 0)]).reason == "no_majority"


def test_intent_is_compared_where_it_is_known() -> None:
    votes: list[Votes] = [(5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)]
    meant: list[Gold | None] = ["anti-stereotype", "stereotype", "unrelated"]
    assert decide(votes, intents=meant).reason == "intent_mismatch"
    assert decide(votes, intents=[None, None, None]).kept
    # One vote each: the writer's intent can still come true.
    assert decide([(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0)], intents=meant).reason == (
        "too_few_labels"
    )


ANTI_FIRST: tuple[Gold, ...] = ("anti-stereotype", "stereotype", "unrelated")


@pytest.mark.parametrize(
    ("votes", "golds", "expected"),
    [
        (((5, 0, 0, 0), (0, 5, 0, 0), (0, 0, 5, 0)), GOLDS, 5),
        (((5, 0, 0, 0), (0, 4, 1, 0), (0, 0, 5, 0)), GOLDS, 4),
        (((4, 1, 0, 0), (0, 5, 0, 0), (0, 0, 3, 2)), GOLDS, 3),
        (((0, 4, 1, 0), (5, 0, 0, 0), (0, 0, 5, 0)), ANTI_FIRST, 4),
        # One association with four labels or with six: not comparable with three of five.
        (((5, 0, 0, 0), (0, 4, 0, 0), (0, 0, 5, 0)), GOLDS, None),
        (((5, 0, 0, 0), (0, 6, 0, 0), (0, 0, 5, 0)), GOLDS, None),
    ],
)
def test_a_cats_tier_is_that_of_its_weakest_association(
    votes: tuple[Votes, ...], golds: tuple[Gold, ...], expected: int | None
) -> None:
    assert tier(votes, golds) == expected


def test_needed_must_be_a_majority_and_votes_must_not_exceed_of() -> None:
    with pytest.raises(ValueError, match="not a majority"):
        decide([(1, 0, 0, 0)] * 3, needed=2, of=5)
    with pytest.raises(ValueError, match="more than 5"):
        decide([(6, 0, 0, 0)] * 3)


@pytest.mark.parametrize(
    ("spellings", "keys"),
    [
        (["film-maker", "Film Maker", "filmmaker"], 1),
        (["baker", "bakers"], 2),
        # Thai vowel signs are combining marks, and they make the word.
        (["กิน", "กน"], 2),
        # Arabic and Hebrew are written with or without vowel points; the tatweel only stretches.
        (["خَبّاز", "خبـــاز", "خباز"], 1),
        (["שָׁלוֹם", "שלום"], 1),
        (["バード・ウォッチャー", "バードウォッチャー"], 1),
        # These marks make another letter: alef with hamza, and the voiced sounds of kana.
        (["أمل", "امل"], 2),
        (["バス", "ハス"], 2),
    ],
)
def test_spelling_variants_fold_and_other_words_do_not(spellings: list[str], keys: int) -> None:
    assert len({*map(spelling_key, spellings)}) == keys


def test_words_outside_the_vocabulary_are_no_labels() -> None:
    assert {read_label(text) for text in ("", "bad", "stereo types", "anti")} == {None}
