"""How a step runs: only if its inputs, settings or algorithm have changed, and after what it needs.

A step is declared beside its functions. ``pipeline.py`` has all steps in order. ``Reading`` is a
campaign for notebooks: it says whether what it gives is out of date.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import metadata, util
from pathlib import Path
from typing import Any, TypeVar, cast

import orjson
from pydantic import BaseModel

from curation.campaign.dataset import AnyDataset
from curation.campaign.datasets import PLANS, ROUNDS, neutral_rounds
from curation.campaign.manifest import Results, changes, run_step
from curation.campaign.settings import Settings, fields_of, settings_noted
from curation.campaign.store import FOLDERS, Campaign, Stage, open_campaign
from curation.files import CurationError, refuse_links
from curation.records import Fields, Manifest, Round, StepRun
from curation.text.words import INSTALL, base
from curation.work.reporter import QUIET, Reporter

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


_MODULES = {"better-profanity": "better_profanity", "Faker": "faker", "mecab-python3": "MeCab"}
_WORD_PACKAGES = ("wordfreq", "simplemma", "lemminflect", "better-profanity", "Faker", "rapidfuzz")
_SPLITTERS = {"ja": ("mecab-python3", "ipadic"), "zh": ("jieba",)}


class UnlessNamedError(CurationError):
    """What keeps a step from running is an error only if the step is named; else a warning."""


def delete_files(campaign: Campaign, files: Iterable[Path]) -> None:
    """Delete a step's results; files that are already gone are skipped."""
    for file in files:
        refuse_links(file.parent, below=campaign.root)
        file.unlink(missing_ok=True)


class Out(Results):
    """What a step writes and reports: its results, warnings, notes and progress.

    Warnings are kept in the manifest, so that ``curation status`` can repeat them.
    """

    def __init__(self, folder: Path, reporter: Reporter, noted: Fields) -> None:
        super().__init__(folder)
        self.noted, self._warn = noted, reporter.warn
        self.note, self.tracked = reporter.note, reporter.tracked
        self.stages, self.counted = reporter.stages, reporter.counted

    def warn(self, text: str) -> None:
        """Warn of something that the user should check."""
        self.warnings.append(text)
        self._warn(text)


Work = Callable[[Campaign, Out], dict[str, int]]


@dataclass(frozen=True, eq=False)
class Step:
    """One step: a function of the campaign, and what it makes and reads.

    Attributes:
        name: its name in the manifest.
        says: what it makes, in a few words.
        work: does it; writes its results and returns its counts. It gets what is declared here.
        folder_name: the folder of its results in the campaign.
        version: a number that is raised when the same inputs give other results.
        makes: the datasets that are its results.
        reads: the datasets that it reads. The steps that make them run before it.
        if_made: datasets that it reads only if they are there. Then they are brought up to date,
            too; otherwise the steps that make them are not run.
        as_it_is: datasets that it reads as they are: no step runs before it for them.
        history: what it kept of earlier runs; this never makes it out of date.
        settings: the settings that it reads, as for ``settings.fields_of``.
        packages: gives the names of the packages whose versions its results depend on.
        blocked: what keeps it from running, if anything does.
        applies: whether it runs on this machine; if not, its results are taken as they are.
        lasting: whether an erasure leaves its results, because they cannot be computed again.
        alone: whether it runs without the steps that it needs, because there are no answers yet.
        fixed: whether its results are there and are never rewritten; None if they may be. Only the
            step's own command and ``curation run`` make such results.
    """

    name: str
    says: str
    work: Work
    folder_name: str
    version: int
    makes: tuple[AnyDataset, ...] = ()
    reads: tuple[AnyDataset, ...] = ()
    if_made: tuple[AnyDataset, ...] = ()
    as_it_is: tuple[AnyDataset, ...] = ()
    history: tuple[AnyDataset, ...] = ()
    settings: tuple[str, ...] = ()
    packages: Callable[[Settings], tuple[str, ...]] = lambda settings: ()
    blocked: Callable[[Campaign], CurationError | None] = lambda campaign: None
    applies: Callable[[Campaign], bool] = lambda campaign: True
    lasting: bool = False
    alone: Callable[[Campaign], bool] = lambda campaign: False
    fixed: Callable[[Campaign], bool] | None = None

    @property
    def needs(self) -> "tuple[Step, ...]":
        """The steps that make what it reads."""
        return makers(self.reads)

    @property
    def datasets(self) -> tuple[AnyDataset, ...]:
        """The datasets that it reads, but its history."""
        return (*self.reads, *self.if_made, *self.as_it_is)

    def folder(self, campaign: Campaign) -> Path:
        """Where its results are."""
        return campaign.root / self.folder_name

    def state(self, campaign: Campaign) -> Fields:
        """What ``changes`` and ``run_step`` compare."""
        own = settings_noted(campaign.settings, self.settings)
        if packages := self.packages(campaign.settings):
            own["versions"] = versions(*packages)
        return {
            "algorithm": self.version,
            "settings": orjson.loads(orjson.dumps(own)),
            "inputs": campaign.noted(self.datasets),
        }

    def run(self, campaign: Campaign, out: Out) -> dict[str, int]:
        """Do the work with what is declared, and with nothing else."""
        declared = (*self.datasets, *self.history)
        folder = self.folder(campaign)
        return self.work(Given(campaign, self.name, declared, self.settings, folder), out)


