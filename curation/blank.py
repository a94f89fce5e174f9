"""The BLANK of an intrasentence context, and what fills it."""

import re
import unicodedata
from collections.abc import Sequence

from curation.records import Cat

BLANK = "BLANK"
END = re.compile(r"[\s.!?…。！？؟।]+$")  # what a sentence ends with


def options(cat: Cat) -> list[str]:
    """What differs between a CAT's associations: what fills the BLANK, or the whole sentences."""
    sentences = [a.sentence for a in cat.associations]
    if cat.kind == "intersentence":
        return sentences
    return [sentence[slice(*attribute(cat.context, sentence))] for sentence in sentences]


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
    bare = END.sub("", after)
    end = len(sentence.rstrip() if bare == after else END.sub("", sentence))
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
