"""Which runs of bias measures are of the groups and settings as they are now."""

from typing import Any, NamedTuple

import orjson

from curation.campaign import Campaign
from curation.files import CurationError
from curation.steps.trust import runs
from curation.steps.trust.group_files import read_groups
from curation.steps.trust.measuring import common_identity
from curation.steps.trust.runs import IDENTITY, TrustRun
from curation.trust.groups import Groups


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
    left_out: dict[str, str] = {}
    found: list[TrustRun] = []
    for path in sorted(campaign.trust.glob(f"runs/*/*/{runs.RUN}")):
        try:
            found.append(runs.read_run(path.parent))
        except CurationError as error:
            place = path.parent.relative_to(campaign.trust / "runs").as_posix()
            left_out[place] = f"{error.what}; {error.fix}".replace(f"{campaign.root}/", "")
    groups: dict[str, Groups] = {}
    problems: dict[str, str] = {}
    for name in dict.fromkeys((*campaign.settings.groups, *(run.groups for run in found))):
        try:
            (groups[name],) = read_groups(campaign, [name])
        except CurationError as error:
            problems[name] = f"{error.what}; {error.fix}".replace(f"{campaign.root}/", "")
    identities = {name: _plain(common_identity(campaign, each)) for name, each in groups.items()}
    current = []
    for run in found:
        if run.groups in problems:
            left_out[run.name] = problems[run.groups]
        elif changed := _changed(run, identities[run.groups]):
            left_out[run.name] = (
                f"it was measured with other {', '.join(changed)}; measure again: «{_again(run)}», "
                "with the same options as before"
            )
        else:
            current.append(run)
    old = [run for run in found if run.name in left_out]
    return KnownRuns(current, groups, problems, old, dict(sorted(left_out.items())))


def measure_runs(campaign: Campaign) -> list[RunState]:
    """The campaign's runs, for ``curation status``."""
    known = known_runs(campaign)
    rows = {}
    for run in (*known.runs, *known.old):
        why = known.left_out.get(run.name, "")
        undefined = sum(bias.undefined is not None for bias in run.biases)
        state = "not used" if why else "up to date"
        again = _again(run) if why and run.groups in known.groups else ""
        counts = (len(run.biases), undefined)
        rows[run.name] = RunState(run.measure, run.source, *counts, state, why, again)
    for name, why in known.left_out.items():
        measure, _, source = name.partition("/")
        rows.setdefault(name, RunState(measure, source, None, None, "not used", why, ""))
    return [rows[name] for name in sorted(rows)]


def _again(run: TrustRun) -> str:
    """The command that measures a run again, without options such as ``--window``."""
    source, year = run.source.removeprefix(f"{run.groups}-"), run.about.get("year")
    command = _COMMANDS.get(run.measure, "prior FILE")
    if run.measure not in _COMMANDS:  # a prior measure, whose command adds what is behind +
        source = source.partition("+")[0]
    if year:
        source = f"{source.removesuffix(f'+{year}')} --year {year}"
    return f"curation trust {command} --groups {run.groups} --source {source}"


def _changed(run: TrustRun, identity: dict[str, Any]) -> list[str]:
    """The parts of the identity of every run in which a run differs from what it would be now."""
    own = run.about.get(IDENTITY)
    known = own if isinstance(own, dict) else {}
    return [name for name, value in identity.items() if known.get(name) != value]


def _plain(content: dict[str, Any]) -> Any:
    """As it is after it was written and read again."""
    return orjson.loads(orjson.dumps(content))
