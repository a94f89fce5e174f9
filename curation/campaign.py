"""A campaign: its folder, what is in it, and its lock.

What a campaign holds is read through it: ``campaign.items``, ``campaign.labels``. It remembers what
was read, and reads again what has changed since. Nobody can change what it gives: records are
frozen, and a table is a copy of its own.
"""

import copy
import hashlib
import os
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    Literal,
    NamedTuple,
    NoReturn,
    TypeVar,
    overload,
)

import orjson
from filelock import FileLock, Timeout
from pydantic import BaseModel, ValidationError

from curation.files import (
    CurationError,
    Hashed,
    printable,
    read_bytes,
    read_json,
    read_records,
    read_table,
    refuse_links,
    shipped,
    sweep,
    writing,
)
from curation.formats.table_words import Sections, wrong_text
from curation.private import protect
from curation.records import (
    Answer,
    Cat,
    Correction,
    Decision,
    Fields,
    Flag,
    InstructionChecks,
    Item,
    Label,
    Manifest,
    Person,
    Pitfall,
    Record,
    Rejection,
    Round,
    RoundKind,
    Standing,
    Task,
    Term,
    Typing,
)
from curation.settings import Settings, read_settings, settings_text
from curation.text.times import now
from curation.work.interrupts import is_command
from curation.work.manifest import MANIFEST, read_manifest
from curation.work.stamps import Known, Stamp, known_of, read_stamps, stamp, write_stamps

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = "campaign.toml"
GROUPS = {
    *("terms", "rounds", "import", "decisions", "measures", "scores", "trust", "release", "pages"),
    "board",
}
"""The groups of commands, whose second word is a command too, and not an argument."""

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


_OURS = shipped("data")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Dataset(Generic[T_co]):
    """What a campaign holds under a name.

    Attributes:
        name: its name.
        files: the files that it is made of; absent ones count, too.
        read: reads it.
        give: what one who asks gets of what was read: a copy, if it could be changed.
        reads: other datasets that say which files it is made of.
        by_value: whether manifests have the sha256 of what is read, and not those of the files: for
            what is only a part of them, or secret.
    """

    name: str
    files: "Callable[[Campaign], Sequence[Path]]"
    read: "Callable[[Campaign], T_co]"
    give: Callable[[Any], Any] = lambda value: value
    reads: "tuple[AnyDataset, ...]" = ()
    by_value: bool = False


@dataclass(frozen=True, eq=False)
class RoundDataset(Generic[T_co]):
    """A file of each round.

    Attributes:
        name: its name in the round's folder.
        read: reads it; it may be absent.
    """

    name: str
    read: Callable[[Path], T_co]

    by_value = False

    @property
    def reads(self) -> "tuple[AnyDataset, ...]":
        """The dataset that says which rounds have answers."""
        return (ANSWERED,)

    def files(self, campaign: "Campaign") -> list[Path]:
        """The files of the rounds that have answers."""
        places = (campaign.folder("rounds") / name for name in campaign.round_names())
        return [path for place in places if (path := place / self.name).exists()]


AnyDataset = Dataset[Any] | RoundDataset[Any]


def with_reads(datasets: "Iterable[AnyDataset]") -> "tuple[AnyDataset, ...]":
    """Datasets and those that say which files they are made of, each once."""
    found: dict[AnyDataset, None] = {}
    for each in datasets:
        found |= dict.fromkeys((each, *with_reads(each.reads)))
    return tuple(found)


