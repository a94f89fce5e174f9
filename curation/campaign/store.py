"""A campaign: its folder, what is in it, and its lock.

What a campaign holds is read through it: ``campaign.items``, ``campaign.labels``. It remembers what
was read, and reads again what has changed since. Nobody can change what it gives: records are
frozen, and a table is a copy of its own.
"""

import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, overload

import orjson
from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from curation.campaign.dataset import (
    ANSWERED,
    AnyDataset,
    Dataset,
    OfRounds,
    RoundDataset,
    T,
    with_reads,
)
from curation.campaign.datasets import (
    ANSWERS,
    CATS,
    CHECKS,
    CORRECTIONS,
    DECISIONS,
    FLAGS,
    ITEM_PITFALLS,
    ITEMS,
    LABELS,
    NEUTRAL_ITEMS,
    NEUTRAL_LABELS,
    PEOPLE,
    REJECTED,
    ROUNDS,
    STANDING,
    TASKS,
    TERMS,
    TEXTS,
    TYPING,
    neutral_rounds,
)
from curation.campaign.manifest import MANIFEST, read_manifest
from curation.campaign.private import protect
from curation.campaign.settings import Settings, read_settings, settings_text
from curation.campaign.stamps import Known, Stamp, known_of, read_stamps, stamp, write_stamps
from curation.files import (
    CurationError,
    Hashed,
    printable,
    read_bytes,
    read_json,
    refuse_links,
    shipped,
    sweep,
    writing,
)
from curation.records import (
    Manifest,
    Round,
)
from curation.text.times import now
from curation.work.interrupts import is_command

if TYPE_CHECKING:
    pass


