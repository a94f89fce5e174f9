"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from pathlib import Path

import typer

from curation.cli import console
from curation.cli.options import Json, command_group
from curation.pages.board.log import NONE
from curation.text.wording import amount

app = command_group("A leaderboard that is a folder of files.")


@app.command("verify")
def verify(board: Path, head: str = NONE, as_json: Json = False) -> None:
    """Check a board without its owner: the log, the files that it names, the pages, the scores.

    Scores are computed again if their test set is revealed. All findings are listed, each with
    what it means. The exit status is 1 if there is one, else 0.

    At the end you see the head of the log. Keep it, and give it with --head the next time: then you
    know that nothing that you saw was changed or removed.

    Options:
        board (DIR): The folder of the board.
        head (HASH): The head that you kept.
    """
    from curation.steps.board.folder import open_board
    from curation.steps.board.verifying import MEANS
    from curation.steps.board.verifying import verify as check

    done = check(open_board(board), kept=head)
    if as_json:
        findings = [finding._asdict() for finding in done.findings]
        console.say_json(done._asdict() | {"findings": findings})
    else:
        for code in dict.fromkeys(finding.code for finding in done.findings):
            rows = [(f.where, f.what) for f in done.findings if f.code == code]
            console.table(f"{code}: {MEANS[code]}", ["where", "what"], rows)
        if done.findings:
            console.say("")
        console.say(amount(len(done.findings), "finding"))
        checked = ", ".join(f"{count:,} {name}" for name, count in done.counts.items())
        console.say(f"checked: {checked}")
        for text in done.unknown:
            console.say(f"not checked: {text}")
        console.say(f"head of the log, to keep: {done.head}")
    if done.findings:
        raise typer.Exit(1)
