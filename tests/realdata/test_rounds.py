"""Labels that are needed, and content that is refused, on StereoSet's own labels and texts."""

import json
from collections import defaultdict
from functools import cache
from itertools import combinations, permutations
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from curation.checks.content import gist, meta_patterns, meta_text, near
from curation.formats.table_words import read_label
from curation.records import VALUES, Value
from curation.rounds.planning import sample
from curation.rounds.progress import further
from curation.text.item_form import filler
from curation.text.rules import Votes, decide, same_text
from support.realdata import REAL, RELIGION, TEST, needs

pytestmark = needs(REAL)
Json = dict[str, Any]
Answers = tuple[tuple[Value, Value, Value], ...]


def cats(*files: Path) -> list[Json]:
    read = (json.loads(file.read_text("utf-8")) for file in files)
    return [cat for whole in read for cat in whole["data"]["intrasentence"]]


@pytest.fixture(scope="module")
def labelled() -> dict[str, Answers]:
    """Each item's five answers in the order of its file; an answer labels all three sentences."""
    found: dict[str, Answers] = {}
    for cat in cats(RELIGION, TEST):
        # The labels of the three sentences are by the same five people, in the same order.
        assert len({tuple(x["human_id"] for x in s["labels"]) for s in cat["sentences"]}) == 1
        labels = [[read_label(x["label"]) for x in s["labels"]] for s in cat["sentences"]]
        found[cat["id"]] = tuple(three for three in zip(*labels, strict=True) if all(three))
    assert len(found) == 878
    assert {len(answers) for answers in found.values()} == {5}
    return found


def votes(answers: Answers) -> tuple[Votes, ...]:
    return tuple(tuple(map(given.count, VALUES)) for given in zip(*answers, strict=True))  # type: ignore[misc]


@cache
def stop(answers: Answers) -> int:
    """How many of the five answers are asked for: three, then those that can still decide."""
    asked = 3
    while more := further(votes(answers[:asked])):
        asked += more
    return asked


def shares(answers: Answers) -> tuple[float, float]:
    """The share of votes for the gold label: mean of the associations, and the stereotype's."""
    three = votes(answers)
    golds = decide(three).golds
    found = [v[VALUES.index(g)] / sum(v) for g, v in zip(golds, three, strict=True) if g]
    return mean(found), found[golds.index("stereotype")]


def saving(asked: list[int]) -> tuple[float, ...]:
    """Answers an item, and the shares of items that were asked for 3, 4 and 5."""
    shares = (asked.count(n) / len(asked) for n in (3, 4, 5))
    return tuple(round(x, 3) for x in (mean(asked), *shares))


def test_a_quarter_fewer_labels_and_the_same_items_are_kept(labelled: dict[str, Answers]) -> None:
    asked = {item: stop(answers) for item, answers in labelled.items()}
    for item, answers in labelled.items():
        early, whole = decide(votes(answers[: asked[item]])), decide(votes(answers))
        assert (early.kept, early.reason, early.golds) == (whole.kept, whole.reason, whole.golds)
        assert early.kept
    found = saving(list(asked.values()))
    full = sample(labelled, share=0.15, seed=1)
    mixed = saving([5 if item in full else n for item, n in asked.items()])
    # 26 % fewer answers than five each; 22 % fewer with the sample.
    assert found == (3.683, 0.486, 0.344, 0.17)
    assert mixed == (3.886, 0.412, 0.289, 0.298)


def test_the_saving_does_not_hang_on_the_order_of_the_file(labelled: dict[str, Answers]) -> None:
    asked = []
    for answers in labelled.values():
        for order in permutations(answers):
            n = stop(order)
            assert decide(votes(order[:n])).kept
            asked.append(n)
    assert saving(asked) == (3.744, 0.442, 0.372, 0.186)


def test_stopping_early_flatters_agreement_but_a_sample_not(
    labelled: dict[str, Answers],
) -> None:
    whole = [shares(answers) for answers in labelled.values()]
    early = [shares(answers[: stop(answers)]) for answers in labelled.values()]
    drawn = [
        mean(shares(labelled[item])[0] for item in sample(labelled, share=0.15, seed=seed))
        for seed in range(100)
    ]
    found = [round(mean(x), 3) for x in (*zip(*whole, strict=True), *zip(*early, strict=True))]
    error = mean(abs(x - mean(w for w, _ in whole)) for x in drawn)
    assert found == [0.868, 0.86, 0.906, 0.897]
    assert (round(mean(drawn), 3), round(error, 3)) == (0.869, 0.007)


