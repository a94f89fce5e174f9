"""The file of a chat model's replies: it only grows, and each reply is in it as it came."""

import json
import os
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from curation.files import dump_line, each_record, open_plain
from curation.models.chat.prompts import Prompts
from curation.models.chat.reading import Reading, read_answer
from curation.records import Reply
from curation.scores.choice.asking import ChatQuestion, Place
from curation.scores.choice.cost import tokens_used
from curation.text.times import now
from curation.work.run_folder import write_whole

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
