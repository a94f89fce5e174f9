"""Merging: same labels, variants and terms that are too specific; and thresholds."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from curation.terms.merging import stems
from support.selected import choose

# --- one label, several spellings -----------------------------------------------------------------


def test_one_label_of_two_items_is_one_term() -> None:
    found = choose({"Q1": ("librarian", 4), "Q2": ("Librarian", 1), "Q3": ("cook", 9)})
    # Case is no difference.
    assert found.ends == {"cook": 9, "librarian": 5, "Librarian": "merged same_label librarian"}
    term = found.term("librarian")
    assert (term.wikidata, term.count) == (("Q1", "Q2"), 5)


def test_of_one_label_twice_the_merged_one_tells_its_item_and_may_be_dropped_by_it() -> None:
    found = choose({"Q1": ("librarian", 4), "Q2": ("librarian", 4)})
    # As often as each other: the older item is the term.
    assert found.fates == {"librarian": "kept", "librarian Q2": "merged same_label librarian"}
    assert found["librarian"].item == "Q1"
    table = {"Q1": ("librarian", 4), "Q2": ("librarian", 1)}
    for edit, count in (("Q1,drop", 1), ("Q2,drop", 4)):
        assert choose(table, edits=[edit]).kept == {"librarian": count}


def test_variants_go_up_in_the_most_frequent_spelling() -> None:
    table = {"Q1": ("filmmaker", 5), "Q2": ("film-maker", 3), "Q3": ("film maker", 7)}
    assert choose(table, merge="none").ends == {
        "film maker": 5 + 3 + 7,
        "filmmaker": "merged variant film maker",
        "film-maker": "merged variant film maker",
    }
    # Those that several items are called count all.
    found = choose({"Q1": ("actors", 5), "Q2": ("actor", 2), "Q3": ("actor", 1)})
    assert found.kept == {"actors": 5 + 2 + 1}


@pytest.mark.parametrize(
    ("language", "kept"),
    [("en", {"baker": 7, "ladies": 5}), ("de", {"baker": 5, "bakers": 2, "lady": 1, "ladies": 4})],
)
def test_plurals_are_variants_in_english_alone(language: str, kept: dict[str, int]) -> None:
    table = {"Q1": ("baker", 5), "Q2": ("bakers", 2), "Q3": ("lady", 1), "Q4": ("ladies", 4)}
    assert choose(table, language=language).kept == kept


def test_stems_are_equal_for_variants_alone() -> None:
    stem = stems(["gentleman", "Gentlemen", "gentle man", "boss", "Café"], language="en")
    assert stem["gentleman"] == stem["Gentlemen"] == stem["gentle man"]
    assert len(set(stem.values())) == 3
    assert stems(["lady", "ladies"], language="de") == {"lady": "lady", "ladies": "ladies"}


def test_what_people_or_lists_name_stays_as_it_is_named() -> None:
    found = choose({"Q1": ("ladies", 9), "Q2": ("Lady", 3)}, words=["lady", "ladies"])
    assert found.ends == {"ladies": 9, "Lady": "merged same_label lady", "lady": 3}


def test_variants_share_the_family_that_one_of_them_has() -> None:
    # The people counted by itself is called as the place's people are.
    table = {"Q1": ("Veltland", 3, [], {"demonyms": ["Veltlander"]}), "Q2": ("Veltlanders", 9)}
    found = choose(table, form="both")
    assert found.fates["Veltlander"] == "merged variant Veltlanders"
    assert found.families == {"Veltland": "Veltland", "Veltlanders": "Veltland"}


# --- thresholds -----------------------------------------------------------------------------------

FIVE = {
    "Q1": ("baker", 50), "Q2": ("cook", 30), "Q3": ("smith", 15), "Q4": ("clerk", 4),
    "Q6": ("nun", 1),
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "count", "why"),
    [
        ({}, 5, None),
        ({"min_count": 15}, 3, "the domain requires 15"),
        ({"min_count": 16}, 2, "the domain requires 16"),
        ({"min_count": 51}, 0, "the domain requires 51"),
        ({"top": 1}, 1, "the domain keeps the 1 most frequent"),
        ({"top": 4}, 4, "the domain keeps the 4 most frequent"),
        ({"top": 9}, 5, None),
        ({"coverage": 0.01}, 1, "more frequent candidates have 1% of all statements"),
        ({"coverage": 0.5}, 1, "more frequent candidates have 50% of all statements"),  # 50 of 100
        ({"coverage": 0.51}, 2, "more frequent candidates have 51% of all statements"),
        ({"coverage": 0.8}, 2, "more frequent candidates have 80% of all statements"),  # 80 of 100
        ({"coverage": 0.95}, 3, "more frequent candidates have 95% of all statements"),
        ({"coverage": 0.96}, 4, "more frequent candidates have 96% of all statements"),
        ({"top": 3, "min_count": 30}, 2, "the domain requires 30"),  # the narrower counts
        ({"top": 1, "coverage": 0.8}, 1, "the domain keeps the 1 most frequent"),
    ],
)
def test_thresholds_take_the_frequent(options: dict[str, Any], count: int, why: str | None) -> None:
    found = choose(FIVE, **options)
    texts = [label for label, _ in FIVE.values()]
    assert list(found.kept) == texts[:count]
    assert [found.fates[text] for text in texts[count:]] == ["dropped too_rare"] * (5 - count)
    if why:
        assert found["nun"].detail == f"1 statement; {why}"


def test_a_share_is_met_by_exactly_that_share() -> None:
    # 55 of 100 is 55 %, though 0.55 times 100 is 55.00000000000001 to a computer.
    assert choose({"Q1": ("baker", 55), "Q2": ("cook", 45)}, coverage=0.55).kept == {"baker": 55}


def test_of_equally_frequent_items_the_older_is_taken() -> None:
    table = {"Q10": ("baker", 5), "Q9": ("cook", 5), "Q11": ("clerk", 5)}
    assert choose(table, top=2).kept == {"cook": 5, "baker": 5}
    assert len(choose(table, min_count=5).kept) == 3


def test_what_people_keep_counts_among_the_top() -> None:
    assert choose(FIVE, top=2, edits=["nun,keep"]).kept == {"baker": 50, "nun": 1}


# --- the too fine-grained -------------------------------------------------------------------------

PRODUCERS = {
    "Q1": ("producer", 30),
    "Q2": ("film producer", 8585, ["Q1"]),
    "Q3": ("assistant producer", 12, ["Q1"]),
}
FINE = "merged too_fine producer"
RARE = "dropped too_rare"


@pytest.mark.parametrize(
    ("options", "film", "producer", "assistant"),
    [
        # All that is too fine goes up in its head, however frequent.
        ({"merge": "all", "top": 1}, FINE, 30 + 8585 + 12, FINE),
        # Only the rare: 42 producers are enough, and film producers are enough by themselves.
        ({"merge": "rare", "min_count": 40}, 8585, 30 + 12, FINE),
        # What goes up in what is too rare itself falls with it.
        ({"merge": "rare", "min_count": 43}, 8585, RARE, RARE),
        ({"merge": "none", "min_count": 13}, 8585, 30, RARE),
        # What people and answers keep is not too fine.
        ({"merge": "all", "edits": ["film producer,keep"]}, 8585, 42, FINE),
        ({"merge": "all", "met": ["assistant producer"]}, FINE, 8615, 12),
    ],
)
def test_what_is_too_fine_goes_up_in_its_head(
    options: dict[str, Any], film: Any, producer: Any, assistant: Any
) -> None:
    ends = {"film producer": film, "producer": producer, "assistant producer": assistant}
    assert choose(PRODUCERS, **options).ends == ends


def test_the_reason_of_a_merge_and_of_a_fall_is_told() -> None:
    found = choose(PRODUCERS, merge="all", top=1)
    assert found["assistant producer"].detail == "a kind of producer"
    assert found["film producer"].count == 8585
    found = choose(PRODUCERS, merge="rare", min_count=43)
    why = "42 statements; the domain requires 43"
    assert found["producer"].detail == why
    assert found["assistant producer"].detail == f"as 'producer': {why}"


CHAIN = {
    "Q1": ("actor", 100),
    "Q2": ("film actor", 30, ["Q1"]),
    "Q3": ("silent film actor", 25, ["Q2"]),
}


def test_a_chain_goes_up_to_its_end() -> None:
    found = choose(CHAIN, merge="all")
    assert found.ends == {
        "actor": 155,
        "film actor": "merged too_fine actor",
        "silent film actor": "merged too_fine film actor",
    }
    assert found["film actor"].rolled == 55


def test_what_gains_enough_on_the_way_is_not_merged_itself() -> None:
    # 30 + 25 = 55 film actors are enough; without the silent ones they were too few.
    assert choose(CHAIN, merge="rare", min_count=55).kept == {"actor": 100, "film actor": 55}
    assert choose(CHAIN, merge="rare", min_count=56).kept == {"actor": 155}
    # Merging lets others move up.
    table = CHAIN | {"Q4": ("cook", 28), "Q6": ("clerk", 27)}
    assert choose(table, merge="rare", top=3).kept == {"actor": 100, "film actor": 55, "cook": 28}
    assert choose(table, merge="all", top=3).kept == {"actor": 155, "cook": 28, "clerk": 27}


ODD = {"title": "Fish", "aliases": ["shark"]}  # the label looks vandalised


@pytest.mark.parametrize(
    ("middle", "more", "edits"),
    [("film actor", {}, ["film actor,drop"]), ("cinema goer actor", ODD, [])],
)
def test_a_dropped_link_is_passed_over(middle: str, more: dict[str, Any], edits: list[str]) -> None:
    leaf = f"silent {middle}"
    table = CHAIN | {"Q2": (middle, 30, ["Q1"], more), "Q3": (leaf, 25, ["Q2"])}
    found = choose(table, merge="all", edits=edits)
    assert found.kept == {"actor": 125}
    assert found.fates[middle].startswith("dropped")
    assert found.fates[leaf] == "merged too_fine actor"


PLACE = {"classes": ["Q7"]}


@pytest.mark.parametrize(
    ("options", "parents", "more", "fine"),
    [
        ({"roots": ["Q1"]}, [], {}, "kept"),
        ({"generic": ["Q1"]}, ["Q35120"], {}, "kept"),
        # What is a kind of the excluded is excluded as well.
        ({"exclude": ["Q7"]}, [], PLACE, "dropped excluded_class"),
        ({"roots": ["Q8"], "edits": ["film actor,keep"]}, ["Q35120"], {}, "kept"),
    ],
    ids=["root", "generic", "place", "outside"],
)
def test_nothing_goes_up_in_what_is_too_general_or_out_of_place(
    options: dict[str, Any], parents: list[str], more: dict[str, Any], fine: str
) -> None:
    table = {"Q1": ("actor", 9, parents, more), "Q2": ("film actor", 5, ["Q1"])}
    found = choose(table | {"Q35120": ("entity", 0)}, merge="all", **options)
    assert found.fates["actor"].startswith("dropped")
    assert found.fates["film actor"] == fine


def test_a_head_that_nobody_states_becomes_a_term() -> None:
    table = {
        "Q1": ("actor", 0, ["Q9"]),
        "Q2": ("film actor", 30, ["Q1"]),
        "Q3": ("voice actor", 25, ["Q1"]),
        "Q9": ("artist", 0),
    }
    found = choose(table, merge="all", min_count=50)
    assert found.kept == {"actor": 55}
    assert (found["actor"].count, found["actor"].item) == (0, "Q1")
    # Also where each of both is too rare, and not where nothing is merged.
    assert choose(table, merge="rare", min_count=50).kept == {"actor": 55}
    assert choose(table, merge="none", min_count=50).kept == {}
    assert "artist" not in found.fates


UNSTATED = {"Q2": ("assistant producer", 5, ["Q3"]), "Q3": ("producer", 0)}


def test_a_head_that_nobody_states_may_be_called_like_another_candidate() -> None:
    # One text is one term: a counted item's (100 + 5), a listed word, another head (5 + 4).
    found = choose(UNSTATED | {"Q1": ("producer", 100)}, merge="all")
    assert found.kept == {"producer": 105}
    assert found.fates["assistant producer"] == FINE
    found = choose(UNSTATED, merge="all", words=["producer"])
    assert found.kept == {"producer": 5}
    assert [t.count for t in found.selection.terms] == [5]
    heads = {"Q4": ("film producer", 4, ["Q6"]), "Q6": ("Producer", 0)}
    assert list(choose(UNSTATED | heads, merge="all").kept.values()) == [9]


def test_a_head_that_nobody_states_is_not_one_with_what_was_dropped() -> None:
    place = ("producer", 100, [], {"classes": ["Q6256"]})  # a place of that name
    found = choose(UNSTATED | {"Q1": place, "Q4": ("producer", 7)}, merge="all")
    assert found.kept == {"producer": 12}
    assert found["producer"].item == "Q1"
    assert found.fates["producer"] == "dropped is_place"


@pytest.mark.parametrize("head", ["last", "none"])
def test_a_circle_of_kinds_ends(head: str) -> None:
    table = {
        "Q1": ("actor", 9, ["Q3"]),
        "Q2": ("film actor", 5, ["Q1"]),
        "Q3": ("silent film actor", 2, ["Q2"]),
    }
    for merge in ("all", "rare"):
        assert choose(table, merge=merge, head=head, top=1).kept == {"actor": 16}
    # An item that is a kind of itself stays.
    assert choose({"Q1": ("actor", 9, ["Q1"])}, head=head).kept == {"actor": 9}


def test_a_head_must_be_above_and_what_is_above_must_be_a_head() -> None:
    table = {
        "Q1": ("cook", 9),
        "Q2": ("pastry cook", 5),  # nothing says that it is a kind of cook
        "Q3": ("baker", 4, ["Q1"]),  # a kind of cook of another name
    }
    assert choose(table, merge="all").kept == {"cook": 9, "pastry cook": 5, "baker": 4}


def test_the_longest_head_is_taken_and_of_two_as_long_the_older_item() -> None:
    fine = ("silent film actor", 5, ["Q8", "Q9"])
    table = {"Q9": ("film actor", 1), "Q8": ("actor", 50), "Q3": fine}
    assert choose(table, merge="all").kept == {"actor": 50, "film actor": 6}
    table = {"Q10": ("actor", 1), "Q9": ("Actor", 0), "Q3": ("film actor", 5, ["Q9", "Q10"])}
    assert list(choose(table, merge="all").kept.values()) == [6]


def test_terms_of_one_label_go_up_together() -> None:
    table = {"Q1": ("actor", 9), "Q2": ("film actor", 5, ["Q1"]), "Q3": ("film actor", 2)}
    found = choose(table, merge="all")
    assert found.kept == {"actor": 16}
    assert found.fates["film actor Q3"] == "merged same_label film actor"


def test_the_female_form_of_the_finer_goes_up_in_that_of_the_wider() -> None:
    both = ("Lehrer", 80, [], {"feminine": ["Lehrerin"]})
    finer = {"Q2": ("Musiklehrer", 5, ["Q1"], {"feminine": ["Musiklehrerin"]})}
    options = {"language": "de", "gendered": True, "merge": "all"}
    assert choose({"Q1": both} | finer, **options).ends == {
        "Lehrer": 85,
        "Lehrerin": 85,
        "Musiklehrer": "merged too_fine Lehrer",
        "Musiklehrerin": "merged too_fine Lehrerin",
    }
    # Without its like above it goes up uncounted: the five are counted with their name.
    found = choose({"Q1": ("Lehrer", 80)} | finer, **options)
    assert found.fates["Musiklehrerin"] == "merged too_fine Lehrer"
    assert found.kept == {"Lehrer": 85}


# --- no known head --------------------------------------------------------------------------------

RUSSIAN = {
    "Q1": ("артист", 70),
    "Q2": ("актёр", 50, ["Q1"]),
    "Q3": ("киноактёр", 6, ["Q4"]),
    "Q4": ("исполнитель", 0, ["Q2"]),
    "Q6": ("каскадёр", 4, ["Q3"]),
}


def test_without_a_known_head_the_rare_go_up_in_the_nearest_counted() -> None:
    # Q4 is counted by nobody and passed over. 4 + 6 go up together: 50 + 10.
    assert choose(RUSSIAN, language="ru", merge="rare", min_count=20).ends == {
        "артист": 70,
        "актёр": 60,
        "киноактёр": "merged too_fine актёр",
        "каскадёр": "merged too_fine киноактёр",
    }
    # The frequent stay, even where all shall go.
    kept = {"артист": 70, "актёр": 50, "киноактёр": 6, "каскадёр": 4}
    assert choose(RUSSIAN, language="ru", merge="all").kept == kept


def test_without_a_known_head_nothing_goes_up_in_what_is_rarer() -> None:
    table = {"Q1": ("артист", 70), "Q2": ("актёр", 3, ["Q1"]), "Q3": ("киноактёр", 6, ["Q2"])}
    found = choose(table, language="ru", min_count=20)
    # Q2 is nearer, but with 3 rarer than 6: both go up in Q1.
    assert found.fates["киноактёр"] == "merged too_fine артист"
    assert found.kept == {"артист": 79}
    # Of the equally near the most frequent is taken.
    table = {"Q1": ("артист", 70), "Q2": ("актёр", 90), "Q3": ("киноактёр", 6, ["Q1", "Q2"])}
    assert choose(table, language="ru", min_count=20).kept == {"актёр": 96, "артист": 70}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail, and do not hang, where something takes longer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("head", ["none", "last"])
def test_many_ways_up_to_one_item_are_gone_once(head: str) -> None:
    # Thirty diamonds on top of one another: 2^30 ways from the first item to the last.
    table: dict[str, Any] = {"Q1": ("film actor", 5, ["Q10", "Q11"])}
    for n in range(10, 70, 2):
        for half in (n, n + 1):
            table[f"Q{half}"] = (None, 0, [f"Q{n + 2}", f"Q{n + 3}"])
    with within(10):
        assert choose(table, head=head, min_count=9).fates == {"film actor": "dropped too_rare"}


def test_ten_thousand_candidates_take_seconds() -> None:
    table = {
        f"Q{n}": (f"word{n} actor", 10_000 - n, ["Q99999"] if n % 2 else [])
        for n in range(1, 10001)
    }
    with within(20):
        found = choose(table | {"Q99999": ("actor", 5)}, merge="all", top=120)
    assert len(found.kept) == 120
