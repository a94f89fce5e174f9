"""Word lists: terms that no database holds, such as the words of gender."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.files import CurationError

COLUMNS = ("term", "also", "language", "domain", "family", "note")


class Word(NamedTuple):
    """One word of a list; ``also`` are other spellings of it, which name the same term."""

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
    """The words of a list for one domain in the first of the languages that it has.

    Args:
        rows: line numbers and cells, ``term`` and ``language`` at least; ``also`` (spellings
            with semicolons between them), ``domain`` and ``family`` where there. A row of another
            domain or language is passed over.
        path: the list, for messages.
        domain: the domain; rows that name none are its.
        languages: the campaign's language codes, nearest first.
        wanted: where the campaign's own list would lie.

    Raises:
        CurationError: a column is missing, a row has no word, a spelling stands for two words, or
            the list lacks the language; names the line, or the file to supply.
    """
    found: dict[str, list[Word]] = {}
    for line, given in rows:
        row = {k.strip().casefold(): " ".join(str(v or "").split()) for k, v in given.items() if k}
        missing = [name for name in ("term", "language") if name not in row]
        if missing:
            raise CurationError(
                f"{path}: no column {missing[0]!r}; it has {', '.join(given)}",
                f"name the columns {', '.join(COLUMNS)}",
            )
        if row.get("domain") and row["domain"].casefold() != domain.casefold():
            continue
        if not row["term"] or not row["language"]:
            raise CurationError(
                f"{path} line {line}: no term or no language", "fill both, or delete the line"
            )
        also = tuple(filter(None, (name.strip() for name in row.get("also", "").split(";"))))
        word = Word(row["term"], row.get("family", ""), f"{path.name} line {line}", also)
        found.setdefault(row["language"].lower(), []).append(word)
    code = next((code for code in languages if code in found), None)
    if code is None:
        has = f"it has {', '.join(sorted(found))}" if found else "it has none for this domain"
        raise CurationError(
            f"{path}: no words of domain {domain!r} in {languages[0]!r}; {has}",
            f"supply {wanted} with the columns term, language, domain, or as a text file with a "
            f"word a line below «# language: {languages[0]}»; words in [domains.{domain}] names it",
        )
    _one_word_each(found[code])
    return found[code]


def _one_word_each(words: Sequence[Word]) -> None:
    """Raise if a second spelling stands for another word as well."""
    named = {word.text: word for word in words}
    for word in words:
        for name in word.also:
            other = named.setdefault(name, word)
            if other is not word:
                raise CurationError(
                    f"{word.where}: {name!r} in «also» also names {other.text!r} ({other.where})",
                    "a spelling can name one term: delete it from one of the two lines",
                )


def text_rows(text: str, path: Path) -> list[tuple[int, dict[str, str]]]:
    r"""The rows of a text file: a word a line; ``# language: xx`` and ``# domain: name`` hold for
    the lines below them, other lines that begin with # are notes.

    Raises:
        CurationError: a word stands before any language is named.

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
                    f"{path} line {line}: a word before the list's language is named",
                    "begin the file with a line such as «# language: id»",
                )
            rows.append((line, {"term": words.strip(), **head}))
    return rows