SETTINGS = "campaign.toml"
Stage = Literal[
    "terms", "rounds", "decisions", "measures", "scores", "trust", "release", "pages", "boards"
]
FOLDERS: dict[Stage, str] = {
    "terms": "1-terms",
    "rounds": "2-rounds",
    "decisions": "3-decisions",
    "measures": "4-measures",
    "scores": "5-scores",
    "trust": "6-trust",
    "release": "7-release",
    "pages": "8-pages",
    "boards": "boards",
}
"""The folders of a campaign."""
GROUPS = {*FOLDERS, "import", "board"} - {"boards"}
"""The groups of commands, whose second word is a command too, and not an argument."""
_OURS = shipped("data")


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder, its settings as they were when it was opened, and what is in it.

    If you edit ``campaign.toml``, open the campaign again. What is there by round is read as
    ``campaign.tasks["main"]``.

    Attributes:
        terms: the terms by id.
        items: the items of all rounds but neutral ones.
        labels: those of all rounds but those on neutral associations: one row per label, with the
            fields of ``records.Label`` as columns.
        decisions: the decision on each item, in the order of ``items``; empty before the first.
        cats: the CATs that were kept; empty before the first split.
        people: the people who have answered, by pseudonym.
        neutral_items: the items with a neutral association; never CATs.
        neutral_labels: the labels on the items of ``neutral_items``; they count for no gold label.
        standing: the decisions about people, in order.
        corrections: the texts of items that the team has changed, in order.
        rounds: all rounds that were opened here, oldest first.
        tasks: by round, its tasks. Asking for them raises a CurationError if they are missing, as
            in a copy without private files, or if a line is not a task.
        answers: by round, what became of each answer to its tasks; empty before the first answer.
        flags: by round, the flags that validators set on its items; empty before the first answer.
        texts: by round, the texts with which it was planned; None if it has none. A damaged file
            raises a CurationError.
        rejected: by round, the answers that were refused, each with its reason.
        pitfalls: by round, the pitfalls of its items that were let in.
        checks: by round, its instruction checks by person; empty if there were none.
        typing: by round, how its texts came about; empty if nothing was counted.
    """

    root: Path
    settings: Settings
    _known: dict[Any, tuple[list[Stamp | None], Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _hashes: dict[Path, Known] = field(default_factory=dict, init=False, repr=False, compare=False)

    terms = TERMS
    items = ITEMS
    labels = LABELS
    decisions = DECISIONS
    cats = CATS
    people = PEOPLE
    neutral_items = NEUTRAL_ITEMS
    neutral_labels = NEUTRAL_LABELS
    standing = STANDING
    corrections = CORRECTIONS
    rounds = ROUNDS
    tasks = TASKS
    answers = ANSWERS
    flags = FLAGS
    texts = TEXTS
    rejected = REJECTED
    pitfalls = ITEM_PITFALLS
    checks = CHECKS
    typing = TYPING

    @overload
    def __getitem__(self, dataset: Dataset[T]) -> T: ...
    @overload
    def __getitem__(self, dataset: RoundDataset[T]) -> OfRounds[T]: ...
    def __getitem__(self, dataset: Dataset[T] | RoundDataset[T]) -> T | OfRounds[T]:
        """What the campaign holds of a dataset; read again only if its files have changed."""
        if isinstance(dataset, RoundDataset):
            return OfRounds(self, dataset)
        found = self.once(dataset, dataset.files(self), lambda: dataset.read(self))
        given: T = dataset.give(found)
        return given

    def once(self, key: object, files: Sequence[Path], read: Callable[[], T]) -> T:
        """What ``read`` gives. It is called again only if the files are other ones than before.

        Args:
            key: the name under which it is remembered.
            files: what it is read from; without any, nothing is remembered.
            read: reads it.
        """
        stamps = [stamp(path) for path in files]
        known = self._known.pop(key, None)
        if known is None or known[0] != stamps or not stamps:
            known = None  # frees it before the next one is read
            known = stamps, read()
        self._known[key] = known
        value: T = known[1]
        return value

    def forget(self, *datasets: AnyDataset) -> None:
        """Free the memory of what was read."""
        for key in list(self._known):
            if key in datasets or (isinstance(key, tuple) and key[0] in datasets):
                del self._known[key]

    def reload(self) -> "Campaign":
        """The campaign opened again, with its settings as they are now."""
        return open_campaign(self.root)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a campaign cannot be pickled: give a process its folder, or what it needs")

    def digest(self, path: Path) -> str:
        """The sha256 of a file; empty if there is none."""
        found = self._hashed(path)
        return found.sha256 if found else ""

    def lines(self, path: Path) -> int | None:
        """How many lines a file has; None if there is none."""
        found = self._hashed(path)
        return found.lines if found else None

    def _hashed(self, path: Path) -> Hashed | None:
        known = self._hashes.pop(path, None)
        if known is None or known.stamp != stamp(path):
            known = known_of(path)
        if known:
            self._hashes[path] = known
        return known and known.hashed

    def content(self, path: Path, digest: Callable[[], str]) -> str:
        """A digest of what a file holds, computed once; "" if there is no file."""
        if self._hashed(path) is None:
            return ""
        if not self._hashes[path].content:
            self._hashes[path] = self._hashes[path]._replace(content=digest())
        return self._hashes[path].content

    def learn(self, known: Mapping[Path, Known]) -> None:
        """Take the sha256 of files as known, as long as they are the same."""
        self._hashes.update(known)

    def trust_stamps(self) -> None:
        """Do not hash files again that are as they were at the end of an earlier command.

        Their time, inode and size say so; ``curation status`` does this. A step hashes.
        """
        self.learn(read_stamps(self.root))

    def digests(self, paths: Iterable[Path]) -> dict[str, str]:
        """The sha256 of files by their paths as in manifests; empty for those that are absent."""
        return dict(sorted((self.relative(path), self.digest(path)) for path in paths))

    def noted(self, datasets: Iterable[AnyDataset]) -> dict[str, str]:
        """What a manifest says of datasets: the sha256 of each file by its path.

        Of a dataset that is noted by its value, it is the sha256 of what it holds, by its name.
        """
        found: dict[str, str] = {}
        for each in with_reads(datasets):
            if isinstance(each, Dataset) and each.by_value:
                found[each.name] = self.once(
                    ("value", each), each.files(self), partial(_sha256, self, each)
                )
            else:
                found |= self.digests(each.files(self))
        return dict(sorted(found.items()))

    def manifest(self, folder: Path) -> Manifest:
        """The manifest of a folder of results: how they came about.

        Raises:
            CurationError: it is damaged.
        """
        path = folder / MANIFEST
        return self.once(path, [path], lambda: read_manifest(folder))

    def round(self, name: str) -> Round:
        """A round as ``round.json`` has it: how it was planned, and its state.

        Raises:
            CurationError: there is no such round, or the file is damaged.
        """
        path = self.folder("rounds") / name / "round.json"
        if not path.exists():
            known = sorted(p.parent.name for p in self.folder("rounds").glob("*/round.json"))
            raise CurationError(
                f"no round {name!r} was opened here",
                f"rounds: {', '.join(known)}" if known else "«curation rounds open KIND» opens one",
            )
        return self.once(path, [path], lambda: _read_round(path))

    @property
    def neutral_rounds(self) -> dict[str, bool]:
        """The neutral rounds, and the rounds that label their associations, oldest first.

        Their items and labels are apart from those of the campaign.

        Returns:
            By name, whether it is a round of labels.
        """
        return neutral_rounds(self.rounds)

    def folder(self, stage: Stage) -> Path:
        """The folder of a stage."""
        return self.root / FOLDERS[stage]

    def round_names(self) -> list[str]:
        """The names of the rounds that have answers: raw answers, or items made from them.

        Raises:
            CurationError: a folder's name is not UTF-8.
        """
        return list(self[ANSWERED])

    def relative(self, path: Path) -> str:
        """A path as in manifests: relative to the campaign's folder if it is inside it.

        That of a file that comes with curation begins with ``data/``.
        """
        for folder, shown in ((_OURS, Path(_OURS.name)), (self.root, Path())):
            if path.is_relative_to(folder):
                return printable((shown / path.relative_to(folder)).as_posix())
        return printable(path.as_posix())

    @contextmanager
    def lock(self, *, wait: float = 0) -> Iterator[None]:
        """Lock the campaign, so that no other command writes to it at the same time.

        Call a function that writes to the campaign under the lock, unless its docstring says that
        it takes the lock itself. The lock cannot be taken twice, not even by the same process.

        Args:
            wait: for how many seconds to wait for another command; long work waits before it writes
                its results, so that they are not lost.

        Raises:
            CurationError: another command has the lock (the message says which, and since when), or
                a folder to write to is a link.
        """
        lock, holder = FileLock(self.root / ".lock"), self.root / ".lock-holder"
        self._refuse_links()
        try:
            lock.acquire(timeout=wait)
        except Timeout:
            who = (
                read_bytes(holder).decode("utf-8", "replace").strip()
                if holder.exists()
                else "another command"
            )
            raise CurationError(
                f"{self.root}: in use by {who}", "wait until it has ended, then run this again"
            ) from None
        except PermissionError:
            raise CurationError(
                f"{self.root}: no write permission", "get write permission, or use another folder"
            ) from None
        try:
            sweep(self.root)
            with writing(holder, private=True) as file:
                process = f"process {os.getpid()} on {platform.node()}"
                file.write(f"«{_command()}» ({process}, since {now()})".encode())
            protect(self.root)
            yield
            write_stamps(self.root, self._hashes)
        finally:
            try:
                holder.unlink(missing_ok=True)
            finally:  # also if the command is interrupted just now
                holder.unlink(missing_ok=True)
                lock.release()

    def _refuse_links(self) -> None:
        """Refuse links in place of the folders that commands write to, and of the lock.

        Raw answers may be behind a link, because they are read more often than written:
        ``archive.deliver`` checks their folder. The campaign's folder itself may be a link.
        """
        runs = ("5-scores/*", "5-scores/*/*", "6-trust/*", "6-trust/*/*", "6-trust/*/*/*")
        below = (path for depth in ("2-rounds/*", *runs) for path in self.root.glob(depth))
        folders = (*(self.root / name for name in FOLDERS.values()), *below)
        for path in (self.root / ".lock", *folders):
            refuse_links(path, below=self.root)


def _read_round(path: Path) -> Round:
    where, fix = f"{path}, field 'name'", "put the file back as it was"
    try:
        round = Round.model_validate_json(read_bytes(path))
    except ValidationError as error:
        read_json(path)  # names the line of a damaged file
        where = f"{path}, field {'.'.join(map(str, error.errors()[0]['loc']))!r}"
        raise CurationError(f"{where}: {error.errors()[0]['msg']}", fix) from None
    if round.name != path.parent.name:
        raise CurationError(
            f"{where}: is {round.name!r}, and the folder is {path.parent.name!r}", fix
        )
    return round


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else list(value)


def _sha256(campaign: Campaign, dataset: Dataset[Any]) -> str:
    """The sha256 of what a dataset holds; the order of the keys of mappings does not matter."""
    value = campaign[dataset]
    if isinstance(value, Mapping):
        value = dict(value)
    elif isinstance(value, frozenset):
        value = sorted(value)
    options = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS
    return hashlib.sha256(orjson.dumps(value, default=_plain, option=options)).hexdigest()


def open_campaign(root: Path) -> Campaign:
    """Open a campaign's folder and read its settings.

    Raises:
        CurationError: the folder has no campaign, or a setting is wrong; the message names the
            line.
    """
    path = root / SETTINGS
    if not path.exists():
        raise CurationError(
            f"{root.resolve()}: no {SETTINGS} here",
            "change to the folder of a campaign, name it with --campaign DIR, or make one with "
            "«curation init DIR»",
        )
    return Campaign(root, read_settings(path))


def _command() -> str:
    """The name of the command that runs. Its arguments may hold passwords and are left out."""
    if not is_command():
        return "a Python program"
    words = sys.argv[1:]
    return " ".join(["curation", *words[: 2 if words and words[0] in GROUPS else 1]])


def create_campaign(root: Path, settings: Settings) -> Campaign:
    """Create a campaign's folder.

    Args:
        root: the folder.
        settings: what ``campaign.toml`` is to say; ``Settings(campaign=CampaignSettings(
            id=new_id()))`` has the defaults, and ``new_settings`` takes name, language and domains.
            All these names are in ``curation.campaign.settings``.

    Raises:
        CurationError: the folder is a campaign already, or it cannot be written to.
    """
    if (root / SETTINGS).exists():
        raise CurationError(
            f"{root}: is a campaign already", f"edit its {SETTINGS}, or choose another folder"
        )
    try:
        root.mkdir(parents=True, exist_ok=True)
        protect(root)
        with writing(root / SETTINGS) as file:
            file.write(settings_text(settings).encode())
    except (PermissionError, NotADirectoryError, FileExistsError) as error:
        raise CurationError(
            f"{root}: cannot be written to ({error.strerror})",
            "choose a folder that you can write to",
        ) from None
    return Campaign(root, settings)
