"""What a board says about itself: ``board.toml``, its test sets, and texts for its owner."""

from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, Field, StringConstraints, ValidationError

from curation.board.log import Figures, Hash
from curation.campaign.settings import Hide, Version
from curation.files import CurationError, read_text
from curation.formats.toml_files import line_of, read_toml, shipped_table
from curation.kinds import Kind
from curation.models.rules import PROFILES
from curation.records import Fields, Line, Record

SETTINGS = "board.toml"
TEMPLATES = Path(__file__).parent / "templates"
_TEXTS = shipped_table("board", "owner.toml")
_FIX = "see docs/board.md for the settings"
_PLAIN = {  # errors in other words than pydantic's
    "extra_forbidden": "no such setting",
    "missing": "is missing",
    "tuple_type": 'must be a list, such as ["Ann Example"]',
}


def _known(name: str) -> str:
    if name not in PROFILES:  # its rows could be by any rules
        raise ValueError(f"no profile {name!r}; there are {', '.join(PROFILES)}")
    return name


_Profile = Annotated[str, AfterValidator(_known)]


class BoardSettings(Record):
    """``board.toml``.

    Attributes:
        id: a random id; submissions and the owner's folder name it.
        name: the title of the pages.
        contact: where submitters ask.
        profiles: the profiles by which models may be scored; each has a ranking of its own.
        submitters: whose submissions are scored, as in their field ``by``. A submitter of a sealed
            test set is approved in the same way.
        rows: how many rows a test set with hidden labels gets, at most as many as its facts allow;
            None for as many.
        rotates: when the open test set is to be closed.
        expires: when the board ends.
    """

    id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    name: Annotated[Line, Field(min_length=1)]
    contact: Line = ""
    profiles: Annotated[tuple[_Profile, ...], Field(min_length=1)]
    submitters: tuple[Line, ...] = ()
    rows: Annotated[int | None, Field(ge=0)] = None
    rotates: date
    expires: date


class _Named(Record):
    model: str
    says: str = ""
    split: str


class Baseline(Figures, _Named):
    """A baseline on the CATs of a split, as the release shows it."""


class SetFacts(Record):
    """``sets/VERSION/set.json``: a test set of a board.

    Attributes:
        version: of the release.
        dataset: the name of the release's dataset.
        language: language code of its texts.
        hide: labels, or all for a sealed test set.
        cats: how many CATs it has.
        terms: on how many target terms.
        kinds: CATs of each kind.
        rows: how many rows may be shown before it must be closed; None if sealed.
        baselines: pinned to the top of the rankings.
        sums: sha256 of the other files in its folder, by name.
    """

    version: Version
    dataset: str
    language: str
    hide: Hide
    cats: int
    terms: int
    kinds: dict[Kind, int]
    rows: int | None
    baselines: tuple[Baseline, ...] = ()
    sums: dict[str, Hash]


def read_settings(path: Path) -> BoardSettings:
    """Read a ``board.toml``.

    Raises:
        CurationError: it is not TOML, or a setting is unknown or not valid; names the line.
    """
    return checked(read_toml(path, fix=_FIX), path)


def checked(content: Fields, path: Path | None = None) -> BoardSettings:
    """Settings; ``path`` is the file that they are from.

    Raises:
        CurationError: one is unknown or not valid; names it, and its line in the file.
    """
    lists = {key: tuple(value) for key, value in content.items() if isinstance(value, list)}
    try:
        return BoardSettings.model_validate(content | lists)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"]]
        where = f"{path}{line_of(read_text(path), keys, depth=0)}, " if path else ""
        message = _PLAIN.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise CurationError(f"{where}{'.'.join(keys)[:100]}: {message}", _FIX) from None


def says(name: str, **values: Any) -> str:
    """A text of ``data/board/owner.toml`` with these values."""
    return str(_TEXTS["says"][name]).format(**values)


def refused(code: str, **values: Any) -> CurationError:
    """An error of ``data/board/owner.toml`` with these values."""
    what, fix = (text.format(**values) for text in _TEXTS["refused"][code])
    return CurationError(what, fix)