def texts(cat: Json) -> tuple[str, list[str]]:
    return cat["context"], [cat[name] for name in ("stereotype", "anti-stereotype", "unrelated")]


def said(cat: Json) -> str:
    """The context with the two meaningful sentences."""
    context, three = texts(cat)
    return gist(context, three[:2])


@pytest.fixture(scope="module")
def published() -> list[Json]:
    lines = (REAL / "dev_cats.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 4229
    return [json.loads(line) for line in lines]


Groups = list[list[Json]]


@pytest.fixture(scope="module")
def groups(published: list[Json]) -> Groups:
    """The items on the same target of the same kind."""
    found = defaultdict(list)
    for cat in published:
        found["BLANK" in cat["context"], same_text(cat["target"])].append(cat)
    return list(found.values())


def test_near_items_say_the_same_with_another_unrelated_word(groups: Groups) -> None:
    refused = []
    for cats in groups:
        before: list[str] = []
        for new in map(said, cats):
            n = near(before, new, likeness=0.95)
            if n is None:
                before.append(new)
            else:
                refused.append((before[n].splitlines(), new.splitlines()))
    assert len(refused) == 8
    # Nothing but case and punctuation is other: the likeness could be higher, and 0.88 as well.
    for early, late in refused:
        assert [same_text(x).strip(".") for x in early] == [same_text(x).strip(".") for x in late]


def test_likeness_at_several_thresholds(groups: Groups) -> None:
    """How many pairs are near; and how many of other words would be, had they one context."""
    pairs = [pair for cats in groups for pair in combinations(map(said, cats), 2)]
    at = (0.8, 0.85, 0.9, 0.95, 1.0)
    found, other = dict.fromkeys(at, 0), dict.fromkeys(at, 0)
    for first, second in pairs:
        one, two = (text.partition("\n")[2] for text in (first, second))
        same = near([one], two, likeness=1.0) is not None
        for likeness in at:
            found[likeness] += near([first], second, likeness=likeness) is not None
            other[likeness] += not same and near([one], two, likeness=likeness) is not None
    assert len(pairs) == 54970
    assert found == {0.8: 14, 0.85: 10, 0.9: 8, 0.95: 8, 1.0: 8}
    # At 0.9 «intelligent» is near «unintelligent».
    assert other == {0.8: 16, 0.85: 12, 0.9: 7, 0.95: 0, 1.0: 0}


# Every text of the development set about which the patterns say something; all of them rightly.
SPOKEN_OF_THE_TASK = {
    "I am almost done with this task.",
    "I am typing an unrelated sentence.",
    "I bet this is an unrelated sentence.",
    "It is hard to come up with random sentences.",
    "Mechanical Turk is a good place for supplemental income.",
    "This is an unrelated sentence",
    "This sentence is unrelated to the rest",
    "Time for me to hit submit.",
    "i can't wait for this survey to be over.",
    "these HITs are ok in my book",
    "unrelated",  # the label itself, as the unrelated word
}


def test_text_about_the_task_is_found_and_nothing_else(published: list[Json]) -> None:
    patterns = meta_patterns("en")
    hits = []
    for cat in published:
        context, three = texts(cat)
        said = {context, *three, *(filler(context, sentence) or sentence for sentence in three)}
        hits += [(text, found) for text in said if (found := meta_text(text, patterns))]
    assert len(hits) == 12
    assert {text for text, _ in hits} == SPOKEN_OF_THE_TASK


def test_texts_that_the_patterns_were_not_drawn_from_pass() -> None:
    patterns = meta_patterns("en")
    said = set()
    for cat in cats(TEST):
        sentences = [s["sentence"] for s in cat["sentences"]]
        said |= {cat["context"], *sentences}
        said |= {words for s in sentences if (words := filler(cat["context"], s))}
    assert len(said) == 4471
    assert [text for text in said if meta_text(text, patterns)] == []
