"""The pages of a board: computed from its log, and written beside it."""

from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path, PurePosixPath

from curation.files import digest, read_text, refuse_links, writing
from curation.formats.table_words import FIRST, read_shipped
from curation.formats.toml_files import shipped_table
from curation.pages.board.log import Opened
from curation.pages.board.ranking import standings
from curation.steps.board.folder import Board

SUMS = "results/SHA256SUMS"  # of all other files of the pages
FOLDER = ("results", "every_eval_ever")  # the only one whose files change their names


def pages(board: Board) -> dict[str, bytes]:
    """The files of a board's pages by their path in its folder: the same log gives the same bytes.

    Raises:
        CurationError: the log was changed, or the facts of a test set are damaged.
    """
    from curation.pages.board.site import files

    entries = board.entries()
    opened = [entry.version for entry in entries if isinstance(entry, Opened)]
    facts = {version: board.test_set(version).facts for version in opened}
    content, reasons = (
        standings(entries, board.settings, facts),
        shipped_table("board", "reasons.toml"),
    )
    made = dict(files(content, read_shipped("report", FIRST), reasons))
    sums = (f"{sha256(data).hexdigest()}  {path}\n" for path, data in sorted(made.items()))
    return made | {SUMS: "".join(sums).encode()}


def build(board: Board) -> Path:
    """Write the pages of a board, and delete those that it wrote before and has no more.

    Returns:
        The first page.

    Raises:
        CurationError: the log was changed, or a file or folder of the pages is a link.
    """
    made = pages(board)
    for path in made:
        refuse_links(board.root / path, below=board.root)
    gone = [path for path in _written(board) if path not in made]
    for path, data in made.items():
        if path == SUMS:  # last: if the build is killed, the next one still knows what to delete
            for old in gone:
                (board.root / old).unlink()
        with writing(board.root / path) as file:
            file.write(data)
    return board.root / next(iter(made))


def _written(board: Board) -> Iterator[str]:
    """The files for other tools that the last build wrote and that nobody changed since.

    People may propose a list that names any file, so nothing outside of their folder is believed.
    """
    sums = board.root / SUMS
    refuse_links(sums, below=board.root)
    for line in read_text(sums).splitlines() if sums.exists() else []:
        sha, _, path = line.partition("  ")
        parts, file = PurePosixPath(path).parts, board.root / path
        if parts[:2] == FOLDER and ".." not in parts and file.is_file():
            refuse_links(file, below=board.root)
            if digest(file) == sha:
                yield path
