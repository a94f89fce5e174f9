"""Measure bias in word embeddings by our measure and by those of earlier work, each a run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, digest, printable, read_json
from curation.records import Evidence
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import Measured, measure_groups, policies
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.text.wording import amount, some
from curation.trust.groups import Groups
from curation.trust.vectors import prior
from curation.trust.vectors.cosine import known_words, vector_biases
from curation.trust.vectors.prior import MEASURES, NoPairsError, Scale, Space
from curation.trust.vectors.reading import Vectors, read_vectors

MEASURE = "vectors"
WEAT = "caliskan"  # the measure whose run has the test
ALGORITHM = 1
Runs = list[tuple[TrustRun, bool]]


@dataclass(frozen=True)
class VectorFile:
    """A file of word vectors, and for which groups it is measured.

    Attributes:
        campaign: the campaign.
        path: the file (see ``read_vectors``).
        names: the groups; by default all of the campaign.
        source: the name of what is measured; by default the file's.
        year: the year that the vectors are of, which is added to the name.
        more: words that are read beside those of the groups and targets.
        reporter: where progress and warnings go.
    """

    campaign: Campaign
    path: Path
    names: Sequence[str] = ()
    source: str = ""
    year: int | None = None
    more: Sequence[str] = ()
    reporter: Reporter = QUIET

    @cached_property
    def groups(self) -> list[Groups]:
        """The groups, checked."""
        return read_groups(self.campaign, self.names)

    @cached_property
    def name(self) -> str:
        """The source's name in the names of runs.

        Raises:
            CurationError: it is not a name for a folder, or a year has no name before it.
        """
        if self.year is not None and not self.source:
            raise CurationError(
                f"--year {self.year}: the vectors of all years need one name",
                "add --source NAME; the run is then of NAME+YEAR",
            )
        name = (self.source or source_name(self.path)) + (f"+{self.year}" if self.year else "")
        run_folder(self.campaign, MEASURE, "", name)  # refuses a bad name before the work
        return name

    @cached_property
    def sha256(self) -> str | None:
        """The sha256 of the file."""
        return digest(self.path)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The year, and how the file was debiased: fields of ``run.json`` and of the identity."""
        facts: dict[str, Any] = {"year": self.year} if self.year else {}
        try:
            about = read_json(report_of(self.path))
        except CurationError:  # there is none
            about = None
        if isinstance(about, dict) and about.get("sha256_written", "") == self.sha256:
            facts["debiased"] = {name: about.get(name) for name in ("method", "fitted")}
        return facts

    @cached_property
    def vectors(self) -> Vectors:
        """The vectors of the words of groups and targets; they are read once, if they are needed.

        Raises:
            CurationError: the file cannot be read.
        """
        words = dict.fromkeys([*words_of(self.groups), *self.more])
        size = self.path.stat().st_size if self.path.is_file() else 0
        with self.reporter.tracked(f"reading {self.path.name}", size, bytes=True) as advance:
            vectors = read_vectors(self.path, list(words), advance=advance)
        if vectors.repeated:
            self.reporter.warn(
                f"{self.path}: more than one vector of {some(vectors.repeated, 5)}; "
                "the first is used"
            )
        return vectors

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors inside name the file."""
        try:
            yield
        except CurationError as error:
            raise type(error)(f"{self.path}: {error.what}", error.fix) from None

    def about(self, groups: Groups, *, warn: bool = True) -> dict[str, Any]:
        """What ``run.json`` says of the file; warns of group words without a vector."""
        vectors, own = self.vectors, set(words_of([groups]))
        lists = groups.words.items()
        missing = {name: [word for word in words if word not in vectors] for name, words in lists}
        missing = {name: words for name, words in missing.items() if words}
        for name, words in missing.items() if warn else ():
            self.reporter.warn(
                f"[groups.{groups.name}]: {amount(len(words), 'word')} of "
                f"{len(groups.words[name])} of the group «{name}» left out, without a vector: "
                f"{some(words, 5)}"
            )
        targets = (word for words in groups.targets.values() for word in words)
        return {
            "file": printable(self.path.name),
            "dimensions": vectors.array.shape[1],
            "missing": missing,
            "missing_targets": [word for word in targets if word not in vectors],
            "spellings": {word: form for word, form in vectors.spellings.items() if word in own},
            "repeated": list(vectors.repeated),
            **self.facts,
        }


def words_of(every: Sequence[Groups]) -> list[str]:
    """All words of groups and targets."""
    lists = (lists for groups in every for lists in (groups.words, groups.targets))
    return list(dict.fromkeys(w for each in lists for words in each.values() for w in words))


def report_of(path: Path) -> Path:
    """The JSON file beside vectors that says how they were debiased."""
    return path.with_name(f"{path.name}.json")


def measure_vectors(
    file: VectorFile, *, held_out: Callable[[Groups], Evidence] | None = None
) -> Runs:
    """Measure the bias of targets in a file of word vectors; runs ``vectors/GROUPS-SOURCE``.

    Args:
        file: the file and the groups.
        held_out: evidence of debiasing for groups; a run without it is measured again.

    Returns:
        For each of the groups its run, and whether it was measured now.

    Raises:
        CurationError: the file or the groups are not valid, or no word of a group has a vector.
    """

    def work(groups: Groups) -> Measured:
        vectors, campaign = file.vectors, file.campaign
        with file.naming():
            known = known_words(vectors, groups)
        about, confidence = file.about(groups), campaign.settings.trust.confidence
        return Measured(
            vector_biases(vectors, known, policies(campaign), confidence=confidence),
            about,
            lambda other, changed: vector_biases(vectors, other, changed),
            [held_out(groups)] if held_out else (),
            known,
        )

    return [
        measure_groups(
            *(file.campaign, groups, MEASURE, file.name, partial(work, groups)),
            identity={"vectors": ALGORITHM, "sha256": file.sha256, **file.facts},
            checks=("held_out",) if held_out else (),
            reporter=file.reporter,
        )
        for groups in file.groups
    ]


class TargetSets(NamedTuple):
    """The two sets of targets of WEAT: names (those of the files) and words."""

    x: tuple[str, tuple[str, ...]]
    y: tuple[str, tuple[str, ...]]


def measure_prior(
    file: VectorFile,
    *,
    measures: Sequence[str] = (),
    scale: Scale = "own",
    strictness: float = 1.0,
    sets: TargetSets | None = None,
) -> Runs:
    """Measure groups by prior measures; runs ``MEASURE/GROUPS-SOURCE``.

    Args:
        file: the file and the groups. With ``sets``, ``more`` needs their words.
        measures: the measures; by default all that fit the number of groups, without those that are
            uncentred, which equal others; with ``sets`` only caliskan.
        scale: whether vectors are normalised.
        strictness: c of Bolukbasi's direct bias.
        sets: the target sets of WEAT, which is in the run of caliskan.

    Returns:
        The runs, and whether each was measured now.

    Raises:
        CurationError: a measure is not known or cannot be computed for the groups.
    """
    for name in measures:
        if name not in MEASURES:
            raise CurationError(f"--measure {name}: no such measure", f"use {', '.join(MEASURES)}")
    for groups in file.groups:
        if sets is not None:
            _check_sets(groups, sets)
    settings = file.campaign.settings
    label, done = file.name + ("" if scale == "own" else f"+{scale}"), list[tuple[TrustRun, bool]]()

    def work(name: str, groups: Groups, unit: bool, warn: bool) -> Measured:
        with file.naming():
            prior.check_measure(name, groups, file.vectors)
        about, space = file.about(groups, warn=warn), Space(file.vectors, unit=unit)
        ends = prior.intervals(name, groups, space, confidence=settings.trust.confidence)
        found = prior.biases(name, groups, space, ends)
        about |= prior.facts(name, groups, space, found, strictness=strictness)
        if sets is not None and name == WEAT:
            about["weat"] = _weat(groups, space, sets, seed=settings.campaign.seed)
        used = prior.used_words(name, groups, file.vectors)
        return Measured(found, about, lambda g, _: prior.biases(name, g, space), groups=used)

    for groups in file.groups:
        warn, undefined = True, set[str]()  # of missing words, once for all measures
        for name in dict.fromkeys(measures) or ([WEAT] if sets else prior.fitting(groups)):
            unit = MEASURES[name].unit if scale == "own" else scale == "unit"
            identity: dict[str, Any] = {"file": file.path.name, "sha256": file.sha256}
            identity |= {"unit": unit, "prior": ALGORITHM}
            source = label
            if name.startswith("bolukbasi"):
                identity["strictness"] = strictness
            if sets is not None and name == WEAT:
                identity["sets"] = {title: list(members) for title, members in sets}
                source += f"+{sets.x[0]}-{sets.y[0]}"
            try:
                run, measured = measure_groups(
                    *(file.campaign, groups, name, source),
                    partial(work, name, groups, unit, warn),
                    identity=identity | file.facts,
                    reporter=file.reporter,
                    warned=undefined,
                )
            except NoPairsError as error:
                if measures:
                    raise
                file.reporter.warn(f"{error.what}; it is left out")
                continue
            done.append((run, measured))
            warn = warn and not measured
    return done


def _check_sets(groups: Groups, sets: TargetSets) -> None:
    if sets.x[0] == sets.y[0]:
        raise CurationError(f"--x and --y are both named «{sets.x[0]}»", "rename one of the files")
    Groups(groups.name, groups.words, dict(sets)).check()
    if len(groups.words) != 2:
        raise CurationError(
            f"[groups.{groups.name}]: WEAT compares two groups, and there are {len(groups.words)}",
            "choose groups with two lists by --groups",
        )
    x, y = ({word.casefold() for word in words} for _, words in sets)
    if both := sorted(x & y):
        raise CurationError(f"--x and --y: «{both[0]}» is in both", "remove it from one file")


def _weat(groups: Groups, space: Space, sets: TargetSets, *, seed: int) -> dict[str, Any]:
    known = {name: space.vectors.known(words) for name, words in sets}
    if empty := [name for name, words in known.items() if not words]:
        raise CurationError(
            f"the set «{empty[0]}» of WEAT: none of its words has a vector",
            "use words of the vectors' language and spelling",
        )
    rows = [*map(space.rows, known.values()), *space.groups(groups.words, pairs=False)]
    x, y = ({"name": name, "words": list(words)} for name, words in known.items())
    missing = [word for _, own in sets for word in own if word not in space.vectors]
    return {"x": x, "y": y, "missing": missing, **prior.weat(*rows, seed=seed)._asdict()}
