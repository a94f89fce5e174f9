"""What a model is asked about a CAT: each association's text, and where its attribute stands."""

import hashlib
import re
from collections.abc import Callable
from typing import NamedTuple

from curation.models.rules import Ask
from curation.records import Cat
from curation.rules import filler

BLANK = "BLANK"
_FINAL = ".!?…。！？؟।"


class Question(NamedTuple):
    """An association's id, what is asked about it, and a digest of that."""

    association: str
    ask: Ask
    digest: str


def _lower(text: str) -> str:
    return BLANK.join(part.lower() for part in text.split(BLANK))


def _sentence_case(text: str) -> str:
    return text if text.startswith(BLANK) else text[:1].upper() + text[1:]


def _no_final(text: str) -> str:
    return text.rstrip().rstrip(_FINAL)


VARIANTS: dict[str, tuple[Callable[[str], str], str]] = {
    "lower": (_lower, "all in small letters"),
    "capital": (_sentence_case, "every text begins with a capital"),
    "unpointed": (_no_final, "no final punctuation"),
}
"""How texts can be altered, to see whether a figure hangs on it: by name, and what it does."""


def questions(cat: Cat, *, variant: str = "") -> list[Question]:
    """What a model is asked about each association of a CAT, in its order.

    Args:
        cat: the CAT.
        variant: one of ``VARIANTS``; "" for the texts as published.
    """
    alter = VARIANTS[variant][0] if variant else str
    found = []
    for association in cat.associations:
        context, sentence = alter(cat.context), alter(association.sentence)
        ask = Ask(cat.kind, context, sentence)
        if cat.kind == "intrasentence":
            start, end = attribute(context, sentence)
            filled, places = fill_all(context, sentence[start:end])
            ask = ask._replace(
                start=start, end=end, filled=filled, at=places[0], also=tuple(places[1:])
            )
        digest = hashlib.sha256("\0".join([ask.kind, context, sentence]).encode()).hexdigest()[:16]
        found.append(Question(association.id, ask, digest))
    return found


def attribute(context: str, sentence: str) -> tuple[int, int]:
    """Where in a sentence the words stand that fill its context's first BLANK.

    Capitals may differ, and spaces. Where the sentence does not reproduce the context, the
    attribute is what lies between what both begin and end with.

    >>> attribute("The baker is BLANK.", "the baker is very kind.")
    (13, 22)
    """
    parts = [re.sub(r"(\\\s)+", r"\\s+", re.escape(p)) for p in context.strip().split(BLANK)]
    rest = "".join(r"(?:\1|.+?)" + part for part in parts[2:])
    exact = re.fullmatch(
        rf"\s*{parts[0]}\s*(.+?)\s*{parts[1] if len(parts) > 1 else ''}{rest}\s*",
        sentence,
        re.IGNORECASE | re.DOTALL,
    )
    if exact:
        return exact.span(1)
    words = filler(context, sentence)  # folds more than capitals: widths, compatible forms
    place = sentence.casefold().find(words) if words else -1
    if words and place >= 0 and len(sentence.casefold()) == len(sentence):
        return place, place + len(words)
    before, _, after = context.partition(BLANK)
    start = _same(before, sentence)
    end = len(sentence) - _same(after[::-1], sentence[start:][::-1])
    while start and sentence[start - 1 : start].isalnum():  # not into the middle of a word
        start -= 1
    while end < len(sentence) and sentence[end : end + 1].isalnum():
        end += 1
    while start < end and sentence[start].isspace():
        start += 1
    while end > start and sentence[end - 1].isspace():
        end -= 1
    return start, end


def _same(left: str, right: str) -> int:
    """How many characters two texts begin with alike, capitals aside."""
    count = 0
    for a, b in zip(left.casefold(), right.casefold(), strict=False):
        if a != b:
            break
        count += 1
    return count


def fill_all(context: str, words: str) -> tuple[str, list[int]]:
    """A context with words in every BLANK, and where they stand; at 0 where it has none.

    >>> fill_all("BLANK bakers are BLANK.", "kind")
    ('kind bakers are kind.', [0, 16])
    """
    parts = context.split(BLANK)
    filled, places = parts[0], []
    for part in parts[1:]:
        places.append(len(filled))
        filled += words + part
    return filled, places or [0]
