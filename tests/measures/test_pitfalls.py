"""Pitfalls of a whole dataset, the table beside StereoSet's rates, and how it is shown."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from curation.checks.codes import PITFALLS
from curation.checks.content import gist, near
from curation.files import read_records
from curation.kinds import GOLDS, Gold
from curation.measures import pitfalls as module
from curation.measures.commands import show_pitfalls
from curation.measures.pitfalls import Pitfalls, Row, pitfalls, sample
from curation.records import Cat
from curation.terminal.console import CONTENT_WARNING
from support import cats as made
from support.expected import fails

HOUSE, THREE = "The baker came from house {}.", ("He {} rose.", "He {} slept.", "Tin {} melts.")


def cat(number: int, context: str = HOUSE, three: Sequence[str] = THREE, **about: Any) -> Cat:
    texts = (text.format(number) for text in (context, *three))
    return made.cat(*texts, name=f"c{number}", **about)


def look(*cats: Cat, language: str = "en", **options: Any) -> Pitfalls:
    return pitfalls(cats, language=language, **options)


def row(report: Pitfalls, code: str) -> Row:
    return next(row for row in report.table if row.code == code)


def hits(report: Pitfalls, code: str) -> list[str | None]:
    return [one.item for one in report.hits if one.code == code]


# --- what repeats -------------------------------------------------------------------------------

ONE = cat(1, "The baker rowed over the lake.")
AGAIN = cat(2, "The Baker  rowed over the lake.", [a.sentence for a in ONE.associations])
OTHER = cat(3, "Nobody saw that baker dance.")


def test_a_cat_that_occurs_twice_is_reported_once() -> None:
    assert hits(look(ONE, OTHER, AGAIN), "duplicate_item") == ["c2"]
    assert hits(look(ONE, OTHER), "duplicate_item") == []
    turned = AGAIN.model_copy(update={"associations": AGAIN.associations[::-1]})
    assert hits(look(ONE, turned), "duplicate_item") == ["c2"]
    assert hits(look(ONE, AGAIN.model_copy(update={"target": "baker man"})), "duplicate_item") == []


def test_a_near_duplicate_is_reported_for_the_later_cat() -> None:
    long = ("He was never up before the sun rose.", "He was up when the night had ended.")
    one = cat(1, "The baker rowed over the lake.", (*long, "Tin melts."))
    two = cat(
        2, "The baker rowed over the lakes.", (long[0], long[1].replace("ended", "endet"), "x")
    )
    assert hits(look(one, two), "near_duplicate") == ["c2"]
    assert hits(look(two, one), "near_duplicate") == ["c1"]
    assert hits(look(one, two.model_copy(update={"target": "lake"})), "near_duplicate") == []
    assert hits(look(one, cat(3, one.context)), "near_duplicate") == []


def test_same_context_and_same_but_for_the_target() -> None:
    report = look(
        cat(1, "The baker sang."),
        cat(2, "the baker sang"),
        cat(3, "The nurse sang.", target="nurse"),
    )
    assert hits(report, "same_context") == ["c1", "c2"]
    assert hits(report, "same_template") == ["c1", "c2", "c3"]
    assert row(report, "same_context").rate == pytest.approx(2 / 3)
    apart = look(cat(1, "The baker sang."), cat(2, "The baker danced."))
    assert hits(apart, "same_context") == hits(apart, "same_template") == []


def test_likeness_of_contexts_is_counted_from_90_and_from_95() -> None:
    # 40 letters each, one other: 2·39/80 = 97.5 %. 20 letters, one other: 2·19/40 = 95 %.
    # 10 letters, one other: 2·9/20 = 90 %. 9 letters: 2·8/18 = 88.9 %.
    def pair(size: int) -> Pitfalls:
        text = "thebakerrowedoverthelakewithbreadandbutter"[:size]
        return look(cat(1, text), cat(2, "#" + text[1:]))

    assert [len(hits(pair(n), "context_alike_95")) for n in (40, 20, 10)] == [2, 2, 0]
    assert [len(hits(pair(n), "context_alike_90")) for n in (40, 20, 10, 9)] == [2, 2, 2, 0]
    assert (
        hits(look(cat(1, "The baker sang."), cat(2, "The baker sang.")), "context_alike_90") == []
    )


SANG = ("He sang.", "He {} slept.", "Tin {} melts.")
TURNED: tuple[Gold, ...] = ("anti-stereotype", "stereotype", "unrelated")


def test_a_text_with_two_golds_stops_a_release_on_one_target_only() -> None:
    one, two = cat(1, three=SANG), cat(2, three=SANG, golds=TURNED)
    two = two.model_copy(update={"context": f"«{one.context}»"})
    assert hits(look(one, two), "gold_conflict") == ["c1", "c2"]
    assert look(one, two).blocking() == ["gold_conflict"]
    assert look(one, two).blocking(["gold_conflict"]) == []
    apart = look(one, two.model_copy(update={"target": "house"}))
    assert (hits(apart, "gold_conflict"), hits(apart, "gold_differs")) == ([], ["c1", "c2"])
    agreed = look(one, cat(2, three=SANG))
    assert hits(agreed, "gold_conflict") == hits(agreed, "gold_differs") == []
    assert hits(agreed, "option_reused") == ["c1", "c2"]
    assert row(agreed, "option_reused").of == 6


def test_a_text_may_mean_another_thing_after_another_context() -> None:
    car, doll = (f"The baker had a {toy}." for toy in ("car", "doll"))
    three = ("He loved it.", *SANG[1:])
    apart = look(cat(1, car, three), cat(2, doll, three, golds=TURNED))
    assert (hits(apart, "gold_conflict"), hits(apart, "gold_differs")) == ([], ["c1", "c2"])
    # Within one sentence the words are the same, wherever BLANK stood.
    fills = ("The baker is kind.", "The baker is gruff.", "The baker is {}.")
    one = cat(1, "The baker is BLANK.", fills, kind="intrasentence")
    two = cat(2, "The baker BLANK.", fills, golds=TURNED, kind="intrasentence")
    assert hits(look(one, two), "gold_conflict") == ["c1", "c2", "c1", "c2"]


def test_which_other_cat_is_named() -> None:
    def named(report: Pitfalls, code: str) -> list[str]:
        return [one.detail[-2:] for one in report.hits if one.code == code]

    report = look(*(cat(n, "The baker came.", SANG, target=t) for n, t in enumerate("xxyx")))
    assert named(report, "option_reused") == ["c1", "c0", "c0", "c0"]
    assert named(report, "same_context") == ["c1", "c0", "c1", "c2"]
    targets = ("baker", "nurse", "baker")
    cats = [cat(n, f"The {target} of it rowed.", SANG, target=target)
            for n, target in enumerate(targets)]  # fmt: skip
    assert named(look(*cats), "same_template") == ["c1", "c0", "c1"]


def test_the_most_alike_context_is_named_on_either_side() -> None:
    text = "the baker rowed over the wide lake with bread"  # 45 letters
    like, liker = "#" + text[1:-2] + "##", "#" + text[1:]
    details = {
        one.item: one.detail
        for one in look(cat(1, text), cat(2, like), cat(3, liker)).hits
        if one.code == "context_alike_90"
    }
    # one other letter: 2·44/90 = 97 %; two: 95 %; three: 93 %
    assert details == {
        "c1": "similarity of 97 % to the context of CAT c3",
        "c2": "similarity of 95 % to the context of CAT c3",
        "c3": "similarity of 97 % to the context of CAT c1",
    }


def test_near_duplicates_are_those_of_the_imports() -> None:
    random = Random(1)
    words = ["rolls", "bread", "butter and jam", "buns", "a long and winding loaf of rye bread"]
    cats = [
        cat(n, f"The baker sold {random.choice(words)} by the lake.",
            (f"He rose {random.choice(words)}.", "He had a heap of rolls and jam.", "Tin."),
            target=random.choice(["baker", "lake"]))
        for n in range(60)
    ]  # fmt: skip
    before: dict[str, list[str]] = {}
    expected = []
    for one in cats:
        text = gist(one.context, [a.sentence for a in one.associations[:2]])
        if near(before.setdefault(one.target, []), text, likeness=0.95) is not None:
            expected.append(one.id)
        before[one.target].append(text)
    reported = hits(look(*cats), "near_duplicate")
    assert (len(reported), set(reported)) == (len(expected), set(expected))
    assert 0 < len(expected) < 60


def test_the_worst_cases_come_to_an_end() -> None:
    same, many = ("He rose.", "He slept.", "Tin melts."), ("He {} rose.", "He {} slept.", "Tin.")
    golds = (GOLDS, TURNED)
    one_context = [cat(n, "The baker came.", same, golds=golds[n % 2]) for n in range(1000)]
    assert row(look(*one_context), "same_context").count == 1000
    one_template = [
        cat(n, f"The t{n}x came to town at last.", many, target=f"t{n}x") for n in range(1000)
    ]
    assert row(look(*one_template), "same_template").count == 1000
    long = ("b" * 9999 + "1", "1-" * 5000, "I " * 5000)
    long_words = [cat(n, "a" * 9999, long) for n in range(3)]
    assert row(look(*long_words), "lengths_differ").count == 3


# --- what is uneven, and what leaks ---------------------------------------------------------------


def test_uneven_counts_are_reported_beyond_half_and_twice_the_median() -> None:
    sizes = {"baker": 2, "nurse": 4, "pilot": 4, "house": 8, "lion": 9, "cook": 1}
    cats = [
        cat(100 * n + k, target=target)
        for n, (target, size) in enumerate(sizes.items())
        for k in range(size)
    ]
    report = look(*cats)  # the median of 1, 2, 4, 4, 8, 9 is 4
    assert {one.target for one in report.hits if one.code == "terms_uneven"} == {"lion", "cook"}
    assert (row(report, "terms_uneven").count, row(report, "terms_uneven").of) == (2, 6)
    cats = [cat(n, domain=domain, target=domain) for n, domain in enumerate("aaaabbbbbc")]
    report = look(*cats)  # 4, 5 and 1: the median is 4
    assert (row(report, "domains_uneven").count, row(report, "domains_uneven").of) == (1, 3)
    assert "'c' has 1" in next(o.detail for o in report.hits if o.code == "domains_uneven")


def test_the_order_of_the_file_leaks_the_gold_where_it_is_fixed() -> None:
    turning = (cat(n, golds=[GOLDS[(n + k) % 3] for k in range(3)]) for n in range(12))
    assert row(look(*turning), "order_leak").count == 0
    fixed = look(*(cat(n) for n in range(12)))
    assert (row(fixed, "order_leak").count, row(fixed, "order_leak").places) == (1, 3)
    # Three of three may be chance: Wilson's lower bound is 44 %.
    assert row(look(*(cat(n) for n in range(3))), "order_leak").count == 0


def test_short_unrelated_associations_leak_where_they_are_more_than_chance() -> None:
    short = ("He rose {} early.", "He slept {} late.", "Tin.")
    assert row(look(*(cat(n, three=short) for n in range(9))), "shortest_leak").count == 1
    assert row(look(*(cat(n) for n in range(9))), "shortest_leak").count == 0


def test_a_target_of_another_domain_is_named() -> None:
    mother = cat(2, "My mother sang.", target="mother", domain="gender")
    report = look(cat(1, "My mother is a baker."), mother)
    assert hits(report, "other_target") == ["c1"]
    assert hits(look(cat(1, "Motherly was that baker."), mother), "other_target") == []
    inside = cat(3, "A baker woman sang.", target="baker woman", domain="gender")
    assert hits(look(inside, cat(1)), "other_target") == []


# --- the table ----------------------------------------------------------------------------------


def test_the_table_has_every_code_and_counts_units() -> None:
    spaced = ("He  {}  rose.", "He {} slept.", "Tin {} melts.")
    report = look(cat(1, three=spaced), cat(2))
    assert [r.code for r in report.table] == list(PITFALLS)
    double = row(report, "space_doubled")
    assert (double.count, double.of, double.places, double.rate) == (1, 2, 1, 0.5)
    assert double.kinds["intersentence"][:2] == (1, 2)
    assert row(report, "punctuation_missing").of == 6
    assert row(report, "blank_twice").of == 0  # there is no intrasentence CAT
    assert row(report, "blank_twice").rate is None


def test_stereosets_rate_is_that_of_the_kinds_that_are_here() -> None:
    three = ("The baker is kind.", "The baker is gruff.", "The baker is octal.")
    inter, intra = cat(1), cat(2, "The baker is BLANK.", three, kind="intrasentence")
    # 717 of 2,123 between sentences, none of 2,106 within one
    for cats, rate in (([inter], 717 / 2123), ([intra], 0), ([inter, intra], 717 / 2123 / 2)):
        assert row(look(*cats), "lengths_differ").stereoset == pytest.approx(rate)


def test_what_a_language_cannot_have_checked_has_no_count() -> None:
    report = look(cat(1, "جاء الخباز.", ("نام.", "قام.", "قطة."), target="خباز"), language="ar")
    negation, spaces = row(report, "negation_one_sided"), row(report, "space_doubled")
    assert (negation.count, negation.of, negation.rate) == (None, None, None)
    assert "no list" in (negation.why or "")
    assert row(report, "misspelt_word").why == "English words only"
    assert (spaces.count, spaces.why) == (0, None)


def test_every_finding_has_a_place_and_a_fix() -> None:
    report = look(cat(1, "the  baker came"))
    assert {one.where for one in report.hits} == {"CAT c1"}
    for one in report.hits:
        assert (one.severity, one.fix) == (PITFALLS[one.code].severity, PITFALLS[one.code].fix)


def test_no_cats_and_one_cat_are_reported_and_progress_too() -> None:
    empty = look()
    assert empty.hits == []
    assert {(r.count, r.of) for r in empty.table if not r.why} == {(0, 0)}
    reported: list[tuple[str, int, int]] = []
    one = look(cat(1), tell=lambda *stage: reported.append(stage))
    assert len(one.table) == len(PITFALLS)
    assert (reported[0], reported[-1]) == (("texts", 0, 1), ("dataset", 4, 4))
    assert ("texts", 1, 1) in reported


def test_several_processes_find_the_same(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "MANY", 5)
    monkeypatch.setattr(module, "SHARD", 2)
    own = tmp_path / "own.csv"
    own.write_text("language,list,word\ntlh,violence,bomb*\n", "utf-8")
    texts = ["The baker  came {}.", "The teacher saw the baker {}.", "It bombed the baker {}."]
    cats = [cat(n, texts[n % 3]) for n in range(6)]
    cats.append(cat(6, "The teacher came {}.", target="teacher", domain="school"))
    options: dict[str, Any] = {"language": "tlh", "own": own, "names": {"baker": ("cook",)}}
    one, reported = look(*cats, **options), list[tuple[str, int, int]]()
    many = look(*cats, **options, workers=2, tell=lambda *stage: reported.append(stage))
    assert many == one
    assert hits(many, "space_doubled") == ["c0", "c3"]
    assert hits(many, "other_target") == ["c1", "c4"]
    assert hits(many, "violent_word") == ["c2", "c5"]
    assert [done for stage, done, _ in reported if stage == "texts"] == [0, 2, 4, 6, 7]
    with fails("nothere"):
        look(cat(1), own=tmp_path / "nothere.csv")


def test_places_are_drawn_by_seed() -> None:
    report = look(*(cat(n, "the  baker came") for n in range(20)))
    drawn = sample(report, "space_doubled", 5, seed=1)
    assert drawn == sample(report, "space_doubled", 5, seed=1)
    assert drawn != sample(report, "space_doubled", 5, seed=2)
    assert len(sample(report, "space_doubled", 0)) == 20


def test_the_table_is_shown_with_places_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    report = look(cat(1, "the  baker came."), cat(2, "The BLANK baker came."))
    show_pitfalls(report)
    shown = capsys.readouterr()
    assert "space_doubled" in shown.out
    assert "Not found: " in shown.out
    assert CONTENT_WARNING not in shown.out
    assert "blank_left" in shown.err
    show_pitfalls(report, codes=["space_doubled", "blank_twice"])
    text = capsys.readouterr().out
    assert text.index(CONTENT_WARNING) < text.index("CAT c1: 'the  baker came.'")
    assert "none" in text
    with fails("is not a pitfall"):
        show_pitfalls(report, codes=["typos"])
    show_pitfalls(look(cat(1), language="ar"), every=True)
    text = capsys.readouterr().out
    assert "Not checked: " in text
    assert "English words only" in text


# --- pitfalls that depend on gold labels --------------------------------------------------------


def test_the_counts_of_other_pitfalls_stay_if_gold_labels_change(example: Path) -> None:
    """A release with hidden labels does not publish those that change."""
    draw = Random(4)
    cats = read_records(example / "3-decisions" / "cats.jsonl", Cat)
    again = [cat.model_copy(update={"id": f"again-{cat.id}"}) for cat in cats[:20]]
    alike = [
        cat.model_copy(update={"id": f"alike-{cat.id}", "context": f"{cat.context} Really."})
        for cat in cats[20:60]
    ]

    def turned(cat: Cat) -> Cat:
        golds = draw.sample([a.gold for a in cat.associations], 3)
        pairs = zip(cat.associations, golds, strict=True)
        turned = tuple(a.model_copy(update={"gold": gold}) for a, gold in pairs)
        return cat.model_copy(update={"associations": turned})

    plain = [*cats, *again, *alike]
    several = (plain, *([turned(cat) for cat in plain] for _ in range(2)))
    counts = [{row.code: row.count for row in pitfalls(of, language="en").table} for of in several]
    changed = {code for code in PITFALLS if len({each[code] for each in counts}) > 1}
    labelled = {code for code, about in PITFALLS.items() if about.labelled}
    assert changed <= labelled
    assert {"words_differ", "near_duplicate", "gold_conflict", "word_class_pair"} <= changed
