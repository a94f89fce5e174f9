"""Run a measure on a campaign's groups and keep its results: what all ``trust`` commands share.

Also which runs are of the groups and settings as they are now.
"""

import errno
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from curation.campaign.store import Campaign
from curation.files import CurationError, shipped
from curation.text.wording import amount, some
from curation.trust.measure.framework import Policies, outside
from curation.trust.measure.groups import Groups
from curation.trust.runs import files
from curation.trust.runs.files import Measured, TrustRun, read_groups, run_folder
from curation.work.reporter import QUIET, Reporter
from curation.work.run_folder import differences

ALGORITHM = 3
WAIT = 600.0  # seconds for another command to end, so that results are not lost


def policies(campaign: Campaign) -> Policies:
    """The policies of ``[trust]``."""
    trust = campaign.settings.trust
    return Policies(trust.normalise, trust.negative, trust.divergences)


def common_identity(campaign: Campaign, groups: Groups) -> dict[str, Any]:
    """What identifies every run on these groups: their words, policies, settings, the seed."""
    own, trust = policies(campaign), campaign.settings.trust
    return {
        "algorithm": ALGORITHM,
        "groups": list(groups.names),
        "words": {name: list(words) for name, words in groups.words.items()},
        "targets": {name: list(words) for name, words in groups.targets.items()},
        "references": {name: list(shares) for name, shares in (groups.references or {}).items()},
        "policies": {**own._asdict(), "divergences": list(own.divergences)},
        "confidence": trust.confidence,
        "samples": trust.samples,
        "seed": campaign.settings.campaign.seed,
    }


@dataclass(frozen=True)
class Job:
    """What is measured for groups, and how.

    Attributes:
        campaign: the campaign; it must not be locked: measuring may take long, and only writing
            takes the lock.
        measure: the measure's name.
        source: the name of what is measured.
        work: computes the results of groups.
        identity: gives what identifies the run beside groups and policies: input files with their
            sha256, options, versions of software that matters. It may read large files.
        checks: evidence without which a run is measured again.
        reporter: where progress and warnings go.
        warned: why targets of these groups have no result, as other measures' warnings said; the
            same is not said again.
    """

    campaign: Campaign
    measure: str
    source: str
    work: Callable[[Groups], Measured]
    identity: Callable[[], Mapping[str, Any]]
    checks: Sequence[str] = ()
    reporter: Reporter = QUIET
    warned: set[str] = field(default_factory=set)

    def folder(self, groups: Groups) -> Path:
        """The folder of the run of groups.

        Raises:
            CurationError: the source's name cannot be one of a run.
        """
        return run_folder(self.campaign, self.measure, groups.name, self.source)


def measure_each(job: Job, every: Sequence[Groups]) -> Iterator[tuple[TrustRun, bool]]:
    """Measure each of the groups, as ``measure_groups`` does.

    Errors of the source's name show before ``Job.identity``, which is asked once.
    """
    for groups in every:
        job.folder(groups)
    once = replace(job, identity=cache(job.identity))
    for groups in every:
        yield measure_groups(replace(once, warned=set()), groups)


def measure_groups(job: Job, groups: Groups) -> tuple[TrustRun, bool]:
    """Measure, unless the run is there already, and keep the results.

    Returns:
        The run, and whether it was measured now.

    Raises:
        CurationError: the run's folder belongs to groups of another name, or another command has
            the campaign's lock for more than ten minutes after measuring.
        PermissionError: the campaign may not be written to.
    """
    from curation.trust.measure.again import stability

    campaign, reporter, folder = job.campaign, job.reporter, job.folder(groups)
    own, settings = policies(campaign), campaign.settings
    whole = {**common_identity(campaign, groups), **job.identity()}
    known = files.known_run(folder, groups.name)
    changed = differences(known.identity, whole) if known else []
    if known and not changed and {*job.checks} <= {each.check for each in known.evidence}:
        return known, False
    if not os.access(campaign.root, os.W_OK):  # measuring may take hours
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(campaign.root))
    if known and changed:
        reporter.note(f"{known.name} is measured again, and replaced: other {', '.join(changed)}")
    found = job.work(groups)
    if found.again is not None:
        evidence = stability(
            found.again,
            found.groups or groups,
            own,
            draws=settings.trust.samples,
            seed=settings.campaign.seed,
            confidence=settings.trust.confidence,
        )
        found = replace(found, evidence=[*found.evidence, *evidence])
    with campaign.lock(wait=WAIT):
        run = files.write_run(folder, groups.name, whole, found)
    missing: dict[str, list[str]] = defaultdict(list)
    for each in (bias for bias in run.biases if bias.undefined):
        missing[each.undefined or ""].append(each.target)
    codes = (f"{code} {len(names)} ({some(names, 5)})" for code, names in missing.items())
    why = "; ".join(codes)
    if missing and why not in job.warned:
        reporter.warn(
            f"{run.name}: no result for {sum(map(len, missing.values()))} of "
            f"{amount(len(run.biases), 'target')}: {why}. docs/trust.md has the codes"
        )
    job.warned.add(why)
    if own.negative == "raw" and own.normalise == "sum" and (raw := outside(run.biases)).negative:
        reporter.warn(
            f"{run.name}: {raw.negative} of {len(run.biases)} targets have a negative "
            f"association. L1 of {raw.beyond} is above its maximum, up to {raw.largest:.1f}; "
            "see docs/trust.md, Negative associations"
        )
    return run, True


