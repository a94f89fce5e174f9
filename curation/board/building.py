"""The pages of a board: computed from its log, and written beside it."""

import shutil
from hashlib import sha256
from pathlib import Path

from curation.board.folder import Board
from curation.board.ranking import standings
from curation.files import refuse_links, sweep_beside, writing
from curation.formats.table_words import FIRST, read_shipped
from curation.formats.toml_files import shipped_table

SUMS = "results/SHA256SUMS"  # of all other files of the pages


def pages(board: Board) -> dict[str, bytes]:
    """The files of a board's pages by their path in its folder: the same log gives the same bytes.

    Raises:
        CurationError: the log was changed, or the facts of a test set are damaged.
    """
    from curation.board.site import files

    facts = {version: board.test_set(version).facts for version in board.opened()}
    texts, reasons = read_shipped("report", FIRST), shipped_table("board", "reasons.toml")
    made = dict(files(standings(board.entries(), board.settings, facts), texts, reasons))
    sums = (f"{sha256(data).hexdigest()}  {path}\n" for path, data in sorted(made.items()))
    return {SUMS: "".join(sums).encode(), **made}


def build(board: Board) -> Path:
    """Write the pages of a board. What else is in the folder of Every Eval Ever is deleted.

    Returns:
        The first page.

    Raises:
        CurationError: the log was changed, or a file or folder of the pages is a link.
    """
    from curation.board.every_eval import FOLDER
    from curation.board.site import PAGE

    made = pages(board)
    for path in (*made, FOLDER):
        refuse_links(board.root / path, below=board.root)
    shutil.rmtree(board.root / FOLDER, ignore_errors=True)
    for path, data in made.items():
        sweep_beside(board.root / path)  # of a build that was killed
        with writing(board.root / path) as file:
            file.write(data)
    return board.root / PAGE
