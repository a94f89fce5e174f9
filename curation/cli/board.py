"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from curation.cli.options import command_group

app = command_group("A leaderboard that is a folder of files.")
