"""The tables of terms that a team writes: manual edits (``edits.csv``) and word lists.

The tool never changes ``edits.csv``. Word lists have terms that are not in a database, such as
words for gender.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError


def plain_row(
    given: Mapping[str, Any],
    where: str,
    columns: Sequence[str],
    *,
    needs: Sequence[str],
    aliases: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """A row of a table of terms: its cells without surplus spaces, by the names of our columns.

    Args:
        given: the cells by the headings of the table.
        where: the table, for the error.
        columns: the columns that it may have.
        needs: those that it must have.
        aliases: other names of columns.

    Raises:
        CurationError: a column is missing.
    """
    cells = {k.strip().casefold(): " ".join(str(v or "").split()) for k, v in given.items() if k}
    row = {(aliases or {}).get(name, name): cell for name, cell in cells.items()}
    if missing := [name for name in needs if name not in row]:
        raise CurationError(
            f"{where}: no column {missing[0]!r}; it has {', '.join(given)}",
            f"use the columns {', '.join(columns)}",
        )
    return row


# --- manual edits --------------------------------------------------------------------------------

EDIT_COLUMNS = ("domain", "term", "action", "into", "family", "note")
ACTIONS = ("keep", "merge", "drop", "rename", "add")
EDIT_ALIASES = {"target": "term", "bias_type": "domain"}


class Edit(NamedTuple):
    """One row: an action on a term, its family, or only a note.

    ``into`` is the term to merge into (merge), or the new name (rename).
    """

    line: int
    domain: str
    term: str
    action: str = ""
    into: str = ""
    family: str = ""
    note: str = ""


def read_edits(rows: Iterable[tuple[int, Mapping[str, str]]], where: str) -> list[Edit]:
    """Read and check the rows of ``edits.csv``.

    Args:
        rows: line numbers and cells.
        where: the path of the file, for messages.

    Raises:
        CurationError: a column is missing or unknown, or a row has no term or an unknown action;
            the message names the line.
    """
    edits: list[Edit] = []
    for line, given in rows:
        row = plain_row(given, where, EDIT_COLUMNS, needs=("domain", "term"), aliases=EDIT_ALIASES)
        unknown = [name for name in row if name not in EDIT_COLUMNS]
        if unknown:
            raise CurationError(
                f"{where}: unknown column {unknown[0]!r}",
                f"use the columns {', '.join(EDIT_COLUMNS)}; write remarks into note",
            )
        if given.get(""):
            raise CurationError(
                f"{where} line {line}: more cells than columns",
                "put a note that contains a comma into quotation marks",
            )
        edit = Edit(line, **{name: row.get(name, "") for name in EDIT_COLUMNS})
        edits.append(edit._replace(action=edit.action.casefold()))
        _check_edit(edits[-1], where)
    return edits


def _check_edit(edit: Edit, where: str) -> None:
    place = f"{where} line {edit.line}"
    if not edit.domain or not edit.term:
        raise CurationError(
            f"{place}: domain or term is missing", "fill in both, or delete the line"
        )
    if edit.action and edit.action not in ACTIONS:
        raise CurationError(
            f"{place}: unknown action {edit.action!r}", f"use one of {', '.join(ACTIONS)}"
        )
    needs = edit.action in ("merge", "rename")
    if needs and not edit.into:
        raise CurationError(
            f"{place}: {edit.action} without «into»",
            "write the term to merge into, or the new name, into the column «into»",
        )
    if edit.into and not needs:
        raise CurationError(
            f"{place}: «into» is only for merge and rename, not for {edit.action or 'no action'}",
            "write merge or rename as the action, or clear «into»",
        )
    if edit.action == "merge" and edit.into == edit.term:
        raise CurationError(
            f"{place}: {edit.term!r} is merged into itself", "write another term into «into»"
        )


# --- word lists ----------------------------------------------------------------------------------

WORD_COLUMNS = ("term", "also", "language", "domain", "family", "note")


class NoWordsError(CurationError):
    """A word list has no words for a domain in the campaign's language."""


