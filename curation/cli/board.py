"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from collections import Counter
from pathlib import Path
from typing import Any

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where, command_group, locked, options_of_work
from curation.cli.scoring import ModelOptions, model_spec, named_model
from curation.files import CurationError
from curation.records import Fields
from curation.steps.board.folder import open_board
from curation.text.wording import amount, some

_MODELS = ModelOptions()
_NAMED = 3  # files that a line names
_DIFFERS = """\
differs: these are not the scores of this model, rule and number format, so the row is not ranked.
The model may be submitted again."""
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
        told = [{**o._asdict(), "values": o.values and o.values.model_dump()} for o in outcomes]
        console.say_json({"board": board, "counts": counts, "submissions": told})
        return
    rows: list[list[Any]] = []
    for each in outcomes:
        says = each.outcome.replace("_", " ") + (f", place {each.place}" if each.place else "")
        cell = each.values and each.values.overall
        cells = [cell.lms, cell.ss, cell.icat] if cell else [None] * 3
        rows.append([each.file, each.model or None, says, *cells, each.why])
    heads = ["file", "model", "outcome", "lms", "ss", "icat", "why"]
    if rows:
        console.table("Submissions", heads, rows)
        console.heading("\nWhat to do")
    for fix in dict.fromkeys(each.fix for each in outcomes if each.fix):
        names = some([each.file for each in outcomes if each.fix == fix], _NAMED)
        console.say(f"  {names}: {fix}")
    console.say(", ".join(f"{n} {o.replace('_', ' ')}" for o, n in counts.items()) or "nothing new")


@app.command()
def recheck(
    model: str,
    board: Path = Path(),
    campaign: Where = Path(),
    how: ModelOptions = _MODELS,
    again: bool = False,
    as_json: Json = False,
) -> None:
    """Score a secret sample of a row's CATs with the model itself, and compare.

    Only rows of files need it, and only rows whose last recheck agrees are ranked. The sample is so
    large that a row with 5 % of its CATs altered is found with a probability of at least 95 %. It
    is drawn once for each row. If the command is interrupted, run it again.

    Options:
        model (MODEL): The model of the row. Use MODEL=FOLDER to name a local copy.
        again: Draw a new sample.
    """
    from curation.pages.board.sample import PRECISIONS
    from curation.steps.board.rechecking import recheck

    if (named := named_model(model)).chat:
        raise CurationError(f"{model}: a chat model has no scores of associations", "omit chat:")
    work: Fields = options_of_work(how.engine, how.workers, how.device)
    work |= {"accept_own_head": how.accept_own_head, "reporter": console, "again": again}
    done = recheck(open_board(board), open_campaign(campaign), model_spec(named, how), **work)
    if as_json:
        told = [{"file": d.row.file, "turned": d.turned, **d.found._asdict()} for d in done]
        console.say_json({"board": board, "rechecks": told})
        return
    for row, turned, found in done:
        console.say(
            f"{row.file}, {row.profile}: {amount(found.cats, 'CAT')} compared. Scores differ by "
            f"more than {PRECISIONS[row.format].relative:g} in {found.beyond}, by at most "
            f"{found.largest:.2g}. {found.orders} have another order, and {turned} may."
        )
        console.say("agrees: «curation board build» ranks it" if found.agrees else _DIFFERS)
