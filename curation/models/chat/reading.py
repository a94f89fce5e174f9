"""What an answer of a chat model says: a letter, or why it does not name one.

A reply goes through these steps:

1. ``read_body`` takes the text, the end and the log-probabilities out of the server's JSON. An
   error is read here and goes no further.
2. ``find_thinking`` separates the thinking, which never counts.
3. ``marked_parts`` finds parts that are marked as the answer (tags, boxes), and ``read_fields``
   JSON. Each part is read as a text. The whole text is read if none of them says anything.
4. ``marks`` removes markup from a text and finds the letters that it names.
5. ``choosing`` judges each letter by its clause, and decides which letter is chosen.
6. ``declining`` says why a text without a choice does not choose.
7. ``first_probability`` looks up the probabilities at the token of the chosen letter.

``data/replies/`` holds the words of the languages for 4 to 6. The rules and the expected
readings are in tests/models/chat/replies/README.md.
"""

import ast
import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

from curation.files import printable
from curation.models.chat.choosing import find_choice
from curation.models.chat.declining import why_declined
from curation.models.chat.marks import LOOKALIKES, has_words, mark
from curation.models.chat.prompts import Prompts

End = Literal["whole", "cut", "broken", "filtered"]
DEPTH = 8  # levels of an error's body that are read
CUT = re.compile(
    r"length|max_?(new_?|output_?|completion_?)?tokens?|token_?limit|context_?window|^limit$",
    re.IGNORECASE,
)
BROKEN = re.compile(r"abort|error$|insufficient|cancel|interrupt|fail|time_?out", re.IGNORECASE)
FILTER = re.compile(
    r"content.?(filter|management|polic|moderat|safety|violation)|safety|moderat|refus|blocklist"
    r"|block_?reason|blocked|^spii$|recitation|sensitive|guardrail|prohibited|flagged|unsafe"
    r"|inappropriate|harmful|toxic|high.?risk|exists risk|敏感|不安全|违规|responsible.?ai|"
    r"data_?inspection|usage polic|violat\w* .{0,40}polic"
    r"|polic\w* .{0,20}violat|not allowed by our|risky",
    re.IGNORECASE,
)
TOO_LONG = re.compile(
    r"context.?(length|size|window|overflow|limit)|exceed_?context|context_?length_?exceeded"
    r"|max\w*.?(model.?len|input|prompt|sequence|number of tokens|tokens? limit|length|context)"
    r"|too (long|large|many (input )?tokens|big)|longer than|token limit|string_above_max_length"
    r"|exceed\w* .{0,60}(tokens|context|length|limit|maximum|size|window)"
    r"|reduce (the|your) (length|message|prompt|input|number)|shorten (the|your)|n_ctx"
    r"|(less|fewer|at most|more|no more) than .{0,20}tokens|does not fit|tokens? exceed"
    r"|number of (input |prompt )?tokens .{0,60}limit|tokens\W.{0,40}must be (<|less)|"
    r"range of input length|超长|超过.{0,10}(长度|限制)",
    re.IGNORECASE,
)


