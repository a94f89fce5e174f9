"""The folder of a board, and what its owner keeps outside of it.

The board::

    board.toml                 settings
    README.md                  what a submitter does
    sets/VERSION/              a test set: set.json; cats.jsonl or sealed.jsonl
    submissions/NAME.json
    results/log.jsonl          what happened (curation.board.log)
    index.html, results/*      the pages, from «curation board build»

The owner's folder, ``boards/ID/`` in the campaign, is private.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from curation.board.about import SETTINGS, BoardSettings, SetFacts, read_settings
from curation.board.log import Closed, Entry, Opened, chained, head, read_log
from curation.campaign.store import Campaign
from curation.campaign.versions import gold_file
from curation.files import CurationError, digest, read_bytes, writing

CATS, SEALED, FACTS = "cats.jsonl", "sealed.jsonl", "set.json"
HEAD = "head.txt"  # in the owner's folder: the heads that the log may have


@dataclass(frozen=True)
class TestSet:
    """A test set of a board: its folder and its facts."""

    folder: Path
    facts: SetFacts

    @property
    def cats(self) -> Path:
        """The file of its CATs: public ones without gold labels, or commitments alone."""
        return self.folder / (SEALED if self.facts.hide == "all" else CATS)


@dataclass
class Board:
    """The folder of a board, and its settings as they were when it was opened.

    ``owner`` is the owner's folder, once ``keep_head`` has looked at the log.
    """

    root: Path
    settings: BoardSettings
    owner: Path | None = None

    @property
    def log(self) -> Path:
        """The log."""
        return self.root / "results" / "log.jsonl"

    @property
    def submissions(self) -> Path:
        """The folder of submissions."""
        return self.root / "submissions"

    def entries(self) -> list[Entry]:
        """The entries of the log, as they are now.

        Raises:
            CurationError: the log was changed.
        """
        return read_log(self.log)[0]

    def append(self, entries: Sequence[Entry]) -> None:
        """Add entries to the log, all or none. The owner holds the lock of the campaign.

        The owner's folder first notes the heads before and after, for ``keep_head``.

        Raises:
            CurationError: the log was changed.
        """
        before = read_log(self.log)[1]
        lines = chained(before, entries)
        if self.owner:
            _note(self.owner, head(before), head(lines))
        with writing(self.log) as file:
            file.write(b"".join(lines))

    def test_set(self, version: str) -> TestSet:
        """A test set of the board.

        Raises:
            CurationError: there is none of this version, or its facts are damaged.
        """
        folder = self.root / "sets" / version
        path = folder / FACTS
        try:
            return TestSet(folder, SetFacts.model_validate_json(read_bytes(path)))
        except ValueError:
            fix = "restore it from version control"
            raise CurationError(f"{path}: is not a file that curation wrote", fix) from None

    def opened(self) -> dict[str, str]:
        """The versions of all test sets, in order, each with the sha256 of its facts."""
        return {e.version: e.facts for e in self.entries() if isinstance(e, Opened)}

    @cached_property
    def open_version(self) -> str:
        """The version of the test set that is open; "" if all are closed."""
        closed = {entry.version for entry in self.entries() if isinstance(entry, Closed)}
        return next((version for version in self.opened() if version not in closed), "")

    @property
    def open_set(self) -> TestSet:
        """The test set that is open.

        Raises:
            CurationError: all are closed, or its facts are not those with which it was opened.
        """
        if not self.open_version:
            raise CurationError(
                f"{self.root}: no test set is open", "open one with «curation board rotate»"
            )
        path = self.root / "sets" / self.open_version / FACTS
        if digest(path) != self.opened()[self.open_version]:
            raise CurationError(f"{path}: was changed", "restore it from version control")
        return self.test_set(self.open_version)


def open_board(root: Path) -> Board:
    """Open the folder of a board.

    Raises:
        CurationError: the folder has no board, or a setting is wrong.
    """
    if not (root / SETTINGS).is_file():
        raise CurationError(
            f"{root.resolve()}: no {SETTINGS} here",
            "name the folder of a board with --board DIR, or make one with «curation board create»",
        )
    return Board(root, read_settings(root / SETTINGS))


def board_of(root: Path | None, file: Path) -> Board:
    """The board in a folder; without one, that of a submission, or else of the current folder.

    Raises:
        CurationError: there is no board there.
    """
    if root is None:
        above = file.parent.parent
        is_there = file.parent.name == "submissions" and (above / SETTINGS).is_file()
        root = above if is_there else Path()
    return open_board(root)


def owner_folder(board: Board, campaign: Campaign) -> Path:
    """What the owner keeps of a board: private, outside of its folder.

    Raises:
        CurationError: the board was not made from this campaign, or the gold labels of its open
            test set are lost.
    """
    folder = campaign.folder("boards") / board.settings.id
    if not folder.is_dir():
        raise CurationError(
            f"{folder}: no such folder, so the board in {board.root} is not of this campaign",
            "name its campaign with --campaign DIR; if the folder is lost, restore your backup",
        )
    gold = gold_file(campaign, board.open_version)
    if board.open_version and not gold.is_file():
        raise CurationError(
            f"{gold}: no such file, so nothing can be scored or revealed", "restore your backup"
        )
    return folder


def keep_head(board: Board, owner: Path) -> None:
    """Note the head of the log in the owner's folder, and check that it was written from here.

    Without this, an older copy of the board would go on in another way, and a line that somebody
    else has added would count.

    Raises:
        CurationError: the log lacks lines that were written, or has others.
    """
    path, lines = owner / HEAD, read_log(board.log)[1]
    known = read_bytes(path).decode().split() if path.exists() else []
    if known and head(lines) not in known:
        if not {head([line]) for line in lines}.isdisjoint(known):
            raise CurationError(
                f"{board.log}: has lines that you have not written: somebody has added them",
                "restore it from version control as it was when you ran the last command, and look "
                "at who changed it",
            )
        raise CurationError(
            f"{board.log}: lacks lines that you have written: it is an older copy",
            "get the newest version of the board's folder, and run the command again",
        )
    if known != [head(lines)]:
        _note(owner, head(lines))
    board.owner = owner


def _note(owner: Path, *heads: str) -> None:
    with writing(owner / HEAD, private=True) as file:
        file.write("\n".join(heads).encode())
