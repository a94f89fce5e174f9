"""The form of one item: its BLANK, the words that fill it, its target, odd characters, flaws."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from curation.kinds import ITEMS, Kind
from curation.text.rules import QUOTES, UNSEEN, bare, same_text
from curation.text.wording import DIRECTIONS

if TYPE_CHECKING:
    from curation.records import Cat


class Flaw(NamedTuple):
    """An error in an item: a reason code, a detail that quotes the text, and its place.

    ``at`` is the index of the association; None for the context or the whole item.
    """

    code: str
    detail: str
    at: int | None = None


def _blank(context: str) -> tuple[str, str] | None:
    """The text before and after the first BLANK, or None."""
    before, blank, after = context.partition("BLANK")
    return (before, after) if blank else None


def _is_glue(char: str) -> bool:
    # Scripts with capital letters put spaces between words. In Japanese, Korean or Arabic a letter
    # next to BLANK is correct.
    return char.isdigit() or char == "_" or char.lower() != char.upper()


def is_glued(context: str) -> bool:
    """Whether the first BLANK touches a letter or digit.

    >>> is_glued("The baker is BLANKly late."), is_glued("The baker is «BLANK».")
    (True, False)
    """
    before, after = _blank(context) or ("", "")
    return _is_glue(before[-1:]) or _is_glue(after[:1])


def names_target(context: str, target: str) -> bool:
    """Whether a context names a target, also inside a word; marks and case are ignored.

    >>> names_target("Some café owners sang.", "Cafe Owner")
    True
    >>> names_target("The café-owner’s dog", "cafe owner's")
    True
    """
    # The second test costs ten times the first, and is rarely needed.
    return target.casefold() in context.casefold() or bare(target) in bare(context)


def has_blank_left(text: str) -> bool:
    """Whether BLANK is left in a text that should be complete.

    If all letters of the text are capitals, BLANK may be an ordinary word, and the result is False.
    In a script without capitals, letters may touch BLANK.

    >>> has_blank_left("The BLANK came in."), has_blank_left("HIS FACE WENT BLANK.")
    (True, False)
    >>> has_blank_left("The page is blank.")
    False
    >>> has_blank_left("そのBLANKは"), has_blank_left("BLANK")
    (True, True)
    """
    others = text.replace("BLANK", "")
    if others == text or others.lower() != others == others.upper():
        return False
    parts = text.split("BLANK")
    return any(not _is_glue(a[-1:]) and not _is_glue(b[:1]) for a, b in pairwise(parts))


@lru_cache(maxsize=16)  # several checks of an item need it
def filler(context: str, sentence: str) -> str | None:
    """The words that fill the context's BLANK in a sentence; None if the sentence does not fit.

    The kind of apostrophe or quotation mark and invisible marks may differ.

    >>> filler("The baker is BLANK.", "the baker is very kind.")
    'very kind'
    >>> filler("The baker is BLANK.", "The baker isn't kind.") is None
    True
    """
    parts = _blank(context)
    if parts is None:
        return None
    words = _text_between(*parts, sentence)
    if words is None:
        words = _text_between(*(part.translate(UNSEEN) for part in (*parts, sentence)))
    return words or None


def _text_between(before: str, after: str, sentence: str) -> str | None:
    """The part of a sentence between two texts; None if it does not begin and end with them."""
    head, tail, text = same_text(before), same_text(after), same_text(sentence)
    head += " " if head and before[-1].isspace() else ""
    tail = " " + tail if tail and after[0].isspace() else tail
    plain = text.translate(QUOTES)  # has the same length as the text
    if not plain.startswith(head.translate(QUOTES)) or not plain.endswith(tail.translate(QUOTES)):
        return None
    return text[len(head) : max(len(text) - len(tail), 0)].strip()


def fill(context: str, words: str) -> str:
    """The context with words in its first BLANK; a context without BLANK is returned unchanged.

    >>> fill("BLANK is what the baker is.", "kind")
    'Kind is what the baker is.'
    """
    parts = _blank(context)
    if parts is None:
        return context
    before, after = parts
    sentence = f"{before}{words.strip()}{after}".strip()
    return sentence if before.strip() else sentence[:1].upper() + sentence[1:]


def check_item(
    kind: Kind, target: str, context: str, sentences: Sequence[str], **settings: bool
) -> Flaw | None:
    """The first error in a newly written item, or None; see ``flaws``."""
    return next(flaws(kind, (target,), context, sentences, **settings), None)


def flaws(
    kind: Kind,
    targets: Sequence[str],
    context: str,
    sentences: Sequence[str],
    *,
    name_target: bool = True,
    blank_alone: bool = True,
) -> Iterator[Flaw]:
    """All errors in an item that are wrong in any dataset.

    Args:
        kind: the kind of the item.
        targets: the target term's text, and its other names.
        context: the context, with BLANK if its kind has a gap.
        sentences: the associations as whole sentences.
        name_target: whether the context must name the target, as in ``names_target``.
        blank_alone: whether BLANK must not touch a letter.
    """
    has_gap = ITEMS[kind].has_gap
    texts: list[tuple[int | None, str]] = [(None, context), *enumerate(sentences)]
    for at, text in texts:
        if not text.strip():
            name = "context" if at is None else "association"
            yield Flaw("empty_text", f"a text is empty: {name}", at)
    if has_gap:
        blanks = context.count("BLANK")
        if not blanks:
            small = ", only in small letters" if "BLANK" in context.upper() else ""
            yield Flaw("blank_missing", f"there is no BLANK in {context!r}{small}")
        elif blanks > 1:
            yield Flaw("blank_twice", f"{blanks} BLANKs in {context!r}")
        if blank_alone and is_glued(context):
            yield Flaw("blank_glued", f"BLANK is part of a longer word in {context!r}")
        for at, sentence in enumerate(sentences):
            if blanks == 1 and filler(context, sentence) is None:
                detail = f"{sentence!r} is not {context!r} with BLANK filled"
                yield Flaw("template_not_reproduced", detail, at)
    for at, text in texts[1:] if has_gap else texts:
        if has_blank_left(text):
            yield Flaw("blank_left", f"BLANK is left in {text!r}", at)
    if name_target and not any(names_target(context, target) for target in targets):
        yield Flaw("target_missing", f"{targets[0]!r} is not in {context!r}")
    if len({same_text(s) for s in sentences}) < len(sentences):
        yield Flaw("same_text_twice", f"two associations are the same: {list(sentences)}")


BLANK = "BLANK"
_WIDE = 0xFEE0  # from a sign of ASCII to the same sign in full width


def show_blank(text: str, word: str) -> str:
    """A text as people see it: with their language's word for the gap in the place of BLANK."""
    return text.replace(BLANK, word)