class OfRounds(Generic[T]):
    """What each round has: ``campaign.tasks["main"]``. It is read when it is asked for."""

    def __init__(self, campaign: "Campaign", dataset: RoundDataset[T]) -> None:
        self.campaign, self.dataset = campaign, dataset

    def __getitem__(self, round: str) -> T:
        path = self.campaign.folder("rounds") / round / self.dataset.name
        key = (self.dataset, round)
        return self.campaign.once(key, [path], lambda: self.dataset.read(path))


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder, its settings as they were when it was opened, and what is in it.

    If you edit ``campaign.toml``, open the campaign again.
    """

    root: Path
    settings: Settings
    _known: dict[Any, tuple[list[Stamp | None], Any]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _hashes: dict[Path, Known] = field(default_factory=dict, init=False, repr=False, compare=False)

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

    @property
    def terms(self) -> Mapping[str, Term]:
        """The terms by id."""
        return self[TERMS]

    @property
    def items(self) -> tuple[Item, ...]:
        """The items of all rounds but neutral ones."""
        return self[ITEMS]

    @property
    def labels(self) -> "pd.DataFrame":
        """The labels of all rounds but those on neutral associations.

        Returns:
            One row per label, with the fields of ``records.Label`` as columns.
        """
        return self[LABELS]

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decision on each item, in the order of ``items``; empty before the first."""
        return self[DECISIONS]

    @property
    def cats(self) -> tuple[Cat, ...]:
        """The CATs that were kept; empty before the first split."""
        return self[CATS]

    @property
    def people(self) -> tuple[Person, ...]:
        """The people who have answered, by pseudonym."""
        return self[PEOPLE]

    @property
    def neutral_items(self) -> tuple[Item, ...]:
        """The items with a neutral association; never CATs."""
        return self[NEUTRAL_ITEMS]

    @property
    def neutral_labels(self) -> tuple[Label, ...]:
        """The labels on the items of ``neutral_items``; they count for no gold label."""
        return self[NEUTRAL_LABELS]

    @property
    def standing(self) -> tuple[Standing, ...]:
        """The decisions about people, in order."""
        return self[STANDING]

    @property
    def corrections(self) -> tuple[Correction, ...]:
        """The texts of items that the team has changed, in order."""
        return self[CORRECTIONS]

    @property
    def rounds(self) -> tuple[Round, ...]:
        """All rounds that were opened here, oldest first."""
        return self[ROUNDS]

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

    @property
    def tasks(self) -> OfRounds[tuple[Task, ...]]:
        """The tasks of each round that was opened here.

        Raises:
            CurationError: they are missing, as in a copy without private files; or a line is not a
                task.
        """
        return self[TASKS]

    @property
    def answers(self) -> OfRounds[tuple[Answer, ...]]:
        """By round, what became of each answer to its tasks; empty before the first answer."""
        return self[ANSWERS]

    @property
    def flags(self) -> OfRounds[tuple[Flag, ...]]:
        """By round, the flags that validators set on its items; empty before the first answer."""
        return self[FLAGS]

    @property
    def texts(self) -> OfRounds[Sections | None]:
        """By round, the texts with which it was planned; None if it has none.

        Raises:
            CurationError: the file is damaged.
        """
        return self[TEXTS]

    @property
    def rejected(self) -> OfRounds[tuple[Rejection, ...]]:
        """By round, the answers that were refused, each with its reason."""
        return self[REJECTED]

    @property
    def pitfalls(self) -> OfRounds[tuple[Pitfall, ...]]:
        """By round, the pitfalls of its items that were let in."""
        return self[ITEM_PITFALLS]

    @property
    def checks(self) -> OfRounds[tuple[InstructionChecks, ...]]:
        """By round, its instruction checks by person; empty if there were none."""
        return self[CHECKS]

    @property
    def typing(self) -> OfRounds[tuple[Typing, ...]]:
        """By round, how its texts came about; empty if nothing was counted."""
        return self[TYPING]

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


R = TypeVar("R", bound=Record)


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


def not_in_copy(path: Path) -> CurationError:
    """The error if a private file of a round is missing, as in a clone of a repository."""
    return CurationError(
        f"{path}: is not in this copy of the campaign",
        "copy tasks.jsonl and items.jsonl of every round from the machine that has the raw answers "
        "(docs/campaign.md, Privacy): they are private, so .gitignore leaves them out",
    )


