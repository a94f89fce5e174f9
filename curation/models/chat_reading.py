"""What an answer of a chat model says: a letter, or why it does not name one.

1. ``read_body`` takes the text, the end and the log-probabilities out of the server's JSON. An
   error is read here and goes no further.
2. ``find_thinking`` separates the thinking, which never counts.
3. ``find_letter`` reads the text strictly: a letter alone, or in the words of the prompts file, as
   the whole reply or its last line; or the exact text of one option.
4. ``first_probability`` looks up the probabilities at the token of the letter.

No other text is interpreted. A reply that is not read is asked about once more
(``Reading.said``). The replies in tests/models/replies/ have the readings of a careful person.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from curation.files import printable
from curation.models.chat import LETTER, Prompts
from curation.models.echoes import ERRORS
from curation.records import Fields

End = Literal["whole", "cut", "broken", "filtered"]
DEPTH = 8  # levels of an error's body that are read
CUT, BROKEN, FILTER = (ERRORS[name] for name in ("cut", "broken", "filter"))
TOO_LONG = ERRORS["too_long_question"]


class Body(NamedTuple):
    """What a body holds.

    Attributes:
        text: of the answer, with thinking that the server did not separate.
        end: how the answer ended: whole, cut at the token limit, broken off by an error of the
            server, or stopped by a content filter. A stream without an end is cut.
        refusal: the text of a field for refusals, or "".
        thought: the body has thinking apart from the text.
        called: the body has a call of a tool.
        tokens: ``content`` of ``logprobs``, or an empty list.
        error: the text of an error, or "".
    """

    text: str = ""
    end: End = "whole"
    refusal: str = ""
    thought: bool = False
    called: bool = False
    tokens: list[Any] = []  # noqa: RUF012 - never changed
    error: str = ""


def read_body(status: int, body: Any) -> Body:
    """The parts of a body; a part that is not there is empty."""
    if isinstance(body, str):
        body = {"sse": body} if body.lstrip().startswith(("data:", ":")) else {"text": body}
    if not isinstance(body, Mapping):
        return Body(error="the body is not an object") if status >= 400 else Body()
    if isinstance(stream := body.get("sse"), str):
        return _read_stream(status, stream)
    choice = _first_choice(body.get("choices"))
    if status >= 400 or (choice is None and _tells_error(body)):
        return Body(error=_error_text(body) or f"status {status}")
    if choice is None:
        text = body.get("text")
        return Body(text if isinstance(text, str) else "")
    message = choice.get("message", choice.get("delta"))
    return _read_choice(choice, message if isinstance(message, Mapping) else {}, _end(choice))


def _first_choice(choices: Any) -> Mapping[str, Any] | None:
    if isinstance(choices, Mapping):
        choices = [choices]
    if not isinstance(choices, list):
        return None
    usable = [each for each in choices if isinstance(each, Mapping)]
    return next((each for each in usable if each.get("index") == 0), usable[0] if usable else None)


def _tells_error(body: Mapping[str, Any]) -> bool:
    names = ("error", "errors", "detail", "promptFeedback", "prompt_feedback")
    return any(body.get(name) for name in names) or body.get("object") == "error"


def _end(choice: Mapping[str, Any]) -> End:
    names = ("finish_reason", "native_finish_reason", "stop_reason", "finishReason")
    reasons = [reason for name in names if isinstance(reason := choice.get(name), str)]
    if any(FILTER.search(each) for each in (*reasons, _error_text(choice.get("error")))):
        return "filtered"
    if any(CUT.search(reason) for reason in reasons):
        return "cut"
    return "broken" if any(BROKEN.search(reason) for reason in reasons) else "whole"


def _read_choice(choice: Mapping[str, Any], message: Mapping[str, Any], end: End) -> Body:
    text, thought, refusal = _content(message.get("content"))
    if not text and isinstance(plain := choice.get("text"), str):
        text = plain
    fields = ("reasoning_content", "reasoning", "thinking", "reasoning_details", "thinking_blocks")
    field = message.get("refusal")
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    return Body(
        text,
        end,
        field if isinstance(field, str) and field.strip() else refusal,
        thought or any(message.get(name) for name in fields),
        bool(message.get("tool_calls") or message.get("function_call")),
        tokens if isinstance(tokens, list) else [],
    )


def _content(content: Any) -> tuple[str, bool, str]:
    """The text of a message's content, whether it has thinking, and the text of refusals."""
    if isinstance(content, str):
        return content, False, ""
    text, thought, refusal = "", False, ""
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            text += part
        elif isinstance(part, Mapping):
            sort = str(part.get("type", "text"))
            value = part.get("text", part.get("content"))
            if isinstance(value, Mapping):
                value = value.get("value")
            if "think" in sort or "reason" in sort or part.get("thought") is True:
                thought = True
            elif sort == "refusal" or isinstance(part.get("refusal"), str):
                refusal += str(part.get("refusal") or value or "")
            elif isinstance(value, str):
                text += value
    return text, thought, refusal


