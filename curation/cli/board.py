"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
"""

from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.options import command_group, options_of_work
from curation.cli.scoring import ModelOptions, model_spec, named_model
from curation.files import CurationError
from curation.text.wording import amount

app = command_group("A leaderboard that is a folder of files.")


_MODELS = ModelOptions()


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
    options: ModelOptions = _MODELS,
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
    from curation.steps.board.folder import open_board
    from curation.steps.board.submitting import submit_model, submit_predictions

    if not models and not predictions:
        raise CurationError("no model is given", "name a MODEL, or give --predictions")
    opened = open_board(board)
    folder = to or opened.submissions
    about = {"by": by, "link": link, "how": how, "profile": profile}
    work = options_of_work(options.engine, options.workers, options.device)
    for name in models or []:
        spec, own_head = model_spec(named_model(name), options), options.accept_own_head
        path = submit_model(
            opened, spec, about, folder, accept_own_head=own_head, reporter=console, **work
        )
        console.say(f"{path}: the board would accept it")
    about |= {"revision": options.revision, "format": options.dtype}
    for each in predictions or []:
        path = submit_predictions(opened, each, about, folder)
        console.say(f"{path}: the board would accept it")
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
