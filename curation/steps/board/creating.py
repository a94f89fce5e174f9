"""Open a board: its folder, and test sets from releases with a hidden one."""

import os
import secrets
import shutil
from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from curation.campaign import Campaign
from curation.files import CurationError, beside, dump_json, read_bytes, sweep_beside, writing
from curation.models.rules import PROFILES
from curation.pages.board.about import Baseline, BoardSettings, SetFacts
from curation.pages.board.log import Opened
from curation.pages.board.opening import files
from curation.records import KINDS
from curation.release import facts as release
from curation.release.contents import SEALED
from curation.release.data_files import flat_path
from curation.release.hidden import numbers
from curation.steps.board.folder import CATS, FACTS, Board, open_board
from curation.steps.release.hidden import nearly_the_same
from curation.steps.release.history import BuiltVersion, History
from curation.steps.release.revealing import proved_golds
from curation.steps.release.versions import ANONYMOUS
from curation.text.times import now
from curation.text.wording import amount, did_you_mean

_MORE = (
    "collect more CATs for test, or build a version with «curation release build --hide all»: a "
    "sealed test set has no limit of rows"
)


class NewSet(NamedTuple):
    """A test set that is to be opened: its facts, and the files of its folder by name."""

    facts: SetFacts
    files: dict[str, bytes]

    def write(self, folder: Path) -> None:
        """Write the files."""
        for name, data in self.files.items():
            with writing(folder / name) as file:
                file.write(data)

    @property
    def opened(self) -> Opened:
        """What the log says of it."""
        digest = sha256(self.files[FACTS]).hexdigest()
        return Opened(date=now()[:10], version=self.facts.version, facts=digest)


def new_set(campaign: Campaign, version: str, *, after: str = "") -> NewSet:
    """A test set for a board, from the built folder of a version.

    Args:
        campaign: the campaign.
        version: the version.
        after: a version that is revealed before the test set is opened.

    Raises:
        CurationError: the version is not built, has no hidden test set, is revealed, damaged, or
            shares CATs with public ones; its gold labels are lost; or it can have no rows.
    """
    history, place = History(campaign), BuiltVersion(campaign.releases / version)
    facts = _hidden_facts(history, place)
    golds = proved_golds(campaign, version)
    public = history.public | (numbers.names(history.golds(after)) if after else frozenset())
    if known := sum(bool(numbers.names([gold]) & public) for gold in golds):
        raise CurationError(
            f"the gold labels of {amount(known, 'CAT')} of version {version} are public in another "
            "version, or will be",
            "open a version whose hidden CATs are in no other version that is public or revealed",
        )
    if place.is_sealed:
        rows, name = None, SEALED
        data = read_bytes(place.folder / SEALED)
    else:
        rows, name = _rows(history, version, numbers.dev_cats(facts), after=after), CATS
        paths = (place.folder / flat_path(kind, "test") for kind in KINDS)
        data = b"".join(read_bytes(path) for path in paths if path.exists())
    kinds = Counter(gold.kind for gold in golds)
    about = SetFacts(
        version=version,
        dataset=facts.name,
        language=facts.language,
        hide="all" if place.is_sealed else "labels",
        cats=len(golds),
        terms=len({(gold.bias_type, gold.target) for gold in golds}),
        kinds={kind: kinds[kind] for kind in KINDS if kinds[kind]},
        rows=rows,
        baselines=tuple(_pinned(base) for base in facts.baselines if base.rows),
        sums={name: sha256(data).hexdigest()},
    )
    return NewSet(about, {name: data, FACTS: dump_json(about.model_dump())})


def _hidden_facts(history: History, place: BuiltVersion) -> release.Facts:
    """What a version says of itself, which must be built and hide its test set."""
    version, built = place.folder.name, [each.folder.name for each in history.built]
    if version not in built or version.endswith(ANONYMOUS):
        only = f"{version}{ANONYMOUS}" in built or version in built
        raise CurationError(
            f"version {version} is built for anonymous review only"
            if only
            else f"{place.folder}: no such folder, so version {version} is not built",
            "build it with «curation release build --hide labels» (or all)",
        )
    facts = place.facts
    if facts is None or facts.hidden is None:
        raise CurationError(
            f"version {version} has no hidden test set, so everybody knows the answers",
            "raise version in [release], and build with «curation release build --hide labels» (or "
            "all)",
        )
    if history.revealed(version):
        raise CurationError(
            f"the gold labels of version {version} are revealed",
            "open a version that is not revealed, with other CATs in test",
        )
    return facts