def _read_stream(status: int, stream: str) -> Body:
    """A stream of server-sent events. Its last event may be cut."""
    choice: Fields = {"logprobs": {"content": []}}
    message: Fields = {}
    texts: list[str] = []
    refusals: list[str] = []
    ended, error = False, ""
    for line in stream.splitlines():
        name, _, data = line.partition(":")
        if name.strip() != "data":
            continue
        if data.strip() == "[DONE]":
            ended = True
            continue
        try:
            event = json.loads(data)
        except (ValueError, RecursionError):
            continue
        if not isinstance(event, Mapping):
            continue
        if _tells_error(event):
            error = error or _error_text(event)
        part = _first_choice(event.get("choices"))
        if part is None:
            continue
        delta = part.get("delta", part.get("message"))
        delta = delta if isinstance(delta, Mapping) else {}
        read = _read_choice(part, delta, "whole")
        texts.append(read.text)
        refusals.append(read.refusal)
        choice["logprobs"]["content"] += read.tokens
        message["reasoning"] = message.get("reasoning") or read.thought
        message["tool_calls"] = message.get("tool_calls") or read.called
        for key in ("finish_reason", "native_finish_reason", "stop_reason"):
            if isinstance(part.get(key), str) and part[key]:
                choice[key] = part[key]
                ended = True
    message["content"], message["refusal"] = "".join(texts), "".join(refusals)
    if error and not message["content"]:
        return Body(error=error)
    end = "filtered" if FILTER.search(error) else _end(choice)
    return _read_choice(choice, message, end if ended or end == "filtered" else "cut")


def _error_text(body: Any) -> str:
    return " | ".join(_strings(body, DEPTH))[:4000]


def _strings(value: Any, depth: int) -> Iterator[str]:
    """The texts of an error, with the keys that name a filter that was set off."""
    if isinstance(value, str):
        yield value[:1000]
    elif depth and isinstance(value, list):
        for each in value[:50]:
            yield from _strings(each, depth - 1)
    elif depth and isinstance(value, Mapping):
        for key, each in list(value.items())[:50]:
            if each is True or (each and "block" in str(key).lower()):
                yield str(key).replace("filtered", "content filter")
            if key not in ("model", "modelVersion", "flagged_input"):
                yield from _strings(each, depth - 1)


_NAMES = (
    r"(?:\w{1,20}[:_])?(?:think(?:ing)?|thoughts?|thought_process|reasoning|reason|reflect(?:ion)?"
    r"|analysis|scratch_?pad|inner_monologue|monologue|cot|chain_of_thought|ponder|deliberation)"
)
_OPEN = (
    rf"<{_NAMES}(?:\s[^<>]{{0,80}})?>|\[{_NAMES}\]"
    rf"|<\|(?:begin_of_|start_)?{_NAMES}(?:_start|_begin)?\|>"
)
_CLOSE = rf"</{_NAMES}\s*>|\[/{_NAMES}\]|<\|(?:end_of_|end_|/){_NAMES}\|>|<\|{_NAMES}_end\|>"
TAGS = re.compile(
    rf"(?P<close>{_CLOSE}|◁/{_NAMES}▷|<unused95>)|(?P<open>{_OPEN}|◁{_NAMES}▷|<unused94>)",
    re.IGNORECASE,
)
CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]{0,80}<\|message\|>")
CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
JOINED = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\"'“(*])")
JOINED_FINAL = re.compile(r"assistant\s*final", re.IGNORECASE)


class Thinking(NamedTuple):
    """Where the thinking of a text is.

    Attributes:
        answer: the part of the text that is the answer.
        thought: there is thinking.
        open: the thinking never ends.
    """

    answer: slice
    thought: bool = False
    open: bool = False


def find_thinking(text: str) -> Thinking:
    """Separate the thinking from the answer. A closing tag without an opening one ends it."""
    if found := _in_channels(text):
        return found
    depth, begin, first = 0, 0, None
    for tag in TAGS.finditer(text):
        first = first or tag
        if tag["open"]:
            depth += 1
        else:
            depth = max(depth - 1, 0)
            begin = tag.end() if depth == 0 else begin
    if first is None:
        return Thinking(slice(0, len(text)))
    if depth == 0 and first["open"] and not text[begin:].strip() and text[: first.start()].strip():
        return Thinking(slice(0, first.start()), True)  # the reasons come after the answer
    return Thinking(slice(begin, len(text)), True, depth > 0)


