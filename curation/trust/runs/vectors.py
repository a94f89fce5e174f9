"""Measure bias in word embeddings by our measure and by those of earlier work, each a run."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError, digest, printable, read_json
from curation.formats.word_vectors import (
    Block,
    Vectors,
    blocks,
    check_form,
    read_vectors,
    write_vectors,
)
from curation.records import Evidence
from curation.text.wording import amount, some
from curation.trust.measure import prior
from curation.trust.measure.cosine import known_words, unit, vector_biases
from curation.trust.measure.debias import (
    WEIGHT,
    Change,
    Method,
    compare,
    equalise_sets,
    group_subspace,
    hard_blocks,
    held_out,
    mapped_blocks,
    measure_targeted,
    soft_of_blocks,
)
from curation.trust.measure.groups import Groups
from curation.trust.measure.prior import MEASURES, NoPairsError, Scale
from curation.trust.runs.files import (
    Measured,
    TrustRun,
    read_groups,
    read_run,
    read_words,
    source_name,
)
from curation.trust.runs.measuring import Job, measure_each, measure_groups, policies
from curation.version import __version__
from curation.work.reporter import QUIET, Reporter
from curation.work.run_folder import write_json

MEASURE = "vectors"
WEAT = "caliskan"  # the measure whose run has the test
ALGORITHM, DEBIASING = 1, 1
Runs = list[tuple[TrustRun, bool]]
"""Runs, each with whether it was measured now."""


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
            CurationError: a year has no name before it.
        """
        if self.year is not None and not self.source:
            fix = "add --source NAME; the run is then of NAME+YEAR"
            raise CurationError(f"--year {self.year}: the vectors of all years need one name", fix)
        return (self.source or source_name(self.path)) + (f"+{self.year}" if self.year else "")

    @cached_property
    def sha256(self) -> str | None:
        """The sha256 of the file."""
        return digest(self.path)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The year, and how the file was debiased: fields of ``run.json`` and of the identity."""
        facts: dict[str, Any] = {"year": self.year} if self.year else {}
        about = _made(self.path)
        if about.get("sha256_written", "") == self.sha256:
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
        if repeated := some(vectors.repeated, 5):
            self.reporter.warn(
                f"{self.path}: more than one vector of {repeated}; the first is used"
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
        if warn:
            warn_of_words(groups, vectors, "vector", self.reporter)
        targets = (word for words in groups.targets.values() for word in words)
        return {
            "file": printable(self.path.name),
            "dimensions": vectors.array.shape[1],
            "missing": missing_words(groups, vectors),
            "missing_targets": [word for word in targets if word not in vectors],
            "spellings": {word: form for word, form in vectors.spellings.items() if word in own},
            "repeated": list(vectors.repeated),
            **self.facts,
        }


def words_of(every: Sequence[Groups]) -> list[str]:
    """All words of groups and targets."""
    lists = (lists for groups in every for lists in (groups.words, groups.targets))
    return list(dict.fromkeys(w for each in lists for words in each.values() for w in words))


def missing_words(groups: Groups, vectors: Vectors) -> dict[str, list[str]]:
    """The words without a vector, for each group that has some."""
    lists = groups.words.items()
    missing = {name: [word for word in words if word not in vectors] for name, words in lists}
    return {name: words for name, words in missing.items() if words}


def warn_of_words(groups: Groups, vectors: Vectors, lack: str, reporter: Reporter) -> None:
    """Warn of words of each group that are left out; ``lack`` is what they are without."""
    for name, words in missing_words(groups, vectors).items():
        reporter.warn(
            f"[groups.{groups.name}]: {amount(len(words), 'word')} of {len(groups.words[name])} of "
            f"the group «{name}» left out, without a {lack}: {some(words, 5)}"
        )


def report_of(path: Path) -> Path:
    """The JSON file beside vectors that says how they were debiased."""
    return path.with_name(f"{path.name}.json")


def _made(path: Path) -> dict[str, Any]:
    """What the JSON file beside vectors says; nothing if there is none, or it is something else."""
    try:
        about = read_json(report_of(path))
    except CurationError:
        return {}
    return about if isinstance(about, dict) else {}


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
    campaign = file.campaign

    def work(groups: Groups) -> Measured:
        again = partial(vector_biases, file.vectors)  # its errors name the file
        with file.naming():
            known = known_words(file.vectors, groups)
        about = file.about(groups)
        biases = again(known, policies(campaign), confidence=campaign.settings.trust.confidence)
        return Measured(biases, about, again, [held_out(groups)] if held_out else [], known)

    def identity() -> dict[str, Any]:
        return {"vectors": ALGORITHM, "sha256": file.sha256, **file.facts}

    checks = ["held_out"] if held_out else []
    job = Job(campaign, MEASURE, file.name, work, identity, checks, file.reporter)
    return list(measure_each(job, file.groups))


class TargetSets(NamedTuple):
    """The two sets of targets of WEAT: names (those of the files) and words."""

    x: tuple[str, tuple[str, ...]]
    y: tuple[str, tuple[str, ...]]


def read_target_sets(
    x: Path | None, y: Path | None, measures: Sequence[str] = ()
) -> TargetSets | None:
    """Read the target sets of WEAT, two lists of words; None if neither is given.

    Raises:
        CurationError: only one is given, a list cannot be read, or there are measures and the one
            with WEAT is not among them.
    """
    if x is None or y is None:
        if x is y:
            return None
        raise CurationError("WEAT compares two sets of targets", "give both --x and --y")
    if measures and WEAT not in measures:
        raise CurationError(
            f"--x and --y are for WEAT, which is in the run of {WEAT}", f"add --measure {WEAT}"
        )
    return TargetSets((source_name(x), read_words(x)), (source_name(y), read_words(y)))


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
    label, done = file.name + ("" if scale == "own" else f"+{scale}"), Runs()

    def work(name: str, of_length_1: bool, warn: bool, groups: Groups) -> Measured:
        space = file.vectors  # its errors name the file
        with file.naming():
            prior.check_measure(name, groups, space)
        about = file.about(groups, warn=warn)
        if of_length_1:
            space = replace(space, array=unit(space.array))
        ends = prior.intervals(name, groups, space, confidence=settings.trust.confidence)
        found = prior.biases(name, groups, space, ends)
        about |= prior.facts(name, groups, space, found, strictness=strictness, unit=of_length_1)
        if sets is not None and name == WEAT:
            about["weat"] = _weat(groups, space, sets, seed=settings.campaign.seed)
        used = prior.used_words(name, groups, file.vectors)
        return Measured(found, about, lambda g, _: prior.biases(name, g, space), groups=used)

    for groups in file.groups:
        warn, undefined = True, set[str]()  # of missing words, once for all measures
        for name in dict.fromkeys(measures) or ([WEAT] if sets else prior.fitting(groups)):
            of_length_1 = MEASURES[name].unit if scale == "own" else scale == "unit"
            identity: dict[str, Any] = {"file": file.path.name, "sha256": file.sha256}
            identity |= {"unit": of_length_1, "prior": ALGORITHM}
            identity |= {"strictness": strictness} if name.startswith("bolukbasi") else {}
            source = label
            if sets is not None and name == WEAT:
                identity["sets"] = {title: list(members) for title, members in sets}
                source += f"+{sets.x[0]}-{sets.y[0]}"
            identity |= file.facts
            job = Job(
                file.campaign,
                name,
                source,
                partial(work, name, of_length_1, warn),
                partial(dict, identity),
                reporter=file.reporter,
                warned=undefined,
            )
            try:
                run, measured = measure_groups(job, groups)
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
    if (k := len(groups.words)) != 2:
        what = f"[groups.{groups.name}]: WEAT compares two groups, and there are {k}"
        raise CurationError(what, "choose groups with two lists by --groups")
    x, y = ({word.casefold() for word in words} for _, words in sets)
    if both := sorted(x & y):
        raise CurationError(f"--x and --y: «{both[0]}» is in both", "remove it from one file")


def _weat(groups: Groups, vectors: Vectors, sets: TargetSets, *, seed: int) -> dict[str, Any]:
    known = {name: vectors.known(words) for name, words in sets}
    if empty := [name for name, words in known.items() if not words]:
        what = f"the set «{empty[0]}» of WEAT: none of its words has a vector"
        raise CurationError(what, "use words of the vectors' language and spelling")
    rows = [*map(vectors.rows, known.values()), *MEASURES[WEAT].rows(vectors, groups.words)]
    x, y = ({"name": name, "words": list(words)} for name, words in known.items())
    missing = [word for _, own in sets for word in own if word not in vectors]
    return {"x": x, "y": y, "missing": missing, **prior.weat(*rows, seed=seed)._asdict()}


# --- less bias ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Debiased:
    """What was written.

    Attributes:
        path: the vectors.
        report: the JSON file beside them.
        about: its content.
        changes: the measures before and after.
        runs: pairs of runs, after and before, for each judging table: of our measure, then of the
            one that is targeted.
    """

    path: Path
    report: Path
    about: dict[str, Any]
    changes: tuple[Change, ...]
    runs: tuple[tuple[TrustRun, TrustRun], ...]


def debias(
    campaign: Campaign,
    groups: Groups,
    path: Path,
    out: Path,
    *,
    method: Method,
    source: str = "",
    judges: Sequence[str] = (),
    keep: Sequence[str] = (),
    equalise: Sequence[tuple[str, ...]] | None = None,
    dimensions: int | None = None,
    weight: float = WEIGHT,
    reporter: Reporter = QUIET,
) -> Debiased:
    """Write debiased vectors, and a JSON file beside them that says how they were made.

    Both files are then measured by ours and by the measure that the method targets, for the trust
    report. The run of ours on the new file has the evidence ``held_out``.

    Args:
        campaign: the campaign; its settings say how the bias is measured.
        groups: the groups, whose words at the same place form sets, and the targets.
        path: the vectors.
        out: the new file; its name says the form.
        method: hard (two groups), multiclass (hard, any number of groups) or soft.
        source: the name of the original in the names of runs; by default that of a run of this
            file, else the file's.
        judges: the names of the groups with which both files are measured; by default ``groups``.
        keep: words that keep their bias, beside those of the groups.
        equalise: the sets that hard and multiclass make equal; by default those of the groups.
        dimensions: of the subspace; by default one less than there are groups.
        weight: λ of soft.
        reporter: where progress and warnings go.

    Raises:
        CurationError: the method does not fit the groups, a judging table cannot be measured, or
            the file cannot be written.
    """
    report = report_of(out)
    _check(groups, path, out, method, equalise=equalise is not None)
    most, aim = dimensions or len(groups.words) - 1, measure_targeted(groups, method)
    sets = list(zip(*groups.words.values(), strict=False)) if equalise is None else equalise
    more = [*words_of([groups]), *(word for each in sets for word in each)]
    names = judges or [groups.name]
    named = source or _measured_as(campaign, path) or source_name(path)
    file = VectorFile(campaign, path, names, named, more=more, reporter=reporter)
    before = file.vectors
    with file.naming():
        known_words(before, groups)
        space, pairs = group_subspace(groups, before, most)
        for judge in file.groups:
            prior.check_measure(aim, judge, before)
    members = [word for words in groups.words.values() for word in words]
    kept = {*before.spelled(members)} | set(keep)
    used = [word for each in (*pairs, *sets) if all(w in before for w in each) for word in each]
    fitted = sorted({*used, *before.spelled(used)})
    about: dict[str, Any] = {
        "curation": __version__,
        "algorithm": DEBIASING,
        "method": method,
        "file": printable(path.name),
        "sha256": file.sha256,
        "groups": {name: list(words) for name, words in groups.words.items()},
        "sets": len(pairs),
        "missing": [word for word in members if word not in before],
        "dimensions": most,
        "explained": space.shares.tolist(),
        "kept": sorted(kept),
        "fitted": fitted,
    }
    write_json(report, about)  # before the vectors: it marks them as made here
    try:
        with reporter.tracked(f"{path.name}: debias", path.stat().st_size, bytes=True) as advance:
            every = blocks(path, advance=advance)
            if method == "soft":
                soft = soft_of_blocks(every, space.axes, kept, weight=weight)
                about |= {"weight": weight, "steps": soft.steps, "converged": soft.converged}
                about |= {"objective": {"before": soft.before, "after": soft.after}}
                changed: Iterable[Block] = mapped_blocks(blocks(path), soft.map)
            else:
                made = equalise_sets(before, sets, space.axes)
                about |= {"equalised": sorted(made.rows)}
                about |= {"not_equalised": [*made.missing, *made.flat]}
                changed = hard_blocks(every, space.axes, kept, made.rows)
            about["words"] = write_vectors(out, changed)
    except CurationError:
        if not out.exists():
            report.unlink(missing_ok=True)
        raise
    if not about.get("converged", True):
        reporter.warn(f"{out}: soft debiasing did not converge in {about['steps']} steps")
    own, name = policies(campaign), source_name(out)
    new = replace(file, path=out, source=f"{name}+{method}" if name == file.source else name)
    changes = compare(groups, before, new.vectors, own, method=method)
    about |= {"sha256_written": new.sha256, "changes": [each._asdict() for each in changes]}
    write_json(report, about)
    confidence = campaign.settings.trust.confidence
    judged = partial(held_out, before, new.vectors, fitted, policies=own, confidence=confidence)
    ours = measure_vectors(new, held_out=judged), measure_vectors(file)
    theirs = (measure_prior(each, measures=[aim]) for each in (new, file))
    runs = ((run, old) for pair in (ours, theirs) for (run, _), (old, _) in zip(*pair, strict=True))
    return Debiased(out, report, about, changes, tuple(runs))


def _measured_as(campaign: Campaign, path: Path) -> str:
    """The source of a run of this very file; "" if there is none."""
    runs = list[TrustRun]()
    for folder in sorted((campaign.folder("trust") / "runs" / MEASURE).glob("*/")):
        with suppress(CurationError):
            runs.append(read_run(folder))
    sha256 = digest(path) if runs else None
    own = (r for r in runs if r.identity.get("sha256") == sha256 and not r.about.get("year"))
    return next((run.source.removeprefix(f"{run.groups}-") for run in own), "")


def _check(groups: Groups, path: Path, out: Path, method: Method, *, equalise: bool) -> None:
    if not path.exists():
        raise CurationError(f"{path}: no such file", "name a file of word vectors")
    if method == "hard" and (k := len(groups.words)) != 2:
        what = f"[groups.{groups.name}]: hard takes two groups, and there are {k}"
        raise CurationError(what, "use --method multiclass")
    if method == "soft" and equalise:
        raise CurationError("--equalise: soft does not equalise words", "leave the option out")
    if out.resolve() == path.resolve():
        raise CurationError(f"--out {out}: is the file that is read", "use another name")
    ours = {"method", "algorithm"} <= _made(out).keys()
    if not ours and (there := [each.name for each in (out, report_of(out)) if each.exists()]):
        raise CurationError(
            f"--out {out}: there is a file {there[0]}, and this command did not write it",
            "use another name, or delete the file",
        )
    check_form(out)
