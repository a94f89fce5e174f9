"""Opens the platform of a round; the one place that knows platforms by their names."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.files import CurationError
from curation.records import KINDS, PlatformName, Round
from curation.rounds.platforms.interface import Platform, RoundAccess
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files, shown
from curation.text.rules import stable_id

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio


def open_platform(
    campaign: Campaign, round: Round, *, url: str = "", reporter: Reporter = QUIET
) -> Platform:
    """The platform on which a round runs, or is to run. Reaches no network before a verb does.

    Args:
        campaign: the campaign.
        round: the round, as it is on disk now.
        url: the address of the server, if the round is not on one yet.
        reporter: where warnings, notes and progress go.
    """
    return PLATFORMS[round.platform](campaign, round, url, reporter)


def platform_name(name: str) -> PlatformName:
    """A platform's name, checked; empty for the default, which is Label Studio.

    Raises:
        CurationError: there is no such platform.
    """
    known = next((known for known in PLATFORMS if known == (name or DEFAULT)), None)
    if known is None:
        raise CurationError(f"no platform {name!r}", f"platforms: {', '.join(PLATFORMS)}")
    return known


def _files(campaign: Campaign, round: Round, url: str, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.files import Files

    return Files(round)


def _label_studio(campaign: Campaign, round: Round, url: str, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.label_studio.platform import LabelStudioRound

    access = _access(campaign, round, reporter)

    def connect() -> "LabelStudio":
        from curation.rounds.platforms.label_studio import local

        id = campaign.settings.campaign.id
        return local.open_server(id, round, title=access.title, url=url, tell=reporter.note)

    return LabelStudioRound(access, connect)


def _access(campaign: Campaign, round: Round, reporter: Reporter) -> RoundAccess:
    """What a platform may know of a campaign for one round."""
    from curation.rounds import people

    id = campaign.settings.campaign.id
    return RoundAccess(
        round=round,
        title=_title(campaign, round),
        archive=campaign.rounds / round.name / "raw",
        texts=lambda: shown.texts(campaign, round),
        tasks=lambda: round_files.read_tasks(campaign, round.name),
        task_data=lambda tasks: shown.task_data(campaign, round, tasks),
        pseudonyms=lambda: people.pseudonyms(people.read_key(id)),
        erased=lambda: round_files.erased(campaign, round.name),
        writing_rounds=lambda url: [
            other.name
            for other in round_files.map_rounds(campaign)
            if other.server == url and other.kind in KINDS
        ],
        save=lambda changed: round_files.write_round(campaign, changed),
        reporter=reporter,
    )


def _title(campaign: Campaign, round: Round) -> str:
    """A title that no other round has: an opening that was killed finds its project by it."""
    name, id = campaign.settings.campaign.name, campaign.settings.campaign.id
    return f"{round.name[:20]} · {name[:16]} · {stable_id('', id, round.name)[1:9]}"


DEFAULT: PlatformName = "label_studio"
PLATFORMS: dict[PlatformName, Callable[[Campaign, Round, str, Reporter], Platform]] = {
    "label_studio": _label_studio,
    "files": _files,
}
"""How each platform is opened; ``platform`` in round.json is the name."""
