"""``curation board``: a leaderboard that is a folder.

Options:
    board (DIR): The folder of the board.
    rotates (YYYY-MM-DD): When you want to close the open test set.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from curation.cli import console
from curation.cli.correcting import confirm
from curation.cli.options import Json, MaybeCount, Where, command_group, locked

Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])]
app = command_group("A leaderboard that is a folder of files.")


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
    """

    name: str = ""
    contact: str = ""
    profile: list[str] | None = None
    rotates: Day = None
    expires: Day = None
    rows: MaybeCount = None


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
    from curation.pages.board.opening import says
    from curation.steps.board.creating import create

    given = {name: value for name, value in vars(settings).items() if value}
    given |= {"profiles": tuple(given.pop("profile"))} if settings.profile else {}
    given |= {name: day.date() for name, day in given.items() if isinstance(day, datetime)}
    with locked(campaign) as opened:
        board = create(opened, dir, release, **given)
    about, facts = board.settings, board.open_set.facts
    if as_json:
        shown = {"settings": about.model_dump(mode="json"), "set": facts.model_dump(mode="json")}
        console.say_json({"board": board.root, **shown})
        return
    size = says(facts.hide, facts=facts)
    console.say(says("created", settings=about, root=board.root, set=size, choice=says("choice")))


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
    from curation.pages.board.opening import says
    from curation.steps.board import creating
    from curation.steps.board.folder import open_board

    def agree(version: str) -> None:
        confirm(says("confirm", closed=version), yes=yes)

    with locked(campaign) as opened:
        day = rotates and rotates.date()
        place = open_board(board)
        closed = creating.rotate(place, opened, release=release, rotates=day, agree=agree)
    place = open_board(board)
    version, settings = place.open_version, place.settings
    if as_json:
        console.say_json({"closed": closed, "open": version, "rotates": str(settings.rotates)})
        return
    parts = [("closed", bool(closed)), ("none", not version), ("open", bool(version))]
    parts += [("opened", bool(release)), ("next", True)]
    for name in (name for name, is_shown in parts if is_shown):
        console.say(says(name, closed=closed, version=version, settings=settings))
