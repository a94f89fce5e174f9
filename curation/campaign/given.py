"""The campaign as a step gets it: the datasets and settings that it declares, and nothing else."""

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from curation.campaign.dataset import AnyDataset
from curation.campaign.datasets import PLANS, ROUNDS, neutral_rounds
from curation.campaign.settings import Settings, fields_of
from curation.campaign.store import Campaign
from curation.records import Manifest, Round

T = TypeVar("T")


class UndeclaredError(Exception):
    """A step asks for what it does not declare: an error of its line, not of the user."""


class Given(Campaign):
    """A campaign of which only some datasets and settings can be read.

    What a dataset is made of is its own: it is read from the whole campaign.
    """

    def __init__(
        self,
        whole: Campaign,
        step: str,
        datasets: Iterable[AnyDataset],
        settings: Sequence[str],
        folder: Path,
    ) -> None:
        super().__init__(whole.root, cast(Settings, _Declared(whole.settings, step, settings)))
        object.__setattr__(self, "_whole", whole)
        object.__setattr__(self, "_hashes", whole._hashes)
        object.__setattr__(self, "_step", step)
        object.__setattr__(self, "_datasets", frozenset(datasets))
        object.__setattr__(self, "_folder", folder)

    _whole: Campaign
    _step: str
    _datasets: frozenset[AnyDataset]
    _folder: Path

    def __getitem__(self, dataset: Any) -> Any:
        if dataset not in self._datasets:
            raise UndeclaredError(f"the step {self._step} does not declare {dataset.name!r}")
        return self._whole[dataset]

    def once(self, key: object, files: Sequence[Path], read: Callable[[], T]) -> T:
        """As the whole campaign does it."""
        return self._whole.once(key, files, read)

    def forget(self, *datasets: AnyDataset) -> None:
        """As the whole campaign does it."""
        self._whole.forget(*datasets)

    def manifest(self, folder: Path) -> Manifest:
        """As the whole campaign gives it, of the step's own folder: it is part of its history."""
        if folder != self._folder:
            raise UndeclaredError(f"the step {self._step} reads the manifest of {folder.name}")
        return self._whole.manifest(folder)

    def round(self, name: str) -> Round:
        """As the whole campaign gives it, for a step that reads the rounds."""
        self[ROUNDS]
        return self._whole.round(name)

    @property
    def neutral_rounds(self) -> dict[str, bool]:
        """The rounds with answers whose items and labels are apart."""
        return neutral_rounds(self[PLANS].values())


class _Declared:
    """The settings that are declared: a section, or some of its fields."""

    def __init__(self, settings: Settings, step: str, names: Sequence[str]) -> None:
        self._settings, self._step, self._names = settings, step, names

    def __getattr__(self, section: str) -> Any:
        own = getattr(self._settings, section)
        if section in self._names:
            return own
        if f"{section}.names" in self._names:
            return tuple(own)
        here = [name for name in self._names if name.startswith(f"{section}.")]
        fields = {field for name in here for field in fields_of(name)}
        if not fields:
            raise UndeclaredError(f"the step {self._step} does not declare [{section}]")
        return _Fields(own, fields, f"the step {self._step} does not declare [{section}]")


class _Fields:
    """Some of the fields of a section."""

    def __init__(self, section: BaseModel, fields: Collection[str], refused: str) -> None:
        self._section, self._fields, self._refused = section, fields, refused

    def __getattr__(self, field: str) -> Any:
        if field not in self._fields:
            raise UndeclaredError(f"{self._refused} {field}")
        return getattr(self._section, field)

    def model_dump(
        self, *, mode: str = "python", include: Collection[str] | None = None
    ) -> dict[str, Any]:
        """The values of these fields, as pydantic gives them."""
        names = set(include or self._fields)
        if more := sorted(names - {*self._fields}):
            raise UndeclaredError(f"{self._refused} {more[0]}")
        return self._section.model_dump(mode=mode, include=names)
