"""Answers of chat models made by hand: from what a model would say to rows of ``Asked``."""

from collections.abc import Callable, Sequence

from curation.kinds import Kind
from curation.models.chat_reading import NoAnswer, Reading
from curation.records import PAIRS, Cat, Pair
from curation.scores.asking import Asked
from support import boards

REFUSED = Reading(None, "", code="answer_refused", detail="I'm sorry")
Answer = Callable[[Cat, Pair, bool], Reading]
"""What a model says to a question about a CAT: the pair, and whether it is swapped."""


def first(yes: bool = True) -> Reading:
    """An answer that names the first letter, or the second."""
    return Reading(float(yes), "first" if yes else "second")


def none(code: NoAnswer) -> Reading:
    return Reading(None, "", code=code)


def prefers(association: bool) -> Answer:
    """A model that prefers the first association of each pair, or the second."""
    return lambda cat, pair, swapped: first(association != swapped)


def asked(
    cats: Sequence[Cat], answer: Answer, *, prompts: Sequence[str] = ("natural",), samples: int = 1
) -> list[Asked]:
    """All questions about the CATs, answered."""
    return [
        Asked(cat.id, pair, swapped, prompt, sample, answer(cat, pair, swapped))
        for cat in cats
        for prompt in prompts
        for sample in range(samples)
        for pair in PAIRS
        for swapped in (False, True)
    ]


def made_up(
    terms: int, each: int, *, domains: Sequence[str] = ("race", "gender"), kind: Kind | None = None
) -> list[Cat]:
    """CATs: ``terms`` terms per domain with ``each`` CATs, of both kinds in turn."""
    kinds: tuple[Kind, Kind] = ("intrasentence", "intersentence")
    return [
        boards.cat(f"{domain}-{t}-{n}-", f"t{t}", domain, kind or kinds[n % 2])
        for domain in domains
        for t in range(terms)
        for n in range(each)
    ]
