"""``edits.csv``: manual edits of terms. The tool never changes this file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from curation.files import CurationError

COLUMNS = ("domain", "term", "action", "into", "family", "note")
ACTIONS = ("keep", "merge", "drop", "rename", "add")
ALIASES = {"target": "term", "bias_type": "domain"}


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
        row = plain_row(given, where, COLUMNS, needs=("domain", "term"), aliases=ALIASES)
        unknown = [name for name in row if name not in COLUMNS]
        if unknown:
            raise CurationError(
                f"{where}: unknown column {unknown[0]!r}",
                f"use the columns {', '.join(COLUMNS)}; write remarks into note",
            )
        if given.get(""):
            raise CurationError(
                f"{where} line {line}: more cells than columns",
                "put a note that contains a comma into quotation marks",
            )
        edit = Edit(line, *(row.get(name, "") for name in COLUMNS))
        edits.append(edit._replace(action=edit.action.casefold()))
        _check(edits[-1], where)
    return edits


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


def _check(edit: Edit, where: str) -> None:
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
