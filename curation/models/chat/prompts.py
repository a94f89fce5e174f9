"""The prompts that a chat model is asked with, from a TOML file.

``data/prompts/`` has a file for each language that is included. A file has the two ``letters`` that
a model may answer, words that mark a refusal (``refusals``) or that no side is chosen
(``undecided``), and for each kind of CAT one or more prompts with a name and a text. Words that
come right before a chosen letter (``choosing``) are optional. A text has the placeholders
``{first}`` and ``{second}``, and ``{context}`` for intersentence CATs.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from curation.records import KINDS, Kind


class Prompt(NamedTuple):
    """One wording of the question."""

    name: str
    text: str

    def fill(self, *, context: str, first: str, second: str) -> str:
        """The text that is sent. Braces in the sentences are left as they are."""
        parts = {"{context}": context, "{first}": first, "{second}": second}
        text, filled = self.text, ""
        while text:
            name = next((name for name in parts if text.startswith(name)), text[0])
            filled += parts.get(name, name)
            text = text[len(name) :]
        return filled


@dataclass(frozen=True)
class Prompts:
    """The prompts of a language.

    Attributes:
        letters: the two answers, for the association that is shown first and second.
        refusals: words and phrases that mark a refusal.
        undecided: words and phrases that say that no side is chosen.
        choosing: words and phrases that come right before a chosen letter.
        by_kind: the prompts of each kind of CAT, in order.
        sha256: of the file.
        where: the file, for errors.
    """

    letters: tuple[str, str]
    refusals: tuple[str, ...]
    undecided: tuple[str, ...]
    by_kind: Mapping[Kind, tuple[Prompt, ...]]
    sha256: str
    where: str
    choosing: tuple[str, ...] = ()


def read_prompts(path: Path) -> Prompts:
    """Read a file of prompts.

    Raises:
        CurationError: the file cannot be read, or is not valid.
    """
    content = path.read_bytes()
    table = tomllib.loads(content.decode())
    first, second = table["letters"]
    return Prompts(
        (first, second),
        tuple(table["refusals"]),
        tuple(table["undecided"]),
        {kind: tuple(Prompt(each["name"], each["text"]) for each in table[kind]) for kind in KINDS},
        hashlib.sha256(content).hexdigest(),
        str(path),
        tuple(table.get("choosing", ())),
    )
