"""Help, errors, docstrings, comments and docs use plain words.

The list of what is refused is short on purpose: each entry has one clear replacement, and words
that are wrong only in some senses are not in it. It does not prove that a text is good; it keeps
the old manner from coming back.
"""

import ast
import io
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

from curation.checks.codes import PITFALLS
from curation.cli import app
from curation.models.rules import RULES, SOURCES
from curation.reasons import REASONS
from support.offenders import refuse

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    ROOT / "annotation_configs" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
MODULES = sorted((ROOT / "curation").rglob("*.py"))
TEXTS = [  # what administrators and developers read elsewhere
    *(ROOT / name for name in ("Makefile", ".ci/run", "pyproject.toml", "CITATION.cff", "NOTICE")),
    *sorted((ROOT / "data" / "example").rglob("*.toml")),
    *sorted((ROOT / "data" / "release").rglob("*.*")),
    *sorted((ROOT / "data" / "people").glob("*.*")),
    *sorted(p for p in (ROOT / "deploy").iterdir() if p.is_file() and p.suffix != ".md"),
    *sorted((ROOT / "schemas").glob("*.json")),
]

REFUSED: dict[str, str] = tomllib.loads((ROOT / "tests" / "plain_english.toml").read_text("utf-8"))
"""Patterns of words, and what to write instead."""


def flaws(text: str) -> list[tuple[int, str]]:
    """The refused words of a text, each with its replacement and the number of lines before it."""
    return [
        (text.count("\n", 0, hit.start()), f"{hit.group().strip()!r}: write {better!r}")
        for pattern, better in REFUSED.items()
        for hit in re.finditer(pattern, text, re.MULTILINE)
    ]


def offenders(path: Path, texts: Iterable[tuple[int, str]]) -> Iterator[str]:
    """The flaws of a file's texts, which are given with the numbers of their first lines."""
    for number, text in texts:
        for before, flaw in flaws(text):
            yield f"{path.relative_to(ROOT)}:{number + before}: {flaw}"


def commands(command: Any, path: str = "curation") -> Iterator[tuple[str, str]]:
    yield path, command.help or ""
    for option in command.params:
        yield f"{path} {option.opts[0]}", getattr(option, "help", None) or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, f"{path} {name}")


HELP = dict(commands(typer.main.get_command(app)))


def texts(module: Path) -> Iterator[tuple[int, str]]:
    """The prose in a module: comments, docstrings and all strings of several words.

    Inline code in double backticks is left out.
    """
    source = module.read_text("utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, re.sub(r"``[^`]*``", "CODE", node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """A page's lines outside of code blocks and without inline code, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text("utf-8").split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, re.sub(r"`[^`]*`", "CODE", line)


PLAIN = "use the words given here; the patterns are in tests/plain_english.toml"


def test_help_is_plain() -> None:
    assert len(HELP) > 100
    refuse((f"{name}: {flaw}" for name in HELP for _, flaw in flaws(HELP[name])), fix=PLAIN)


def test_errors_warnings_docstrings_and_comments_are_plain() -> None:
    assert len(MODULES) > 100
    refuse((line for path in MODULES for line in offenders(path, texts(path))), fix=PLAIN)


def test_docs_are_plain() -> None:
    refuse((line for path in PAGES for line in offenders(path, prose(path))), fix=PLAIN)


def test_other_texts_are_plain() -> None:
    found = (line for path in TEXTS for line in offenders(path, [(1, path.read_text("utf-8"))]))
    refuse(found, fix=PLAIN)


def test_descriptions_are_plain() -> None:
    described = {**REASONS, **SOURCES, **{name: rule.says for name, rule in RULES.items()}}
    described |= {f"pitfall {code}": f"{p.says} {p.fix}" for code, p in PITFALLS.items()}
    assert len(described) > 100
    found = (f"{name}: {flaw}" for name, text in described.items() for _, flaw in flaws(text))
    refuse(found, fix=PLAIN)


def test_the_old_manner_is_seen() -> None:
    assert flaws("mend:\n write it anew") == [
        (0, "'mend': write 'fix'"),
        (1, "'anew': write 'again, from scratch'"),
    ]
    assert list(offenders(ROOT / "a.md", [(7, "x\nmend")])) == ["a.md:8: 'mend': write 'fix'"]
    assert flaws("Who has terms already leaves this out.")
    for text in (
        "There is no run. The run has no scores. You want this. 0 is no limit.",
        "A good model has a high lms. Who answers this? Skip this if you have terms.",
        "What she told us stands in a file that lies here, with figures. It wants a key.",
    ):
        assert not flaws(text), text
