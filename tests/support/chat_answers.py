"""What the models behind the chat endpoint of the tests say, and the errors of content filters."""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from support.servers import Fault, error

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


def at_random(seed: int) -> Answer:
    """A letter by chance. It depends on the question and on how often it was asked before."""
    asked: Counter[str] = Counter()

    def answer(text: str) -> Said:
        asked[text] += 1
        chance = Random(f"{seed} {asked[text]} {text}")
        return _choose(text, chance.randrange(2), 0.5 + chance.random() / 2)

    return answer


def prefers(*words: str) -> Answer:
    """The letter of the sentence that has one of the words; an earlier word is stronger."""
    otherwise = at_random(0)

    def answer(text: str) -> Said:
        for word in words:
            has = [word in sentence for _, sentence in options(text)]
            if any(has) and not all(has):
                return _choose(text, has.index(True), 0.9)
        return otherwise(text)

    return answer


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


WAYS: dict[str, Callable[[str, str, str], str]] = {
    "terse": lambda own, other, text: own,
    "bold": lambda own, other, text: f"**{own}**.",
    "JSON": lambda own, other, text: json.dumps({"reason": f"not {other}", "answer": own}),
    "box": lambda own, other, text: f"The options differ.\n\n$\\boxed{{{own}}}$",
    "tag": lambda own, other, text: f"{other} is odd.\n<answer>{own}</answer>",
    "phrase": lambda own, other, text: f"The answer is: {own}.",
    "option": lambda own, other, text: f"{own}: {dict(options(text))[own]}",
    "sentence": lambda own, other, text: f'"{dict(options(text))[own]}"',
    "thinking": lambda own, other, text: f"<think>Is it {other}? {other} is odd.</think>{own}",
    "reasoning": lambda own, other, text: f"{other} is correct but unusual. {own} is common.",
    "leaning": lambda own, other, text: f"I first leaned towards {other}, but now I think {own}.",
    "whereas": lambda own, other, text: f"{other} is correct but strange, whereas {own} is usual.",
    "German": lambda own, other, text: f"Ich würde {own} wählen, nicht {other}.",
}
"""Ways of talking: the letter that is meant, the other one, and the question."""


def in_words(answer: Answer, way: str) -> Answer:
    """The same model with another way of talking, without probabilities."""

    def talk(text: str) -> Said:
        own = answer(text).text
        (other,) = {letter for letter, _ in options(text)} - {own}
        return Said(WAYS[way](own, other, text))

    return talk