def _rows(history: History, version: str, dev: int, *, after: str) -> int:
    """How many rows a test set with hidden labels gets."""
    golds = {name: of for name, of in history.hidden.items() if name != after}
    for other, count in nearly_the_same(history, version, golds[version]):
        if other != after:
            raise CurationError(
                f"the hidden CATs of version {version} differ from those of version {other} in "
                f"{amount(count, 'CAT')}: rows about both would tell the labels of these few",
                f"reveal version {other} with «curation release reveal {other}» if they share no "
                "CATs, or delete it if nobody has it",
            )
    given = [value for value in history.given(golds) if value.version != after]
    if rows := numbers.rows(version, golds, given, dev=dev):
        return rows
    used = amount(len(given), "value")
    raise CurationError(
        f"version {version} has {amount(len(golds[version]), 'hidden CAT')} and "
        f"{amount(dev, 'dev CAT')}, and {used} about hidden labels were given out: a row about so "
        "few CATs would give their labels away",
        _MORE,
    )


def _pinned(base: release.Baseline) -> Baseline:
    """A baseline on all test CATs if its ss there is public, else on all dev CATs."""
    whole = {row.split: row for row in sorted(base.rows, key=lambda row: row.cats)}
    row = whole.get("test")
    if row is None or row.ss is None:
        row = whole.get("dev", row)
    shown = row.model_dump(include=set(Baseline.model_fields)) if row else {}
    return Baseline(**{**shown, "model": base.model, "says": base.says})


class Created(NamedTuple):
    """A new board, and its first test set."""

    board: Board
    facts: SetFacts


def create(
    campaign: Campaign,
    root: Path,
    version: str,
    *,
    name: str = "",
    contact: str = "",
    profiles: Sequence[str] = (),
    rotates: date | None = None,
    expires: date | None = None,
    rows: int | None = None,
) -> Created:
    """Make the folder of a board, whole or not at all, and its owner's folder in the campaign.

    Args:
        campaign: the campaign; its lock is held.
        root: the folder to make.
        version: the release whose hidden test set is opened.
        name: the title; by default the name of the dataset.
        contact: where submitters ask; by default the contact of the release.
        profiles: the profiles that are allowed; by default ``default``.
        rotates: when the test set is to be closed; by default in half a year.
        expires: when the board ends; by default in two years.
        rows: how many rows each test set gets; by default as many as its CATs allow.

    Raises:
        CurationError: the folder exists or is in the campaign; an option is wrong; or the version
            cannot be opened, see ``new_set``.
    """
    root = root.absolute()
    _check_place(root, campaign)
    opened = new_set(campaign, version)
    _check_rows(rows, opened.facts)
    today = date.fromisoformat(now()[:10])
    facts = BuiltVersion(campaign.releases / version).facts
    settings = _settings(
        today,
        name=name or opened.facts.dataset,
        contact=contact or (facts.statement.contact if facts else ""),
        profiles=tuple(dict.fromkeys(profiles)) or ("default",),
        rotates=rotates or today + timedelta(days=183),
        expires=expires or today + timedelta(days=731),
        rows=rows,
    )
    sweep_beside(root)
    staged = beside(root)
    try:
        for path, data in files(settings, opened.facts):
            with writing(staged / path) as file:
                file.write(data)
        opened.write(staged / "sets" / version)
        made = Board(staged, settings)
        made.submissions.mkdir()
        made.append([opened.opened])
        (campaign.boards / settings.id).mkdir(parents=True, mode=0o700)
        staged.rename(root)
    finally:
        shutil.rmtree(staged, ignore_errors=True)
    return Created(open_board(root), opened.facts)


def _check_place(root: Path, campaign: Campaign) -> None:
    if os.path.lexists(root):
        raise CurationError(f"{root}: exists already", "name a new folder")
    if root.resolve().is_relative_to(campaign.root.resolve()):
        raise CurationError(
            f"{root}: is in the campaign, so the gold labels would be published with the board",
            "name a folder outside of the campaign",
        )


def _check_rows(rows: int | None, facts: SetFacts) -> None:
    if rows is not None and (facts.rows is None or rows > facts.rows):
        allowed = "any number of rows" if facts.rows is None else amount(facts.rows, "row")
        raise CurationError(
            f"--rows: version {facts.version} allows {allowed}", "leave out --rows for as many"
        )


def _settings(today: date, **given: object) -> BoardSettings:
    try:
        settings = BoardSettings(id=secrets.token_hex(8), **given)  # type: ignore[arg-type]
    except ValidationError as error:
        first = error.errors()[0]
        fix = "see docs/board.md for the settings"
        raise CurationError(f"--{first['loc'][0]}: {first['msg']}", fix) from None
    for profile in settings.profiles:
        if profile not in PROFILES:
            fix = did_you_mean(profile, PROFILES, f"profiles are: {', '.join(PROFILES)}")
            raise CurationError(f"--profile: no profile {profile!r}", fix)
    if not today < settings.rotates <= settings.expires:
        raise CurationError(
            f"the test set would be closed on {settings.rotates}, and the board end on "
            f"{settings.expires}",
            "give a --rotates after today, and --expires on the same day or later",
        )
    return settings
