"""The probability of a letter, from the log-probabilities that an endpoint lists."""

import math
import unicodedata
from collections.abc import Mapping
from typing import Any

from curation.models.chat.marks import LOOKALIKES

MARKS = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # white space, as vocabularies write it


def first_probability(
    tokens: list[Any], text: str, at: int, letters: tuple[str, str], letter: int
) -> float | None:
    """The share of the first letter at the token of the chosen letter.

    All listed tokens that read as a letter without white space, markup, punctuation and case are
    summed. A letter that is not listed counts as 0.

    Args:
        tokens: ``logprobs.content``; it may have tokens of the thinking before those of the text.
        text: of the answer, as it came.
        at: the offset of the chosen letter in ``text``.
        letters: the two letters.
        letter: the chosen one, 0 or 1.

    Returns:
        None if there is no usable list at that token.
    """
    token = _token_at(tokens, text, at, letters, letter) if tokens else None
    if token is None or not isinstance(listed := token.get("top_logprobs"), list) or not listed:
        return None
    entries = [each for each in listed if isinstance(each, Mapping)]
    if all(each.get("token") != token.get("token") for each in entries):
        entries.append(token)
    logs: tuple[list[float], list[float]] = ([], [])
    for entry in entries:
        which = letter_of(str(entry.get("token", "")), letters)
        log = entry.get("logprob")
        if which is None or isinstance(log, bool) or not isinstance(log, int | float):
            continue
        if abs(log) < 1e300:  # neither NaN nor infinite
            logs[which].append(min(float(log), 0.0))
    if not logs[0] and not logs[1]:
        return None
    highest = max(max(each, default=-math.inf) for each in logs)
    first, second = (sum(math.exp(each - highest) for each in several) for several in logs)
    return first / (first + second)


def letter_of(token: str, letters: tuple[str, str]) -> int | None:
    """Which letter a token reads as, without white space, markup, punctuation and case."""
    bare = "".join(
        LOOKALIKES.get(each, each)
        for each in unicodedata.normalize("NFKC", token[:40].translate(MARKS))
        if each.isalnum()
    ).casefold()
    return next((n for n, letter in enumerate(letters) if letter.casefold() == bare), None)


def _token_at(
    tokens: list[Any], text: str, at: int, letters: tuple[str, str], letter: int
) -> Mapping[str, Any] | None:
    usable = [
        each for each in tokens if isinstance(each, Mapping) and isinstance(each.get("token"), str)
    ]
    if not usable:
        return None
    pieces = [each["token"].translate(MARKS) for each in usable]
    joined, wanted = "".join(pieces), text.translate(MARKS)
    skipped = len(wanted) - len(wanted.lstrip())
    begin = joined.rfind(wanted.strip())
    if begin >= 0 and wanted.strip():
        offset = begin + at - skipped
        for each, piece in zip(usable, pieces, strict=True):
            if offset < len(piece):
                if letter_of(piece, letters) == letter:
                    return each
                break
            offset -= len(piece)
    after = sum(
        letter_of(each, letters) == letter for each in wanted[at:].replace("*", " ").split()
    )
    named = [each for each in usable if letter_of(each["token"], letters) == letter]
    return named[-after] if 0 < after <= len(named) else None
