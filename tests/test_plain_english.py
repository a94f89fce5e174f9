"""Help texts, errors, warnings and docs use plain words: the patterns below are refused.

The list is short on purpose: each entry has one clear replacement. It does not prove that a text
is good; it keeps the old manner from coming back.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from curation.checks.codes import PITFALLS
from curation.cli import app
from curation.models.rules import RULES, SOURCES
from curation.reasons import REASONS

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
MODULES = sorted((ROOT / "curation").rglob("*.py"))

REFUSED = {  # pattern -> what to write instead
    r"\bmend(s|ed|ing)?\b": "fix",
    r"\banew\b": "again, from scratch",
    r"\b[Rr]eckon\w*": "compute",
    r"\bpeople's word\b": "manual edits",
    r"\bparted by\b": "separated by",
    r"\bparts? (words|them|it|texts)\b": "split",
    r"\bunless said\b": "by default",
    r"(?<!there )(?<!There )\bis none\b": "is not one",
    r"\b(lies|lie) (in|under|beside|on disk)\b": "is in",
    r"\bstands? (in|on|above|below|beside|under|there|twice)\b": "is in",
    r"\bas it stands\b": "as it is",
    r"\bheeds?\b": "reads, follows",
    r"\b[Ww]hoever\b": "anyone who, people who",
    r"(^|[.;:] )Who (has|have|wants|gives|hands|takes|knows|needs)\b(?![^.]*\?)": "Anyone who",
    r"(^|[.] )Of (a|an|the) \w+": "begin with the subject",
    r"\bis lacking\b|\bare lacking\b": "is missing",
    r"\bso many\b": "N",
    r"\bof which one\b": "say which one",
    r"\bpermuted models?\b": "XLNet",
    r"\btold\b": "reported, described",
    r"\bthe figures? (of|are|is)\b": "numbers, values",
}
TELLS = {"CurationError", "warn", "note", "say", "fail", "heading", "table"}


def flaws(text: str) -> list[str]:
    """The refused words of a text, each with its replacement."""
    found = []
    for pattern, better in REFUSED.items():
        for hit in re.finditer(pattern, text, re.MULTILINE):
            found.append(f"{hit.group().strip()!r}: write {better!r}")
    return found


def commands(command: Any, path: tuple[str, ...] = ("curation",)) -> Iterator[tuple[str, str]]:
    yield " ".join(path), command.help or ""
    for option in command.params:
        yield f"{' '.join(path)} {option.opts[0]}", getattr(option, "help", None) or ""
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


HELP = dict(commands(typer.main.get_command(app)))


def messages(module: Path) -> Iterator[tuple[int, str]]:
    """The texts that a module hands to errors, warnings and prints, with their lines."""
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if name not in TELLS and not name.endswith("Error"):
            continue
        for argument in (*node.args, *(k.value for k in node.keywords)):
            for part in ast.walk(argument):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """A page's lines outside of code blocks and without inline code, with their numbers."""
    inside = False
    for number, line in enumerate(page.read_text("utf-8").split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            yield number, re.sub(r"`[^`]*`", "CODE", line)


@pytest.mark.parametrize("command", HELP)
def test_help_is_plain(command: str) -> None:
    assert not flaws(HELP[command])


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.relative_to(ROOT).as_posix())
def test_errors_and_warnings_are_plain(module: Path) -> None:
    found = [f"line {n}: {flaw}" for n, text in messages(module) for flaw in flaws(text)]
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_docs_are_plain(page: Path) -> None:
    found = [f"line {n}: {flaw}" for n, text in prose(page) for flaw in flaws(text)]
    assert not found


def test_descriptions_are_plain() -> None:
    texts = [*REASONS.values(), *SOURCES.values(), *(rule.says for rule in RULES.values())]
    texts += [text for pitfall in PITFALLS.values() for text in (pitfall.says, pitfall.fix)]
    assert len(texts) > 100
    assert not [flaw for text in texts for flaw in flaws(text)]


def test_the_old_manner_is_seen() -> None:
    assert flaws("mend:  write it anew") == [
        "'mend': write 'fix'",
        "'anew': write 'again, from scratch'",
    ]
    assert flaws("Who has terms already leaves this out.")
    assert flaws("Of a model one wants a high lms.")
    assert flaws("the name stands in people.jsonl, parted by commas")
    assert not flaws("A good model has a high lms. Who answers this? Skip this if you have terms.")
    assert len(HELP) > 100
    assert sum(1 for module in MODULES for _ in messages(module)) > 1000