# --- runs as they are now -----------------------------------------------------------------------


class KnownRuns(NamedTuple):
    """The runs of a campaign.

    Attributes:
        complete: the runs that can be read, by name.
        groups: every table of groups that can be read, by name.
        problems: why each other table cannot, by name.
        left_out: why a run is not used, by its name: it cannot be read, or is not of the groups and
            settings as they are now.
    """

    complete: dict[str, TrustRun]
    groups: dict[str, Groups]
    problems: dict[str, str]
    left_out: dict[str, str]

    @property
    def runs(self) -> list[TrustRun]:
        """The runs that are used."""
        return [run for name, run in self.complete.items() if name not in self.left_out]


class RunState(NamedTuple):
    """A run of a bias measure: how many targets it has, and how many have no result.

    ``state`` is "up to date" if its groups and settings are those of now; else it is "not used",
    and ``why`` says why the trust report leaves it out. ``again`` is the command that measures it
    again, if that helps. Whether the files that it measured have changed is not looked at. A run
    that cannot be read has no counts.
    """

    measure: str
    source: str
    targets: int | None
    undefined: int | None
    state: str
    why: str
    again: str


_COMMANDS = {
    "text-automated": "text FILE",
    "text-human": "text --labels FILE",
    "vectors": "vectors FILE",
    "contextual": "contextual MODEL FILE",
    "probe": "probe MODEL FILE",
}
"""How each measure is computed; all others are prior measures."""


def known_runs(campaign: Campaign) -> KnownRuns:
    """The campaign's runs, and whether they are of the present groups and settings.

    Whether the files that a run measured have changed is not looked at: they may be large. The
    command that made the run compares them.
    """
    complete: dict[str, TrustRun] = {}
    groups: dict[str, Groups] = {}
    problems: dict[str, str] = {}
    left_out: dict[str, str] = {}

    def told(error: CurationError) -> str:
        ours = shipped("data", "groups")  # wherever curation is installed
        said = f"{error.what}; {error.fix}".replace(f"{campaign.root}/", "")
        return said.replace(f"{ours}/", "data/groups/")

    for path in sorted(campaign.folder("trust").glob(f"runs/*/*/{files.RUN}")):
        name = path.parent.relative_to(campaign.folder("trust") / "runs").as_posix()
        try:
            complete[name] = _run(campaign, path.parent)
        except CurationError as error:
            left_out[name] = told(error)
    used = (run.groups for run in complete.values())
    for name in dict.fromkeys((*campaign.settings.groups, *used)):
        try:
            (groups[name],) = read_groups(campaign, [name])
        except CurationError as error:
            problems[name] = told(error)
    # As they are after they were written and read again.
    plain = {n: orjson.dumps(common_identity(campaign, each)) for n, each in groups.items()}
    identities = {name: orjson.loads(content) for name, content in plain.items()}
    for name, run in complete.items():
        now = identities.get(run.groups, {})
        if run.groups in problems:
            left_out[name] = problems[run.groups]
        elif changed := [key for key, value in now.items() if run.identity.get(key) != value]:
            left_out[name] = (
                f"it was measured with other {', '.join(changed)}; measure again: «{_again(run)}», "
                "with the same options as before"
            )
    return KnownRuns(complete, groups, problems, dict(sorted(left_out.items())))


def _run(campaign: Campaign, folder: Path) -> TrustRun:
    paths = [folder / name for name in (files.RUN, files.BIAS)]
    return campaign.once(folder, paths, lambda: files.read_run(folder, sha256=campaign.digest))


def measure_runs(campaign: Campaign) -> list[RunState]:
    """The campaign's runs, for ``curation status``."""
    known = known_runs(campaign)
    rows = []
    for name in sorted({*known.complete, *known.left_out}):
        why, run = known.left_out.get(name, ""), known.complete.get(name)
        measure, _, source = name.partition("/")
        targets = len(run.biases) if run else None
        undefined = sum(bias.undefined is not None for bias in run.biases) if run else None
        again = _again(run) if run and why and run.groups in known.groups else ""
        state = "not used" if why else "up to date"
        rows.append(RunState(measure, source, targets, undefined, state, why, again))
    return rows


def _again(run: TrustRun) -> str:
    """The command that measures a run again, without options that its name does not show."""
    source, year = run.source.removeprefix(f"{run.groups}-"), run.about.get("year")
    command = _COMMANDS.get(run.measure, "prior FILE")
    if run.measure not in _COMMANDS:  # a prior measure, whose command adds what is behind +
        source = source.partition("+")[0]
    if run.measure == "text-automated":  # as of a prior measure
        source, _, window = source.partition("+window-")
        source += f" --window {window}" if window else ""
    if year:
        source = f"{source.removesuffix(f'+{year}')} --year {year}"
    return f"curation trust {command} --groups {run.groups} --source {source}"
