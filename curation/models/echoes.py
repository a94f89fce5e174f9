"""Scores from the answers of a completions endpoint.

This module decides which text is sent for which rule, and which of its tokens' log-probabilities
are summed. It does not reach the network.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple
from unicodedata import normalize

from curation.files import CurationError
from curation.formats.toml_files import shipped_table
from curation.models.rules import (
    OF_ASSOCIATIONS,
    OF_TEXTS,
    RULES,
    Refusal,
    Scored,
    ScoringRequest,
    not_computed,
)

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
    """The places at which a token that starts here may end, each with a cost (0: as written)."""
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


NEVER = -9999.0  # vLLM's value for −∞
BOUND = 0.5  # nats; what ``drift`` may be if a model computes in bfloat16: see docs/models.md
NEEDS_BOS = {"ll-bos", "ll-acl", "ll-code", "ratio"}
NO_BOS = "a rule that does not need it: ll-arxiv, conditional or conditional-chars"
ERRORS = {
    name: re.compile("|".join(patterns), re.IGNORECASE)
    for name, patterns in shipped_table("endpoints", "errors.toml").items()
}
"""Patterns for what servers write of a failure, by the kind of failure."""
TOO_LONG = ERRORS["too_long"]
_MARKS = " ▁Ġ"  # how a token may show a space before it


class Echo(NamedTuple):
    """A text as a server sent it back.

    Attributes:
        tokens: as the server writes them; generated tokens are at the end.
        logs: their natural log-probabilities; None if the server does not give one.
        offsets: where they begin, according to the server; [] if it does not say.
        generated: how many generated tokens are expected at the end.
    """

    tokens: list[str]
    logs: list[float | None]
    offsets: list[Any]
    generated: int

    def spans(self, text: str, front: int) -> list[Span] | None:
        """The characters of a text that its tokens touch, without ``front`` special tokens."""
        tokens, offsets = self.tokens[front:], self.offsets[front:]
        spans = align(tokens, text, generated=self.generated)
        if spans is None and offsets and all(isinstance(offset, int) for offset in offsets):
            starts = [offset - offsets[0] for offset in offsets]
            spans = by_offsets(tokens, starts, text, generated=self.generated)
        return spans


class Token(NamedTuple):
    """A token of a text; ``log`` is None if the server does not give its log-probability."""

    text: str
    log: float | None
    span: Span


def read_echoes(answer: Mapping[str, Any], *, count: int, max_tokens: int) -> list[Echo] | None:
    """The texts in an answer, in the order in which they were sent.

    Args:
        answer: the answer of the completions endpoint.
        count: how many texts were sent.
        max_tokens: how many tokens the server was allowed to generate for each text.

    Returns:
        None if there are more or fewer texts, or one has no tokens with log-probabilities.

    >>> logprobs = {"tokens": ["A", "!"], "token_logprobs": [None, -2.5]}
    >>> read_echoes({"choices": [{"logprobs": logprobs}]}, count=1, max_tokens=0)
    [Echo(tokens=['A', '!'], logs=[None, -2.5], offsets=[], generated=0)]
    """
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != count:
        return None
    if all(isinstance(each, dict) and isinstance(each.get("index"), int) for each in choices):
        choices = sorted(choices, key=lambda choice: choice["index"])
    usage = answer.get("usage")
    none = isinstance(usage, dict) and usage.get("completion_tokens") == 0
    echoes = [_echo(choice, 0 if none else max_tokens) for choice in choices]
    return None if None in echoes else [echo for echo in echoes if echo]


def _echo(choice: object, generated: int) -> Echo | None:
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    if not isinstance(logprobs, dict):
        return None
    tokens, logs, offsets = (logprobs.get(n) for n in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(tokens, list) or not isinstance(logs, list) or len(tokens) != len(logs):
        return None
    if not tokens or not all(isinstance(token, str) for token in tokens):
        return None
    numbers = [float(log) if isinstance(log, int | float) else None for log in logs]
    fits = isinstance(offsets, list) and len(offsets) == len(tokens)
    return Echo(tokens, numbers, offsets if fits and offsets else [], generated)


@dataclass
class Echoes:
    """The texts that came back, and how their server reads a text.

    Attributes:
        bos: BOS token text of the model, or "".
        own_bos: whether the server adds a BOS before each text by itself.
        front: how many such tokens it shows at the front of a text.
        known: for each text that was sent, the answer or why there is none.
    """

    bos: str
    own_bos: bool
    front: int
    known: dict[str, Echo | Refusal]

    def check(self, rule: str, requests: Sequence[ScoringRequest]) -> None:
        """Check that a rule can be computed here.

        Raises:
            CurationError: it is not for endpoints or for these CATs, or its BOS is not known.
        """
        fitting = [name for name, known in RULES.items() if "endpoint" in known.families]
        if rule not in fitting:
            raise CurationError(
                f"the rule «{rule}» is not for endpoint models",
                f"use one of: {', '.join(fitting)}",
            )
        kinds = RULES[rule].kinds
        if other := next((each.kind for each in requests if each.kind not in kinds), None):
            fit = ", ".join(name for name in fitting if other in RULES[name].kinds)
            raise CurationError(f"the rule «{rule}» is not for {other} CATs", f"use one of: {fit}")
        if rule in NEEDS_BOS and not (self.bos or self.own_bos):
            raise CurationError(
                f"the rule «{rule}» needs the text of the model's BOS token",
                "give it, for instance --bos '<|endoftext|>' for GPT-2"
                + (f", or use {NO_BOS}" if "pair" not in {each.kind for each in requests} else ""),
            )

    def prompts(self, rule: str, request: ScoringRequest) -> list[str]:
        """The texts to be sent for an association."""
        after_bos = self._after_bos(request.sentence if rule == "ratio" else request.text)
        if rule == "ll-bos":
            return [after_bos]
        return [request.text, after_bos] if rule in NEEDS_BOS else [request.text]

    def score(self, rule: str, request: ScoringRequest) -> Scored:
        """An association's score, once its texts are known.

        Raises:
            CurationError: the server's tokens do not make up the text, BOS is not a single token,
                or the rule is another one than those that ``check`` accepts.
        """
        if rule in OF_ASSOCIATIONS:
            if not request.sentence.strip():
                return Refusal("nothing_to_score", "no token to score")
            after = _summed(self.tokens(request.text, len(request.context.rstrip())))
            if rule == "conditional" or isinstance(after, Refusal):
                return after
            if rule == "conditional-chars":
                return after / request.characters
            alone = _summed(self.tokens(request.sentence, bos=True))
            return alone if isinstance(alone, Refusal) else after - alone
        if rule not in OF_TEXTS:
            raise not_computed(rule, OF_TEXTS + OF_ASSOCIATIONS)
        if rule == "ll-bos":
            return _summed(self.tokens(request.text, bos=True))
        tokens = self.tokens(request.text)
        if isinstance(tokens, Refusal):
            return tokens
        if rule == "ll-arxiv":
            return _summed(tokens[1:], mean=True)
        # Later tokens do not change an earlier one, so the first is read from the text after BOS.
        after_bos = self.tokens(request.text, bos=True)
        if isinstance(after_bos, Refusal):
            return after_bos
        if after_bos[0].text.strip(_MARKS) != tokens[0].text.strip(_MARKS):
            raise CurationError(
                f"the server splits {request.text!r} into other tokens if {self.bos!r} precedes it",
                "use the rule ll-bos or ll-arxiv",
            )
        return _summed([after_bos[0], *tokens[1:]], mean=rule == "ll-code")

    def tokens(self, text: str, cut: int = 0, *, bos: bool = False) -> list[Token] | Refusal:
        """A text's tokens that touch the part from ``cut`` on, without special tokens.

        Args:
            text: the text.
            cut: a character offset.
            bos: read the tokens from the text after BOS.

        Raises:
            CurationError: the server's tokens do not make up the text.
        """
        if not text:
            return Refusal("nothing_to_score", "there is no text")
        sent = bos and not self.own_bos
        echo = self.known[self._after_bos(text) if bos else text]
        if isinstance(echo, Refusal):
            return echo
        front, whole, end = 1 if sent else self.front, text, cut
        spans = echo.spans(text, front)
        if spans is None:  # many tokenizers first join letters and their accents
            whole, end = normalize("NFC", text), len(normalize("NFC", text[:cut]))
            spans = echo.spans(whole, front)
        if spans is None:
            raise self._misread(echo, text, sent)
        logs = echo.logs[front:]
        if not (sent or self.own_bos):
            logs[0] = None  # some servers write 0 for an unknown log-probability
        if sent and logs[0] is None:
            raise CurationError(
                f"the server gives no log-probability for the first token after {self.bos!r}",
                f"use {NO_BOS}",
            )
        parts = zip(echo.tokens[front:], logs, spans, strict=False)  # drops generated tokens
        return [Token(*part) for part in parts if part[2][1] > end]

    def _after_bos(self, text: str) -> str:
        return text if self.own_bos or not text else self.bos + text

    def _misread(self, echo: Echo, text: str, sent: bool) -> CurationError:
        if sent and echo.spans(text, 0) is not None:
            return CurationError(
                f"the server does not show the BOS {self.bos!r} as a token", f"use {NO_BOS}"
            )
        for front in range(2, 12) if sent else ():
            if echo.spans(text, front) is not None:
                return CurationError(
                    f"the server reads the BOS {self.bos!r} as {front} tokens instead of one",
                    "write --bos as the model's tokenizer writes it",
                )
        return CurationError(
            f"the server's tokens do not make up {text!r}: {', '.join(map(repr, echo.tokens[:9]))}",
            "the server must return tokens as text: start vLLM without "
            "--return-tokens-as-token-ids",
        )


def _summed(tokens: list[Token] | Refusal, *, mean: bool = False) -> Scored:
    if isinstance(tokens, Refusal):
        return tokens
    if not tokens:
        return Refusal("nothing_to_score", "no token is left to score")
    logs = []
    for token in tokens:
        if token.log is None or not math.isfinite(token.log) or token.log <= NEVER:
            return Refusal("not_finite", f"{token.text!r} has no finite log-probability")
        logs.append(token.log)
    return math.fsum(logs) / (len(logs) if mean else 1)


def drift(one: Echo | Refusal, other: Echo | Refusal) -> float:
    """How far two answers about the same text are apart.

    Returns:
        The mean absolute difference of its tokens' log-probabilities in nats, generated tokens left
        out; 9999 if the tokens differ, or only one of the answers has log-probabilities.

    >>> drift(Echo(["A", "!"], [None, -2.0], [], 0), Echo(["A", "!"], [None, -3.0], [], 0))
    0.5
    """
    if isinstance(one, Refusal) or isinstance(other, Refusal):
        return -NEVER
    end = len(one.tokens) - one.generated
    if not 0 < end <= len(other.tokens) or one.tokens[:end] != other.tokens[:end]:
        return -NEVER
    return math.fsum(map(_gap, one.logs[:end], other.logs[:end])) / end


def _gap(one: float | None, other: float | None) -> float:
    known = [log for log in (one, other) if log is not None and math.isfinite(log)]
    if len(known) == 1:
        return -NEVER
    return abs(known[0] - known[1]) if known else 0.0


def front_of(echo: Echo, text: str) -> tuple[int, bool] | None:
    """How many BOS tokens a server shows before an ASCII text, and whether it adds a BOS.

    None if this is not the text with its log-probabilities.
    """
    for front in (0, 1):
        spans = echo.spans(text, front)
        if spans is None or (front == 0 and not echo.tokens[0]):
            continue  # a BOS may be written as an empty string, which fits any text
        if any(echo.logs[front + 1 : front + len(spans)]):  # neither all None nor all 0
            return front, front == 1 or bool(echo.logs[0])
    return None


def excess(echo: Echo, text: str, front: int) -> int:
    """How many tokens were generated after a text."""
    return len(echo.tokens) - front - len(echo.spans(text, front) or ())
