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
from curation.cli.scoring import ModelOptions, named_model
from curation.files import CurationError
from curation.models.loading import loading_options
from curation.models.scoring import ModelSpec
from curation.records import Fields
from curation.steps.board.folder import open_board
from curation.text.wording import amount, some

_MODELS = ModelOptions()
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

    named = named_model(model)
    if named.chat:
        raise CurationError(
            f"{model}: a chat model has no scores of associations", "leave chat: out"
        )
    own: Fields = {n: getattr(how, n) for n in ("batch_tokens", "family", "plain", "nsp", "bos")}
    own |= loading_options(how, revision=how.revision or None)
    spec = ModelSpec(named.name, label=named.label, url=how.endpoint, **own)
    work = options_of_work(how.engine, how.workers, how.device)
    opened = open_campaign(campaign)
    done = recheck(open_board(board), opened, spec, again=again, **work, reporter=console)
    if as_json:
        told = [{"file": d.row.file, "turned": d.turned, **d.found._asdict()} for d in done]
        console.say_json({"board": board, "model": done[0].row.model, "rechecks": told})
        return
    heads = ["file", "profile", "CATs", "beyond", "largest", "tolerance", "other order", "allowed"]
    rows: list[list[Any]] = []
    for row, turned, found in done:
        scores = [found.beyond, f"{found.largest:.2g}", f"{PRECISIONS[row.format].relative:g}"]
        rows.append([row.file, row.profile, found.cats, *scores, found.orders, turned])
    console.table(f"Recheck of {done[0].row.model}", heads, rows)
    for row, turned, found in done:
        if found.agrees:
            console.say(f"{row.file} agrees: «curation board build» ranks it.")
            continue
        beyond = f"{amount(found.beyond, 'CAT has', 'CATs have')} scores beyond the tolerance"
        orders = f"{amount(found.orders, 'CAT has', 'CATs have')} another order of associations"
        what = [beyond] * bool(found.beyond) + [orders] * (found.orders > turned)
        console.say(
            f"{row.file} differs: {' and '.join(what)}. These are not the scores of this model, "
            "rule and number format, so the row is not ranked. The model may be submitted again."
        )
