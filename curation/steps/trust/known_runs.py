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
        groups: the groups of these runs, by name.
        old: the complete runs that are not.
        left_out: why each other run is not used, by its name; also if it cannot be read.
    """

    runs: list[TrustRun]
    groups: dict[str, Groups]
    old: list[TrustRun]
    left_out: dict[str, str]


class MeasureRun(NamedTuple):
    """A run of a bias measure: how many targets it has, and how many have no result.

    ``state`` is "up to date" if its groups and settings are those of now; else it is "not used",
    and ``why`` says why the trust report leaves it out. Whether the files that it measured have
    changed is not looked at. A run that cannot be read has no counts.
    """

    measure: str
    source: str
    targets: int | None
    undefined: int | None
    state: str
    why: str


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
    for name in dict.fromkeys(run.groups for run in found):
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
                f"it was measured with other {', '.join(changed)}; measure again with «curation "
                "trust»"
            )
        else:
            current.append(run)
    old = [run for run in found if run.name in left_out]
    return KnownRuns(current, groups, old, dict(sorted(left_out.items())))


def measure_runs(campaign: Campaign) -> list[MeasureRun]:
    """The campaign's runs, for ``curation status``."""
    known = known_runs(campaign)
    rows = {}
    for run in (*known.runs, *known.old):
        why = known.left_out.get(run.name, "")
        undefined = sum(bias.undefined is not None for bias in run.biases)
        state = "not used" if why else "up to date"
        rows[run.name] = MeasureRun(run.measure, run.source, len(run.biases), undefined, state, why)
    for name, why in known.left_out.items():
        measure, _, source = name.partition("/")
        rows.setdefault(name, MeasureRun(measure, source, None, None, "not used", why))
    return [rows[name] for name in sorted(rows)]


def _changed(run: TrustRun, identity: dict[str, Any]) -> list[str]:
    """The parts of the identity of every run in which a run differs from what it would be now."""
    own = run.about.get(IDENTITY)
    known = own if isinstance(own, dict) else {}
    return [name for name, value in identity.items() if known.get(name) != value]


def _plain(content: dict[str, Any]) -> Any:
    """As it is after it was written and read again."""
    return orjson.loads(orjson.dumps(content))
