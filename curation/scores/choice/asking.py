"""What a chat model is asked about a CAT, what that costs, and the file of its replies."""

import hashlib
import json
import math
import os
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from curation.files import CurationError, dump_line, each_record, open_plain
from curation.models.chat.prompts import ChatSpec, Prompts
from curation.models.chat.reading import Reading, read_answer
from curation.records import PAIRS, Cat, Gold, Pair, Reply
from curation.scores.asking import texts
from curation.text.times import now
from curation.work.run_folder import write_whole

ENDS: dict[Pair, tuple[Gold, Gold]] = {
    "stereotype/unrelated": ("stereotype", "unrelated"),
    "anti-stereotype/unrelated": ("anti-stereotype", "unrelated"),
    "stereotype/anti-stereotype": ("stereotype", "anti-stereotype"),
}
"""The first and the second association of each pair."""


class Place(NamedTuple):
    """Which question it is: one pair of a CAT, in one order, with one prompt, in one sample.

    ``swapped``: the second association of the pair is shown first.
    """

    cat: str
    pair: Pair
    swapped: bool
    prompt: str
    sample: int


class ChatQuestion(NamedTuple):
    """A question, the text that is sent, and a digest of that text."""

    place: Place
    text: str
    digest: str


class Asked(NamedTuple):
    """A question that has a reply, and what the reply says.

    ``reading.first`` is the probability of the association that was shown first. If the question is
    ``swapped``, that is the second association of the pair.
    """

    cat: str
    pair: Pair
    swapped: bool
    prompt: str
    sample: int
    reading: Reading


def questions_of(
    cats: Iterable[Cat], prompts: Prompts, how: ChatSpec, *, variant: str = ""
) -> list[ChatQuestion]:
    """``chat_questions`` of all CATs.

    Args:
        cats: the CATs.
        prompts: the prompts.
        how: which of the prompts are used, and how often each question is asked.
        variant: as in ``chat_questions``.
    """
    return [
        question
        for cat in cats
        for question in chat_questions(
            cat, prompts, all_prompts=how.all_prompts, samples=how.samples, variant=variant
        )
    ]


def chat_questions(
    cat: Cat, prompts: Prompts, *, all_prompts: bool = False, samples: int = 1, variant: str = ""
) -> list[ChatQuestion]:
    """What a chat model is asked about a CAT: 3 pairs x 2 orders x prompts x samples.

    A replicate (one prompt in one sample) comes whole: its six questions follow each other, and
    the two orders of a pair are neighbours.

    Args:
        cat: the CAT.
        prompts: the prompts.
        all_prompts: ask with every prompt of the CAT's kind, not only with the first.
        samples: how often each question is asked.
        variant: how the texts are altered first, as in ``scores.asking.texts``.
    """
    asks = {question.association: question.ask for question in texts(cat, variant=variant)}
    by_gold = {each.gold: asks[each.id] for each in cat.associations}
    asked = []
    in_use = prompts.by_kind[cat.kind] if all_prompts else prompts.by_kind[cat.kind][:1]
    for prompt in in_use:
        filled = []
        for pair in PAIRS:
            first, second = (by_gold[gold] for gold in ENDS[pair])
            for swapped, (one, other) in enumerate(((first, second), (second, first))):
                text = prompt.fill(context=one.context, first=one.sentence, second=other.sentence)
                digest = hashlib.sha256(text.encode()).hexdigest()[:16]
                filled.append((pair, bool(swapped), text, digest))
        asked += [
            ChatQuestion(Place(cat.id, pair, swapped, prompt.name, sample), text, digest)
            for sample in range(samples)
            for pair, swapped, text, digest in filled
        ]
    return asked


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


SYNC = 1.0  # seconds: after a power failure, the replies of about this time may be missing


class Answered(NamedTuple):
    """What the last reply to a question says, and the token limit that it was given under."""

    reading: Reading
    max_tokens: int | None


class Replies(NamedTuple):
    """The content of a file of replies.

    Attributes:
        answered: the questions that have a reply to their present text.
        others: the prompts and samples of replies that were not asked for, but are about CATs
            that were: (prompt, sample).
        tokens: the tokens of all replies in the file, as the server counted them: ``prompt`` and
            ``completion``, and in how many ``replies`` it did.
    """

    answered: dict[Place, Answered]
    others: set[tuple[str, int]]
    tokens: dict[str, int]