def step(says: str, *, folder: Stage, version: int, **declared: Any) -> Callable[[Work], Step]:
    """Declare a function as the step of its name; see ``Step`` for what is declared.

    ::

        @step("which items become CATs", folder="decisions", version=2, makes=(DECISIONS,), …)
        def filter(campaign: Campaign, out: Out) -> dict[str, int]:
    """

    def declare(work: Work) -> Step:
        return Step(work.__name__, says, work, FOLDERS[folder], version, **declared)

    return declare


MAKERS: dict[AnyDataset, Step] = {}
"""The step that makes each dataset; ``pipeline.py`` fills it."""


def makers(datasets: Iterable[AnyDataset]) -> tuple[Step, ...]:
    """The steps that make these datasets, each once.

    Raises:
        RuntimeError: nobody has imported ``curation.pipeline``, so no step is known.
    """
    if not MAKERS:
        raise RuntimeError("no step is known yet: import curation.pipeline first")
    return tuple(dict.fromkeys(MAKERS[each] for each in datasets if each in MAKERS))


def with_needs(*steps: Step, campaign: Campaign | None = None) -> list[Step]:
    """The steps and all that they need, directly or not, each after what it needs.

    Args:
        steps: the steps, in the order of the pipeline.
        campaign: also count what the steps read if it is made; all that steps read counts so if
            they run alone.
    """
    found: dict[Step, None] = {}
    for step in steps:
        needs = step.needs if campaign is None else _needs_now(campaign, step)
        found |= dict.fromkeys((*with_needs(*needs, campaign=campaign), step))
    return list(found)


def _needs_now(campaign: Campaign, step: Step) -> tuple[Step, ...]:
    """The steps that make what a step reads, and what it reads if it is made, and is there."""
    is_alone = step.alone(campaign)
    perhaps = (*step.reads, *step.if_made) if is_alone else step.if_made
    there = [d for d in perhaps if any(path.exists() for path in d.files(campaign))]
    return makers(there if is_alone else (*step.reads, *there))


def last_run(campaign: Campaign, step: Step) -> StepRun | None:
    """How the step's last results came about, if there are any."""
    return campaign.manifest(step.folder(campaign)).steps.get(step.name)


def current(campaign: Campaign, step: Step) -> bool:
    """Whether the step's results are up to date with the files as they are now.

    A step that does not apply is up to date: without the raw answers, which stay with their owner,
    items and labels are taken as they are.
    """
    needs = () if step.alone(campaign) else with_needs(*step.needs)
    if any(needed.blocked(campaign) for needed in (step, *needs)):
        return False
    return not step.applies(campaign) or not any(changed(campaign, step))


def changed(
    campaign: Campaign, step: Step, state: Mapping[str, Any] | None = None
) -> Iterator[str]:
    """What has changed since the step's last results: settings, inputs or results, by name.

    Results stay if a package that they were made with has been removed: without it, the step would
    only replace them by a note that it cannot check.

    Args:
        campaign: the campaign.
        step: the step; without results, all of it counts as changed.
        state: its version, settings and inputs now, if they are known.
    """
    run, state = last_run(campaign, step), state or step.state(campaign)
    if run is None:
        yield "the step itself"
        return
    settings = state["settings"]
    if gone := removed(run.settings, settings):
        settings = {**settings, "versions": {**settings["versions"], **gone}}
    now = {**state, "settings": settings}
    yield from changes(run, step.folder(campaign), **now, sha256=campaign.digest)


def is_up_to_date(campaign: Campaign, step: Step) -> bool:
    """Whether a step and all that it needs are up to date; also if it has never run here."""
    if last_run(campaign, step) is None:  # its results were put there by hand
        return True
    try:
        return all(current(campaign, each) for each in with_needs(step))
    except CurationError:  # raw answers are missing, for example
        return False


def missing_packages(campaign: Campaign, step: Step) -> dict[str, str]:
    """The packages that a step's last results were made with and that are not installed now.

    Returns:
        The version that was used, by package.
    """
    run = last_run(campaign, step)
    if run is None or "versions" not in run.settings or not step.applies(campaign):
        return {}
    return removed(run.settings, {"versions": versions(*step.packages(campaign.settings))})


