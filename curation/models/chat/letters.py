"""The letters of an answer as tokens of a model: which tokens they are, and what their p says."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from curation.files import CurationError, printable
from curation.models.chat.prompts import Prompts
from curation.models.chat.reading import Reading

LEAST_SHARE = 0.5
"""A model answers if both letters together have at least this probability."""
_MARKUP = frozenset("*_`\"'()[].:")


def bare(text: str) -> str:
    """A text as it is compared with a letter: without spaces and markup around it, and its case.

    >>> bare(" **A**."), bare("(b)"), bare("A B")
    ('a', 'b', 'a b')
    """
    return "".join(" " if sign in _MARKUP else sign for sign in text).strip().casefold()


def letter_tokens(tokenizer: Any, prompts: Prompts, *, name: str) -> tuple[list[int], list[int]]:
    """All tokens that read as the first letter and as the second, without special tokens.

    Args:
        tokenizer: the model's tokenizer.
        prompts: the letters.
        name: the model, for errors.

    Raises:
        CurationError: a letter is not a token.
    """
    special = set(tokenizer.all_special_ids)
    texts = token_texts(tokenizer, range(len(tokenizer)))
    letters = [bare(letter) for letter in prompts.letters]
    found: tuple[list[int], list[int]] = ([], [])
    for token, text in enumerate(texts):
        reads = bare(text)
        if reads in letters and token not in special:
            found[letters.index(reads)].append(token)
    for letter, tokens in zip(prompts.letters, found, strict=True):
        if not tokens:
            raise CurationError(
                f"{name}: its vocabulary has no token for the letter «{letter}»",
                f"choose other letters in {prompts.where}",
            )
    return found


def token_texts(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """The text of each token alone; "" for a token that the tokenizer does not know."""
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    known = len(tokenizer)
    rows = [[int(token)] for token in tokens if 0 <= token < known]
    texts = iter(tokenizer.batch_decode(rows, **options))
    return [next(texts) if 0 <= token < known else "" for token in tokens]


def read_letters(body: Mapping[str, Any]) -> Reading:
    """What the reply of a local model says (``local.LocalChat``).

    Args:
        body: ``letters``, the natural log-probability of each letter; ``top``, the likeliest token
            as text, and ``top_log``, its log-probability. Or ``too_long``, the number of tokens of
            the question, and ``window``. Or ``not_finite``.
    """
    if "too_long" in body:
        detail = f"{body['too_long']} tokens, the window is {body.get('window')}"
        return Reading(None, "", sure=False, code="answer_too_long", detail=detail)
    try:
        first, second = (float(value) for value in body["letters"])
    except (KeyError, TypeError, ValueError):
        first = second = math.nan
    if not (first < math.inf and second < math.inf):
        detail = "the letters have no finite log-probabilities; a larger --dtype may help"
        return Reading(None, "", sure=False, code="answer_off_format", detail=detail)
    share = math.exp(min(first, 0)) + math.exp(min(second, 0))
    if share < LEAST_SHARE:
        detail = f"both letters together have {share:.1%} of the probability{_likeliest(body)}"
        return Reading(None, "", sure=False, code="answer_off_format", detail=detail)
    return Reading(
        1 / (1 + math.exp(min(second - first, 700))),
        "first" if first >= second else "second",
        sure=False,
    )


def _likeliest(body: Mapping[str, Any]) -> str:
    """The likeliest token and its share, for a sentence."""
    try:
        share = math.exp(min(float(body["top_log"]), 0))
        text = printable(str(body["top"]))
    except (KeyError, TypeError, ValueError):
        return ""
    return f"; the likeliest token is «{text}» with {share:.1%}"
