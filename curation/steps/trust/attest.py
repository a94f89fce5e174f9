"""What people answer for the trust report, ``6-trust/attest.toml``: a template, and its reader.

The file is the team's: it is written once, with all questions, and never changed.
"""

import difflib
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_bytes, read_text, writing
from curation.formats.toml_files import comment, line_of, read_toml, toml_key
from curation.trust.protocol.attested import questions

NAME, DIRECTIONS = "attest.toml", "directions.csv"
_DOCS = "docs/trust.md describes attest.toml (Attestations)"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_HEAD = """\
# What only your team can say about the use of these measures, of this dataset and of its scores.
# «curation trust report» shows the answers, and lists the questions that are still open. It never
# changes this file, and it cannot check what you state. Releases do not have the answers.
#
# Write plain text between the quotes. An empty line begins a new paragraph.
"""


def template() -> str:
    """The text of an ``attest.toml`` without answers."""
    parts = [_HEAD]
    for question in questions().asked:
        parts.append("" if question.after_yes else "\n")
        parts.append(comment(("If yes: " if question.after_yes else "") + question.text))
        empty = '""' if question.form != "text" else "'''\n'''"
        parts.append(f"{question.key} = {empty}\n")
    return "".join(parts).rstrip("\n") + "\n"


def write_template(path: Path) -> bool:
    """Write the file if it is missing or empty; if it is in a campaign, under the campaign's lock.

    Returns:
        Whether the file was written.

    Raises:
        CurationError: it cannot be written.
    """
    if _is_filled(path):
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            file.write(template().encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{path}: cannot be written ({error.strerror})", "check who may write to the folder"
        ) from None
    return True


def read_answers(path: Path) -> dict[str, str]:
    """The answers that are not empty, by key; without the file, all questions are open.

    Raises:
        CurationError: the file has an error; the message names line and key.
    """
    if not _is_filled(path):
        return {}
    content = read_toml(path, fix="put each text between quotes; " + _DOCS)
    forms = {question.key: question.form for question in questions().asked}
    answers = {}
    for key, value in content.items():
        answer = value.strip() if isinstance(value, str) else value
        what, fix = _wrong(key, answer, forms)
        if what:
            text = read_text(path)
            where = line_of(text, [key], depth=0) or line_of(text, [key], depth=1)
            raise CurationError(f"{path}{where}, {toml_key(key)[:200]}: {what}", fix)
        if answer:
            answers[key] = answer
    return answers


def _wrong(key: str, answer: Any, forms: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong with an answer and how to fix it; empty texts if nothing is."""
    if key not in forms:
        near = difflib.get_close_matches(key, forms, 1)
        fix = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(forms)}; {_DOCS}"
        return "no such question", fix
    if not isinstance(answer, str):
        return "is not a text", 'write a text between quotes, such as "text"'
    if _CONTROL.search(answer):
        return "it has a control character", "remove it"
    if forms[key] == "day" and answer and not _is_day(answer):
        return f"{answer[:40]!r} is not a day", 'write it as YYYY-MM-DD, such as "2030-01-31"'
    if forms[key] == "no or yes" and answer not in ("", "no", "yes"):
        return f"{answer[:40]!r} is not an answer", 'write "no" or "yes", or leave it empty'
    return "", ""


def _is_day(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_filled(path: Path) -> bool:
    """Whether a file is there and has more than spaces."""
    return path.exists() and bool(read_bytes(path).strip())
