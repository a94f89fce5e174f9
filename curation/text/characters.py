"""Characters that are easy to overlook, and those that a terminal obeys."""

import re
import unicodedata

DIRECTIONS = {
    "\u202a": "U+202A (left-to-right embedding)",
    "\u202b": "U+202B (right-to-left embedding)",
    "\u202c": "U+202C (pop directional formatting)",
    "\u202d": "U+202D (left-to-right override)",
    "\u202e": "U+202E (right-to-left override)",
    "\u2066": "U+2066 (left-to-right isolate)",
    "\u2067": "U+2067 (right-to-left isolate)",
    "\u2068": "U+2068 (first strong isolate)",
    "\u2069": "U+2069 (pop directional isolate)",
}
"""Characters that change the writing direction of the text after them."""
SIDES = {
    "\u200e": "U+200E (left-to-right mark)",
    "\u200f": "U+200F (right-to-left mark)",
    "\u061c": "U+061C (Arabic letter mark)",
}
"""Marks that are usual in a text with letters from right to left, and only there."""
_RIGHT = {"R", "AL"}  # letters that are written from right to left
_CONTROL = re.compile(f"[{''.join((*DIRECTIONS, *SIDES))}]")
# What a terminal obeys instead of showing it, apart from tabs and the ends of lines.
_OBEYED = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{''.join(DIRECTIONS)}]")


def inert(text: str) -> str:
    r"""A text whose control characters are shown as escapes: annotators may send any text.

    >>> inert("a \x1b[2J baker")
    'a \\x1b[2J baker'
    """
    return _OBEYED.sub(lambda match: ascii(match[0])[1:-1], text)


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
