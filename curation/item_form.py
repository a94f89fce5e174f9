"""The form of one item: its BLANK, the words that fill it, its target, and its flaws."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from curation.records import Kind
from curation.rules import QUOTES, UNSEEN, bare, same_text


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


def names(context: str, target: str) -> bool:
    """Whether a context names a target, also inside a word; marks and case are ignored.

    >>> names("Some café owners sang.", "Cafe Owner"), names("The café-owner’s dog", "cafe owner's")
    (True, True)
    """
    # The second test costs ten times the first, and is rarely needed.
    return target.casefold() in context.casefold() or bare(target) in bare(context)


def left(text: str) -> bool:
    """Whether BLANK is left in a text that should be complete.

    If all letters of the text are capitals, BLANK may be an ordinary word, and the result is False.
    In a script without capitals, letters may touch BLANK.

    >>> left("The BLANK came in."), left("HIS FACE WENT BLANK."), left("The page is blank.")
    (True, False, False)
    >>> left("そのBLANKは"), left("BLANK")
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
    words = _between(*parts, sentence)
    if words is None:
        words = _between(*(part.translate(UNSEEN) for part in (*parts, sentence)))
    return words or None


def _between(before: str, after: str, sentence: str) -> str | None:
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
        kind: intrasentence or intersentence.
        targets: the target term's text, and its other names.
        context: the context, for intrasentence with BLANK.
        sentences: the three associations as whole sentences.
        name_target: whether the context must name the target, as in ``names``.
        blank_alone: whether BLANK must not touch a letter.
    """
    texts: list[tuple[int | None, str]] = [(None, context), *enumerate(sentences)]
    for at, text in texts:
        if not text.strip():
            name = "context" if at is None else "association"
            yield Flaw("empty_text", f"a text is empty: {name}", at)
    if kind == "intrasentence":
        blanks = context.count("BLANK")
        if not blanks:
            yield Flaw("blank_missing", f"there is no BLANK in {context!r}")
        elif blanks > 1:
            yield Flaw("blank_twice", f"{blanks} BLANKs in {context!r}")
        if blank_alone and is_glued(context):
            yield Flaw("blank_glued", f"BLANK is part of a longer word in {context!r}")
        for at, sentence in enumerate(sentences):
            if blanks == 1 and filler(context, sentence) is None:
                detail = f"{sentence!r} is not {context!r} with BLANK filled"
                yield Flaw("template_not_reproduced", detail, at)
    for at, text in texts if kind == "intersentence" else texts[1:]:
        if left(text):
            yield Flaw("blank_left", f"BLANK is left in {text!r}", at)
    if name_target and not any(names(context, target) for target in targets):
        yield Flaw("target_missing", f"{targets[0]!r} is not in {context!r}")
    if len({same_text(s) for s in sentences}) < len(sentences):
        yield Flaw("same_text_twice", f"two associations are the same: {list(sentences)}")