def of_round(name: str, record: type[R]) -> RoundDataset[tuple[R, ...]]:
    """The records of a JSONL file of each round; none if it is absent."""
    return RoundDataset(name, lambda path: tuple(read_records(path, record, missing_ok=True)))


def _read_tasks(path: Path) -> tuple[Task, ...]:
    if not path.exists():
        raise not_in_copy(path)
    return tuple(read_records(path, Task))


def _read_texts(path: Path) -> Sections | None:
    if not path.exists():
        return None
    texts = read_json(path)
    if not isinstance(texts, dict):
        raise CurationError(f"{path}: not a JSON object", "put the file back as it was")
    if field := wrong_text(texts):
        raise CurationError(
            f"{path}, field {field!r}: not a text of a round", "put the file back as it was"
        )
    return texts


TASKS = RoundDataset("tasks.jsonl", _read_tasks)
TEXTS = RoundDataset("texts.json", _read_texts)
ANSWERS = of_round("answers.jsonl", Answer)
REJECTED = of_round("rejected.jsonl", Rejection)
ITEM_PITFALLS = of_round("pitfalls.jsonl", Pitfall)
FLAGS = of_round("flags.jsonl", Flag)
CHECKS = of_round("checks.jsonl", InstructionChecks)
TYPING = of_round("typing.jsonl", Typing)


def _opened(campaign: Campaign) -> list[Path]:
    return sorted(campaign.folder("rounds").glob("*/round.json"))


def _read_rounds(campaign: Campaign) -> tuple[Round, ...]:
    rounds = [campaign.round(path.parent.name) for path in _opened(campaign)]
    return tuple(sorted(rounds, key=lambda each: (each.opened_at or "9", each.name)))


ROUNDS = Dataset("rounds", _opened, _read_rounds)


def _answer_files(campaign: Campaign) -> list[Path]:
    rounds = campaign.folder("rounds")
    return [*rounds.glob("*/raw/*.jsonl"), *rounds.glob("*/items.jsonl")]


def _read_answered(campaign: Campaign) -> tuple[str, ...]:
    folder = campaign.folder("rounds")
    names = {path.relative_to(folder).parts[0] for path in _answer_files(campaign)}
    for name in sorted(names):
        if name != printable(name):
            raise CurationError(
                f"{folder / name}: the name of this folder is not UTF-8", "rename it"
            )
    return tuple(sorted(names))


ANSWERED = Dataset("answered rounds", _answer_files, _read_answered, by_value=True)
"""The names of the rounds that have answers: raw answers, or items made from them."""


class Plan(NamedTuple):
    """What a round that was opened here has decided, whatever becomes of it later."""

    name: str
    kind: RoundKind
    opened_at: str | None
    consent: str
    pilot: bool
    of: tuple[str, ...]
    labels: str | None


def _read_plans(campaign: Campaign) -> Mapping[str, Plan]:
    answered = campaign.round_names()
    opened = (each for each in campaign.rounds if each.name in answered)
    plans = (Plan(*(getattr(each, field) for field in Plan._fields)) for each in opened)
    return MappingProxyType({plan.name: plan for plan in plans})


PLANS: Dataset[Mapping[str, Plan]] = Dataset(
    "plans", lambda c: [*_opened(c), *_answer_files(c)], _read_plans, by_value=True
)
"""The plans of the rounds that were opened here and have answers, by name, oldest first."""


def _planned_files(campaign: Campaign) -> list[Path]:
    answered = campaign.round_names()
    return [path for path in _opened(campaign) if path.parent.name in answered]


def _read_planned(campaign: Campaign) -> tuple[Round, ...]:
    answered = campaign.round_names()
    return tuple(each for each in campaign.rounds if each.name in answered)


PLANNED = Dataset("planned rounds", _planned_files, _read_planned, reads=(ANSWERED,))
"""The rounds that were opened here and have answers, as they are now, oldest first."""
CONSENTS: Dataset[frozenset[str]] = Dataset(
    "consents", _opened, lambda c: frozenset(each.consent for each in c.rounds), by_value=True
)
"""The versions of the consent text that the rounds have shown."""


