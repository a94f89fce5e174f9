"""What models are asked about a CAT; of chat models also what that costs, and their replies."""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, cast

import orjson
from pydantic import ValidationError

from curation.files import dump_line, each_record, open_plain
from curation.kinds import ITEMS, Gold, Kind
from curation.models.chat import (
    ChatSpec,
    Prices,
    Prompts,
    Turns,
    one_line,
)
from curation.models.chat_reading import (
    Reading,
    read_answer,
)
from curation.models.rules import ScoringRequest
from curation.records import Cat, Pair, Reply
from curation.text.item_form import BLANK, END, attribute, fill_all
from curation.text.times import now
from curation.work.run_folder import write_whole


class Question(NamedTuple):
    """An association's id, what is asked about it, and a digest of that."""

    association: str
    ask: ScoringRequest
    digest: str


def _lower(text: str) -> str:
    return BLANK.join(part.lower() for part in text.split(BLANK))


def _sentence_case(text: str) -> str:
    return text if text.startswith(BLANK) else text[:1].upper() + text[1:]


def _no_final(text: str) -> str:
    return END.sub("", text)


VARIANTS: dict[str, tuple[Callable[[str], str], str]] = {
    "lower": (_lower, "all in small letters"),
    "capital": (_sentence_case, "every text begins with a capital"),
    "unpointed": (_no_final, "no final punctuation"),
}
"""How texts can be altered, to see whether results depend on it: by name, with what it does."""


def questions(cat: Cat, *, variant: str = "") -> list[Question]:
    """What a model is asked about each association of a CAT, in its order.

    Args:
        cat: the CAT.
        variant: one of ``VARIANTS``; "" for the texts as published.
    """
    asked = []
    for question in texts(cat, variant=variant):
        ask = question.ask
        if ITEMS[cat.kind].has_gap:
            start, end = attribute(ask.context, ask.sentence)
            filled, places = fill_all(ask.context, ask.sentence[start:end])
            ask = ask._replace(
                start=start, end=end, filled=filled, at=places[0], also=tuple(places[1:])
            )
        asked.append(question._replace(ask=ask))
    return asked


def texts(cat: Cat, *, variant: str = "") -> list[Question]:
    """As ``questions``, but without the places of the attribute."""
    alter = VARIANTS[variant][0] if variant else str
    asked = []
    for association in cat.associations:
        ask = ScoringRequest(cat.kind, alter(cat.context), alter(association.sentence))
        parts = [ask.kind, ask.context, ask.sentence]
        if not ITEMS[cat.kind].context:
            [other] = [each for each in cat.associations if each.id != association.id]
            is_stereotype = association.gold == ITEMS[cat.kind].roles[0]
            second = is_stereotype == (cat.direction == "antistereo")
            ask = ask._replace(other=alter(other.sentence), second=second)
            parts += [ask.other, str(second)]
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        asked.append(Question(association.id, ask, digest))
    return asked


def cat_digest(cat: Cat, *, variant: str = "") -> str:
    """A digest of the texts of a CAT's associations, in the order of its kind's roles.

    It changes if a text changes, and if the gold labels of two associations are exchanged: then the
    comparisons of the CAT are of other pairs.

    Args:
        cat: the CAT.
        variant: one of ``VARIANTS``; "" for the texts as published.
    """
    by_id = {question.association: question.digest for question in texts(cat, variant=variant)}
    by_gold = {association.gold: by_id[association.id] for association in cat.associations}
    joined = "\0".join(by_gold[gold] for gold in ITEMS[cat.kind].roles)
    return hashlib.sha256(joined.encode()).hexdigest()[:16]


COMPARED: dict[Kind, dict[Pair, tuple[Gold, Gold]]] = {
    kind.name: {cast("Pair", "/".join(roles)): roles for roles in kind.compared}
    for kind in ITEMS.values()
}
"""The comparisons of a CAT of each kind: their names in files, and the two roles of each."""


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
    """A question as it is sent.

    Attributes:
        place: which question it is.
        turns: the conversation up to the question. Three texts for a second question.
        digest: of the texts.
        options: the two texts that the question shows, in order.
    """

    place: Place
    turns: Turns
    digest: str
    options: tuple[str, str]

    @property
    def text(self) -> str:
        """The first question."""
        return self.turns[0]


