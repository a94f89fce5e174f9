"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
    rotates (YYYY-MM-DD): When you want to close the open test set.
"""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from curation.board.about import says
from curation.board.folder import board_of, open_board
from curation.board.log import NONE
from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.records import Fields
from curation.terminal import console
from curation.terminal.model_options import NO_OPTIONS, ModelOptions, model_spec, named_model
from curation.terminal.options import (
    Json,
    MaybeCount,
    Where,
    command_group,
    locked,
    options_of_work,
)
from curation.text.wording import amount, some

Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])]

_NAMED = 3  # files that a line names


app = command_group()


@dataclass(frozen=True)
class Settings:
    """Settings of a new board.

    Attributes:
        name (TITLE): The title of the board; default: the name of the dataset.
        contact: Where submitters ask; default: the contact of the release.
        profile (NAME): A profile by which models may be scored; repeatable; default: default.
        rotates (YYYY-MM-DD): When you want to close the test set; default: in half a year.
        expires (YYYY-MM-DD): When the board ends; default: in two years.
        rows (N): How many rows a test set with hidden labels gets; default: as many as it allows.
        wheel (URL#sha256=HASH): The wheel of curation that the check of submissions installs.
    """

    name: str = ""
    contact: str = ""
    profile: list[str] | None = None
    rotates: Day = None
    expires: Day = None
    rows: MaybeCount = None
    wheel: str = ""


@app.command()
def create(
    dir: Path, settings: Settings, campaign: Where = Path(), as_json: Json = False, *, release: str
) -> None:
    """Make the folder of a board from a release with a hidden test set.

    The folder has settings (board.toml), the public part of the test set, a README for submitters,
    and a check of submissions for GitHub. Gold labels and what you keep yourself stay in the
    campaign, in 7-release/ and boards/.

    Options:
        dir (DIR): The folder to make, outside of the campaign.
        release (VERSION): The built version whose test set is opened.
    """
    from curation.board.creating import create

    given = {name: value for name, value in vars(settings).items() if value}
    given |= {"profiles": given.pop("profile")} if settings.profile else {}
    given |= {name: day.date() for name, day in given.items() if isinstance(day, datetime)}
    with locked(campaign) as opened:
        board = create(opened, dir, release, **given)
    about, facts = board.settings, board.open_set.facts
    if not settings.wheel:
        console.note(says("no_wheel"))
    if as_json:
        shown = {"settings": about.model_dump(mode="json"), "set": facts.model_dump(mode="json")}
        console.say_json({"board": board.root, **shown})
        return
    size = says(facts.hide, facts=facts)
    console.say(says("created", settings=about, root=board.root, set=size, choice=says("choice")))


@app.command()
def submit(
    models: Annotated[list[str] | None, typer.Argument()] = None,
    board: Path = Path(),
    predictions: list[str] | None = None,
    profile: str = "",
    to: Path | None = None,
    *,
    by: str,
    link: str = "",
    how: str = "",
    options: ModelOptions = NO_OPTIONS,
) -> None:
    """Make a submission: score models on the open test set, and write a file for each.

    If the labels of the test set are hidden, a model is scored as by «curation scores models», and
    a run that is in scores/ here is used or continued. If the test set is sealed, the file
    only names the model and its revision, and the owner of the board runs it.

    Options:
        models (MODEL...): Names on the Hugging Face hub, or folders. Use LABEL=MODEL to set the
            name in the ranking, and chat:MODEL for a chat model (sealed test sets only).
        predictions (NAME@RULES=FILE): Take the scores of model NAME from a predictions file; RULES
            are those of both kinds, such as ll-bos_conditional. Repeatable.
        profile: A profile that the board allows; default: the first one in board.toml.
        to (DIR): The folder to write to; default: submissions/ of the board.
        by: Your name, as the owner of the board approves it.
        link (URL): Where to read more about the model; an address that begins with https://.
        how: How the scores were made, in a line; default: versions of packages, and the device.
    """
    from curation.board.submitting import submit_model, submit_predictions

    if not models and not predictions:
        raise CurationError("no model is given", "name a MODEL, or give --predictions")
    opened = open_board(board)
    folder = to or opened.submissions
    about = {"by": by, "link": link, "how": how, "profile": profile}
    work: Fields = options_of_work(options.engine, options.workers, options.device)
    work |= {"accept_own_head": options.accept_own_head, "reporter": console}
    for name in models or []:
        spec = model_spec(named_model(name), options)
        path = submit_model(opened, spec, about, folder, **work)
        console.say(f"{path}: the board would accept it")
    about |= {"revision": options.revision, "format": options.dtype}
    for each in predictions or []:
        path = submit_predictions(opened, each, about, folder)
        console.say(f"{path}: the board would accept it")
    if by not in opened.settings.submitters:
        console.note(f"«{by}» is not approved yet: ask the owner, {opened.settings.contact or '…'}")
    console.say("Next: propose it, and nothing else, to the board, for example as a pull request.")


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
    from curation.board.submitting import check_files

    found = check_files(board_of(board, files[0]), list(map(str, files)), proposal=proposal)
    for name, errors in found.items():
        if not errors:
            console.say(f"{name}: accepted")
        for error in errors:
            console.fail(f"{error.what} ({error.code})", error.fix)
    if refused := sum(map(bool, found.values())):
        raise CurationError(f"{refused} of {amount(len(found), 'file')} would be refused")


@app.command()
def score(board: Path = Path(), campaign: Where = Path(), as_json: Json = False) -> None:
    """Score what is new and approved; each submission ends with a score, a place or a reason.

    Run it on the machine that has the campaign. It appends to results/log.jsonl, and may be killed
    and run again at any time. For a sealed test set, it prints the command that scores each model
    that waits: run this command, then «curation board score» again.
    """
    from curation.board.scoring import score
    from curation.stats.metrics import METRICS

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
        cells = [getattr(cell, name, None) for name in METRICS]
        rows.append([each.file, each.model or None, says, *cells, each.why])
    heads = ["file", "model", "outcome", *METRICS, "why"]
    if rows:
        console.table("Submissions", heads, rows)
    if fixes := dict.fromkeys(each.fix for each in outcomes if each.fix):
        console.heading("\nWhat to do")
    for fix in fixes:
        names = some([each.file for each in outcomes if each.fix == fix], _NAMED)
        console.say(f"  {names}: {fix}")
    console.say(", ".join(f"{n} {o.replace('_', ' ')}" for o, n in counts.items()) or "nothing new")
    if counts["scored"]:
        console.say("next: «curation board recheck MODEL» for files; «curation board build»")


@app.command()
def recheck(
    model: str,
    board: Path = Path(),
    campaign: Where = Path(),
    how: ModelOptions = NO_OPTIONS,
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
    from curation.board.rechecking import PRECISIONS, recheck

    if (named := named_model(model)).chat:
        raise CurationError(f"{model}: a chat model has no scores of associations", "omit chat:")
    work: Fields = options_of_work(how.engine, how.workers, how.device)
    work |= {"accept_own_head": how.accept_own_head, "reporter": console, "again": again}
    done = recheck(open_board(board), open_campaign(campaign), model_spec(named, how), **work)
    if as_json:
        told = [{"file": d.row.file, "turned": d.turned, **d.found.model_dump()} for d in done]
        console.say_json({"board": board, "rechecks": told})
        return
    for row, turned, found in done:
        shown = {"row": row, "cats": amount(found.cats, "CAT"), "found": found, "turned": turned}
        console.say(says("rechecked", **shown, limit=PRECISIONS[row.format].relative))
        console.say(says("agrees" if found.agrees else "differs"))


@app.command()
def build(board: Path = Path()) -> None:
    """Write the pages of a board: its rankings as a page, as CSV and as JSON.

    They are computed from results/log.jsonl, so the same log gives the same pages. The page is
    index.html, which any static host can show.
    """
    from curation.board.building import build as build_pages

    console.say(str(build_pages(open_board(board))))


@app.command()
def rotate(
    board: Path = Path(),
    campaign: Where = Path(),
    release: str = "",
    rotates: Day = None,
    yes: bool = False,
    as_json: Json = False,
) -> None:
    """Close the open test set and reveal its gold labels; open the next one.

    The revealed folder is copied to sets/VERSION/revealed/, with the scores of all rows if the test
    set was sealed, so that everybody can check the rows. If the command is stopped, run it again.

    Options:
        release (VERSION): The built version whose test set is opened next; without it, none is.
        yes: Do not ask.
    """
    from curation.board import creating

    def agree(version: str) -> None:
        console.confirm(says("confirm", closed=version), yes=yes)

    with locked(campaign) as opened:
        day = rotates and rotates.date()
        place = open_board(board)
        closed = creating.rotate(place, opened, release=release, rotates=day, agree=agree)
    place = open_board(board)
    version, settings = place.open_version, place.settings
    if as_json:
        console.say_json({"closed": closed, "open": version, "rotates": str(settings.rotates)})
        return
    shown = {"closed": closed, "open" if version else "none": True, "opened": release, "next": True}
    for name in (name for name, is_shown in shown.items() if is_shown):
        console.say(says(name, closed=closed, version=version, settings=settings))


@app.command()
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
    from curation.board import verifying

    done = verifying.verify(open_board(board), kept=head)
    if as_json:
        console.say_json(done)
    else:
        for code in dict.fromkeys(finding.code for finding in done.findings):
            rows = [(f.where, f.what) for f in done.findings if f.code == code]
            console.table(f"{code}: {verifying.MEANS[code]}", ["where", "what"], rows)
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
