"""What an answer of a chat model says: a letter, or why it does not name one.

A reply goes through these modules:

1. ``bodies`` takes the text, the end and the log-probabilities out of the server's JSON. An error
   is read here and goes no further.
2. ``thinking`` separates the thinking, which never counts.
3. ``containers`` finds parts that are marked as the answer (tags, boxes) and JSON. Each part is
   read as a text. The whole text is read if none of them says anything.
4. ``marks`` removes markup from a text and finds the letters that it names.
5. ``choosing`` decides which letter is chosen. ``clauses`` judges each letter by its clause.
6. ``declining`` says why a text without a choice does not choose.
7. ``probabilities`` looks up the probabilities at the token of the chosen letter.

``words`` holds the words of the languages for 4 and 5; ``declining`` holds its own. The rules and
the expected readings are in tests/models/chat/replies/README.md.
"""

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from curation.files import printable
from curation.models.chat.bodies import Body, is_filtered, is_too_long, read_body
from curation.models.chat.choosing import find_choice
from curation.models.chat.containers import Fields, marked_parts, read_fields
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


class _Words(NamedTuple):
    """What a prompts file says about answers."""

    letters: tuple[str, str]
    refusals: tuple[str, ...]
    undecided: tuple[str, ...]
    choosing: tuple[str, ...]
    fragments: tuple[str, ...]


def _read_text(text: str, cut: bool, prompts: Prompts) -> _Text:
    read = _read_short if len(text) <= 400 else _read_any  # most replies are short, and alike
    return read(text, cut, _words(prompts))


def _words(prompts: Prompts) -> _Words:
    return _Words(
        prompts.letters,
        prompts.refusals,
        prompts.undecided,
        tuple(phrase.lower() for phrase in prompts.choosing),
        _fragments(tuple(each.text for several in prompts.by_kind.values() for each in several)),
    )


@lru_cache(maxsize=16)
def _fragments(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of the prompts, which an answer may repeat."""
    lines = (part.strip() for text in texts for part in re.split(r"\n|\{\w+\}", text))
    return tuple(dict.fromkeys(line for line in lines if len(line) >= 20))


@lru_cache(maxsize=4096)
def _read_short(text: str, cut: bool, words: _Words) -> _Text:
    return _read_any(text, cut, words)


def _read_any(text: str, cut: bool, words: _Words) -> _Text:
    """Read a text: first the parts that are marked as the answer, then JSON, then the rest."""
    for part in reversed(marked_parts(text)):
        inner = _read_plain(text[part.start : part.end], False, words)
        if inner.letter is not None or inner.code in ("answer_undecided", "answer_refused"):
            return inner._replace(at=inner.at + part.start)
    fields = read_fields(text)
    if fields is not None and (said := _read_fields(fields, text, words)):
        return said
    if fields is not None and text.strip().startswith(("{", "[", "```")):
        return _Text(None, code="answer_cut" if cut else "answer_off_format")
    return _read_plain(text, cut, words)


def _read_fields(fields: Fields, text: str, words: _Words) -> _Text | None:
    """Read the JSON of a text: the letter of its answer, or why it does not name one."""
    values = fields.value if isinstance(fields.value, list) else [fields.value]
    values = [each for each in values if isinstance(each, str)] if fields.keyed else []
    names = {letter.upper(): number for number, letter in enumerate(words.letters)}
    named = {names.get(re.sub(r"[\W_]", "", each).upper()) for each in values}
    if len(named) == 1 and (letter := named.pop()) is not None:
        pattern = rf"(?<!\w){re.escape(words.letters[letter])}(?!\w)"
        found = re.compile(pattern, re.IGNORECASE).search(text, fields.start)
        return _Text(letter, found.start() if found else 0)
    whole = words._replace(fragments=())
    answer = _read_plain(" and ".join(values), False, whole)
    if answer.letter is not None or answer.code == "answer_undecided":
        return answer._replace(at=answer.at + fields.start)
    reason = _read_plain(fields.texts, False, whole)
    return reason if reason.code in ("answer_undecided", "answer_refused") else None


def _read_plain(text: str, cut: bool, words: _Words) -> _Text:
    marked = mark(
        text, words.letters, words.fragments if len(text) > 20 else (), cut, words.choosing
    )
    choice = find_choice(marked, cut, words.choosing)
    if choice.mention is not None:
        mention = marked.mentions[choice.mention]
        return _Text(mention.letter, mention.at)
    declined = why_declined(choice.text, cut, words.refusals, words.undecided)
    if declined or cut:
        return _Text(None, code=declined or "answer_cut")
    return _Text(None, code="answer_undecided" if choice.both else "answer_off_format")


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
