"""Near-duplicates of test CATs among public ones: found as a slow, simple comparison finds them."""

import random
from collections.abc import Iterable
from itertools import permutations
from pathlib import Path

from rapidfuzz import fuzz

from curation.checks.content import compared, gist
from curation.kinds import Kind
from curation.release.near import Pair, near
from curation.released.contents import PublishedCat, PublishedOption
from support.catsets import stereoset, write_json
from support.labelled import Desk


def cat_of(id: str, kind: Kind, context: str, sentences: Iterable[str]) -> PublishedCat:
    options = tuple(PublishedOption("", sentence, "") for sentence in sentences)
    return PublishedCat(id, kind, "", "", None, "test", context, None, options)


def intra(id: str, context: str, *words: str) -> PublishedCat:
    return cat_of(id, "intrasentence", context, (context.replace("BLANK", w) for w in words))


def slowly(cats: list[PublishedCat], others: list[PublishedCat]) -> list[tuple[str, str]]:
    pairs = []
    for a in cats:
        for b in others:
            one, *own = compared(gist(a.context, [o.sentence for o in a.options]))
            other, *theirs = compared(gist(b.context, [o.sentence for o in b.options]))
            alike = [[fuzz.ratio(x, y) >= 95 for y in theirs] for x in own]
            orders = permutations((0, 1, 2))
            two = any(alike[0][i] + alike[1][j] + alike[2][k] >= 2 for i, j, k in orders)
            if a.kind == b.kind and fuzz.ratio(one, other) >= 95 and two:
                pairs.append((a.id, b.id))
                break
    return pairs


def test_the_same_cats_are_found_as_slowly() -> None:
    rng = random.Random(3)
    words = ["kind", "gruff", "blue", "extremely well read", "extremely well fed", "a painter"]

    def made(id: str) -> PublishedCat:
        village = "in the small village by the"
        place = rng.choice([f"{village} sea", f"{village} see", "here"])
        context = f"The {rng.choice(['baker', 'bakers', 'potter'])} {place} is BLANK"
        if rng.random() < 0.5:
            return intra(id, context + rng.choice([".", "!", ""]), *rng.sample(words, 3))
        ends = (f"It is known {place} that it is {word}." for word in rng.sample(words, 3))
        return cat_of(id, "intersentence", context.replace("BLANK", "old"), ends)

    cats, others = [made(f"a{n}") for n in range(60)], [made(f"b{n}") for n in range(80)]
    (count,), pairs = near(cats, {"dev": others})
    expected = slowly(cats, others)
    assert sorted((pair.cat, pair.other) for pair in pairs) == sorted(expected)
    assert (count.place, count.cats, count.similarity) == ("dev", len(expected), 0.95)
    assert 10 < len(expected) < 60


def test_order_case_and_the_third_option_do_not_count() -> None:
    cat = intra("a", "The baker is BLANK.", "kind", "gruff", "blue")
    same = intra("b", "the baker is BLANK", "green", "Gruff", "kind")
    one = intra("c", "The baker is BLANK.", "kind", "old", "young")
    other = intra("d", "The wheelwright is BLANK.", "kind", "gruff", "blue")
    counts, pairs = near([cat], {"dev": [one, other], "0.1.0": [one, same], "none": []})
    assert [(row.place, row.cats) for row in counts] == [("dev", 0), ("0.1.0", 1), ("none", 0)]
    assert pairs == [Pair("a", "0.1.0", "b")]
    twice = intra("e", "The baker is BLANK.", "kind", "kind", "old")
    assert near([cat], {"dev": [twice]})[1] == []


def test_texts_in_any_script_and_empty_ones() -> None:
    cat = intra("a", "パン屋は BLANK です。", "親切", "乱暴", "青い")
    empty = cat_of("b", "intrasentence", "BLANK", ("", "", ""))
    assert [p.other for p in near([cat, empty], {"dev": [cat, empty]})[1]] == ["a", "b"]


def test_the_command_names_places_and_pairs(hidden: Desk, tmp_path: Path) -> None:
    (cat, *_) = hidden.cats("test")
    item = {
        "id": "x", "target": cat.target, "bias_type": "d",
        "context": cat.context.replace("The", "the"),
        "sentences": [{"id": a.id, "sentence": a.sentence.upper()} for a in cat.associations],
    }  # fmt: skip
    other = write_json(tmp_path / "other.json", stereoset([item]))
    assert "other.json" in hidden.done("release", "near", other).out
    said = hidden.say("release", "near", other)
    assert said["counts"][str(other)] == 1
    assert said["pairs"][-1]["other"] == "x"
    assert "no such file" in hidden.refused("release", "near", tmp_path / "none.json")