def _in_channels(text: str) -> Thinking | None:
    """The channels of Harmony, with their special tokens or without."""
    whole = len(text)
    if channels := list(CHANNEL.finditer(text)):
        if finals := [each for each in channels if each[1].lower() in ("final", "response")]:
            return Thinking(slice(finals[-1].end(), whole), len(channels) > len(finals))
        end = CHANNEL_END.search(text, channels[-1].end())
        return Thinking(slice(end.end() if end else whole, whole), True, end is None)
    named = text[:20].lstrip().lower().startswith(("analysis", "assistantanalysis", "commentary"))
    joined = JOINED.match(text)
    if (named or joined) and (final := JOINED_FINAL.search(text)):
        return Thinking(slice(final.end(), whole), True)
    return Thinking(slice(whole, whole), True, True) if joined else None


_UNSEEN = r"\s\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufe0e\ufe0f\ufeff"
_TEXT = re.compile(rf"[^{_UNSEEN}*_~#>|`$<=+\\{{}}\[\]()\"'•-]")  # no markup
_SIGNS = r"*_`\"'“”„‟«»‹›「」『』‘’()\[\]{}<>（）【】〔〕《》.,:;!。，：；！、．।|#$\\•·–—-"
_MARK = rf"[{_UNSEEN}{_SIGNS}]"
"""A character that may be around a letter and between words: white space, markup, punctuation.
Signs that could mean no, such as ~, ?, / and empty boxes, are not among them."""
_WORDS = re.compile(rf"(?!{_MARK}).")
_TURN = re.compile(
    r"<\|start_header_id\|>\w{0,20}<\|end_header_id\|>|<[|｜][^|｜<>\n]{1,40}[|｜]>|</?s>"
    r"|\[/?(?:INST|EOS|BOS)\]|<(?:eos|bos|pad|unk|end_of_turn|start_of_turn|end_of_text)>",
    re.IGNORECASE,
)
_MARKUP = re.compile(
    r"</\w{1,30}\s*>|<(b|strong|i|em|u|code|p|span|mark|div)>(?=[^<>]*</\1>)|<br\s*/?>|```\w*"
    r"|\\+(?:boxed|fbox|framebox|text|textbf|textit|mathrm|mathbf)\b",
    re.IGNORECASE,
)
_NOT_TAKEN = re.compile(r"[\[(]\s*[\])]|(?<!\S)!\w|<(s|del|strike)>[^<>]*</\1>", re.IGNORECASE)
_PAIR = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"\s*:\s*(\"(?:[^\"\\\n]|\\.)*\")")
_LOOKALIKES = str.maketrans("АВаΑΒᴀʙᎪᏴ", "ABaABABAB")


class Found(NamedTuple):
    """A letter that a text names: which of the two, its offset if it has one, whether alone."""

    letter: int
    at: int | None
    alone: bool = False


def find_letter(
    text: str, prompts: Prompts, options: tuple[str, str] | None = None, *, cut: bool = False
) -> Found | None:
    """The letter that an answer names in a form that leaves no doubt.

    It is the letter alone, in any markup, or a phrase of ``prompts.answers``: as the whole answer,
    its last line, or an entry of JSON. No other line or entry may name the other letter so, and the
    line before must not end in a colon or a question mark; before a letter alone, a sentence must
    end. Or the answer is the exact text of one option, with its letter or without.

    Args:
        text: of the answer, without thinking.
        prompts: the letters, and phrases that name one.
        options: the texts that are shown with the letters; None if they are not known.
        cut: the answer ended too early. It counts only if it is the letter, in its case.
    """
    if _NOT_TAKEN.search(text):
        return None
    plain = _blank(_MARKUP, _blank(_TURN, _fold(text)))
    forms = _forms(prompts.letters, prompts.answers)

    def read(begin: int = 0, end: int = len(plain)) -> Found | None:
        if not (match := forms.fullmatch(plain, begin, end)):
            return None
        form = match.lastindex or 0
        letter = letter_of(match[form], prompts.letters, in_case=cut)
        return None if letter is None else Found(letter, match.start(form), form == 1)

    if (whole := read()) or cut:
        return None if whole and cut and not whole.alone else whole
    if plain.strip().startswith("{") and plain.strip().endswith("}"):
        spans = [pair.span(part) for pair in _PAIR.finditer(plain) for part in (0, 1)]
        named = [found for span in spans if (found := read(*span))]
        keyed = next((found for span in spans[::2] if (found := read(*span))), None)
        return keyed if len({found.letter for found in named}) == 1 else None
    cores = [re.sub(rf"^{_MARK}+|{_MARK}+$", "", _fold(option)) for option in options or ()]
    for letter, core in enumerate(cores):
        at = plain.rfind(core) if core and cores[0] != cores[1] else -1
        if at < 0 or _WORDS.search(plain, at + len(core)):
            continue
        if not _WORDS.search(plain[:at]):
            return Found(letter, None)
        if (found := read(0, at)) and found.letter == letter:
            return found
    lines = [line.span() for line in re.finditer(r"[^\n]+", plain) if _WORDS.search(line[0])]
    named = [found for line in lines if (found := read(*line))]
    for begin, _ in lines[-2:]:  # a phrase may be on two lines
        if (last := read(begin)) and all(found.letter == last.letter for found in named):
            before = plain[max(begin - 200, 0) : begin]
            return last if _may_follow(before, alone=last.alone) else None
    return None


