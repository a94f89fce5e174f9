"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from pathlib import Path

from curation.cli import console
from curation.cli.options import command_group
from curation.steps.board import building
from curation.steps.board.folder import open_board

app = command_group("A leaderboard that is a folder of files.")


@app.command()
def build(board: Path = Path()) -> None:
    """Write the pages of a board: its rankings as a page, as CSV and as JSON.

    They are computed from results/log.jsonl, so the same log gives the same pages. The page is
    index.html, which any static host can show.
    """
    console.say(str(building.build(open_board(board))))
