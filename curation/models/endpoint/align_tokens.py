"""Which characters of a prompt each token stands for, where a server only says how it writes them.

Servers write tokens in many ways, and the offsets beside them count what was written, not what was
sent: a part of an emoji becomes U+FFFD or nothing, SentencePiece's space is lost, vLLM's offsets
drift at each such token, SGLang's are all −1. So tokens are laid on the prompt's own bytes.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

Span = tuple[int, int]
Form = tuple[bytes, ...]  # between its pieces, and so between two bytes, stands a U+FFFD

LOST = "\N{REPLACEMENT CHARACTER}"
BROKEN = 3  # a U+FFFD stands for at most so many bytes: all but the last of a character
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")
_ONE_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")


def lay(tokens: Sequence[str], text: str, *, made: int = 0) -> list[Span] | None:
    r"""The characters of a text that each of its tokens touches.

    Args:
        tokens: as a server writes them; those that it generated may follow.
        text: what they must make up, whole.
        made: how many generated tokens are thought to follow.

    Returns:
        (start, end) in characters for each token of the text, none for generated ones. Where a
        token is written as nothing it touches the character that follows. None: they do not make
        up this text.

    >>> lay(["A", " cat", "."], "A cat.")
    [(0, 1), (1, 5), (5, 6)]
    >>> lay(["bytes:\\xe2\\x82", "bytes:\\xac", "5", " more"], "€5", made=1)
    [(0, 1), (0, 1), (1, 2)]
    >>> lay(["A", " dog"], "A cat") is None
    True
    """
    data = text.encode("utf-8", "surrogatepass")
    reached: list[dict[int, tuple[int, int]]] = [{0: (0, 0)}]  # end: (strain, start)
    for token in tokens:
        ends: dict[int, tuple[int, int]] = {}
        for start, (strain, _) in reached[-1].items():
            for end, more in _ends(data, start, token):
                if end not in ends or strain + more < ends[end][0]:
                    ends[end] = strain + more, start
        if not ends:
            break
        reached.append(ends)
    whole = [count for count, ends in enumerate(reached) if len(data) in ends]
    if not whole:
        return None
    count = len(tokens) - made if len(tokens) - made in whole else max(whole)
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
    tokens: Sequence[str], offsets: Sequence[object], text: str, *, made: int = 0
) -> list[Span] | None:
    """The same from a server's offsets; None unless they run from the text's start to its end.

    That is for tokenizers that change the text, so that tokens cannot be laid on it.
    """
    count = len(tokens) - made
    starts = [n for n in offsets[:count] if isinstance(n, int)]
    if not 0 < count == len(starts) or starts[0] != 0 or starts != sorted(starts):
        return None
    if starts[-1] + len(tokens[count - 1]) != len(text):
        return None
    ends = [*starts[1:], len(text)]
    return [(start, max(end, start + 1)) for start, end in zip(starts, ends, strict=True)]


def _ends(data: bytes, start: int, token: str) -> Iterator[tuple[int, int]]:
    """Where a token that starts here may end, and how much that strains what is written."""
    space = data[start : start + 1] == b" "
    if not token:
        yield start, 0
        # or it is a part of a character that the server could not write, whole tokens at a time
        for end in range(start + space + 1, min(start + space + BROKEN, len(data)) + 1):
            if data[end - 1] < 0x80:
                break
            yield end, 1
    for strain, form in _forms(token):
        for end in _matches(data, start, form):
            yield end, strain
        if space:  # SentencePiece, token by token, leaves out the space before a word
            for end in _matches(data, start + 1, form):
                yield end, strain + 1
        if start == 0 and form[0].startswith(b" "):  # and puts one before the first
            for end in _matches(data, 0, (form[0][1:], *form[1:])):
                yield end, strain + 1


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
    """The bytes that what is written may stand for; the plainest first."""
    if not token:
        return ()

    def plain(written: str) -> Form:
        pieces = written.split(LOST)
        return tuple(piece.encode("utf-8", "surrogatepass") for piece in pieces)

    forms = [(0, plain(token))]
    if token.startswith("bytes:"):  # as OpenAI writes what is not whole characters
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
    """GPT-2's letters for bytes, as raw pieces of a vocabulary are written: Ġ is a space."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(plain)]
    return {chr(byte): byte for byte in plain} | {chr(256 + n): b for n, b in enumerate(others)}
