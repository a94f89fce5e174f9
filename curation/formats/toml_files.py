"""Read the TOML files that people write by hand, and change a setting in one.

Whatever such a file contains, the error names the file and, as far as possible, the line.
"""

import json
import re
import tomllib
from collections.abc import Sequence
from datetime import date
from itertools import accumulate
from pathlib import Path
from typing import Any

from curation.files import CurationError, decode_text, read_bytes, read_text, shipped, writing

LARGEST = 1 << 20  # bytes of a TOML file at most; a campaign.toml has a few thousand
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""A control character, which no answer of people may have."""
_DIGITS = re.compile(r"\d[\d_]{1000,}")
_DEEP = 100  # brackets within brackets: far more than any setting has


def read_toml(path: Path, *, fix: str) -> dict[str, Any]:
    """The content of a TOML file.

    Args:
        path: the file.
        fix: what the error advises if the file is not TOML.

    Raises:
        CurationError: the file is too large or is not TOML; the message names the line.
    """
    return parsed_toml(read_text(path), path, fix=fix)


def parsed_toml(text: str, path: Path, *, fix: str) -> dict[str, Any]:
    """The content of a text in TOML; like ``read_toml``, which see for the arguments.

    ``path`` is the file, for errors.
    """
    if len(text) > LARGEST:
        raise CurationError(
            f"{path}: has more than {LARGEST >> 20} MiB", "check that it is the right file"
        )
    if number := _first(text, _DIGITS.search):
        raise CurationError(f"{path} line {number}: a number has over 1000 digits", fix)
    try:
        return tomllib.loads(text)
    except RecursionError:
        number = _first(text, _too_deep) or 1
        raise CurationError(f"{path} line {number}: too many brackets in each other", fix) from None
    except ValueError as error:  # TOMLDecodeError, and what Python says of dates and numbers
        raise CurationError(f"{path}: {error}", fix) from None


def read_form(path: Path) -> str:
    """The text of a file that people fill in; empty if it is missing or has only spaces."""
    data = read_bytes(path) if path.exists() else b""
    return decode_text(data, path) if data.strip() else ""


def write_form(path: Path, text: str) -> None:
    """Write a file that people fill in.

    Raises:
        CurationError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            file.write(text.encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{path}: cannot be written ({error.strerror})", "check who may write to the folder"
        ) from None


def shipped_table(*path: str) -> dict[str, Any]:
    """A TOML file that comes with the tool, by its path in ``data/``."""
    return read_toml(shipped("data", *path), fix="see its first lines")


def _first(text: str, wrong: Any) -> int | None:
    """The number of the first line for which a function is true."""
    return next((number for number, line in enumerate(text.split("\n"), 1) if wrong(line)), None)


def _too_deep(line: str) -> bool:
    steps = ((bracket in "[{") - (bracket in "]}") for bracket in line if bracket in "[]{}")
    return max(accumulate(steps), default=0) > _DEEP


def line_of(text: str, keys: Sequence[str], *, depth: int) -> str:
    """The position of a key in a TOML file, as « line N»; nothing if it cannot be found.

    Args:
        text: the content of the file.
        keys: the names of the tables, then of the key.
        depth: how many of these are the name of the table.
    """
    table, key, section = _plain(".".join(keys[:depth])), "".join(keys[depth : depth + 1]), ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([^\]]+)\]", line):
            section = _plain(header.group(1))
            if not key and section == table:
                return f" line {number}"
        elif (section == table and _is_key(line, key)) or (not section and _is_key(line, keys[0])):
            return f" line {number}"
    return ""


def with_setting(text: str, table: str, key: str, value: str | date | list[str]) -> str:
    r"""A TOML file with another value of one key; comments, order and all other values stay.

    Args:
        text: the content of the file.
        table: the table of the key; it is added if it is missing. Empty for a key of no table.
        key: the key; it is added if it is missing.
        value: the text, the day or the texts that it gets.

    >>> with_setting("[release] # r\naccept = []\n", "release", "hide", "labels")
    '[release] # r\naccept = []\nhide = "labels"\n'
    """
    import tomlkit  # most commands do not need it

    document = tomlkit.parse(text.replace("\r\n", "\n"))
    place = document.setdefault(table, tomlkit.table()) if table else document
    place[key] = value
    changed = tomlkit.dumps(document)
    return changed.replace("\n", "\r\n") if "\r\n" in text else changed


def _plain(header: str) -> str:
    return re.sub(r"[\"'\s]", "", header)


def _is_key(line: str, key: str) -> bool:
    return bool(re.match(rf"\s*{re.escape(key)}\s*=", line))


def toml_key(name: str) -> str:
    """A name as a key of a TOML file; quoted if it needs quotes."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def toml_value(value: Any) -> str:
    """A value as TOML has it: a text, a number, a boolean, a list, or a dict as inline table.

    >>> toml_value({"female": "f.txt", "two words": ["a", 1, True]})
    '{ female = "f.txt", "two words" = ["a", 1, true] }'
    """
    if isinstance(value, dict):
        parts = [f"{toml_key(str(key))} = {toml_value(each)}" for key, each in value.items()]
        return f"{{ {', '.join(parts)} }}" if parts else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False)


def comment(text: str, width: int = 98) -> str:
    r"""A text as the lines of a comment.

    >>> comment("Who are you?", width=8)
    '# Who are\n# you?\n'
    """
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "".join(f"# {line}\n" for line in lines)
