"""The BLANK of an intrasentence context, and the words that fill it."""

import re
import unicodedata
from collections.abc import Sequence

from curation.records import Cat

BLANK = "BLANK"
END = re.compile(r"[\s.!?…。！？؟।]+$")  # the punctuation at the end of a sentence

_JOINED = re.compile(rf"[^\W_]*{BLANK}[^\W_]*")


def options(cat: Cat) -> list[str]:
    """The part in which a CAT's associations differ: the words in the BLANK, or whole sentences."""
    sentences = [a.sentence for a in cat.associations]
    if cat.kind == "intersentence":
        return sentences
    return [sentence[slice(*attribute(cat.context, sentence))] for sentence in sentences]


def attribute(context: str, sentence: str) -> tuple[int, int]:
    """The position in a sentence of the words that fill its context's first BLANK.

    Case, spaces and Unicode forms may differ. If the sentence does not reproduce the context, the
    attribute is the text between their common beginning and their common end.

    Args:
        context: the context with BLANK.
        sentence: the whole sentence.

    Returns:
        Start and end of the words in the sentence; (0, 0) if the context has no BLANK.

    >>> attribute("The baker is BLANK.", "the baker is very kind.")
    (13, 22)
    """
    if BLANK not in context:
        return 0, 0
    if exact := _between(context.split(BLANK), sentence):
        return exact
    folded, places = _fold(sentence)
    span = _between([_fold(part)[0] for part in context.split(BLANK)], folded)
    if span and all(places[at - 1 : at] != places[at : at + 1] for at in span):
        return places[span[0]], places[span[1] - 1] + 1
    return _guess(context, sentence)  # no match, or a match that would split a character


def _between(parts: Sequence[str], sentence: str) -> tuple[int, int] | None:
    """The position of the first gap in a sentence made of these parts, ignoring case; or None."""
    if len(parts) == 2:  # mostly; a pattern would find the same, but takes long to compile
        before, after = parts[0].lstrip(), parts[1].rstrip()
        start, end = len(sentence) - len(sentence.lstrip()), len(sentence.rstrip())
        if sentence.startswith(before, start) and sentence.endswith(after, start, end):
            words = sentence[start + len(before) : end - len(after)]
            start += len(before) + len(words) - len(words.lstrip())
            if words := words.strip():
                return start, start + len(words)
    first, second, *others = [
        r"\s+".join(map(re.escape, re.split(r"\s+", part)))
        for part in (parts[0].lstrip(), *parts[1:-1], parts[-1].rstrip())
    ]
    begin = rf"\s*{first}\s*(?P<words>\S.*?)\s*{second}"
    alike = "".join(rf"(?P=words){part}" for part in others)
    # Atomic groups: without them, backtracking could take very long, and would find no more.
    unlike = "".join(rf"(?>.+?{part})" for part in others[:-1])
    unlike += "".join(rf".+?{part}" for part in others[-1:])
    for more in dict.fromkeys((alike, unlike)):
        if match := re.fullmatch(rf"{begin}{more}\s*", sentence, re.IGNORECASE | re.DOTALL):
            return match.span("words")
    return None


def _fold(text: str) -> tuple[str, list[int]]:
    """A text in lower case and NFKD, and the original position of each of its characters."""
    folded = [unicodedata.normalize("NFKD", char.casefold()).casefold() for char in text]
    return "".join(folded), [n for n, chars in enumerate(folded) for _ in chars]


def _guess(context: str, sentence: str) -> tuple[int, int]:
    """The position of the text between the common beginning and end, in whole words.

    The text has no spaces at its edges. Punctuation at the end of both texts does not belong to it.
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
    """The length of the common beginning of two texts, ignoring case."""
    alike = (a.casefold() == b.casefold() for a, b in zip(left, right, strict=False))
    return next((count for count, same in enumerate(alike) if not same), min(len(left), len(right)))


def around(context: str, *, spaced: bool = True) -> str:
    """The words of a context outside its BLANK.

    Letters that touch the BLANK are part of the word that fills it, so they are left out.

    Args:
        context: the context with BLANK.
        spaced: whether the language has spaces between words; if not, letters that touch the BLANK
            are words of their own.

    >>> around("Dia terkenal karena BLANKnya."), around("庭師はBLANK起きる。", spaced=False)
    ('Dia terkenal karena  .', '庭師は 起きる。')
    """
    return _JOINED.sub(" ", context) if spaced else context.replace(BLANK, " ")


def fill_all(context: str, words: str) -> tuple[str, list[int]]:
    """A context with words in every BLANK, and their positions; [0] if it has no BLANK.

    >>> fill_all("BLANK bakers are BLANK.", "kind")
    ('kind bakers are kind.', [0, 16])
    """
    parts = context.split(BLANK)
    filled, places = parts[0], []
    for part in parts[1:]:
        places.append(len(filled))
        filled += words + part
    return filled, places or [0]
