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
        left_out: why each other run is not used, by its name.
    """

    runs: list[TrustRun]
    groups: dict[str, Groups]
    left_out: dict[str, str]


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
    return KnownRuns(current, groups, dict(sorted(left_out.items())))


def _changed(run: TrustRun, identity: dict[str, Any]) -> list[str]:
    """The parts of the identity of every run in which a run differs from what it would be now."""
    own = run.about.get(IDENTITY)
    known = own if isinstance(own, dict) else {}
    return [name for name, value in identity.items() if known.get(name) != value]


def _plain(content: dict[str, Any]) -> Any:
    """As it is after it was written and read again."""
    return orjson.loads(orjson.dumps(content))
