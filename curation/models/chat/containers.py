"""Parts of an answer that are marked as the answer: tags, boxes, double brackets, JSON."""

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

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
