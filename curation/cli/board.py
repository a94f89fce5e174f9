"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from pathlib import Path

from curation.cli import console
from curation.cli.options import command_group
from curation.files import CurationError
from curation.text.wording import amount

app = command_group("A leaderboard that is a folder of files.")


@app.command()
def check(files: list[Path], board: Path | None = None, proposal: bool = False) -> None:
    """Check files of submissions: whether the board would accept them; if not, why.

    For each file, the first problem of each sort is shown, with the line and what to do. The exit
    status is 1 if a file is refused. Nothing in a file is run, opened or fetched.

    Options:
        files (FILE...): Submissions.
        board (DIR): The folder of the board; default: that of the first file, if it is in a
            board's submissions/, or else the current folder.
        proposal: The files are all paths that a proposal changes. Also refuse every path that is
            not a new file in submissions/, for checks of a forge.
    """
    from curation.steps.board.checking import check_files
    from curation.steps.board.folder import board_of

    found = check_files(board_of(board, files[0]), list(map(str, files)), proposal=proposal)
    for name, errors in found.items():
        if not errors:
            console.say(f"{name}: accepted")
        for error in errors:
            console.fail(f"{error.what} ({error.code})", error.fix)
    if refused := sum(map(bool, found.values())):
        raise CurationError(f"{refused} of {amount(len(found), 'file')} would be refused")
