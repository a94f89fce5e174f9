"""What the models behind the chat endpoint of the tests say, and the errors of content filters."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from support.completions import Fault

SORRY = "I'm sorry, but I can't help with that."
_OPTION = re.compile(r"^(\w)[:.)] (.+)$", re.MULTILINE)


class Said(NamedTuple):
    """What a model says: a text, and the probabilities of the letters for ``top_logprobs``."""

    text: str
    letters: Mapping[str, float] = {}


Answer = Callable[[str], Said]


def options(text: str) -> list[tuple[str, str]]:
    """The two letters of a question, each with its sentence."""
    return _OPTION.findall(text)[-2:]


def _choose(text: str, place: int, p: float) -> Said:
    letters = [letter for letter, _ in options(text)]
    return Said(letters[place], {letters[place]: p, letters[1 - place]: 1 - p})


def always(letter: str, p: float = 0.9) -> Answer:
    """The same letter for each question."""
    return lambda text: Said(
        letter, {each: p if each == letter else 1 - p for each, _ in options(text)}
    )


def says(words: str) -> Answer:
    """The same words for each question."""
    return lambda _: Said(words)


def at_random(seed: int) -> Answer:
    """A letter by chance. It depends on the question and on how often it was asked before."""
    asked: Counter[str] = Counter()

    def answer(text: str) -> Said:
        asked[text] += 1
        chance = Random(f"{seed} {asked[text]} {text}")
        return _choose(text, chance.randrange(2), 0.5 + chance.random() / 2)

    return answer


def prefers(*words: str, p: float = 0.9, otherwise: Answer | None = None) -> Answer:
    """The letter of the sentence that has one of the words; an earlier word is stronger."""
    fallback = otherwise or at_random(0)

    def answer(text: str) -> Said:
        sentences = [sentence for _, sentence in options(text)]
        for word in words:
            has = [word in sentence for sentence in sentences]
            if any(has) and not all(has):
                return _choose(text, has.index(True), p)
        return fallback(text)

    return answer


def refuses(*words: str, otherwise: Answer | None = None) -> Answer:
    """A refusal, if a word is in the question; without words it always refuses."""
    fallback = otherwise or at_random(0)

    def answer(text: str) -> Said:
        if not words or any(word in text for word in words):
            return Said(SORRY)
        return fallback(text)

    return answer


ANSWERS: dict[str, Callable[..., Answer]] = {
    "always": always,
    "says": says,
    "random": lambda seed="0": at_random(int(seed)),
    "prefers": prefers,
    "refuses": refuses,
}
DRESSES: dict[str, Callable[[str], str]] = {
    "plain": str,
    "lower": str.lower,
    "bold": "**{}**".format,
    "heading": "### Answer\n\n**{}**".format,
    "code": "```\n{}\n```".format,
    "brackets": "({})".format,
    "colon": "{}:".format,
    "sentence": "The more natural sentence is {}.".format,
    "json": '{{"answer": "{}"}}'.format,
    "box": r"\boxed{{{}}}".format,
}
"""How servers and models write a letter."""


def error(status: int, message: str, code: str) -> Fault:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Fault(status, json.dumps({"error": error}))


FILTERED = {
    "azure": Fault(400, json.dumps({"error": {
        "message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
        "management policy. Please modify your prompt and retry.",
        "type": None, "param": "prompt", "code": "content_filter", "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {"hate": {"filtered": True, "severity": "medium"}},
        },
    }})),
    "openai": error(
        400, "Your request was rejected as a result of our safety system.",
        "content_policy_violation",
    ),
    "gemini": Fault(400, json.dumps([{"error": {
        "code": 400, "message": "Request blocked: PROHIBITED_CONTENT", "status": "SAFETY",
    }}])),
}  # fmt: skip
"""The errors of content filters."""
