"""Opens the platform of a round by its name, and passes in what it may ask of the campaign."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from curation.campaign.settings import RoundName, Settings, caps_of
from curation.campaign.store import Campaign
from curation.files import CurationError, dump_json, writing
from curation.kinds import ROUNDS, RoundKind, RoundKindName
from curation.records import PlatformName, Round, Task
from curation.rounds.answers import people
from curation.rounds.answers.archive import Sent
from curation.rounds.answers.interpret import person_of
from curation.rounds.platforms import texts
from curation.rounds.platforms.interface import Platform
from curation.rounds.platforms.pages import TrainingExample
from curation.text.rules import Caps, stable_id
from curation.work.reporter import QUIET, Reporter

if TYPE_CHECKING:
    from curation.rounds.platforms.label_studio.client import LabelStudio
    from curation.rounds.platforms.web.prolific import Prolific

DEFAULT: PlatformName = "web"


def open_platform(
    campaign: Campaign,
    round: Round,
    *,
    url: str = "",
    common_link: bool = False,
    prolific: bool = False,
    reporter: Reporter = QUIET,
) -> Platform:
    """The platform on which a round runs, or is to run. Reaches no network before a verb does.

    Args:
        campaign: the campaign.
        round: the round, as it is on disk now.
        url: the address of a Label Studio, if the round is not on one yet.
        common_link: on our own pages, let people enter a round of validation by one link for all.
        prolific: on our own pages, let people from Prolific enter by one link, and nobody else.
        reporter: where warnings, notes and progress go.
    """
    opened = PLATFORMS[round.platform].open
    return opened(_Access(campaign, round), Options(url, common_link, prolific), reporter)


class _Access(NamedTuple):
    """What a platform may ask of a campaign for one round; see ``interface.RoundAccess``."""

    campaign: Campaign
    round: Round

    def archive(self) -> Path:
        """The folder of the round's raw answers."""
        return self.campaign.folder("rounds") / self.round.name / "raw"

    def texts(self) -> dict[str, Any]:
        """The texts that annotators see in this round."""
        return texts.shown_texts(self.campaign, self.round)

    def tasks(self) -> Sequence[Task]:
        """All tasks of the round."""
        return self.campaign.tasks[self.round.name]

    def task_data(self, tasks: Sequence[Task]) -> list[dict[str, Any]]:
        """What people see of each task, by field."""
        return texts.task_data(self.campaign, self.round, tasks)

    def pseudonyms(self) -> Callable[[str], str]:
        """A function that gives the pseudonym of a name."""
        return people.pseudonyms(people.read_key(self.campaign.settings.campaign.id))

    def erased(self) -> Callable[[Sent], bool]:
        """Whether an answer is of a person who had everything erased."""
        return erased(self.campaign, self.round.name)

    def writing_rounds(self, url: str) -> list[str]:
        """The names of the writing rounds at an address."""
        rounds = self.campaign.rounds
        return [other.name for other in rounds if other.server == url and ROUNDS[other.kind].writes]

    def save(self, round: Round) -> None:
        """Write the state of the round to disk."""
        write_round(self.campaign, round)

    def settings(self) -> Settings:
        """The settings of the campaign."""
        return self.campaign.settings

    def caps(self) -> Caps:
        """How many answers a person may give in the round, and on one term."""
        return caps_of(self.campaign.settings.rounds, ROUNDS[self.round.kind].work)

    def earlier(self, *, without: str = "") -> dict[str, list[str]]:
        """By term, what earlier items of the round's kind say, for warnings of repeated ones."""
        from curation.checks.content import gist

        by_term: dict[str, list[str]] = {}
        items = self.campaign.items if ROUNDS[self.round.kind].writes else []
        for item in items:
            if item.kind == self.round.kind and (not without or item.writer != without):
                meant = [a.sentence for a in item.associations if a.intent != "unrelated"]
                by_term.setdefault(item.term, []).append(gist(item.context, meant))
        return by_term

    def training(self) -> tuple[TrainingExample, ...]:
        """The training examples of the round's kind."""
        return texts.training(self.campaign, self.round.kind)


class Options(NamedTuple):
    """What a platform may be told when a round is opened; each platform uses its own part."""

    url: str
    common_link: bool
    prolific: bool


