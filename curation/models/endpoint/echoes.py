"""What a completions endpoint sends back of a text, read by the rules of scoring.

Which text is sent for which rule, and which of its tokens' log-probabilities are summed; nothing
here reaches the network.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from unicodedata import normalize

from curation.files import CurationError
from curation.models.endpoint.align_tokens import Span, by_offsets, lay
from curation.models.rules import RULES, Refusal, Scored, ScoringRequest

NEVER = -9999.0  # vLLM writes −∞ so
NEEDS_BOS = {"ll-bos", "ll-acl", "ll-code", "ratio"}
NEED_NONE = "the rule ll-arxiv or conditional, which need none"
TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)"
    r"|max(imum)?.{0,12}(model|context|sequence|input|token).{0,12}(length|limit)"
    r"|(prompt|input|sequence).{0,40}too (long|large)"
    r"|too (long|many (input )?tokens)",
    re.IGNORECASE,
)
_MARKS = " ▁Ġ"  # how a token may show a space before it


class Echo(NamedTuple):
    """A text as a server sent it back.

    Attributes:
        tokens: as the server writes them, generated ones at the end.
        logs: their log-probabilities; None where the server gives none.
        offsets: where it says that they begin; [] where it does not say.
        made: how many generated tokens are thought to be at the end.
    """

    tokens: list[str]
    logs: list[float | None]
    offsets: list[Any]
    made: int

    def spans(self, text: str, front: int) -> list[Span] | None:
        """Which characters of a text its tokens touch, after ``front`` special ones in front."""
        tokens, offsets = self.tokens[front:], self.offsets[front:]
        spans = lay(tokens, text, made=self.made)
        if spans is None and offsets and all(isinstance(offset, int) for offset in offsets):
            starts = [offset - offsets[0] for offset in offsets]
            spans = by_offsets(tokens, starts, text, made=self.made)
        return spans


class Token(NamedTuple):
    """A token of a text; ``log`` is None where the server knows nothing of it."""

    text: str
    log: float | None
    span: Span


def read_echoes(answer: Mapping[str, Any], *, count: int, most: int) -> list[Echo] | None:
    """The texts in an answer, in the order in which they were sent.

    Args:
        answer: of the completions endpoint.
        count: how many texts were sent.
        most: how many tokens it was allowed to generate for each.

    Returns:
        None where there are not so many, or one has no tokens with log-probabilities.

    >>> said = {"tokens": ["A", "!"], "token_logprobs": [None, -2.5]}
    >>> read_echoes({"choices": [{"logprobs": said}]}, count=1, most=0)
    [Echo(tokens=['A', '!'], logs=[None, -2.5], offsets=[], made=0)]
    """
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != count:
        return None
    if all(isinstance(one, dict) and isinstance(one.get("index"), int) for one in choices):
        choices = sorted(choices, key=lambda one: one["index"])
    usage = answer.get("usage")
    none = isinstance(usage, dict) and usage.get("completion_tokens") == 0
    echoes = [_echo(choice, 0 if none else most) for choice in choices]
    return None if None in echoes else [echo for echo in echoes if echo]


def _echo(choice: object, made: int) -> Echo | None:
    said = choice.get("logprobs") if isinstance(choice, dict) else None
    if not isinstance(said, dict):
        return None
    tokens, logs, offsets = (said.get(n) for n in ("tokens", "token_logprobs", "text_offset"))
    if not isinstance(tokens, list) or not isinstance(logs, list) or len(tokens) != len(logs):
        return None
    if not tokens or not all(isinstance(token, str) for token in tokens):
        return None
    numbers = [float(log) if isinstance(log, int | float) else None for log in logs]
    fits = isinstance(offsets, list) and len(offsets) == len(tokens)
    return Echo(tokens, numbers, offsets if fits and offsets else [], made)


@dataclass
class Echoes:
    """What is known of texts, and how their server reads a text.

    Attributes:
        bos: the text of the model's BOS token, or "".
        own_bos: whether the server puts a BOS before each text by itself.
        front: how many such tokens it shows at the front of a text.
        known: by the text that was sent.
    """

    bos: str
    own_bos: bool
    front: int
    known: dict[str, Echo | Refusal]

    def check(self, rule: str, asks: Sequence[ScoringRequest]) -> None:
        """See that a rule can be computed here.

        Raises:
            CurationError: it is not for endpoints or these CATs, or its BOS is not known.
        """
        known = RULES.get(rule)
        if known is None or "endpoint" not in known.families:
            fit = ", ".join(name for name, of in RULES.items() if "endpoint" in of.families)
            raise CurationError(f"the rule «{rule}» is not for endpoint models", f"take {fit}")
        if other := next((ask.kind for ask in asks if ask.kind not in known.kinds), None):
            fit = ", ".join(
                name
                for name, of in RULES.items()
                if "endpoint" in of.families and other in of.kinds
            )
            raise CurationError(f"the rule «{rule}» is not for {other} CATs", f"take {fit}")
        if rule in NEEDS_BOS and not (self.bos or self.own_bos):
            raise CurationError(
                f"the rule «{rule}» needs the text of the model's BOS token",
                f"name it, for instance --bos '<|endoftext|>' for GPT-2; or take {NEED_NONE}",
            )

    def prompts(self, rule: str, ask: ScoringRequest) -> list[str]:
        """The texts to be sent for an association."""
        after_bos = self._after_bos(ask.sentence if rule == "ratio" else ask.text)
        if rule == "ll-bos":
            return [after_bos]
        return [ask.text, after_bos] if rule in NEEDS_BOS else [ask.text]

    def score(self, rule: str, ask: ScoringRequest) -> Scored:
        """An association's score, once its texts are known.

        Raises:
            CurationError: the server's tokens do not make up the text, or BOS is no one token.
        """
        if rule in {"conditional", "ratio"}:
            if not ask.sentence.strip():
                return Refusal("nothing_to_score", "no token to score")
            after = _summed(self.tokens(ask.text, len(ask.context.rstrip())))
            if rule == "conditional" or isinstance(after, Refusal):
                return after
            alone = _summed(self.tokens(ask.sentence, bos=True))
            return alone if isinstance(alone, Refusal) else after - alone
        if rule == "ll-bos":
            return _summed(self.tokens(ask.text, bos=True))
        tokens = self.tokens(ask.text)
        if isinstance(tokens, Refusal):
            return tokens
        if rule == "ll-arxiv":
            return _summed(tokens[1:], mean=True)
        # What stands behind a token does not touch it: the first is read off the text after BOS.
        after_bos = self.tokens(ask.text, bos=True)
        if isinstance(after_bos, Refusal):
            return after_bos
        if after_bos[0].text.strip(_MARKS) != tokens[0].text.strip(_MARKS):
            raise CurationError(
                f"after {self.bos!r} the server reads {ask.text!r} in other tokens than alone",
                "take the rule ll-bos or ll-arxiv",
            )
        return _summed([after_bos[0], *tokens[1:]], mean=rule == "ll-code")

    def tokens(self, text: str, cut: int = 0, *, bos: bool = False) -> list[Token] | Refusal:
        """A text's tokens that touch what begins at ``cut``; special tokens are left out."""
        if not text:
            return Refusal("nothing_to_score", "there is no text")
        sent = bos and not self.own_bos
        echo = self.known[self._after_bos(text) if bos else text]
        if isinstance(echo, Refusal):
            return echo
        front, whole, end = 1 if sent else self.front, text, cut
        spans = echo.spans(text, front)
        if spans is None:  # many tokenizers put letters and their accents together first
            whole, end = normalize("NFC", text), len(normalize("NFC", text[:cut]))
            spans = echo.spans(whole, front)
        if spans is None:
            raise self._misread(echo, text, sent)
        logs = echo.logs[front:]
        if not (sent or self.own_bos):
            logs[0] = None  # some servers write 0 where nothing is known
        if sent and logs[0] is None:
            raise CurationError(
                f"the server gives no log-probability of the first token after {self.bos!r}",
                f"take {NEED_NONE}",
            )
        told = zip(echo.tokens[front:], logs, spans, strict=False)  # generated ones fall away
        return [Token(*one) for one in told if one[2][1] > end]

    def _after_bos(self, text: str) -> str:
        return text if self.own_bos or not text else self.bos + text

    def _misread(self, echo: Echo, text: str, sent: bool) -> CurationError:
        if sent and echo.spans(text, 0) is not None:
            return CurationError(
                f"the server does not show the BOS {self.bos!r} as a token", f"take {NEED_NONE}"
            )
        for front in range(2, 12) if sent else ():
            if echo.spans(text, front) is not None:
                return CurationError(
                    f"the server reads the BOS {self.bos!r} as {front} tokens instead of one",
                    "write --bos as the model's tokenizer does",
                )
        return CurationError(
            f"the server's tokens do not make up {text!r}: {', '.join(map(repr, echo.tokens[:9]))}",
            "it must write tokens as text; vLLM does without --return-tokens-as-token-ids",
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


def front_of(echo: Echo, text: str) -> tuple[int, bool] | None:
    """How many BOS tokens a server shows before a text of ASCII, and whether it reads one there.

    None: this is not the text with its log-probabilities.
    """
    for front in (0, 1):
        spans = echo.spans(text, front)
        if spans is None or (front == 0 and not echo.tokens[0]):
            continue  # a BOS may be written as nothing, which lies on any text
        if any(echo.logs[front + 1 : front + len(spans)]):  # neither all None nor all 0
            return front, front == 1 or bool(echo.logs[0])
    return None


def excess(echo: Echo, text: str, front: int) -> int:
    """How many tokens were generated after a text."""
    return len(echo.tokens) - front - len(echo.spans(text, front) or ())
