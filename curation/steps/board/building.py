"""The pages of a board: computed from its log, and written beside it."""

import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from curation.files import digest, refuse_links, sweep_beside, writing
from curation.formats.table_words import FIRST, read_shipped
from curation.formats.toml_files import shipped_table
from curation.pages.board.log import Opened
from curation.pages.board.ranking import standings
from curation.steps.board.folder import Board

SUMS = "results/SHA256SUMS"  # of all other files of the pages
# A file in the only folder whose files change their names; its names have no «..».
_LISTED = re.compile(
    rb"^([0-9a-f]{64})  (results/every_eval_ever(?:/[a-zA-Z0-9][a-zA-Z0-9._-]{0,150})+)$", re.M
)


def pages(board: Board) -> dict[str, bytes]:
    """The files of a board's pages by their path in its folder: the same log gives the same bytes.

    Raises:
        CurationError: the log was changed, or the facts of a test set are damaged.
    """
    from curation.pages.board.site import files

    entries = board.entries()
    opened = [entry.version for entry in entries if isinstance(entry, Opened)]
    facts = {version: board.test_set(version).facts for version in opened}
    texts, reasons = read_shipped("report", FIRST), shipped_table("board", "reasons.toml")
    made = dict(files(standings(entries, board.settings, facts), texts, reasons))
    sums = (f"{sha256(data).hexdigest()}  {path}\n" for path, data in sorted(made.items()))
    return {SUMS: "".join(sums).encode(), **made}


def build(board: Board) -> Path:
    """Write the pages of a board, and delete those that it wrote before and has no more.

    Returns:
        The first page.

    Raises:
        CurationError: the log was changed, or a file or folder of the pages is a link.
    """
    from curation.pages.board.site import PAGE

    made = pages(board)
    for path in made:
        refuse_links(board.root / path, below=board.root)
    for gone in [path for path in _written(board) if path not in made]:
        (board.root / gone).unlink()
    for path, data in made.items():  # the list first: a build that is killed leaves no unknown file
        sweep_beside(board.root / path)  # of a build that was killed
        with writing(board.root / path) as file:
            file.write(data)
    return board.root / PAGE


def _written(board: Board) -> Iterator[str]:
    """The files for other tools that the last build wrote and that nobody changed since.

    People may propose a list that names any file, so nothing outside of their folder is believed.
    """
    sums = board.root / SUMS
    refuse_links(sums, below=board.root)
    for sha, path in _LISTED.findall(sums.read_bytes() if sums.exists() else b""):
        file = board.root / path.decode()
        refuse_links(file, below=board.root)
        if digest(file) == sha.decode():
            yield path.decode()