def run_steps(
    campaign: Campaign,
    *steps: Step,
    reporter: Reporter = QUIET,
    tell: Callable[[Step, bool], None] | None = None,
    named: bool = True,
) -> StepRun:
    """Run steps and those that they need; skip those that are up to date.

    A version of the release that is built already is never rewritten. If its content would change,
    this is an error if the release is named, and else a warning. The same holds if pyarrow, which
    a release needs, is not installed.

    Call it only under the campaign's lock.

    Args:
        campaign: the campaign.
        steps: the named steps, at least one, in the order of the pipeline.
        reporter: where warnings and progress go.
        tell: called with each step, and whether it was run.
        named: somebody asked for just these steps, so that each must be there afterwards.

    Returns:
        The last step's run. Its ``counts`` are described in ``docs/commands.md``, under curation
        status.

    Raises:
        CurationError: a step cannot run; the steps before it are then up to date.
    """
    last: StepRun | None = None
    for step in with_needs(*steps, campaign=campaign):
        if error := step.blocked(campaign):
            if not isinstance(error, UnlessNamedError) or (named and step in steps):
                raise error
            reporter.warn(f"{step.name}: {error.what}; {error.fix}")
            continue
        folder, run = step.folder(campaign), last_run(campaign, step)
        state = step.state(campaign) if step.applies(campaign) else None
        stale = state is not None and any(changed(campaign, step, state))
        if state is not None and stale:
            if gone := run and removed(run.settings, state["settings"]):
                reporter.warn(
                    f"{step.name}: the last results were made with {', '.join(gone)}, which is not "
                    f"installed now, so parts cannot be checked: {INSTALL}, then run this again"
                )
            out = Out(folder, reporter, state)
            try:
                run = run_step(out, step.name, partial(_work, step, campaign), **state)
                campaign.learn(out.known)
            except UnlessNamedError as error:
                if named and step in steps:
                    raise
                reporter.warn(f"{error.what}; {error.fix}")
                stale = False
        if tell:
            tell(step, stale)
        last = run or last
    assert last is not None
    return last


def _work(step: Step, campaign: Campaign, out: Out) -> dict[str, int]:
    counts = step.run(campaign, out)
    told = {each.name for each in step.datasets if each.by_value and not each.files(campaign)}
    before = out.noted["inputs"]
    now = campaign.noted(each for each in step.datasets if each.name not in told)
    for name in {**before, **now}.keys() - told:
        if before.get(name) != now.get(name):
            raise CurationError(
                f"{campaign.root / name}: has changed while the step {step.name} read it",
                "run this again; the last results are as they were",
            )
    return counts


def versions(*packages: str) -> dict[str, str | None]:
    """The versions of packages; None for those that cannot be imported.

    >>> versions("pydantic", "no-such-package")["no-such-package"] is None
    True
    """
    return {name: _version(name) for name in packages}


def _version(package: str) -> str | None:
    try:
        if util.find_spec(_MODULES.get(package, package)) is None:
            return None
        return _installed(package)
    except ValueError:  # the import is blocked
        return None
    except metadata.PackageNotFoundError:
        return "unknown"


_installed = cache(metadata.version)  # it reads a file, and each step asks several times


def splitters(language: str) -> tuple[str, ...]:
    """The packages that wordfreq needs to split texts of a language into words.

    >>> splitters("ja-JP"), splitters("en")
    (('mecab-python3', 'ipadic'), ())
    """
    return _SPLITTERS.get(base(language), ())


def word_packages(settings: Settings) -> tuple[str, ...]:
    """The packages that pitfalls in words depend on."""
    return (*_WORD_PACKAGES, *splitters(settings.campaign.language))


def removed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """The packages that a step's last results were made with and that are not installed now.

    Args:
        before: the settings of the last results; versions are under ``versions``.
        now: the settings now.

    Returns:
        The version that was used, by package.

    >>> removed({"versions": "damaged"}, {"versions": {"a": "1"}})
    {}
    >>> removed({"versions": {"a": "1", "b": "2"}}, {"versions": {"a": "1", "b": None}})
    {'b': '2'}
    """
    then, here = before.get("versions"), now.get("versions")
    if not isinstance(then, Mapping) or not isinstance(here, Mapping):
        return {}
    return {
        name: str(version)
        for name, version in then.items()
        if version is not None and name in here and here[name] is None
    }


class Reading(Campaign):
    """A campaign that warns if a dataset is out of date when it is asked for. It runs nothing.

    Under its lock it is silent: who writes brings up to date what is read.
    """

    def __init__(self, campaign: Campaign, reporter: Reporter = QUIET) -> None:
        super().__init__(campaign.root, campaign.settings)
        object.__setattr__(self, "_reporter", reporter)
        object.__setattr__(self, "_is_silent", False)

    _reporter: Reporter
    _is_silent: bool

    def __getitem__(self, dataset: Any) -> Any:
        step = MAKERS.get(dataset)
        if step and not self._is_silent:
            with self._silent():
                is_new = is_up_to_date(self, step)
            if not is_new:
                self._reporter.warn(
                    f"{dataset.name}: out of date, or made from what is; «curation status» says "
                    "what has changed, and «curation run» computes it again"
                )
        return super().__getitem__(dataset)

    @contextmanager
    def lock(self, *, wait: float = 0) -> Iterator[None]:
        """As every campaign; see ``Campaign.lock``."""
        with super().lock(wait=wait), self._silent():
            yield

    @contextmanager
    def _silent(self) -> Iterator[None]:
        object.__setattr__(self, "_is_silent", True)
        try:
            yield
        finally:
            object.__setattr__(self, "_is_silent", False)

    def reload(self) -> "Reading":
        """The campaign opened again, with its settings as they are now."""
        return Reading(open_campaign(self.root), self._reporter)
