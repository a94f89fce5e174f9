"""What the errors of completions and chat servers say: in one line, why, and how long to wait."""

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

FILTERED = re.compile(
    r"content.?filter|content.?policy|content management policy|ResponsibleAI"
    r"|safety (system|filter|polic|setting)|(?-i:\bSAFETY\b)|prohibited.?content"
    r"|requires moderation|moderation_blocked|was flagged|data_inspection_failed"
    r"|inappropriate content|content exists risk|sensitive (content|word)",
    re.IGNORECASE,
)
"""A content filter has refused a text: Azure, OpenAI, Gemini, OpenRouter, Alibaba, DeepSeek."""
WRONG_MODEL = re.compile(
    r"model_not_found|(invalid|unknown|incorrect|no such) model\b|not a valid model"
    r"|\bmodel:?(\s+\S+)?\s+((does |did )?not|doesn't|didn't|is not|isn't) (exist|found|available)",
    re.IGNORECASE,
)
NO_CHAT = re.compile(
    r"not a chat model|(not|n't) (support|work with) (the )?chat|chat.?completions?\b"
    r"( api| endpoint| operation)?( is| does)? (not|cannot) (supported|available|work|be used)",
    re.IGNORECASE,
)
IS_CHAT = re.compile(r"is a chat model|chat/completions", re.IGNORECASE)
NO_TEMPLATE = re.compile(r"chat.?template", re.IGNORECASE)
LARGE_MAX_TOKENS = re.compile(
    r"max_(completion_)?tokens\W.{0,60}"
    r"(too (large|high|big)|at most|exceed|less than|maximum|valid range)",
    re.IGNORECASE,
)
_FAR = 1e8  # seconds, about three years: a longer wait is the same to the user
_CODES = (
    *("error", "message", "msg", "detail", "code", "type", "status"),
    *("innererror", "metadata", "reason", "reasons"),
)


def error_in(content: Any) -> Any:
    """The error in an answer that was sent as a success, also inside of its choice; or None."""
    if not isinstance(content, dict):
        return None
    if content.get("error"):
        return content["error"]
    choices = content.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    return choice.get("error") if isinstance(choice, dict) else None


def gist(content: Any) -> str:
    """The message of an answer, in one line.

    >>> gist({"error": {"message": "no such model"}})
    'no such model'
    """
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    for name in ("error", "message", "detail", "list"):
        if isinstance(content, dict):
            content = content.get(name) or content
    line = " ".join(str(content).split())
    return f"{line[:200]}…" if len(line) > 200 else line


def words(content: Any) -> str:
    """The messages and codes of an error, without what it repeats of the request.

    >>> words({"error": {"message": "no", "code": "content_filter"}, "input": "a text"})
    'no content_filter'
    """
    if isinstance(content, Mapping):
        return " ".join(filter(None, (words(content.get(name)) for name in _CODES)))
    if isinstance(content, list):
        return " ".join(filter(None, map(words, content)))
    return str(content) if isinstance(content, str | int) else ""


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """A copy of a JSON value with every text cleaned, also the names of fields."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(each, clean) for each in value]
    if isinstance(value, dict):
        return {clean(name): cleaned(each, clean) for name, each in value.items()}
    return value


def deep(value: Any, levels: int = 100) -> bool:
    """Whether a JSON value is nested so deeply that it cannot be stored.

    >>> deep([[[1]]], 2), deep([[1], [2]], 2)
    (True, False)
    """
    children = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(
        deep(each, levels - 1) for each in children if isinstance(each, dict | list)
    )


def asked_wait(headers: Mapping[str, str]) -> float:
    """The seconds that a server asks to wait, from ``retry-after-ms`` or ``Retry-After``; or 0.

    ``Retry-After`` has seconds or a date.

    >>> asked_wait({"Retry-After": "2.5"}), asked_wait({"retry-after-ms": "80", "Retry-After": "1"})
    (2.5, 0.08)
    >>> asked_wait({"Retry-After": "soon"}), asked_wait({})
    (0.0, 0.0)
    """
    for name, unit in (("retry-after-ms", 1000), ("Retry-After", 1)):
        try:
            wait = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if math.isfinite(wait):
            return min(max(0.0, wait), _FAR)
    try:
        date = parsedate_to_datetime(headers.get("Retry-After", ""))
        if date.tzinfo is None:  # «-0000», which dates of servers mean as UTC
            date = date.replace(tzinfo=UTC)
        return min(max(0.0, (date - datetime.now(UTC)).total_seconds()), _FAR)
    except (ValueError, TypeError, OverflowError, IndexError):
        return 0.0
