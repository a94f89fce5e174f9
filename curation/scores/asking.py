"""What a model is asked about a CAT: each association's text, and where its attribute stands."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import NamedTuple

from curation.models.rules import Ask
from curation.records import Cat

BLANK = "BLANK"
_END = re.compile(r"[\s.!?…。！？؟।]+$")


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
    return _END.sub("", text)


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

    Capitals may differ, spaces, and forms of a character. Where the sentence does not reproduce
    the context, the attribute is what lies between what both begin and end with; where the context
    has no BLANK, there is none: (0, 0).

    >>> attribute("The baker is BLANK.", "the baker is very kind.")
    (13, 22)
    """
    if BLANK not in context:
        return 0, 0
    if exact := _between(context.split(BLANK), sentence):
        return exact
    folded, places = _fold(sentence)
    found = _between([_fold(part)[0] for part in context.split(BLANK)], folded)
    if found and all(places[at - 1 : at] != places[at : at + 1] for at in found):
        return places[found[0]], places[found[1] - 1] + 1
    return _guess(context, sentence)  # none, or one that parts what is a single character


def _between(parts: Sequence[str], sentence: str) -> tuple[int, int] | None:
    """The first gap of a sentence that is these parts with words between; capitals may differ."""
    first, second, *others = [
        r"\s+".join(map(re.escape, re.split(r"\s+", part)))
        for part in (parts[0].lstrip(), *parts[1:-1], parts[-1].rstrip())
    ]
    begin = rf"\s*{first}\s*(?P<words>\S.*?)\s*{second}"
    alike = "".join(rf"(?P=words){part}" for part in others)
    # Atomic: if the leftmost place of a part is of no use, none is; else this could take for ever.
    unlike = "".join(rf"(?>.+?{part})" for part in others[:-1])
    unlike += "".join(rf".+?{part}" for part in others[-1:])
    for more in dict.fromkeys((alike, unlike)):
        if found := re.fullmatch(rf"{begin}{more}\s*", sentence, re.IGNORECASE | re.DOTALL):
            return found.span("words")
    return None


def _fold(text: str) -> tuple[str, list[int]]:
    """A text without capitals, widths and compatible forms, and where each character is from."""
    folded = [unicodedata.normalize("NFKD", char.casefold()).casefold() for char in text]
    return "".join(folded), [n for n, chars in enumerate(folded) for _ in chars]


def _guess(context: str, sentence: str) -> tuple[int, int]:
    """What lies between what both begin and end with, whole words, no spaces at its edges.

    Where both end with points, whatever these are, they are not of the attribute.
    """
    before, _, after = context.strip().partition(BLANK)
    bare = _END.sub("", after)
    end = len(sentence.rstrip() if bare == after else _END.sub("", sentence))
    skip = min(len(sentence) - len(sentence.lstrip()), end)
    start = skip + _same(before, sentence[skip:end])
    end -= _same(bare[::-1], sentence[start:end][::-1])
    while _inside_word(sentence, start):
        start -= 1
    while _inside_word(sentence, end):
        end += 1
    while start < end and sentence[start].isspace():
        start += 1
    while end > start and sentence[end - 1].isspace():
        end -= 1
    return start, end


def _inside_word(text: str, place: int) -> bool:
    return 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()


def _same(left: str, right: str) -> int:
    """How many characters two texts begin with alike, capitals aside."""
    alike = (a.casefold() == b.casefold() for a, b in zip(left, right, strict=False))
    return next((count for count, same in enumerate(alike) if not same), min(len(left), len(right)))


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