def read_replies(path: Path, questions: Collection[ChatQuestion], prompts: Prompts) -> Replies:
    """Read the replies to questions. The last reply to a question counts.

    Replies to other texts, such as those of a CAT before it was edited, are ignored.

    Args:
        path: the file; if it does not exist, there are no replies.
        questions: the questions.
        prompts: the letters, and the words of refusals.

    Raises:
        CurationError: a line is not a reply; the message names file, line and field.
    """
    digests = {question.place: question.digest for question in questions}
    cats = {question.place.cat for question in questions}
    replies = Replies({}, set(), {"prompt": 0, "completion": 0, "replies": 0})
    for reply in each_record(path, Reply, whole_lines=True) if path.exists() else ():
        if used := tokens_used(reply.body):
            for name, number in zip(replies.tokens, (*used, 1), strict=True):
                replies.tokens[name] += number
        place = Place(reply.cat, reply.pair, reply.swapped, reply.prompt, reply.sample)
        digest = digests.get(place)
        if digest == reply.asked:
            reading = read_answer(reply.status, reply.body, prompts)
            replies.answered[place] = Answered(reading, reply.max_tokens)
        elif digest is None and place.cat in cats:
            replies.others.add((place.prompt, place.sample))
    return replies


def open_questions(
    questions: Collection[ChatQuestion],
    answered: Mapping[Place, Answered],
    *,
    max_tokens: int | None,
) -> list[ChatQuestion]:
    """The questions that are still to be asked, in their order.

    A question is done if its present text has a reply. It is open again if the reply was cut at a
    lower token limit than the present one.

    Args:
        questions: the questions.
        answered: from ``read_replies``.
        max_tokens: the present limit; None for a model on this machine.
    """

    def is_open(known: Answered | None) -> bool:
        if known is None:
            return True
        if max_tokens is None or known.max_tokens is None or known.max_tokens >= max_tokens:
            return False
        return known.reading.code == "answer_cut"

    return [question for question in questions if is_open(answered.get(question.place))]


class ReplyLog:
    """Appends replies to a file, each at once, so that a killed command loses none of them."""

    def __init__(self, path: Path, file: Any, max_tokens: int | None) -> None:
        self._path, self._file, self._max_tokens = path, file, max_tokens
        self._synced = time.monotonic()

    def add(self, question: ChatQuestion, status: int, body: Mapping[str, Any]) -> None:
        """Append the reply to a question.

        Raises:
            OSError: it could not be written; ``filename`` is the path.
        """
        due = time.monotonic() - self._synced > SYNC
        line = reply_line(question, status, body, max_tokens=self._max_tokens)
        write_whole(self._file, line, self._path, sync=due)
        if due:
            self._synced = time.monotonic()


@contextmanager
def appending(path: Path, *, max_tokens: int | None) -> Iterator[ReplyLog]:
    """Append replies to a file while the folder is locked.

    Args:
        path: the file; it is created if needed.
        max_tokens: the token limit of answers; None for a model on this machine.

    Raises:
        CurationError: the file is a link.
    """
    with open_plain(path, "ab") as file:
        try:
            yield ReplyLog(path, file, max_tokens)
        finally:
            with suppress(OSError):  # such as a full disk: an earlier error says so
                os.fsync(file.fileno())


def reply_line(
    question: ChatQuestion, status: int, body: Mapping[str, Any], *, max_tokens: int | None
) -> bytes:
    """A reply as a line of the file, which can be read again.

    Half a surrogate pair in the reply, which cannot be written in UTF-8, becomes a «?». A reply
    that is nested too deeply to be read is kept as a text.
    """
    reply = Reply(
        **question.place._asdict(),
        asked=question.digest,
        at=now(),
        max_tokens=max_tokens,
        status=status,
        body=dict(body),
    )
    try:
        line = dump_line(reply)
    except orjson.JSONEncodeError:  # half a surrogate pair, or a number beyond 64 bits
        text = json.dumps(reply.model_dump(mode="python"), ensure_ascii=False)
        line = text.encode("utf-8", "replace") + b"\n"
    try:
        Reply.model_validate_json(line)
    except ValidationError:
        return dump_line(reply.model_copy(update={"body": {"unreadable": json.dumps(reply.body)}}))
    return line
