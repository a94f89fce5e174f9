"""What an answer of a chat model says: a letter, or why it is no answer."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

from curation.models.chat.prompts import Prompts

NoAnswer = Literal[
    "answer_refused",
    "answer_undecided",
    "answer_off_format",
    "answer_empty",
    "answer_cut",
    "answer_too_long",
]
NO_ANSWER: tuple[NoAnswer, ...] = get_args(NoAnswer)


class Reading(NamedTuple):
    """What an answer says.

    Attributes:
        first: the probability of the first letter, 0 to 1; 1.0 or 0.0 if the answer is a text
            without probabilities. None if it is no answer.
        letter: the letter that the answer chooses: "first", "second" or "".
        sure: whether ``first`` is only what the text says, without probabilities.
        code: why it is no answer, or "".
        detail: the same in words, with the beginning of the answer, or "".
    """

    first: float | None
    letter: Literal["first", "second", ""]
    sure: bool = True
    code: NoAnswer | Literal[""] = ""
    detail: str = ""


def read_answer(status: int, body: Mapping[str, Any], prompts: Prompts) -> Reading:
    """Read an answer.

    Args:
        status: the HTTP status, or 0 for a model on this machine.
        body: the answer as it came (``choices.Reply.body``).
        prompts: the letters and the words that mark a refusal.
    """
    raise NotImplementedError
