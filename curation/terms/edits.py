"""``edits.csv``: people's word on terms. No run of the tool changes it."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.files import CurationError

COLUMNS = ("domain", "term", "action", "into", "family", "note")
ACTIONS = ("keep", "merge", "drop", "rename", "add")
ALIASES = {"target": "term", "bias_type": "domain"}


class Edit(NamedTuple):
    """One row: an action on a term, or its family, or only a note.

    ``into`` is the term that it is merged into, or its new name.
    """

    line: int
    domain: str
    term: str
    action: str = ""
    into: str = ""
    family: str = ""
    note: str = ""


def read_edits(rows: Iterable[tuple[int, Mapping[str, str]]], where: str) -> list[Edit]:
    """Check the rows of ``edits.csv``.

    Raises:
        CurationError: the columns are others, a row names no term or an unknown action, or two
            rows contradict; names the line.
    """
    edits: list[Edit] = []
    for line, given in rows:
        row = {
            ALIASES.get(k.strip().casefold(), k.strip().casefold()): " ".join(str(v or "").split())
            for k, v in given.items()
            if k
        }
        missing = [name for name in ("domain", "term") if name not in row]
        if missing:
            raise CurationError(
                f"{where}: no column {missing[0]!r}; it has {', '.join(given)}",
                f"name the columns {', '.join(COLUMNS)}",
            )
        unknown = [name for name in row if name not in COLUMNS]
        if unknown:
            raise CurationError(
                f"{where}: unknown column {unknown[0]!r}",
                f"the columns are {', '.join(COLUMNS)}; remarks go into note",
            )
        if given.get(""):
            raise CurationError(
                f"{where} line {line}: more cells than columns",
                "put a note that holds a comma into quotation marks",
            )
        edit = Edit(line, *(row.get(name, "") for name in COLUMNS))
        edits.append(edit._replace(action=edit.action.casefold()))
        _check(edits[-1], where)
    _contradictions(edits, where)
    return edits


def _check(edit: Edit, where: str) -> None:
    place = f"{where} line {edit.line}"
    if not edit.domain or not edit.term:
        raise CurationError(f"{place}: names no domain and term", "fill both, or delete the line")
    if edit.action and edit.action not in ACTIONS:
        raise CurationError(
            f"{place}: unknown action {edit.action!r}", f"write one of {', '.join(ACTIONS)}"
        )
    needs = edit.action in ("merge", "rename")
    if needs and not edit.into:
        raise CurationError(
            f"{place}: {edit.action} without «into»",
            "write the term that it merges into, or its new name, in column «into»",
        )
    if edit.into and not needs:
        raise CurationError(
            f"{place}: «into» goes with merge or rename, not with {edit.action or 'no action'}",
            "name the action, or empty «into»",
        )
    if edit.action == "merge" and edit.into == edit.term:
        raise CurationError(f"{place}: {edit.term!r} is merged into itself", "fix «into»")


def _contradictions(edits: list[Edit], where: str) -> None:
    families: dict[tuple[str, str], Edit] = {}
    actions: dict[tuple[str, str], Edit] = {}
    for edit in edits:
        key = (edit.domain, edit.term)
        before = families.setdefault(key, edit)
        if before.family and edit.family and before.family != edit.family:
            raise CurationError(
                f"{where} lines {before.line} and {edit.line}: two families for {edit.term!r}",
                "delete one of the lines",
            )
        if edit.family and not before.family:
            families[key] = edit
        if edit.action:
            before = actions.setdefault(key, edit)
            if (before.action, before.into) != (edit.action, edit.into):
                raise CurationError(
                    f"{where} lines {before.line} and {edit.line}: "
                    f"{before.action} and {edit.action} for {edit.term!r}",
                    "delete one of the lines",
                )
