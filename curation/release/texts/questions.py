"""The questions that only a team can answer, and ``statement.toml``: a template, and its reader."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import (
    CONTROL,
    comment,
    line_of,
    parsed_toml,
    read_form,
    read_toml,
    toml_key,
)
from curation.released.facts import Author, Hub, Part, Statement
from curation.text.wording import did_you_mean


class Question(NamedTuple):
    """A question to the team.

    ``section`` is a key of ``SECTIONS``. A question with ``field`` is answered by the field of
    ``Statement`` that its key names; any other by ``Statement.answers``.
    """

    key: str
    section: str
    text: str
    field: bool = False


_TABLE = read_toml(
    shipped("data", "release", "questions.toml"), fix="see questions.py for its keys"
)
SECTIONS = {section: entry["title"] for section, entry in _TABLE.items()}
"""The sections of a data statement in order: key and title."""

QUESTIONS = tuple(
    Question(key, section, text, key in Statement.model_fields)
    for section, entry in _TABLE.items()
    for key, text in entry.get("questions", {}).items()
)
"""All questions, in the order of the statement."""

BY_KEY = {question.key: question for question in QUESTIONS}


def open_keys(statement: Statement) -> tuple[str, ...]:
    """The keys of the questions that a statement does not answer, in order."""
    return tuple(key for key in BY_KEY if not statement.answer(key))


HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
"""The id of a dataset on the Hugging Face Hub: the organization and the name."""

_URL = re.compile(r"https?://[^\s<>\"\\^`{|}]+")
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_MAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")
_AUTHOR = re.compile(r"^[ \t]*\[\[\s*authors\s*\]\]", re.MULTILINE)
_DOCS = "docs/release.md describes the file"
_FIXES = {  # by place: its shape, and what to write
    "homepage": (_URL, "write an address that begins with https://"),
    "repository": (_URL, "write an address that begins with https://"),
    "paper": (_URL, "write an address that begins with https://"),
    "doi": (_DOI, "write the DOI only, such as 10.1234/example.5678"),
    "hub.id": (HUB_ID, 'write the organization and the name, such as "example-lab/mild-set"'),
    "authors.email": (_MAIL, "write an address such as name@example.org"),
    "authors.orcid": (_ORCID, "write it as 0000-0002-1825-0097, whose last sign is a check digit"),
}
_BEFORE = {
    "doi": re.compile(r"^(https?://(dx\.)?doi\.org/|doi:\s*)", re.IGNORECASE),
    "authors.orcid": re.compile(r"^https?://orcid\.org/", re.IGNORECASE),
}
_LINES = {"description", "prompt"}  # texts that may have several lines, besides the answers


_HEADS = {
    "authors": "write [[authors]] above the lines of each author",
    "hub": "write [hub] above its keys",
    "fields": "write [hub.fields] above its lines",
    "answers": "write [answers] above its keys",
}
_MORE = """
# --- new questions --------------------------------------------------------------------------
# Copy them to [answers], without the # before the key and the quotes.
"""


def statement_template() -> str:
    """The text of a ``statement.toml`` without answers."""
    fields = {question.key: question.text for question in QUESTIONS if question.field}
    head = read_text(shipped("data", "release", "statement.toml"))
    parts = [head.format(**fields)]
    asked = (question for question in QUESTIONS if not question.field)
    for section, questions in groupby(asked, lambda question: question.section):
        parts.append(f"# --- {SECTIONS[section]} ---\n\n")
        parts += [f"{comment(q.text)}{q.key} = '''\n'''\n\n" for q in questions]
    return "".join(parts).rstrip("\n") + "\n"


def with_new_questions(text: str) -> str:
    """A ``statement.toml`` with comments at its end for the questions that it does not have.

    Args:
        text: the content of the file; everything in it stays as it is.
    """
    there = {*re.findall(r"^[ \t]*#?[ \t]*(\w+)[ \t]*=", text, re.MULTILINE)}
    new = [each for each in QUESTIONS if not each.field and each.key not in there]
    if not new:
        return text
    end = "" if text.endswith("\n") else "\n"
    more = "" if _MORE in text else _MORE
    parts = (f"\n{comment(q.text)}# {q.key} = '''\n# '''\n" for q in new)
    return text + end + more + "".join(parts)


# --- reading --------------------------------------------------------------------------------


def read_statement(path: Path) -> Statement:
    """Read a ``statement.toml``; if it is missing or empty, all questions are open.

    Raises:
        CurationError: the file is not TOML; a key is unknown or has the wrong type; or an address,
            a DOI or an ORCID does not have its form. The message names line and key.
    """
    text = read_form(path)
    content = parsed_toml(text, path, fix="put each text between quotes; " + _DOCS)

    def error(keys: Sequence[Any], what: str, fix: str) -> CurationError:
        names = ".".join(str(k + 1) if isinstance(k, int) else toml_key(str(k)) for k in keys)
        return CurationError(f"{path}{_line(text, keys)}, {names[:200]}: {what}", fix)

    try:
        statement = Statement.model_validate(_trimmed(content))
    except ValidationError as invalid:
        raise _explained(invalid, error) from None
    for keys, value in _texts(statement):
        if CONTROL.search(value):
            raise error(keys, "it has a control character", "remove it")
        name = ".".join(str(key) for key in keys if not isinstance(key, int))
        if "\n" in value and keys[0] != "answers" and keys[-1] not in _LINES:
            raise error(keys, "it has several lines", "write one line")
        shape, fix = _FIXES.get(name, (None, ""))
        wrong = value and shape and not shape.fullmatch(value)
        if wrong or (value and name == "authors.orcid" and not _is_checked(value)):
            raise error(keys, f"{value[:100]!r} is not valid", fix)
    for number, author in enumerate(statement.authors):
        if not author.name:
            raise error(("authors", number, "name"), "it is empty", "write the author's name")
    for key in statement.answers:
        if key not in BY_KEY or BY_KEY[key].field:
            asked = [question.key for question in QUESTIONS if not question.field]
            raise error(("answers", key), "no such question", _near(key, asked))
    hub = statement.hub
    if (hub.prompt or hub.fields) and not hub.gated:
        fix = 'set gated = "auto" or "manual", or remove prompt and fields'
        raise error(("hub", "gated"), "it is empty, so nobody would be asked", fix)
    return statement


def _trimmed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the file without empty answers, and texts without spaces around them."""

    def trim(value: Any, name: str = "") -> Any:
        if isinstance(value, str):
            value = value.strip()
            return _BEFORE[name].sub("", value) if name in _BEFORE else value
        if isinstance(value, dict):
            return {key: trim(part, f"{name}.{key}".lstrip(".")) for key, part in value.items()}
        if isinstance(value, list):
            return [trim(part, name) for part in value]
        return value

    trimmed: dict[str, Any] = trim(dict(content))
    if isinstance(answers := trimmed.get("answers"), dict):
        trimmed["answers"] = {key: value for key, value in answers.items() if value != ""}
    return trimmed


