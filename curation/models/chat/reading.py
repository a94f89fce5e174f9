"""What an answer of a chat model says: a letter, or why it does not name one."""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from curation.files import printable
from curation.models.chat.bodies import Body, is_filtered, is_too_long, read_body
from curation.models.chat.choosing import find_choice
from curation.models.chat.containers import marked_parts, read_fields
from curation.models.chat.declining import why_declined
from curation.models.chat.marks import has_words, mark
from curation.models.chat.probabilities import first_probability
from curation.models.chat.prompts import Prompts
from curation.models.chat.thinking import find_thinking

NoAnswer = Literal[
    "answer_refused",
    "answer_undecided",
    "answer_off_format",
    "answer_empty",
    "answer_cut",
    "answer_too_long",
]
NO_ANSWER: tuple[NoAnswer, ...] = get_args(NoAnswer)
LEAST_SHARE = 0.5
"""A model on this machine answers if both letters together have at least this probability."""
SHOWN = 80  # characters of an answer in a detail


class Reading(NamedTuple):
    """What an answer says.

    Attributes:
        first: the probability of the first letter, 0 to 1; 1.0 or 0.0 if the answer is a text
            without probabilities. None if the answer does not choose a letter.
        letter: the letter that the answer chooses: "first", "second" or "".
        sure: whether ``first`` is only what the text says, without probabilities.
        code: why no letter is chosen, or "".
        detail: the same in words, with the beginning of the answer, or "".
    """

    first: float | None
    letter: Literal["first", "second", ""]
    sure: bool = True
    code: NoAnswer | Literal[""] = ""
    detail: str = ""


class _Text(NamedTuple):
    """What the text of an answer says: a letter and where it is, or a code."""

    letter: int | None
    at: int = 0
    code: NoAnswer | Literal[""] = ""


def read_answer(status: int, body: Mapping[str, Any], prompts: Prompts) -> Reading:
    """Read an answer. Never raises, whatever the body is.

    Args:
        status: the HTTP status, or 0 for a model on this machine.
        body: the answer as it came (``choices.Reply.body``).
        prompts: the letters, and words of the language.
    """
    if status == 0 and isinstance(body, Mapping) and ("letters" in body or "too_long" in body):
        return read_letters(body)
    parts = read_body(status, body)
    if parts.error:
        return _read_error(parts.error)
    thinking = find_thinking(parts.text)
    text = parts.text[thinking.answer]
    if thinking.open:
        return _none("answer_cut", "the thinking did not end", parts.text)
    said = _read_text(text, parts.end != "whole", prompts)
    if said.letter is not None:
        at = (thinking.answer.start or 0) + said.at
        p = first_probability(parts.tokens, parts.text, at, prompts.letters, said.letter)
        letter: Literal["first", "second"] = "second" if said.letter else "first"
        return Reading(float(1 - said.letter) if p is None else p, letter, p is None)
    return _without_letter(parts, text, said.code, thinking.thought)


def _read_error(error: str) -> Reading:
    if is_too_long(error):
        return _none("answer_too_long", "the server says that the request is too long", error)
    if is_filtered(error):
        return _none("answer_refused", "the server reports a content filter", error)
    return _none("answer_empty", "the server reports an error", error)


def _without_letter(parts: Body, text: str, code: NoAnswer | Literal[""], thought: bool) -> Reading:
    if parts.end == "filtered":
        return _none("answer_refused", "a content filter stopped the answer", text)
    if parts.refusal and code not in ("answer_undecided",):
        return _none("answer_refused", "the model refused", parts.refusal)
    if not has_words(text):
        if parts.end == "cut":
            return _none("answer_cut", "the answer ended at the token limit", parts.text)
        if parts.called:
            return _none("answer_off_format", "the model called a tool", "")
        only = parts.thought or thought
        return _none("answer_empty", "there is only thinking" if only else "there is no text", text)
    words = {
        "answer_refused": "the model refused",
        "answer_undecided": "the model chose neither letter, or both",
        "answer_cut": "the answer ended before it named a letter",
    }
    code = code or "answer_off_format"
    return _none(code, words.get(code, "the answer does not name a letter"), text)


def _none(code: NoAnswer, why: str, text: str) -> Reading:
    shown = re.sub(r"\s+", " ", text[: 4 * SHOWN]).strip()
    shown = shown[: SHOWN - 3] + "..." if len(shown) > SHOWN else shown
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)
    return Reading(None, "", code=code, detail=f'{why}: "{shown}"' if shown else why)


