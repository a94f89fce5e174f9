"""Keywords of StereoSet's development set, beside those of the paper's Table 3."""

import runpy
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from curation.measures.keywords import keywords, wordfreq
from curation.text.words import words
from support.realdata import REAL, development_set, needs

ROOT = Path(__file__).parents[2]
pytestmark = needs(REAL)
# Of development and test set together, lemmas of a lemmatiser that knows parts of speech.
TABLE_3 = runpy.run_path(str(ROOT / "benchmarks" / "reproduce.py"))["KEYWORDS"]
# Why the others are not among the hundred first.
LACKING = {
    "gender": {
        "not in the development set": "breadwinner burly ma manly possessive stepchild",
        "in one CAT": "homemaker naggy",
        "another lemma": "uncare",
    },
    "profession": {
        "in one CAT": "pushy snobby",
        "another lemma": "hardwork",
        "ranked lower": "uptight",
    },
    "race": {"ranked lower": "scammer snobby"},
    "religion": {
        "not in the development set": "classist commandment coworker devout diety forgiving "
        "monotheistic reborn savior unholy",
        "in one CAT": "atheist judgmental",
    },
}

OTHERWISE = {"uncare": "uncaring", "hardwork": "hardworking"}


@cache
def report(smoothing: float = 10) -> dict[str, Any]:
    return keywords(development_set(), language="en", reference=wordfreq("en"), smoothing=smoothing)


def first(domain: str, by: str, most: int, smoothing: float = 10) -> set[str]:
    groups = report(smoothing)["groups"]
    (group,) = [g for g in groups if (g["by"], g["domain"]) == ("domain", domain)]
    return {row["word"] for row in group["keywords"] if row[by] <= most}


def among(by: str, most: int, smoothing: float = 10) -> list[int]:
    return [
        len(first(domain, by, most, smoothing) & set(wanted.split()))
        for domain, wanted in TABLE_3.items()
    ]


def test_how_many_of_the_papers_keywords_come_first() -> None:
    found = {
        by: [among(by, most) for most in (16, 50, 100)] for by in ("rank", "log_likelihood_rank")
    }
    # Gender, profession, race, religion; of 16 each.
    assert found["rank"] == [[6, 6, 7, 4], [7, 10, 11, 4], [7, 12, 14, 4]]
    assert found["log_likelihood_rank"] == [[1, 3, 4, 3], [6, 6, 8, 4], [7, 9, 10, 4]]


def test_why_the_others_do_not() -> None:
    texts: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for cat in development_set():
        for text in (cat.context, *(a.sentence for a in cat.associations if a.gold != "unrelated")):
            for word in words(text, "en"):
                texts[cat.domain][word].add(cat.id)
    told = {}
    for domain, wanted in TABLE_3.items():
        told[domain] = defaultdict(set)
        for word in set(wanted.split()) - first(domain, "rank", 100):
            forms = [word, f"{word}s", OTHERWISE.get(word, word)]
            many = len(set[str]().union(*(texts[domain][form] for form in forms)))
            if not many:
                told[domain]["not in the development set"].add(word)
            elif many == 1:
                told[domain]["in one CAT"].add(word)
            elif word in OTHERWISE:
                told[domain]["another lemma"].add(word)
                assert OTHERWISE[word] in first(domain, "rank", 16)
            else:
                told[domain]["ranked lower"].add(word)
    assert {d: dict(why) for d, why in told.items()} == {
        d: {why: set(them.split()) for why, them in all.items() if them}
        for d, all in LACKING.items()
    }


def test_the_smoothing_that_brings_most() -> None:
    # Of 64 among the first 16, 50 and 100 of each domain.
    expected = {
        1: [18, 29, 37],
        3: [19, 33, 38],
        10: [23, 32, 37],
        30: [19, 27, 33],
        100: [11, 22, 28],
    }
    for smoothing, totals in expected.items():
        assert [sum(among("rank", most, smoothing)) for most in (16, 50, 100)] == totals