class Word(NamedTuple):
    """One word of a list; ``also`` has other spellings that name the same term."""

    text: str
    family: str
    where: str
    also: tuple[str, ...] = ()


def read_words(
    rows: Iterable[tuple[int, Mapping[str, Any]]],
    path: Path,
    *,
    domain: str,
    languages: Sequence[str],
    wanted: Path,
) -> list[Word]:
    """The words of a list for one domain, in the first language that the list has.

    Args:
        rows: line numbers and cells. The columns ``term`` and ``language`` are required; ``also``
            (spellings separated by semicolons), ``domain`` and ``family`` are optional. Rows of
            another domain or language are skipped.
        path: the path of the list, for messages.
        domain: the domain; rows without a domain belong to it.
        languages: the campaign's language codes, nearest first.
        wanted: the path that the campaign's own list would have, for messages.

    Raises:
        NoWordsError: the list has no words in the language; the message names the file to supply.
        CurationError: a column is missing, a row has no word, or a spelling names two words; the
            message names the line.
    """
    by_language: dict[str, list[Word]] = {}
    for line, given in rows:
        row = plain_row(given, str(path), WORD_COLUMNS, needs=("term", "language"))
        if row.get("domain") and row["domain"].casefold() != domain.casefold():
            continue
        if not row["term"] or not row["language"]:
            raise CurationError(
                f"{path} line {line}: term or language is missing",
                "fill in both, or delete the line",
            )
        also = tuple(filter(None, (name.strip() for name in row.get("also", "").split(";"))))
        word = Word(row["term"], row.get("family", ""), f"{path.name} line {line}", also)
        by_language.setdefault(row["language"].lower(), []).append(word)
    code = next((code for code in languages if code in by_language), None)
    if code is None:
        has = (
            f"it has {', '.join(sorted(by_language))}"
            if by_language
            else "it has none for this domain"
        )
        raise NoWordsError(
            f"{path}: no words for the domain {domain!r} in {languages[0]!r}; {has}",
            f"supply {wanted} with the columns term, language, domain, or as a text file with "
            f"one word per line below «# language: {languages[0]}»; "
            f"then name the file as words in [domains.{domain}]",
        )
    _one_word_each(by_language[code])
    return by_language[code]


def _one_word_each(words: Sequence[Word]) -> None:
    """Raise a CurationError if a second spelling also names another word."""
    named = {word.text: word for word in words}
    for word in words:
        for name in word.also:
            other = named.setdefault(name, word)
            if other is not word:
                raise CurationError(
                    f"{word.where}: {name!r} in «also» also names {other.text!r} ({other.where})",
                    "a spelling can name only one term: delete it from one of the two lines",
                )


def text_rows(text: str, path: Path) -> list[tuple[int, dict[str, str]]]:
    r"""The rows of a text file with one word per line.

    ``# language: xx`` and ``# domain: name`` apply to the lines below them. Other lines that begin
    with # are comments.

    Raises:
        CurationError: a word comes before the first ``# language:`` line.

    >>> text_rows("# language: id\nbapak\n", Path("list.txt"))
    [(2, {'term': 'bapak', 'language': 'id', 'domain': ''})]
    """
    head = {"language": "", "domain": ""}
    rows = []
    for line, words in enumerate(text.splitlines(), 1):
        name, colon, value = words.lstrip("# ").partition(":")
        if words.lstrip().startswith("#"):
            if colon and name.strip().casefold() in head:
                head[name.strip().casefold()] = value.strip()
        elif words.strip():
            if not head["language"]:
                raise CurationError(
                    f"{path} line {line}: this word comes before a line that names the language",
                    "begin the file with a line such as «# language: id»",
                )
            rows.append((line, {"term": words.strip(), **head}))
    return rows
