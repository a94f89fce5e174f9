"""The contents of servers' answers: JSON of any form, as it can be read and stored."""

import json
from typing import Any

from curation.models.endpoint.echoes import NEVER
from curation.models.endpoint.errors import cleaned, deep


def read_object(text: str) -> dict[str, Any] | None:
    """A server's answer, ``{"text": text}`` if it is nested too deeply; None if it was cut off."""
    try:
        content = json.loads(text, parse_int=_number)
    except (ValueError, RecursionError):
        return None
    if _too_deep(text, content):
        return {"text": text}
    return content if isinstance(content, dict) else None


def _number(digits: str) -> float:
    """An integer of 64 bits, which can be stored; for a longer one the nearest float."""
    return int(digits) if len(digits) < 19 else float(digits)


def _too_deep(text: str, content: Any) -> bool:
    return text.count("[") + text.count("{") > 100 and deep(content)


def read_reply(text: str) -> dict[str, Any] | None:
    """A chat server's answer as it can be stored: an object without NaN, infinity and half pairs.

    A stream of events becomes ``{"sse": text}``, a value that is nested too deeply
    ``{"text": text}``, and a value that is not an object ``{"list": value}``.
    """
    if text.lstrip().startswith(("data:", "event:", ": ")):
        return {"sse": text}
    try:
        content = json.loads(
            text, parse_constant={"-Infinity": NEVER}.get, parse_int=_number, strict=False
        )
    except (ValueError, RecursionError):
        return None
    if _too_deep(text, content):
        return {"text": text}
    if "\\ud" in text.lower():
        content = cleaned(content, lambda each: each.encode("utf-8", "replace").decode())
    if isinstance(content, list) and len(content) == 1:
        content = content[0]
    return content if isinstance(content, dict) else {"list": content}
