"""What is in files: lines of JSON, tables beside a test, all bytes of a folder."""

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Any


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file that has one JSON object a line."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def read(path: Path) -> Any:
    """What a JSON file holds."""
    return json.loads(path.read_text("utf-8"))


def beside(test: str, name: str = "") -> Any:
    """What a TOML file beside a test holds; by default that of its name.

    Args:
        test: the test's ``__file__``.
        name: the file, seen from the test's folder.
    """
    place = Path(test).parent / name if name else Path(test).with_suffix(".toml")
    return tomllib.loads(place.read_text("utf-8"))


def items(path: Path) -> list[dict[str, Any]]:
    """The items of a file in StereoSet's form, of both kinds."""
    return [item for items in read(path)["data"].values() for item in items]


def files(folder: Path) -> dict[str, bytes]:
    """Every file in a folder, by path."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def shas(folder: Path) -> dict[str, str]:
    """The sha256 of every file in a folder, by path."""
    return {name: hashlib.sha256(data).hexdigest() for name, data in files(folder).items()}