def neutral_rounds(rounds: Iterable[Round | Plan]) -> dict[str, bool]:
    """The neutral ones among rounds, and those that label their associations, by name.

    Returns:
        Whether each is a round of labels.
    """
    rounds = list(rounds)
    written = {round.name for round in rounds if round.kind == "neutral"}
    return {
        round.name: round.kind == "validation"
        for round in rounds
        if round.name in written or not written.isdisjoint(round.of)
    }


def _of_rounds(name: str, *, neutral: bool = False) -> Callable[[Campaign], list[Path]]:
    """The files of this name of all rounds that count for the data, or of neutral ones."""

    def files(campaign: Campaign) -> list[Path]:
        apart, every = campaign.neutral_rounds, campaign.round_names()
        mine = [each for each in every if (each in apart) == neutral]
        return [campaign.folder("rounds") / each / name for each in mine]

    return files


def _in_files(
    name: str,
    record: type[R],
    files: Callable[[Campaign], list[Path]],
    reads: "tuple[AnyDataset, ...]" = (),
) -> Dataset[tuple[R, ...]]:
    """The records of some JSONL files; files that are absent have none."""

    def read(campaign: Campaign) -> tuple[R, ...]:
        return tuple(
            each for path in files(campaign) for each in read_records(path, record, missing_ok=True)
        )

    return Dataset(name, files, read, reads=reads)


def in_file(stage: Stage, name: str, record: type[R]) -> Dataset[tuple[R, ...]]:
    """The records of a JSONL file in the folder of a stage; none if it is absent."""
    return _in_files(name, record, lambda campaign: [campaign.folder(stage) / name])


def shipped_file(*parts: str) -> Dataset[None]:
    """A file that comes with curation, for steps whose results change with it."""
    return Dataset("/".join(parts), lambda campaign: [shipped(*parts)], lambda campaign: None)


def in_json(stage: Stage, name: str) -> Dataset[Fields]:
    """The content of a JSON file in the folder of a stage. Who asks gets a copy.

    Asking for it raises a CurationError if the file is missing or damaged.
    """

    def read(campaign: Campaign) -> Fields:
        return dict(read_json(campaign.folder(stage) / name))

    return Dataset(name, lambda campaign: [campaign.folder(stage) / name], read, copy.deepcopy)


TERMS: Dataset[Mapping[str, Term]] = Dataset(
    "terms",
    lambda campaign: [campaign.folder("terms") / "targets.jsonl"],
    lambda campaign: MappingProxyType(
        {t.id: t for t in read_records(campaign.folder("terms") / "targets.jsonl", Term)}
    ),
)
_WHICH = (PLANS, ANSWERED)
"""What says which rounds count for the data, and which are neutral."""
ITEMS = _in_files("items", Item, _of_rounds("items.jsonl"), _WHICH)
LABELS: "Dataset[pd.DataFrame]" = Dataset(
    "labels",
    _of_rounds("labels.jsonl"),
    lambda campaign: read_table([p for p in LABELS.files(campaign) if p.exists()], Label),
    give=lambda table: table.copy(deep=False),  # with copy-on-write, nobody changes what others get
    reads=_WHICH,
)
NEUTRAL_ITEMS = _in_files("neutral items", Item, _of_rounds("items.jsonl", neutral=True), _WHICH)
NEUTRAL_LABELS = _in_files(
    "neutral labels", Label, _of_rounds("labels.jsonl", neutral=True), _WHICH
)
PEOPLE = in_file("rounds", "people.jsonl", Person)
DECISIONS = in_file("decisions", "decisions.jsonl", Decision)
CATS = in_file("decisions", "cats.jsonl", Cat)
STANDING = in_file("rounds", "standing.jsonl", Standing)
CORRECTIONS = in_file("rounds", "corrections.jsonl", Correction)


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
            All these names are in ``curation.settings``.

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