class Asked(NamedTuple):
    """A question that has a reply, and what the reply says.

    ``Reading.first`` is the probability of the association that was shown first. If the question is
    ``swapped``, that is the second association of the pair. ``second``: the reply was to a second
    question.
    """

    cat: str
    pair: Pair
    swapped: bool
    prompt: str
    sample: int
    reading: Reading
    second: bool = False


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
    """What a chat model is asked about a CAT: pairs x 2 orders x prompts x samples.

    A replicate (one prompt in one sample) comes whole: its questions follow each other,
    six for three pairs, and the two orders of a pair are neighbours.

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
        for pair, (one_role, other_role) in COMPARED[cat.kind].items():
            first, second = by_gold[one_role], by_gold[other_role]
            for swapped, (one, other) in enumerate(((first, second), (second, first))):
                options = one_line(one.sentence), one_line(other.sentence)
                text = prompt.fill(context=one.context, first=options[0], second=options[1])
                filled.append((pair, bool(swapped), (text,), _digest((text,)), options))
        asked += [
            ChatQuestion(Place(cat.id, pair, swapped, prompt.name, sample), turns, digest, options)
            for sample in range(samples)
            for pair, swapped, turns, digest, options in filled
        ]
    return asked


def second_question(question: ChatQuestion, said: str, prompts: Prompts) -> ChatQuestion:
    """The question after a reply that does not name a letter, in the same conversation.

    Args:
        question: the first question.
        said: the reply (``Reading.said``).
        prompts: the words of the second question.
    """
    turns = (question.text, said, prompts.again)
    return question._replace(turns=turns, digest=_digest(turns))


def _digest(turns: Turns) -> str:
    return hashlib.sha256("\0".join(turns).encode("utf-8", "replace")).hexdigest()[:16]


BYTES = 4  # of UTF-8 in a token, if no reply says how many tokens a text has
MESSAGE = 10  # tokens that a server adds to the text: the role, and the template around it
_LARGEST = 10**12  # a larger number of tokens in one reply is a fault of the server


class Usage(NamedTuple):
    """What earlier replies took.

    Attributes:
        replies: how many replies have tokens as the server counted them, and a known question.
        tokens_in: of their questions.
        tokens_out: of the replies, with hidden thoughts as far as the server counts them.
        estimated_in: what ``estimate`` gives for their questions.
        first: how many questions have a first reply.
        again: how many of these have a second question.
        again_in: what ``estimate`` gives for these second questions.
    """

    replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated_in: int = 0
    first: int = 0
    again: int = 0
    again_in: int = 0


class Plan(NamedTuple):
    """What is still to be asked.

    Attributes:
        model: the model's name.
        cats: CATs of the kinds that the model is asked about.
        questions: all questions about them: 6 for each prompt, sample and CAT.
        asked: those that have a reply already.
        requests: those that are still to be asked; each is one request.
        again: the fewest and the most second questions that their replies will need, estimated; the
            same number twice if earlier replies say how many need one.
        tokens_in, tokens_out: the fewest and the most tokens of the requests and of their replies,
            with the second questions, estimated.
        measured: the number of earlier replies that the estimates rest on; 0: on rules.
    """

    model: str
    cats: int
    questions: int
    asked: int
    requests: int
    again: tuple[int, int]
    tokens_in: tuple[int, int]
    tokens_out: tuple[int, int]
    measured: int

    def cost(self, prices: Prices) -> tuple[float, float]:
        """The least and the largest cost."""
        least, most = map(prices.cost, self.tokens_in, self.tokens_out)
        return least, most


def estimate(*texts: str) -> int:
    """About how many tokens a conversation has, without its model's tokenizer.

    A token has about four bytes of English text in UTF-8. Texts in other scripts take more bytes,
    and tokenizers split them into more tokens, so that this rule holds for them more or less, too.

    >>> estimate("A: He is kind.")
    14
    """
    return sum(math.ceil(len(text.encode("utf-8", "replace")) / BYTES) + MESSAGE for text in texts)


def usage(
    lines: Iterable[Reply], questions: Iterable[ChatQuestion], replies: "Replies | None" = None
) -> Usage:
    """What earlier replies took, as far as they say how many tokens.

    Args:
        lines: the lines of the file of replies.
        questions: the questions. Replies to other texts are not counted.
        replies: what the lines say.
    """
    again = list(replies.again.values()) if replies else []
    texts = {question.digest: question.turns for question in (*questions, *again)}
    count = tokens_in = tokens_out = estimated = 0
    for line in lines:
        turns, used = texts.get(line.asked), tokens_used(line.body)
        if turns is None or not used or not used[0]:
            continue
        count += 1
        tokens_in, tokens_out = tokens_in + used[0], tokens_out + used[1]
        estimated += estimate(*turns)
    first = len(replies.answered.keys() | replies.again.keys()) if replies else 0
    again_in = sum(estimate(*question.turns) for question in again)
    return Usage(count, tokens_in, tokens_out, estimated, first, len(again), again_in)


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
    to_ask: Sequence[Turns],
    used: Usage,
    max_tokens: int | None,
    again: str = "",
) -> Plan:
    """Plan the requests of a model.

    Tokens in are estimated by ``estimate``. If earlier replies say how many tokens their questions
    had, the estimate is corrected by their ratio. Tokens out are then the mean of these replies;
    otherwise they are at least 1 and at most ``max_tokens`` for each request. As many replies need
    a second question as among the earlier ones; without these, from none to all.

    Args:
        model: the model's name.
        cats: the number of CATs.
        questions: the number of questions about them.
        to_ask: the questions that are still to be asked.
        used: what earlier replies took.
        max_tokens: the token limit of a reply; None for a model that writes only one token, and is
            never asked again.
        again: the text of the second question.
    """
    requests, limit = len(to_ask), max_tokens or 1
    firsts = [turns for turns in to_ask if len(turns) == 1]
    sent = sum(estimate(*turns) for turns in to_ask)
    if max_tokens is None:
        more, more_in = (0, 0), (0, 0)
    elif used.first:
        share = len(firsts) / used.first
        more = (math.ceil(used.again * share),) * 2
        more_in = (math.ceil(used.again_in * share),) * 2
    else:
        longest = limit + MESSAGE + estimate(again)
        more, more_in = (0, len(firsts)), (0, sum(estimate(*turns) + longest for turns in firsts))
    ratio = used.tokens_in / used.estimated_in if used.replies else 1
    least_in, most_in = (math.ceil((sent + part) * ratio) for part in more_in)
    mean = used.tokens_out / used.replies if used.replies else None
    least, most = (
        (requests + n) * (mean or each) for n, each in zip(more, (1, limit), strict=True)
    )
    return Plan(
        model, cats, questions, questions - requests, requests,
        more, (least_in, most_in), (math.ceil(least), math.ceil(most)), used.replies,
    )  # fmt: skip


SYNC = 1.0  # seconds: after a power failure, the replies of about this time may be missing


class Answered(NamedTuple):
    """What the last reply to a question says, and the token limit that it was given under.

    ``second``: it is the reply to a second question.
    """

    reading: Reading
    max_tokens: int | None
    second: bool = False


class Replies(NamedTuple):
    """The content of a file of replies.

    Attributes:
        answered: the questions that have a reply to their present text, and need no second question
            or have a reply to that, too.
        again: the second questions that are needed, with a reply or without.
        others: the prompts and samples of replies that were not asked for, but are about CATs
            that were: (prompt, sample).
        tokens: the tokens of all replies in the file, as the server counted them: ``prompt`` and
            ``completion``, and in how many ``replies`` it did.
    """

    answered: dict[Place, Answered]
    again: dict[Place, ChatQuestion]
    others: set[tuple[str, int]]
    tokens: dict[str, int]


def read_replies(path: Path, questions: Collection[ChatQuestion], prompts: Prompts) -> Replies:
    """Read the replies to questions. The last reply to a question counts.

    Replies to other texts, such as those of a CAT before it was edited, are ignored.

    Args:
        path: the file; if it does not exist, there are no replies.
        questions: the questions.
        prompts: the letters, the phrases of answers and refusals, and the second question.

    Raises:
        CurationError: a line is not a reply; the message names file, line and field.
    """
    known = {question.place: question for question in questions}
    cats = {question.place.cat for question in questions}
    replies = Replies({}, {}, set(), {"prompt": 0, "completion": 0, "replies": 0})
    seconds: dict[tuple[Place, str], Answered] = {}
    for reply in each_record(path, Reply, whole_lines=True) if path.exists() else ():
        if used := tokens_used(reply.body):
            for name, number in zip(replies.tokens, (*used, 1), strict=True):
                replies.tokens[name] += number
        place = Place(reply.cat, reply.pair, reply.swapped, reply.prompt, reply.sample)
        question = known.get(place)
        if question is None:
            if place.cat in cats:
                replies.others.add((place.prompt, place.sample))
        elif reply.second or reply.asked == question.digest:
            reading = read_answer(reply.status, reply.body, prompts, question.options)
            if reply.second:
                seconds[place, reply.asked] = Answered(reading, reply.max_tokens, second=True)
            else:
                replies.answered[place] = Answered(reading, reply.max_tokens)
    for place, first in list(replies.answered.items()):
        if first.reading.said:
            again = second_question(known[place], first.reading.said, prompts)
            replies.again[place] = again
            if answered := seconds.get((place, again.digest)):
                replies.answered[place] = answered
            else:
                del replies.answered[place]
    return replies


def open_questions(
    questions: Collection[ChatQuestion], replies: Replies, *, max_tokens: int | None
) -> list[ChatQuestion]:
    """The questions that are still to be asked, in their order; second questions in their place.

    A question is done if its present text has a reply, and so has its second question, if it needs
    one. It is open again if the last reply was cut at a lower token limit than the present one.

    Args:
        questions: the questions.
        replies: from ``read_replies``.
        max_tokens: the present limit; None for a model on this machine.
    """

    def is_open(known: Answered | None) -> bool:
        if known is None:
            return True
        if max_tokens is None or known.max_tokens is None or known.max_tokens >= max_tokens:
            return False
        return known.reading.code == "answer_cut"

    return [
        replies.again.get(question.place, question)
        for question in questions
        if is_open(replies.answered.get(question.place))
    ]


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
        second=len(question.turns) > 1,
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