@lru_cache(maxsize=4096)
def _cached(text: str, cut: bool, letters: tuple[str, str], words: tuple[Any, ...]) -> _Text:
    refusals, undecided, fragments = words
    for region in reversed(marked_parts(text)):
        inner = _plain(text[region.start : region.end], False, letters, refusals, undecided, fragments)
        if inner.letter is not None or inner.code in ("answer_undecided", "answer_refused"):
            return inner._replace(at=inner.at + region.start)
    fields = read_fields(text, cut)
    if fields is not None:
        said = _read_value(fields.value, letters) if fields.keyed else None
        if said is not None:
            found = re.compile(rf"(?<!\w){re.escape(letters[said])}(?!\w)", re.I).search(text, fields.start)
            return _Text(said, found.start() if found else 0)
        values = [fields.value] if isinstance(fields.value, str) else fields.value or []
        inner = _plain(" and ".join(values) if isinstance(values, list) else "", False, letters, refusals, undecided, ())
        if fields.keyed and (inner.letter is not None or inner.code == "answer_undecided"):
            return inner._replace(at=inner.at + fields.start)
        inner = _plain(fields.texts, False, letters, refusals, undecided, ())
        if inner.code in ("answer_undecided", "answer_refused"):
            return inner
        if text.strip().startswith(("{", "[", "```")):
            return _Text(None, code="answer_cut" if cut else "answer_off_format")
    return _plain(text, cut, letters, refusals, undecided, fragments)


def _read_value(value: Any, letters: tuple[str, str]) -> int | None:
    values = [value] if isinstance(value, str) else value
    found = set()
    for each in values:
        bare = re.sub(r"[\W_]", "", each).upper() if isinstance(each, str) else ""
        found.add(next((n for n, letter in enumerate(letters) if letter.upper() == bare), None))
    return found.pop() if len(found) == 1 else None


def _plain(
    text: str,
    cut: bool,
    letters: tuple[str, str],
    refusals: tuple[str, ...],
    undecided: tuple[str, ...],
    fragments: tuple[str, ...],
) -> _Text:
    marked = mark(text, letters, fragments, cut)
    choice = find_choice(marked, cut)
    if choice.mention is not None:
        mention = marked.mentions[choice.mention]
        return _Text(mention.letter, mention.at)
    declined = why_declined(marked.text, cut, refusals, undecided)
    if declined:
        return _Text(None, code=declined)
    if cut:
        return _Text(None, code="answer_cut")
    return _Text(None, code="answer_undecided" if choice.both else "answer_off_format")


def _read_text(text: str, cut: bool, prompts: Prompts) -> _Text:
    fragments = _fragments(prompts) if len(text) > 20 else ()
    return _cached(text, cut, prompts.letters, (prompts.refusals, prompts.undecided, fragments))


def _fragments(prompts: Prompts) -> tuple[str, ...]:
    """The lines of the prompts, which an answer may repeat."""
    texts = (each.text for several in prompts.by_kind.values() for each in several)
    lines = (part.strip() for text in texts for part in re.split(r"\n|\{\w+\}", text))
    return tuple(dict.fromkeys(line for line in lines if len(line) >= 20))


def read_letters(body: Mapping[str, Any]) -> Reading:
    """What the reply of a local model says (``local.LocalChat``).

    Args:
        body: ``letters``, the natural log-probability of each letter; ``top``, the likeliest token
            as text, and ``top_log``, its log-probability. Or ``too_long``, the number of tokens of
            the question, and ``window``.
    """
    if "too_long" in body:
        detail = f"{body['too_long']} tokens, the window is {body.get('window')}"
        return Reading(None, "", sure=False, code="answer_too_long", detail=printable(detail))
    try:
        first, second = (float(value) for value in body["letters"])
    except (KeyError, TypeError, ValueError, OverflowError):
        first = second = math.nan
    if not (first < math.inf and second < math.inf):
        detail = "the letters have no finite log-probabilities; a larger --dtype may help"
        return Reading(None, "", sure=False, code="answer_off_format", detail=detail)
    share = math.exp(min(first, 0)) + math.exp(min(second, 0))
    if share < LEAST_SHARE:
        detail = f"both letters together have {share:.1%} of the probability{_likeliest(body)}"
        return Reading(None, "", sure=False, code="answer_off_format", detail=detail)
    return Reading(
        1 / (1 + math.exp(min(second - first, 700))),
        "first" if first >= second else "second",
        sure=False,
    )


def _likeliest(body: Mapping[str, Any]) -> str:
    """The likeliest token and its share, for a sentence."""
    try:
        share = math.exp(min(float(body["top_log"]), 0))
        text = printable(str(body["top"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""
    return f"; the likeliest token is «{text}» with {share:.1%}"