def _may_follow(before: str, *, alone: bool) -> bool:
    """Whether the last line of an answer is what the answer says, by the text before it."""
    text = re.sub(r"[\s*_`\"'#>)=-]+$", "", before)
    if alone and text:
        return text.endswith((".", "!", "。", "！", "।"))
    return not text.endswith((":", "：", "?", "？"))


@lru_cache(maxsize=16)
def _forms(letters: tuple[str, str], answers: tuple[str, ...]) -> re.Pattern[str]:
    """What names a letter: itself, or a phrase. Words may have any marks between them."""

    def words(text: str) -> str:
        parts = re.sub(rf"{_MARK}+", " ", _fold(text)).split()
        return f"{_MARK}++".join(map(re.escape, parts))

    either = f"({'|'.join(map(words, letters))})"
    sides = [phrase.split(LETTER) for phrase in answers]
    phrases = [f"{_MARK}*+".join(filter(None, (words(a), either, words(b)))) for a, b in sides]
    return re.compile(rf"{_MARK}*+(?:{'|'.join([either, *phrases])}){_MARK}*+", re.IGNORECASE)


def _fold(text: str) -> str:
    """A text of the same length in which letters that look like Latin ones are Latin."""
    if text.isascii():
        return text
    folded = ((each, unicodedata.normalize("NFKC", each)) for each in text)
    return "".join(new if len(new) == 1 else each for each, new in folded).translate(_LOOKALIKES)


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda found: " " * len(found[0]), text)


def refuses(text: str, refusals: tuple[str, ...]) -> bool:
    """Whether a text has one of the phrases, as whole words in any case."""
    said = re.sub(r"\s+", " ", text.replace("’", "'"))
    phrases = "|".join(re.escape(phrase.replace("’", "'")) for phrase in refusals)
    return bool(phrases) and bool(re.search(rf"(?<!\w)(?:{phrases})(?!\w)", said, re.IGNORECASE))


_SPACES = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # white space, as vocabularies write it


def first_probability(
    tokens: list[Any], text: str, at: int | None, letters: tuple[str, str], letter: int
) -> float | None:
    """The share of the first letter at the token of the chosen letter.

    All listed tokens that read as a letter without white space, markup, punctuation and case are
    summed. A letter that is not listed counts as 0.

    Args:
        tokens: ``content`` of ``logprobs``; it may have tokens of the thinking before those of the
            text.
        text: of the answer, as it came.
        at: the offset of the chosen letter in ``text``.
        letters: the two letters.
        letter: the chosen one, 0 or 1.

    Returns:
        None if there is no usable list at that token, or if both letters together have less than
        ``LEAST_SHARE`` of the probability.
    """
    token = None if at is None else _token_at(tokens, text, at)
    if token is None or letter_of(token["token"], letters) != letter:
        return None
    if not isinstance(listed := token.get("top_logprobs"), list) or not listed:
        return None
    entries = [each for each in listed if isinstance(each, Mapping)]
    if all(each.get("token") != token["token"] for each in entries):
        entries.append(token)
    shares = [0.0, 0.0]
    for entry in entries:
        which = letter_of(str(entry.get("token", "")), letters)
        log = entry.get("logprob")
        if which is None or isinstance(log, bool) or not isinstance(log, int | float):
            continue
        if abs(log) < 1e300:  # neither NaN nor infinite
            shares[which] += math.exp(min(log, 0))
    return shares[0] / sum(shares) if sum(shares) >= LEAST_SHARE else None


