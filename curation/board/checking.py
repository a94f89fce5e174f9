"""Check files of submissions before they are merged: their place, their form, and what they say."""

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from curation.board.folder import Board, TestSet
from curation.board.log import Refused, Scored, Waits, rows_of
from curation.board.submission import SubmissionError, problems, read_file
from curation.files import CurationError, digest, read_text
from curation.formats.tables import read_json_lines
from curation.records import GOLDS, Cat, CatAssociation


def public_cats(test_set: TestSet) -> list[Cat]:
    """The CATs of a test set as its board shows them; none if it is sealed.

    Their gold labels are not known: each association has the label of its place in the file.

    Raises:
        CurationError: the file of the CATs was changed.
    """
    path = test_set.cats
    if digest(path) != test_set.facts.sums.get(path.name):
        raise CurationError(f"{path}: was changed", "restore it from version control")
    if test_set.facts.hide == "all":
        return []
    cats = []
    for _, row in read_json_lines(read_text(path), path):
        options = zip(row["options"], GOLDS, strict=True)
        a, b, c = (CatAssociation(id=o["id"], sentence=o["sentence"], gold=g) for o, g in options)
        names = {name: row[name] for name in ("id", "kind", "domain", "target", "context")}
        of = {"term": row["target"], "family": row["target"], "split": "test"}
        cats.append(Cat(**names, **of, associations=(a, b, c)))
    return cats


def association_ids(test_set: TestSet) -> frozenset[str]:
    """The ids of all associations of a test set; none if it is sealed."""
    return frozenset(each.id for cat in public_cats(test_set) for each in cat.associations)


def check_files(
    board: Board, names: Sequence[str], *, proposal: bool = False
) -> dict[str, list[SubmissionError]]:
    """Whether files would be accepted by a board.

    Args:
        board: the board.
        names: paths of files, from the current folder.
        proposal: they are all paths that a proposal changes, so each must be a new file of the
            board's ``submissions/``.

    Returns:
        For each name, as it can be printed on one line, the first problem of each sort; none if the
        file would be accepted.

    Raises:
        CurationError: no test set is open, or the board is damaged.
    """
    test_set = board.open_set
    fits = (board.settings, test_set.facts, association_ids(test_set))
    entries = board.entries()
    logged = {e.file: e.submission for e in entries if isinstance(e, Waits | Refused | Scored)}
    scored = {entry.file for entry in entries if isinstance(entry, Scored)}
    rows = rows_of(entries, test_set.facts.version)
    known = {(row.model, row.revision, row.profile): row.file for row, agrees in rows if agrees}
    sent = {row.submission: row.file for row, _ in rows}
    found: dict[str, list[SubmissionError]] = {}
    for name in names:
        shown = name if name.isprintable() else ascii(name)
        path = Path(os.path.abspath(name))  # noqa: PTH100 - resolve() would follow links
        inside = path.parent == Path(os.path.abspath(board.submissions))  # noqa: PTH100
        try:
            if proposal and (not inside or ".." in Path(name).parts):
                raise SubmissionError("outside", shown)
            if proposal and not os.path.lexists(path):
                raise SubmissionError("removed", shown)
            data = read_file(path, shown)
            sha = sha256(data).hexdigest()
            if inside and logged.get(path.name, sha) != sha:
                raise SubmissionError("changed", shown)
            if inside and path.name in scored:  # maybe on a test set that is closed
                found[shown] = []
                continue
        except SubmissionError as error:
            found[shown] = [error]
            continue
        submission, found[shown] = problems(data, shown, *fits)
        if submission:
            key = (submission.model, submission.revision, submission.profile)
            twin = sent.get(sha) or known.setdefault(key, path.name)
            if twin != path.name:
                found[shown].append(SubmissionError("already_submitted", f"{shown} and {twin}"))
    return found
