"""A dataset: what a campaign holds under a name, and how it is read."""

import copy
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from curation.files import CurationError, printable, read_json, read_records, shipped
from curation.records import Fields, Record

if TYPE_CHECKING:
    from curation.campaign.store import Campaign, Stage

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, eq=False)
class Dataset(Generic[T_co]):
    """What a campaign holds under a name.

    ``Campaign`` has some datasets as attributes: ``campaign.items`` is ``campaign[ITEMS]``.

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

    @overload
    def __get__(self, campaign: None, owner: object) -> Self: ...
    @overload
    def __get__(self, campaign: "Campaign", owner: object) -> T_co: ...
    def __get__(self, campaign: "Campaign | None", owner: object) -> Self | T_co:
        """What a campaign holds; on the class ``Campaign`` the dataset itself."""
        return self if campaign is None else campaign[self]


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

    @overload
    def __get__(self, campaign: None, owner: object) -> Self: ...
    @overload
    def __get__(self, campaign: "Campaign", owner: object) -> "OfRounds[T_co]": ...
    def __get__(self, campaign: "Campaign | None", owner: object) -> "Self | OfRounds[T_co]":
        """What each round of a campaign has; on the class ``Campaign`` the dataset itself."""
        return self if campaign is None else campaign[self]

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


def of_round(name: str, record: type[R]) -> RoundDataset[tuple[R, ...]]:
    """The records of a JSONL file of each round; none if it is absent."""
    return RoundDataset(name, lambda path: tuple(read_records(path, record, missing_ok=True)))


def answer_files(campaign: "Campaign") -> list[Path]:
    """The files that say which rounds have answers."""
    rounds = campaign.folder("rounds")
    return [*rounds.glob("*/raw/*.jsonl"), *rounds.glob("*/items.jsonl")]


def _read_answered(campaign: "Campaign") -> tuple[str, ...]:
    folder = campaign.folder("rounds")
    names = {path.relative_to(folder).parts[0] for path in answer_files(campaign)}
    for name in sorted(names):
        if name != printable(name):
            raise CurationError(
                f"{folder / name}: the name of this folder is not UTF-8", "rename it"
            )
    return tuple(sorted(names))


ANSWERED = Dataset("answered rounds", answer_files, _read_answered, by_value=True)
"""The names of the rounds that have answers: raw answers, or items made from them."""


def in_files(
    name: str,
    record: type[R],
    files: "Callable[[Campaign], list[Path]]",
    reads: "tuple[AnyDataset, ...]" = (),
) -> Dataset[tuple[R, ...]]:
    """The records of some JSONL files; files that are absent have none."""

    def read(campaign: "Campaign") -> tuple[R, ...]:
        return tuple(
            each for path in files(campaign) for each in read_records(path, record, missing_ok=True)
        )

    return Dataset(name, files, read, reads=reads)


def in_file(stage: "Stage", name: str, record: type[R]) -> Dataset[tuple[R, ...]]:
    """The records of a JSONL file in the folder of a stage; none if it is absent."""
    return in_files(name, record, lambda campaign: [campaign.folder(stage) / name])


def shipped_file(*parts: str) -> Dataset[None]:
    """A file that comes with curation, for steps whose results change with it."""
    return Dataset("/".join(parts), lambda campaign: [shipped(*parts)], lambda campaign: None)


def in_json(stage: "Stage", name: str) -> Dataset[Fields]:
    """The content of a JSON file in the folder of a stage. Who asks gets a copy.

    Asking for it raises a CurationError if the file is missing or damaged.
    """

    def read(campaign: "Campaign") -> Fields:
        return dict(read_json(campaign.folder(stage) / name))

    return Dataset(name, lambda campaign: [campaign.folder(stage) / name], read, copy.deepcopy)
