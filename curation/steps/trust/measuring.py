"""Run a measure on a campaign's groups and keep its results: what all ``trust`` commands share.

Also which runs are of the groups and settings as they are now.
"""

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from curation import __version__
from curation.campaign import Campaign
from curation.files import CurationError
from curation.records import Bias, Evidence, Rejection
from curation.steps.reporter import QUIET, Reporter
from curation.steps.trust import runs
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.runs import IDENTITY, TrustRun
from curation.text.wording import amount, some
from curation.trust.framework import Policies, outside
from curation.trust.groups import Groups
from curation.trust.protocol.again import Again, stability

ALGORITHM = 2
WAIT = 600.0  # seconds for another command to end, so that results are not lost


@dataclass(frozen=True)
class Measured:
    """What a measure returns to ``measure_groups``.

    Attributes:
        biases: one per target, in the order of the targets.
        about: fields for ``run.json``: counts, missing words, software.
        again: the measure with other words or policies, without intervals, for the evidence of
            content validity and sensitivity; None if it cannot be computed again.
        evidence: more evidence, such as the agreement of annotators.
        groups: the groups with those words only that the measure found, for ``again``; None if
            all were found.
        refused: rows of the input that do not count, for ``rejected.jsonl``.
    """

    biases: Sequence[Bias]
    about: Mapping[str, Any] = field(default_factory=dict)
    again: Again | None = None
    evidence: Sequence[Evidence] = ()
    groups: Groups | None = None
    refused: Sequence[Rejection] = ()


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


def measure_groups(
    campaign: Campaign,
    groups: Groups,
    measure: str,
    source: str,
    work: Callable[[], Measured],
    *,
    identity: Mapping[str, Any],
    checks: Sequence[str] = (),
    reporter: Reporter = QUIET,
    warned: set[str] | None = None,
) -> tuple[TrustRun, bool]:
    """Measure, unless the run is there already, and keep the results.

    The campaign must not be locked: measuring may take long, and only writing takes the lock.

    Args:
        campaign: the campaign.
        groups: the groups and targets.
        measure: the measure's name.
        source: the name of what is measured.
        work: computes the results.
        identity: what identifies the run beside groups and policies: input files with their
            sha256, options, versions of software that matters.
        checks: evidence without which a run is measured again.
        reporter: where progress and warnings go.
        warned: why targets of these groups have no result, as other measures' warnings said; the
            same is not said again.

    Returns:
        The run, and whether it was measured now.

    Raises:
        CurationError: the run's folder belongs to groups of another name, or another command has
            the campaign's lock for more than ten minutes after measuring.
        PermissionError: the campaign may not be written to.
    """
    folder = runs.run_folder(campaign, measure, groups.name, source)
    own, settings = policies(campaign), campaign.settings
    whole = {**common_identity(campaign, groups), **identity}
    runs.refuse_other_groups(folder, groups.name)
    known = runs.current(folder, whole)
    if known and {*checks} <= {each.check for each in known.evidence}:
        return known, False
    if not os.access(campaign.root, os.W_OK):  # measuring may take hours
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(campaign.root))
    found = work()
    evidence = list(found.evidence)
    if found.again is not None:
        evidence += stability(
            found.again,
            found.groups or groups,
            own,
            draws=settings.trust.samples,
            seed=settings.campaign.seed,
            confidence=settings.trust.confidence,
        )
    with campaign.lock(wait=WAIT):
        run = runs.write_run(
            folder,
            groups=groups.name,
            identity=whole,
            biases=found.biases,
            evidence=evidence,
            about={"curation": __version__, **found.about},
            refused=found.refused,
        )
    missing: dict[str, list[str]] = {}
    for each in run.biases:
        if each.undefined:
            missing.setdefault(each.undefined, []).append(each.target)
    codes = (f"{code} {len(names)} ({some(names, 5)})" for code, names in missing.items())
    why, told = "; ".join(codes), set[str]() if warned is None else warned
    if missing and why not in told:
        reporter.warn(
            f"{run.name}: no result for {sum(map(len, missing.values()))} of "
            f"{amount(len(run.biases), 'target')}: {why}. docs/trust.md has the codes"
        )
    told.add(why)
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
        runs: those that are of the groups and settings as they are now.
        groups: every table of groups that can be read, by name.
        problems: why each other table cannot, by name.
        old: the complete runs that are not of these groups and settings.
        left_out: why each other run is not used, by its name; also if it cannot be read.
    """

    runs: list[TrustRun]
    groups: dict[str, Groups]
    problems: dict[str, str]
    old: list[TrustRun]
    left_out: dict[str, str]


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
    found: list[TrustRun] = []
    groups: dict[str, Groups] = {}
    problems: dict[str, str] = {}
    left_out: dict[str, str] = {}

    def told(error: CurationError) -> str:
        return f"{error.what}; {error.fix}".replace(f"{campaign.root}/", "")

    for path in sorted(campaign.trust.glob(f"runs/*/*/{runs.RUN}")):
        try:
            found.append(runs.read_run(path.parent))
        except CurationError as error:
            left_out[path.parent.relative_to(campaign.trust / "runs").as_posix()] = told(error)
    for name in dict.fromkeys((*campaign.settings.groups, *(run.groups for run in found))):
        try:
            (groups[name],) = read_groups(campaign, [name])
        except CurationError as error:
            problems[name] = told(error)
    # As they are after they were written and read again.
    plain = {n: orjson.dumps(common_identity(campaign, each)) for n, each in groups.items()}
    identities = {name: orjson.loads(content) for name, content in plain.items()}
    for run in found:
        own = run.about.get(IDENTITY)
        known = own if isinstance(own, dict) else {}
        now = identities.get(run.groups, {})
        if run.groups in problems:
            left_out[run.name] = problems[run.groups]
        elif changed := [name for name, value in now.items() if known.get(name) != value]:
            left_out[run.name] = (
                f"it was measured with other {', '.join(changed)}; measure again: «{_again(run)}», "
                "with the same options as before"
            )
    old = [run for run in found if run.name in left_out]
    current = [run for run in found if run.name not in left_out]
    return KnownRuns(current, groups, problems, old, dict(sorted(left_out.items())))


def measure_runs(campaign: Campaign) -> list[RunState]:
    """The campaign's runs, for ``curation status``."""
    known = known_runs(campaign)
    whole = {run.name: run for run in (*known.runs, *known.old)}
    rows = []
    for name in sorted({*whole, *known.left_out}):
        why, run = known.left_out.get(name, ""), whole.get(name)
        measure, _, source = name.partition("/")
        missing = [bias.undefined is not None for bias in run.biases] if run else None
        targets, undefined = (None, None) if missing is None else (len(missing), sum(missing))
        again = _again(run) if run and why and run.groups in known.groups else ""
        state = "not used" if why else "up to date"
        rows.append(RunState(measure, source, targets, undefined, state, why, again))
    return rows


def _again(run: TrustRun) -> str:
    """The command that measures a run again, without options such as ``--window``."""
    source, year = run.source.removeprefix(f"{run.groups}-"), run.about.get("year")
    command = _COMMANDS.get(run.measure, "prior FILE")
    if run.measure not in _COMMANDS:  # a prior measure, whose command adds what is behind +
        source = source.partition("+")[0]
    if year:
        source = f"{source.removesuffix(f'+{year}')} --year {year}"
    return f"curation trust {command} --groups {run.groups} --source {source}"
