"""Align the tokens in a server's answer with the characters of the prompt.

Servers write tokens in many ways, and their offsets count the characters of what they wrote, not of
the prompt: a part of an emoji becomes U+FFFD or an empty string, SentencePiece's space is lost,
vLLM's offsets drift at each such token, SGLang's are all −1. So tokens are aligned with the bytes
of the prompt itself.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

Span = tuple[int, int]
Form = tuple[bytes, ...]  # the pieces of a token between its U+FFFDs

LOST = "\N{REPLACEMENT CHARACTER}"
BROKEN = 3  # a U+FFFD replaces at most this many bytes: all but the last of a character
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")
_ONE_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def align(tokens: Sequence[str], text: str, *, generated: int = 0) -> list[Span] | None:
    r"""The characters of a text that each of its tokens touches.

    Args:
        tokens: as a server writes them; generated tokens may follow.
        text: the whole text that they must make up.
        generated: how many generated tokens are expected.

    Returns:
        (start, end) in characters for each token of the text, without generated ones. A token that
        is written as an empty string touches the next character. None if the tokens do not make up
        this text.

    >>> align(["A", " cat", "."], "A cat.")
    [(0, 1), (1, 5), (5, 6)]
    >>> align(["bytes:\\xe2\\x82", "bytes:\\xac", "5", " more"], "€5", generated=1)
    [(0, 1), (0, 1), (1, 2)]
    >>> align(["A", " dog"], "A cat") is None
    True
    """
    data = text.encode("utf-8", "surrogatepass")
    reached: list[dict[int, tuple[int, int]]] = [{0: (0, 0)}]  # end: (cost, start)
    for token in tokens:
        ends: dict[int, tuple[int, int]] = {}
        for start, (cost, _) in reached[-1].items():
            for end, more in _ends(data, start, token):
                if end not in ends or cost + more < ends[end][0]:
                    ends[end] = cost + more, start
        if not ends:
            break
        reached.append(ends)
    whole = [count for count, ends in enumerate(reached) if len(data) in ends]
    if not whole:
        return None
    expected = len(tokens) - generated
    count = expected if expected in whole else max(whole)
    bounds = [len(data)]
    for ends in reached[count:0:-1]:
        bounds.append(ends[bounds[-1]][1])
    bounds.reverse()
    place = [n for n, char in enumerate(text) for _ in char.encode("utf-8", "surrogatepass")]
    spans = []
    for start, end in pairwise(bounds):
        first = place[start] if start < len(data) else len(text) - 1
        spans.append((first, max(first, place[end - 1] if end > start else first) + 1))
    return spans


def by_offsets(
    tokens: Sequence[str], offsets: Sequence[object], text: str, *, generated: int = 0
) -> list[Span] | None:
    """The same from a server's offsets; None if they do not cover the text from start to end.

    This is for tokenizers that change the text, so that its tokens cannot be aligned with it.
    """
    count = len(tokens) - generated
    starts = [n for n in offsets[:count] if isinstance(n, int)]
    if not 0 < count == len(starts) or starts[0] != 0 or starts != sorted(starts):
        return None
    if starts[-1] + len(tokens[count - 1]) != len(text):
        return None
    ends = [*starts[1:], len(text)]
    return [(start, max(end, start + 1)) for start, end in zip(starts, ends, strict=True)]


def _ends(data: bytes, start: int, token: str) -> Iterator[tuple[int, int]]:
    """Where a token that starts here may end, each with a cost: 0 if it is there as written."""
    space = data[start : start + 1] == b" "
    if not token:
        yield start, 0
        # The token may also be a part of a character that the server could not write.
        for end in range(start + space + 1, min(start + space + BROKEN, len(data)) + 1):
            if data[end - 1] < 0x80:
                break
            yield end, 1
    for cost, form in _forms(token):
        for end in _matches(data, start, form):
            yield end, cost
        if space:  # SentencePiece drops the space before a word if it decodes token by token
            for end in _matches(data, start + 1, form):
                yield end, cost + 1
        if start == 0 and form[0].startswith(b" "):  # and adds one before the first word
            for end in _matches(data, 0, (form[0][1:], *form[1:])):
                yield end, cost + 1


def _matches(data: bytes, start: int, form: Form) -> set[int]:
    ends = {start + len(form[0])} if data.startswith(form[0], start) else set()
    for piece in form[1:]:
        broken = {
            end + size
            for end in ends
            for size in range(1, BROKEN + 1)
            if end + size <= len(data) and min(data[end : end + size]) >= 0x80
        }
        ends = {end + len(piece) for end in broken if data.startswith(piece, end)}
    return ends


@lru_cache(maxsize=65536)
def _forms(token: str) -> tuple[tuple[int, Form], ...]:
    """The bytes that a written token may represent, each with a cost; the plainest first."""
    if not token:
        return ()

    def plain(written: str) -> Form:
        pieces = written.split(LOST)
        return tuple(piece.encode("utf-8", "surrogatepass") for piece in pieces)

    forms = [(0, plain(token))]
    if token.startswith("bytes:"):  # OpenAI's form for parts of characters
        raw = token.removeprefix("bytes:").encode("utf-8", "surrogatepass")
        forms.append((1, (_ESCAPED.sub(lambda hit: bytes([int(hit[1], 16)]), raw),)))
    if byte := _ONE_BYTE.fullmatch(token):
        forms.append((1, (bytes([int(byte[1], 16)]),)))
    if "▁" in token:
        forms.append((1, plain(token.replace("▁", " "))))
    alphabet = _alphabet()
    if not token.isascii() and all(char in alphabet for char in token):
        forms.append((1, (bytes(alphabet[char] for char in token),)))
    return tuple(forms)


@lru_cache(maxsize=1)
def _alphabet() -> dict[str, int]:
    """GPT-2's letter for each byte, used in raw pieces of a vocabulary: Ġ is a space."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): b for n, b in enumerate(others)}