def letter_of(token: str, letters: tuple[str, str], *, in_case: bool = False) -> int | None:
    """Which letter a token reads as, without white space, markup, punctuation and case."""

    def bare(text: str) -> str:
        signs = "".join(filter(str.isalnum, _fold(text[:40].translate(_SPACES))))
        return signs if in_case else signs.casefold()

    read = bare(token)
    return next((n for n, letter in enumerate(letters) if bare(letter) == read), None)


def _token_at(tokens: list[Any], text: str, at: int) -> Mapping[str, Any] | None:
    """The token at an offset of the answer, whose tokens are the last ones."""
    usable = [
        each for each in tokens if isinstance(each, Mapping) and isinstance(each.get("token"), str)
    ]
    pieces = [each["token"].translate(_SPACES) for each in usable]
    wanted = text.translate(_SPACES)
    begin = "".join(pieces).rfind(wanted.strip())
    if begin < 0:
        return None
    offset = begin + at - (len(wanted) - len(wanted.lstrip()))
    for each, piece in zip(usable, pieces, strict=True):
        if offset < len(piece):
            return each
        offset -= len(piece)
    return None


NoAnswer = Literal[
    "answer_refused", "answer_off_format", "answer_empty", "answer_cut", "answer_too_long"
]
NO_ANSWER: tuple[NoAnswer, ...] = get_args(NoAnswer)
LEAST_SHARE = 0.5
"""Probabilities count if both letters together have at least this much."""
SHOWN = 80  # characters of an answer in a detail


class Reading(NamedTuple):
    """What an answer says.

    Attributes:
        first: the probability of the first letter, 0 to 1; 1.0 or 0.0 if the answer is a text
            without probabilities. None if the answer does not name a letter.
        letter: the letter that the answer names: "first", "second" or "".
        sure: whether ``first`` is only what the text says, without probabilities.
        code: why no letter is named, or "".
        detail: the same in words, with the beginning of the answer, or "".
        said: the answer without thinking, if it is asked about once more; or "".
    """

    first: float | None
    letter: Literal["first", "second", ""]
    sure: bool = True
    code: NoAnswer | Literal[""] = ""
    detail: str = ""
    said: str = ""


def read_answer(
    status: int,
    body: Mapping[str, Any],
    prompts: Prompts,
    options: tuple[str, str] | None = None,
) -> Reading:
    """Read an answer. Never raises, whatever the body is.

    Args:
        status: the HTTP status, or 0 for a model on this machine.
        body: the answer as it came (``records.Reply.body``).
        prompts: the letters, and words of the language.
        options: the texts that the question shows with the letters.
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
    if found := find_letter(text, prompts, options, cut=parts.end != "whole"):
        at = None if found.at is None else (thinking.answer.start or 0) + found.at
        p = first_probability(parts.tokens, parts.text, at, prompts.letters, found.letter)
        letter: Literal["first", "second"] = "second" if found.letter else "first"
        return Reading(float(1 - found.letter) if p is None else p, letter, p is None)
    return _without_letter(parts, text, thinking.thought, prompts)


def _without_letter(parts: Body, text: str, thought: bool, prompts: Prompts) -> Reading:
    if parts.end == "filtered":
        return _none("answer_refused", "a content filter stopped the answer", text)
    if parts.refusal:
        return _none("answer_refused", "the model refused", parts.refusal)
    if not _TEXT.search(_blank(_MARKUP, _blank(_TURN, text))):
        if parts.end == "cut":
            return _none("answer_cut", "the answer ended at the token limit", parts.text)
        if parts.called:
            return _none("answer_off_format", "the model called a tool", "")
        only = parts.thought or thought
        return _none("answer_empty", "there is only thinking" if only else "there is no text", text)
    if refuses(text, prompts.refusals):
        return _none("answer_refused", "the model refused", text)
    if parts.end != "whole":
        return _none("answer_cut", "the answer ended before it named a letter", text)
    reading = _none("answer_off_format", "the answer does not name a letter", text)
    return reading._replace(said=_TURN.sub("", text).strip())


def _read_error(error: str) -> Reading:
    if TOO_LONG.search(error):
        return _none("answer_too_long", "the server says that the request is too long", error)
    if FILTER.search(error):
        return _none("answer_refused", "the server reports a content filter", error)
    return _none("answer_empty", "the server reports an error", error)


def _none(code: NoAnswer, why: str, text: str) -> Reading:
    shown = re.sub(r"\s+", " ", text[: 4 * SHOWN]).strip()
    shown = shown[: SHOWN - 3] + "..." if len(shown) > SHOWN else shown
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in shown)
    return Reading(None, "", code=code, detail=f'{why}: "{shown}"' if shown else why)


def read_letters(body: Mapping[str, Any]) -> Reading:
    """What the reply of a local model says (``chat_local.LocalChat``).

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