def _files(access: _Access, options: Options, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.files import Files

    return Files(access.round)


def _web(access: _Access, options: Options, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.web.platform import DATABASE, WebRound

    def crowd() -> "Prolific | None":
        from curation.rounds.platforms.web.prolific import from_environment

        return from_environment(reporter.warn)

    database = access.campaign.folder("rounds") / DATABASE
    link, prolific = options.common_link, options.prolific
    return WebRound(
        access.round, database, access.archive(), access, reporter, link, prolific, crowd
    )


def _label_studio(access: _Access, options: Options, reporter: Reporter) -> Platform:
    from curation.rounds.platforms.label_studio.platform import LabelStudioRound

    id, round, title = access.campaign.settings.campaign.id, access.round, _title(access)

    def connect() -> "LabelStudio":
        from curation.rounds.platforms.label_studio import local

        return local.open_server(id, round, title=title, url=options.url, tell=reporter.note)

    return LabelStudioRound(round, title, access.archive(), access, connect, reporter)


def _title(access: _Access) -> str:
    """A title that no other round has: an opening that was killed finds its project by it."""
    round, own = access.round.name, access.campaign.settings.campaign
    return f"{round[:20]} · {own.name[:16]} · {stable_id('', own.id, round)[1:9]}"


class PlatformKind(NamedTuple):
    """What is known of a platform before a round is on it.

    Attributes:
        open: opens the platform of a round.
        is_ours: whether people work on our own pages, and enter them by links of ours.
        server: the environment variable with the address of its server; empty if it needs none.
    """

    open: Callable[[_Access, Options, Reporter], Platform]
    is_ours: bool = False
    server: str = ""


PLATFORMS: dict[PlatformName, PlatformKind] = {
    DEFAULT: PlatformKind(_web, is_ours=True),
    "label_studio": PlatformKind(_label_studio, server="LABEL_STUDIO_URL"),
    "files": PlatformKind(_files),
}
"""The platforms; ``platform`` in round.json is the name."""


def write_round(campaign: Campaign, round: Round) -> None:
    """Write a round's state."""
    with writing(campaign.folder("rounds") / round.name / "round.json") as file:
        file.write(dump_json(round.model_dump()))


def erased(campaign: Campaign, name: str) -> Callable[[Sent], bool]:
    """The predicate that tells whether an answer must not be kept: its person had all erased.

    Args:
        campaign: the campaign.
        name: the round of the answers.
    """
    erased_people = people.erased(campaign.standing)
    if not erased_people:
        return lambda event: False
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    words = texts.read_words(campaign, name)
    return lambda event: (
        (person := person_of(event, words)) is not None and pseudonym(person) in erased_people
    )


# --- options of a new round ---------------------------------------------------------------------


def platform_name(name: str) -> PlatformName:
    """A platform's name, checked; empty for the default, which is our own pages.

    Raises:
        CurationError: there is no such platform.
    """
    for known in PLATFORMS:
        if known == (name or DEFAULT):
            return known
    raise CurationError(f"no platform {name!r}", f"platforms: {', '.join(PLATFORMS)}")


def round_kind(name: str) -> RoundKind:
    """The kind of round that has a name.

    Raises:
        CurationError: there is no such kind.
    """
    for known in ROUNDS.values():
        if known.name == name:
            return known
    raise CurationError(f"no kind of round {name!r}", f"kinds: {', '.join(ROUNDS)}")


def server_address(platform: PlatformName, url: str) -> str:
    """The checked address of the server of new rounds: as given, or from the environment.

    Raises:
        CurationError: it is not an address, or rounds on this platform have none.
    """
    from curation.rounds.platforms.label_studio.connection import check_address

    server = PLATFORMS[platform].server
    if url and not server:
        raise CurationError(
            f"--url is the address of a Label Studio, and the round is on platform {platform}",
            "add --platform label_studio, or leave --url out",
        )
    address = url or os.environ.get(server, "")
    if address:
        check_address(address)
    return address


def counts_typing(campaign: Campaign, kind: RoundKindName, platform: PlatformName) -> bool:
    """Whether a new round counts how texts come about: writing on our own pages, if it is on."""
    writes = ROUNDS[kind].writes is not None
    return campaign.settings.rounds.typing_counts and writes and PLATFORMS[platform].is_ours


def check_link(platform: PlatformName, *, common_link: bool, prolific: bool) -> None:
    """Check that a round can have the link that it is to have.

    Raises:
        CurationError: rounds on this platform have no links of ours, or both kinds are wanted.
    """
    if common_link and prolific:
        raise CurationError(
            "--common-link lets everybody in, and --prolific only people from Prolific",
            "leave one of them out",
        )
    if (common_link or prolific) and not PLATFORMS[platform].is_ours:
        option = "--prolific" if prolific else "--common-link"
        raise CurationError(
            f"{option} is for our own pages, and the round is on platform {platform}",
            f"add --platform {DEFAULT}, or leave {option} out",
        )


def check_name(name: str) -> None:
    """Check that a round can have a name.

    Raises:
        CurationError: it has characters that a folder's name cannot have.
    """
    try:
        TypeAdapter(RoundName).validate_python(name)
    except ValidationError:
        raise CurationError(
            f"{name!r} cannot be the name of a round",
            "use letters, digits, - and _, and do not begin with -",
        ) from None
