"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from collections import Counter
from pathlib import Path

from curation.cli import console
from curation.cli.options import Json, Where, command_group, locked
from curation.steps.board.folder import open_board
from curation.text.wording import some

_NAMED = 3  # files that a line names
app = command_group("A leaderboard that is a folder of files.")


@app.command()
def score(board: Path = Path(), campaign: Where = Path(), as_json: Json = False) -> None:
    """Score what is new and approved; each submission ends with a score, a place or a reason.

    Run it on the machine that has the campaign. It appends to results/log.jsonl, and may be killed
    and run again at any time. For a sealed test set, it prints the command that scores each model
    that waits: run this command, then «curation board score» again.
    """
    from curation.steps.board.scoring import score

    with locked(campaign) as opened:
        outcomes = score(open_board(board), opened, reporter=console)
    counts = Counter(each.outcome for each in outcomes)
    if as_json:
        rows = [{**o._asdict(), "values": o.values and o.values.model_dump()} for o in outcomes]
        console.say_json({"board": board, "counts": counts, "submissions": rows})
        return
    heads = ["file", "model", "outcome", "lms", "ss", "icat", "why"]
    shown = []
    for each in outcomes:
        place = f", place {each.place}" if each.place else ""
        cell = each.values and each.values.overall
        cells = [cell.lms, cell.ss, cell.icat] if cell else [None] * 3
        says = each.outcome.replace("_", " ")
        shown.append([each.file, each.model or None, says + place, *cells, each.why])
    if outcomes:
        console.table("Submissions", heads, shown)
    fixes = dict.fromkeys(each.fix for each in outcomes if each.fix)
    if fixes:
        console.heading("\nWhat to do")
    for fix in fixes:
        files = [each.file for each in outcomes if each.fix == fix]
        console.say(f"  {some(files, _NAMED)}: {fix}")
    console.say(", ".join(f"{n} {o.replace('_', ' ')}" for o, n in counts.items()) or "nothing new")