def read_blank(text: str, word: str) -> str:
    """A text that a person wrote, with BLANK in the place of their language's word for the gap.

    Signs of the word may be in half or in full width; BLANK itself stays.

    >>> read_blank("その店は[空欄］だ。", "［空欄］"), read_blank("The BLANK is late.", "GAP")
    ('その店はBLANKだ。', 'The BLANK is late.')
    """
    return text if word == BLANK else _gap(word).sub(BLANK, text)


@lru_cache(maxsize=16)
def _gap(word: str) -> re.Pattern[str]:
    chars = unicodedata.normalize("NFKC", word)
    either = (f"[{re.escape(c)}{chr(ord(c) + _WIDE)}]" if "!" <= c <= "~" else c for c in chars)
    return re.compile("".join(either))


END = re.compile(r"[\s.!?…。！？؟।]+$")  # the punctuation at the end of a sentence

_LETTER = r"[^\W\d_]"
_HYPHEN = re.compile(
    rf"(?<={_LETTER})(?<!{BLANK})[-‐‑]{BLANK}|{BLANK}[-‐‑](?!{BLANK})(?={_LETTER})"
)
_JOINED = re.compile(rf"(?<![^\W_])[^\W_]*{BLANK}[^\W_]*")  # begins at a word: a long one is slow


def is_hyphenated(context: str) -> str:
    """The word of a context in which a hyphen joins BLANK to letters, or "".

    >>> is_hyphenated("Ia sering di-BLANK-kan."), is_hyphenated("Ia BLANK - dan senang.")
    ('di-BLANK-kan', '')
    """
    words = (word for word in context.split() if _HYPHEN.search(word))
    return next(words, "").strip(".,;:!?")


def options(cat: "Cat") -> list[str]:
    """The part in which a CAT's associations differ: the words in the BLANK, or whole sentences."""
    sentences = [a.sentence for a in cat.associations]
    if not ITEMS[cat.kind].has_gap:
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


# --- characters that are easy to overlook -------------------------------------------------------


SIDES = {
    "\u200e": "U+200E (left-to-right mark)",
    "\u200f": "U+200F (right-to-left mark)",
    "\u061c": "U+061C (Arabic letter mark)",
}
"""Marks that are usual in a text with letters from right to left, and only there."""
_RIGHT = {"R", "AL"}  # letters that are written from right to left
_CONTROL = re.compile(f"[{''.join((*DIRECTIONS, *SIDES))}]")


def controls(text: str) -> set[str]:
    """The characters of a text that change its direction, without those that are usual there.

    >>> controls("The baker\u202e sang."), controls("\u200fהאופה שר.")
    ({'U+202E (right-to-left override)'}, set())
    """
    if text.isascii():
        return set()
    controls = set(_CONTROL.findall(text))
    if controls & SIDES.keys() and any(
        unicodedata.bidirectional(c) in _RIGHT for c in text if c not in SIDES
    ):
        controls -= SIDES.keys()
    return {(DIRECTIONS | SIDES)[control] for control in controls}
