"""What asking a chat model takes: requests, tokens and, with prices, the cost. Nothing is sent."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.records import Reply

BYTES = 4  # of UTF-8 in a token, if no reply says how many tokens a text has
MESSAGE = 10  # tokens that a server adds to the text: the role, and the template around it
_LARGEST = 10**12  # a larger number of tokens in one reply is a fault of the server


class Prices(NamedTuple):
    """Prices of a million tokens, in any currency."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of these tokens.

        >>> Prices(0.5, 2).cost(3_000_000, 500_000)
        2.5
        """
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


class Usage(NamedTuple):
    """The tokens of earlier replies, as the server counted them.

    Attributes:
        replies: how many replies say so, and have a text that is known.
        tokens_in: of their questions.
        tokens_out: of the replies, with hidden thoughts as far as the server counts them.
        estimated_in: what ``estimate`` gives for their questions.
    """

    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated_in: int = 0


class Plan(NamedTuple):
    """What is still to be asked.

    Attributes:
        model: the model's name.
        cats: CATs of the kinds that the model is asked about.
        questions: all questions about them: 6 for each prompt, sample and CAT.
        asked: those that have a reply already.
        requests: those that are still to be asked; each is one request.
        tokens_in: of these requests, estimated.
        tokens_out: the fewest and the most tokens of their replies, estimated; the same number
            twice if earlier replies say how long replies are.
        measured: the number of earlier replies that the estimates rest on; 0: on rules.
    """

    model: str
    cats: int
    questions: int
    asked: int
    requests: int
    tokens_in: int
    tokens_out: tuple[int, int]
    measured: int

    def cost(self, prices: Prices) -> tuple[float, float]:
        """The least and the largest cost."""
        least, most = (prices.cost(self.tokens_in, tokens) for tokens in self.tokens_out)
        return least, most


def price(text: str) -> float:
    """A price of a million tokens.

    Raises:
        CurationError: it is not a number, or is negative or not finite.

    >>> price("0.15")
    0.15
    """
    fix = "give the price of a million tokens as a number, such as 0.15, without a currency"
    try:
        value = float(text)
    except ValueError:
        raise CurationError(f"{text[:40]!r} is not a price", fix) from None
    if not math.isfinite(value):
        raise CurationError(f"{text[:40]!r} is not a finite number", fix)
    if value < 0:
        raise CurationError(f"{text[:40]!r} is negative", fix)
    return value


def estimate(text: str) -> int:
    """About how many tokens a question has, without its model's tokenizer.

    A token has about four bytes of English text in UTF-8. Texts in other scripts take more bytes,
    and tokenizers split them into more tokens, so that this rule holds for them more or less, too.

    >>> estimate("A: He is kind.")
    14
    """
    return math.ceil(len(text.encode("utf-8", "replace")) / BYTES) + MESSAGE


def usage(replies: Iterable[Reply], texts: Mapping[str, str]) -> Usage:
    """The tokens of replies, as far as they say how many they took.

    Args:
        replies: the replies.
        texts: the texts of questions, by their digest (``Reply.asked``). Replies to other texts
            are not counted.
    """
    count = tokens_in = tokens_out = estimated = 0
    for reply in replies:
        text, used = texts.get(reply.asked), tokens_used(reply.body)
        if text is None or not used or not used[0]:
            continue
        count += 1
        tokens_in, tokens_out = tokens_in + used[0], tokens_out + used[1]
        estimated += estimate(text)
    return Usage(count, tokens_in, tokens_out, estimated)


def tokens_used(body: Mapping[str, Any]) -> tuple[int, int] | None:
    """The tokens of a question and of its reply, as the server counted them; None if it did not.

    Args:
        body: of the reply.

    >>> tokens_used({"usage": {"prompt_tokens": 60, "completion_tokens": 2}})
    (60, 2)
    """
    usage = body.get("usage")
    if not isinstance(usage, dict):
        return None
    sent: Any = usage.get("prompt_tokens")
    received: Any = usage.get("completion_tokens")
    fits = all(type(n) is int and 0 <= n < _LARGEST for n in (sent, received))  # True is an int too
    return (sent, received) if fits else None


def plan(
    model: str,
    *,
    cats: int,
    questions: int,
    to_ask: Sequence[str],
    used: Usage,
    max_tokens: int | None,
) -> Plan:
    """Plan the requests of a model.

    Tokens in are estimated by ``estimate``. If earlier replies say how many tokens their questions
    had, the estimate is corrected by their ratio. Tokens out are then the mean of these replies;
    otherwise they are at least 1 and at most ``max_tokens`` for each request.

    Args:
        model: the model's name.
        cats: the number of CATs.
        questions: the number of questions about them.
        to_ask: the texts of the questions that are still to be asked.
        used: the tokens of earlier replies.
        max_tokens: the token limit of a reply; None for a model that writes only one token.
    """
    tokens_in = sum(map(estimate, to_ask))
    requests = len(to_ask)
    if used.replies:
        tokens_in = math.ceil(tokens_in * used.tokens_in / used.estimated_in)
        mean = math.ceil(requests * used.tokens_out / used.replies)
        tokens_out = (mean, mean)
    else:
        tokens_out = (requests, requests * (max_tokens or 1))
    asked = questions - requests
    return Plan(model, cats, questions, asked, requests, tokens_in, tokens_out, used.replies)
