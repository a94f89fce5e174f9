"""The parts of a chat endpoint's body that a reading needs, in the shapes of many servers.

The shapes follow OpenAI, Azure, vLLM, SGLang, llama.cpp, Ollama, TGI, LM Studio, OpenRouter,
Mistral, Together, Groq, DeepSeek, and the compatibility layers of Anthropic and Gemini. Every part
may be missing or of another type.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

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
