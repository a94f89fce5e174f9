"""``curation trust prior``: the measures of earlier work on word embeddings, each a run."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, digest
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust.measuring import Measured, measure_groups
from curation.steps.trust.runs import TrustRun, run_folder, source_name
from curation.steps.trust.vectors import (
    about_words,
    naming,
    read_once,
    warn_of_missing,
    words_of,
)
from curation.trust.groups import Groups
from curation.trust.prior.caliskan import weat
from curation.trust.prior.measuring import (
    MEASURES,
    NoPairsError,
    Scale,
    Space,
    biases,
    check_measure,
    facts,
    intervals,
    used_words,
)
from curation.trust.vectors.reading import Vectors

ALGORITHM = 1
WEAT = "caliskan"  # the measure whose run has the test


class TargetSets(NamedTuple):
    """The two sets of targets of WEAT: names (those of the files) and words."""

    x: tuple[str, tuple[str, ...]]
    y: tuple[str, tuple[str, ...]]

    @property
    def suffix(self) -> str:
        """What is added to the source's name."""
        return f"+{self.x[0]}-{self.y[0]}"


def measure_prior(
    campaign: Campaign,
    groups: Sequence[Groups],
    file: Path,
    *,
    measures: Sequence[str] = (),
    scale: Scale = "own",
    source: str = "",
    strictness: float = 1.0,
    sets: TargetSets | None = None,
    reporter: Reporter = QUIET,
) -> list[tuple[TrustRun, bool]]:
    """Measure groups by prior measures.

    Args:
        campaign: the campaign.
        groups: the groups and targets.
        file: the word vectors.
        measures: the measures; by default all that fit the number of groups, without those that are
            uncentred, which equal others; with ``sets`` only caliskan.
        scale: whether vectors are normalised.
        source: the name of what is measured; by default the file's stem.
        strictness: c of Bolukbasi's direct bias.
        sets: the target sets of WEAT, which is in the run of caliskan.
        reporter: where progress and warnings go.

    Returns:
        The runs, and whether each was measured now.

    Raises:
        CurationError: a measure is not known or cannot be computed for the groups.
    """
    for name in measures:
        if name not in MEASURES:
            raise CurationError(f"--measure {name}: no such measure", f"use {', '.join(MEASURES)}")
    if sets is not None:
        for each in groups:
            _check_sets(each, sets)
    label = (source or source_name(file)) + ("" if scale == "own" else f"+{scale}")
    for each in groups:
        run_folder(campaign, WEAT, each.name, label)  # refuses a bad name before the work
    words = [*words_of(groups), *(word for _, own in sets or () for word in own)]
    vectors = read_once(file, words, reporter)
    sha256 = digest(file)
    done = []
    for each in groups:
        warned: Reporter | None = reporter  # of missing words, once for all measures
        undefined: set[str] = set()
        for name in dict.fromkeys(measures) or ([WEAT] if sets else _fitting(each)):
            unit = MEASURES[name].unit if scale == "own" else scale == "unit"
            own = sets if name == WEAT else None
            identity: dict[str, Any] = {"file": file.name, "sha256": sha256, "unit": unit}
            identity["prior"] = ALGORITHM
            if name.startswith("bolukbasi"):
                identity["strictness"] = strictness
            if own is not None:
                identity["sets"] = {title: list(members) for title, members in own}
            work = partial(
                _measured, campaign, file, each, name, vectors, unit, strictness, own, warned
            )
            suffix = own.suffix if own else ""
            try:
                run = measure_groups(
                    *(campaign, each, name, label + suffix, work),
                    identity=identity,
                    reporter=reporter,
                    warned=undefined,
                )
            except NoPairsError as error:
                if measures:
                    raise
                reporter.warn(f"{error.what}; it is left out")
                continue
            done.append(run)
            warned = None if run[1] else warned
    return done


def _fitting(groups: Groups) -> list[str]:
    """The measures that take this number of groups, without those that equal others."""
    return [
        name
        for name, measure in MEASURES.items()
        if measure.centring != "uncentred" and (len(groups.words) == 2 or measure.several)
    ]


def _measured(
    campaign: Campaign,
    file: Path,
    groups: Groups,
    name: str,
    read: Callable[[], Vectors],
    unit: bool,
    strictness: float,
    sets: TargetSets | None,
    warned: Reporter | None,
) -> Measured:
    vectors = read()
    with naming(file):
        check_measure(name, groups, vectors)
    about = about_words(file, vectors, groups)
    if warned:
        warn_of_missing(groups, about["missing"], warned)
    space = Space(vectors, unit=unit)
    ends = intervals(name, groups, space, confidence=campaign.settings.trust.confidence)
    found = biases(name, groups, space, ends)
    about |= facts(name, groups, space, found, strictness=strictness)
    if sets is not None:
        about["weat"] = _weat(groups, space, sets, seed=campaign.settings.campaign.seed)
    return Measured(
        found,
        about,
        lambda other, _: biases(name, other, space),
        groups=used_words(name, groups, vectors),
    )


def _check_sets(groups: Groups, sets: TargetSets) -> None:
    (first, x), (second, y) = sets
    if first == second:
        raise CurationError(f"--x and --y are both named «{first}»", "rename one of the files")
    targets: Mapping[str, tuple[str, ...]] = {first: x, second: y}
    Groups(groups.name, groups.words, targets).check()
    if len(groups.words) != 2:
        raise CurationError(
            f"[groups.{groups.name}]: WEAT compares two groups, and there are {len(groups.words)}",
            "choose groups with two lists by --groups",
        )
    if both := sorted({word.casefold() for word in x} & {word.casefold() for word in y}):
        raise CurationError(
            f"--x and --y: «{both[0]}» is in both", "remove it from one of the files"
        )


def _weat(groups: Groups, space: Space, sets: TargetSets, *, seed: int) -> dict[str, Any]:
    known = [space.vectors.known(words) for _, words in sets]
    for (name, _), words in zip(sets, known, strict=True):
        if not words:
            raise CurationError(
                f"the set «{name}» of WEAT: none of its words has a vector",
                "use words of the vectors' language and spelling",
            )
    a, b = space.groups(groups.words, pairs=False)
    result = weat(space.rows(known[0]), space.rows(known[1]), a, b, seed=seed)
    return {
        "x": {"name": sets.x[0], "words": list(known[0])},
        "y": {"name": sets.y[0], "words": list(known[1])},
        "missing": [w for _, own in sets for w in own if not space.vectors.known([w])],
        **result._asdict(),
    }