class Body(NamedTuple):
    """What a body holds.

    Attributes:
        text: of the answer, with thinking that the server did not separate.
        end: how the answer ended: whole, cut at the token limit, broken off by an error of the
            server, or stopped by a content filter. A stream without an end is cut.
        refusal: the text of a field for refusals, or "".
        thought: the body has thinking apart from the text.
        called: the body has a call of a tool.
        tokens: ``logprobs.content``, or an empty list.
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


def is_too_long(error: str) -> bool:
    """Whether an error says that the request is too long."""
    return bool(TOO_LONG.search(error))


def is_filtered(error: str) -> bool:
    """Whether an error reports a content filter or moderation."""
    return bool(FILTER.search(error))


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
    if any(is_filtered(each) for each in (*reasons, _error_text(choice.get("error")))):
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
    choice: dict[str, Any] = {"logprobs": {"content": []}}
    message: dict[str, Any] = {}
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
    end = "filtered" if is_filtered(error) else _end(choice)
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


LONGEST = 20_000  # characters of JSON that are read
_TAGS = (
    r"(?:final[_ -]?)?(?:answer|choice|response|result|output|letter|option|selection|"
    r"decision|solution"
    r"|pick|verdict|réponse|antwort|respuesta|resposta|risposta|antwoord|ответ|答案|回答)"
)
MARKED = re.compile(
    rf"<({_TAGS})(?:\s[^<>]{{0,80}})?>(?P<tag>(?:(?!</?{_TAGS}>).){{0,2000}}?)</\1\s*>"
    rf"|<{_TAGS}\s+[\w-]{{1,20}}\s*=\s*[\"'](?P<attribute>[^\"'<>\n]{{1,20}})[\"']\s*/>"
    r"|\\+(?:boxed|fbox|framebox)\s*\{(?P<box>(?:[^{}\n]|\{[^{}\n]*\}){0,400})(?:\}|$)"
    r"|\[\[(?P<brackets>[^\[\]\n]{1,40})\]\]|<<<?(?P<angles>[^<>\n]{1,20})>>>?",
    re.IGNORECASE | re.DOTALL,
)
KEY = re.compile(
    r"answer|choice|choose|chosen|letter|option|select|pick|prefer|predict|decision|response|"
    r"result|verdict|final"
    r"|label|output|conclusion|winner|^value$|^text$|better|best|likel|natural|vote|respuesta|"
    r"resposta|risposta"
    r"|réponse|antwort|antwoord|ответ|答案|选择|回答",
    re.IGNORECASE,
)
REASON = re.compile(
    r"reason|explan|why|justif|rationale|thought|thinking|analysis|comment|confiden|score|"
    r"prob|other"
    r"|reject|question|unlike|less|worse|not_|alternativ|note|certain|options$|choices$|rejected",
    re.IGNORECASE,
)
FIELD = re.compile(
    r"[\"']([^\"'\n{}:]{1,40})[\"']\s*:\s*(?:\"([^\"\n]{0,400})\"|'([^'\n]{0,400})')"
)


class Region(NamedTuple):
    """A part of a text: where it begins and ends."""

    start: int
    end: int


class Fields(NamedTuple):
    """JSON in an answer.

    Attributes:
        value: what the key of the answer holds; None if there is no such key.
        keyed: there is such a key.
        texts: all its texts, for an answer that does not choose.
        start: where the value is in the text, or 0.
    """

    value: Any
    keyed: bool
    texts: str
    start: int = 0


def marked_parts(text: str) -> list[Region]:
    """The parts of a text between tags or in a box, in order."""
    regions = []
    for found in MARKED.finditer(text):
        name = next(name for name, value in found.groupdict().items() if value is not None)
        regions.append(Region(*found.span(name)))
    return regions


def read_fields(text: str) -> Fields | None:
    """JSON in an answer, also in the notation of Python; None if it has none."""
    body = text[:LONGEST]
    begin = min((at for sign in "{[" if (at := body.find(sign)) >= 0), default=-1)
    end = max(body.rfind("}"), body.rfind("]")) + 1
    if begin < 0 or not re.search(r"[\"'].{0,2000}?[\"']|:", body[begin:], re.DOTALL):
        return None
    piece = body[begin:end]
    table = _parse(piece) if end > begin else None
    if isinstance(table, dict | list):
        if isinstance(table, list) and not any(isinstance(each, str | dict) for each in table):
            return None
        return _from_table(table, text, begin)
    fields = [
        (each[1], each[2] if each[2] is not None else each[3], each)
        for each in FIELD.finditer(body)
    ]
    if not fields:
        return None
    texts = "\n".join(value for _, value, _ in fields)
    for name, value, found in reversed(fields):
        if KEY.search(name) and not REASON.search(name):
            return Fields(value, True, texts, found.start(2 if found[2] is not None else 3))
    return Fields(None, False, texts)


def _parse(piece: str) -> Any:
    try:
        return json.loads(piece)
    except (ValueError, RecursionError):
        pass
    lines = piece.strip().splitlines()
    if len(lines) > 1:
        try:
            return json.loads(lines[-1])
        except (ValueError, RecursionError):
            pass
    if len(piece) < 2000 and not re.search(r"[\[({]{20}|[-+~]{20}", piece):
        try:
            return ast.literal_eval(piece)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            return None
    return None


def _from_table(table: Any, text: str, begin: int) -> Fields:
    texts = "\n".join(_texts(table, 6))
    if isinstance(table, list):
        value = table if all(isinstance(each, str) for each in table) else None
        if value is None and len(table) == 1 and isinstance(table[0], dict):
            return _from_table(table[0], text, begin)
        return Fields(value, value is not None, texts, begin)
    pairs = [(str(key), value) for key, value in _items(table, 4)]
    keyed = [(key, value) for key, value in pairs if KEY.search(key) and not REASON.search(key)]
    keyed = [each for each in keyed if re.search("final", each[0], re.I)] or keyed
    usable = [each for each in keyed if isinstance(each[1], str | list)]
    alone = {value.upper() for _, value in usable if isinstance(value, str) and len(value) == 1}
    if len(alone) > 1:
        return Fields(sorted(alone), True, texts, begin)
    if usable:
        key, value = (
            usable[0]
            if len(usable) == 1
            else next(
                (each for each in usable if isinstance(each[1], str) and len(each[1]) <= 3),
                usable[0],
            )
        )
        return Fields(value, True, texts, _find_key(text, key))
    if len(pairs) == 1 and isinstance(pairs[0][1], str):
        key, value = pairs[0]
        if len(key) == 1:  # {"A": "the sentence"}
            return Fields(key, True, texts, _find_key(text, key, after=False))
        return Fields(
            value if len(value) < 4 else None, len(value) < 4, texts, _find_key(text, key)
        )
    flags = [key for key, value in pairs if value is True and len(key) == 1]
    if flags and all(isinstance(value, bool) for _, value in pairs):
        return Fields(flags, True, texts, _find_key(text, flags[0], after=False))
    return Fields(None, False, texts)


def _find_key(text: str, key: str, after: bool = True) -> int:
    found = re.search(rf"[\"']{re.escape(key)}[\"']\s*(:)", text)
    return (found.end() if after else found.start()) if found else 0


def _items(table: dict[Any, Any], depth: int) -> Iterator[tuple[Any, Any]]:
    for key, value in table.items():
        if isinstance(value, dict) and depth:
            yield from _items(value, depth - 1)
        else:
            yield key, value


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for each in value.values():
            yield from _texts(each, depth - 1)
    elif depth and isinstance(value, list):
        for each in value:
            yield from _texts(each, depth - 1)


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


MARKS = str.maketrans({"▁": " ", "Ġ": " ", "Ċ": "\n"})  # white space, as vocabularies write it


def first_probability(
    tokens: list[Any], text: str, at: int, letters: tuple[str, str], letter: int
) -> float | None:
    """The share of the first letter at the token of the chosen letter.

    All listed tokens that read as a letter without white space, markup, punctuation and case are
    summed. A letter that is not listed counts as 0.

    Args:
        tokens: ``logprobs.content``; it may have tokens of the thinking before those of the text.
        text: of the answer, as it came.
        at: the offset of the chosen letter in ``text``.
        letters: the two letters.
        letter: the chosen one, 0 or 1.

    Returns:
        None if there is no usable list at that token.
    """
    token = _token_at(tokens, text, at, letters, letter) if tokens else None
    if token is None or not isinstance(listed := token.get("top_logprobs"), list) or not listed:
        return None
    entries = [each for each in listed if isinstance(each, Mapping)]
    if all(each.get("token") != token.get("token") for each in entries):
        entries.append(token)
    logs: tuple[list[float], list[float]] = ([], [])
    for entry in entries:
        which = letter_of(str(entry.get("token", "")), letters)
        log = entry.get("logprob")
        if which is None or isinstance(log, bool) or not isinstance(log, int | float):
            continue
        if abs(log) < 1e300:  # neither NaN nor infinite
            logs[which].append(min(float(log), 0.0))
    if not logs[0] and not logs[1]:
        return None
    highest = max(max(each, default=-math.inf) for each in logs)
    first, second = (sum(math.exp(each - highest) for each in several) for several in logs)
    return first / (first + second)


def letter_of(token: str, letters: tuple[str, str]) -> int | None:
    """Which letter a token reads as, without white space, markup, punctuation and case."""
    bare = "".join(
        LOOKALIKES.get(each, each)
        for each in unicodedata.normalize("NFKC", token[:40].translate(MARKS))
        if each.isalnum()
    ).casefold()
    return next((n for n, letter in enumerate(letters) if letter.casefold() == bare), None)


def _token_at(
    tokens: list[Any], text: str, at: int, letters: tuple[str, str], letter: int
) -> Mapping[str, Any] | None:
    usable = [
        each for each in tokens if isinstance(each, Mapping) and isinstance(each.get("token"), str)
    ]
    if not usable:
        return None
    pieces = [each["token"].translate(MARKS) for each in usable]
    joined, wanted = "".join(pieces), text.translate(MARKS)
    skipped = len(wanted) - len(wanted.lstrip())
    begin = joined.rfind(wanted.strip())
    if begin >= 0 and wanted.strip():
        offset = begin + at - skipped
        for each, piece in zip(usable, pieces, strict=True):
            if offset < len(piece):
                if letter_of(piece, letters) == letter:
                    return each
                break
            offset -= len(piece)
    after = sum(
        letter_of(each, letters) == letter for each in wanted[at:].replace("*", " ").split()
    )
    named = [each for each in usable if letter_of(each["token"], letters) == letter]
    return named[-after] if 0 < after <= len(named) else None


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
        body: the answer as it came (``records.Reply.body``).
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
