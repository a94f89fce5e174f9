"""Pages of docs/ that are followed: their command lines, what they show, and what they change."""

import re
import shlex
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command line of a block."""
    for line in text.replace("\\\n", " ").splitlines():
        yield shlex.split(line, comments=True)


def compare(shown: str, said: str) -> None:
    """What a page shows was printed, in this order.

    Lines may be left out, and so may the space and the frame of tables; … is any text of a line.
    """
    printed = iter([" ".join(line.split()) for line in said.splitlines()])
    for line in shown.splitlines():
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("…")))
        found = any(re.search(rf"(?<!\S){pattern}(?!\S)", each) for each in printed)
        assert found, f"not printed, or in another order: {line!r}"


def change(there: MutableMapping[str, Any], new: Mapping[str, Any]) -> None:
    """Change values of a file as a person does in an editor: only those that are there."""
    for key, value in new.items():
        assert key in there, f"{key} is not in the file"
        if isinstance(value, Mapping):
            change(there[key], value)
        else:
            there[key] = value