def _texts(statement: Statement) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every text of a statement with the keys that lead to it."""
    for key, value in statement:
        yield from (((key,), value),) if isinstance(value, str) else ()
    for number, author in enumerate(statement.authors):
        yield from ((("authors", number, key), value) for key, value in author)
    yield from ((("hub", key), getattr(statement.hub, key)) for key in ("id", "prompt"))
    yield from ((("hub", "fields", key), key) for key in statement.hub.fields)
    yield from ((("answers", key), value) for key, value in statement.answers.items())


def _is_checked(orcid: str) -> bool:
    """Whether the check digit of an ORCID is right (ISO 7064, mod 11-2)."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    return "0123456789X"[(12 - total % 11) % 11] == orcid[-1]


def _explained(
    invalid: ValidationError, error: Callable[[Sequence[Any], str, str], CurationError]
) -> CurationError:
    first = invalid.errors()[0]
    keys, kind = first["loc"], first["type"]
    if kind == "extra_forbidden":
        parts: dict[object, type[Part]] = {"authors": Author, "hub": Hub}
        known = (parts[keys[0]] if keys[1:] else Statement).model_fields
        return error(keys, "no such key", _near(str(keys[-1]), list(known)))
    if kind == "missing":
        return error(keys, "it is missing", "write the author's name")
    if kind == "literal_error":
        allowed = ("", "auto", "manual") if keys[-1] == "gated" else ("text", "checkbox", "country")
        fix = "write " + " or ".join(f'"{value}"' for value in allowed)
        return error(keys, f"{str(first['input'])[:100]!r} is not allowed", fix)
    fix = 'write a text between quotes, such as "text"'
    return error(keys, "wrong type", _HEADS.get(str(keys[-1]), fix))


def _near(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name, known, f"known keys: {', '.join(known)}; {_DOCS}")


def _line(text: str, keys: Sequence[Any]) -> str:
    """The position of a key as « line N»; nothing if it cannot be found."""
    if len(keys) > 1 and keys[0] == "authors" and isinstance(keys[1], int):
        heads = [head.start() for head in _AUTHOR.finditer(text)]
        if keys[1] >= len(heads):
            return line_of(text, ["authors"], depth=0)
        start = heads[keys[1]]
        end = re.compile(r"^[ \t]*\[", re.MULTILINE).search(text, text.index("\n", start) + 1)
        block = text[start : end.start() if end else None]
        key = re.search(rf"^[ \t]*{re.escape(str(keys[-1]))}\s*=", block, re.MULTILINE)
        return f" line {text.count(chr(10), 0, start + (key.start() if key else 0)) + 1}"
    names = [str(key) for key in keys]
    return line_of(text, names, depth=len(names) - 1) or line_of(text, names, depth=len(names))
