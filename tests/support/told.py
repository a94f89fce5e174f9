"""Every number on a page names a file and a place in it, and is what stands there.

This knows nothing of how pages are made: it reads them as any HTML, and the JSON files beside them.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

VOID = {"meta", "br", "input", "img", "link", "hr", "col", "wbr"}
FREE = {"words", "tick"}  # what people wrote, names, dates; numbers on an axis
NUMBER = re.compile(r"[+-]?\d[\d,]*(?:\.(\d+))?")


class Element(NamedTuple):
    """An open element: what it and those around it say of the numbers in it."""

    tag: str
    file: str
    key: str | None
    of: str
    times: float
    is_free: bool


class Told(NamedTuple):
    """A piece of text with a digit, and the element that it stands in."""

    text: str
    by: Element


class Page(HTMLParser):
    """The pieces of text with digits on a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", "", None, "", 1, False)]
        self.told: list[Told] = []
        self.feed(text)
        assert len(self.open) == 1, f"not closed: {self.open[1:]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given, above = {name: value or "" for name, value in attrs}, self.open[-1]
        is_free = above.is_free or bool(FREE & {*given.get("class", "").split()})
        self.open.append(
            Element(
                tag,
                given.get("data-file", above.file),
                given.get("data-key", above.key),
                given.get("data-of", above.of),
                float(given.get("data-times", above.times)),
                is_free or tag in ("style", "script", "title", "desc"),
            )
        )

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        if re.search(r"\d", data):
            self.told.append(Told(data.strip(), self.open[-1]))


@cache
def content(path: Path) -> Any:
    return json.loads(path.read_bytes())


def at(value: Any, pointer: str) -> Any:
    """What a JSON pointer leads to (RFC 6901)."""
    for step in pointer.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value[name]
    return value


def problems(root: Path, pages: Path) -> Iterator[str]:
    """The numbers without a place, or that are not what stands there."""
    for page in sorted(pages.rglob("*.html")):
        for text, by in Page(page.read_text("utf-8")).told:
            where = f"{page.relative_to(pages)}: «{text}»"
            if by.key is None:
                if not by.is_free:
                    yield f"{where} has no place"
                continue
            file = next((f for f in (root / by.file, pages / by.file) if f.is_file()), None)
            if file is None:
                yield f"{where} is of {by.file}, which is missing"
                continue
            value = at(content(file), by.key)
            if by.of == "values":
                right = text == " · ".join(map(str, value))
            else:
                number = NUMBER.fullmatch(text)
                wanted = len(value) if by.of == "length" else value * by.times
                digits = len(number[1] or "") if number else 0
                shown = float(number[0].replace(",", "")) if number else None
                right = shown is not None and abs(shown - wanted) <= 0.5000001 * 10**-digits
            if not right:
                yield f"{where} is {value} in {by.file}#{by.key}"
