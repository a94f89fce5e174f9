"""``rounds ethics``: what an ethics board reads about a campaign, with the questions left open.

Its sentences are in ``data/people/ethics.md.jinja``, which a team can edit.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from curation.campaign.settings import PeopleSettings, caps_of, describe_people
from curation.campaign.store import Campaign
from curation.kinds import NEUTRAL, ROUNDS, RoundKind, RoundKindName
from curation.records import Requirements, Round
from curation.release.statement import read_statement
from curation.release.versions import version_names
from curation.rounds.crowd import pace
from curation.rounds.platforms import pages
from curation.rounds.platforms.opening import counts_typing, platform_name, round_kind
from curation.rounds.platforms.texts import new_texts, shown_texts, training
from curation.text.rules import grouped

USUAL = tuple(name for name, kind in ROUNDS.items() if kind is not NEUTRAL)
"""The kinds of rounds that every campaign has."""


class Sheet(NamedTuple):
    """The sheet in Markdown, and the questions in it that nobody has answered."""

    text: str
    open: list[str]


class Work(NamedTuple):
    """What people do in rounds of one kind.

    Attributes:
        kind: the kind.
        round: the last round of the kind, whose people and texts these are; empty before the first.
        platform: the platform.
        texts: every string that people see, by section and key.
        shown: the instructions: headings, and the lines under each; consent is not among them.
        unread: the language, if no native speaker has read its texts; else empty.
        people: who may take part.
        required: the same in words, without the number of people.
        pay: for a task.
        seconds: of a task.
        basis: what the seconds are computed from.
        wage: the pay for an hour at this pace.
        cap: most tasks of a person; 0 for no limit.
        minutes: for these tasks; 0 without a limit.
        typing: whether it is counted how texts come about.
        trained: whether there are examples to try before the tasks.
    """

    kind: RoundKindName
    round: str
    platform: str
    texts: dict[str, Any]
    shown: list[tuple[str, list[str]]]
    unread: str
    people: Requirements
    required: list[str]
    pay: float
    seconds: float
    basis: str
    wage: float
    cap: int
    minutes: int
    typing: bool
    trained: bool


def ethics_sheet(
    campaign: Campaign,
    *,
    kinds: Sequence[str] = (),
    platform: str = "",
    prolific: bool = False,
) -> Sheet:
    """Describe a campaign for an ethics board.

    Texts, pay and people are those of the last round of each kind, or else of a new round.

    Args:
        campaign: the campaign; nothing in it is changed.
        kinds: the kinds of rounds that people are asked for; empty for ``USUAL`` and those that
            were opened.
        platform: where rounds run that were not opened yet; empty for our own pages.
        prolific: whether people come from Prolific.

    Raises:
        CurationError: there is no such kind or platform, or texts or the statement cannot be read.
    """
    from curation.release.texts.render import markdown

    rounds = {round.kind: round for round in campaign.rounds}
    chosen = dict.fromkeys(map(round_kind, kinds or (*USUAL, *rounds)))
    works = [_work(campaign, kind, rounds.get(kind.name), platform) for kind in chosen]
    asked: list[str] = []
    text = markdown(
        "ethics.md",
        settings=campaign.settings,
        works=works,
        study=works[0].texts["study"],
        platforms=list(dict.fromkeys(work.platform for work in works)),
        prolific=prolific or any(round.reward is not None for round in rounds.values()),
        warnings={pages.content_warning(work.kind, work.texts): work.texts for work in works},
        consents=[
            ([work.kind for work in alike], alike[0].texts)
            for alike in grouped((pages.consent_text(w.texts), w) for w in works).values()
        ],
        licences=list(dict.fromkeys(work.texts["study"]["licence"] for work in works)),
        typing=any(work.typing for work in works),
        trained=any(work.trained for work in works),
        groups=(campaign.folder("rounds") / "annotators.csv").exists(),
        versions=version_names(campaign),
        statement=read_statement(campaign),
        asked=asked,
        plain=pages.unmarked,
    )
    return Sheet(text, asked)


def _work(campaign: Campaign, kind: RoundKind, round: Round | None, platform: str) -> Work:
    """What people do in the last round of a kind, or in a new one."""
    settings, name = campaign.settings.rounds, kind.name
    if round:
        place, pay, people = round.platform, round.pay, round.people
        texts = shown_texts(campaign, round)
    else:
        place, pay = platform_name(platform), float(getattr(settings, f"pay_{kind.work}"))
        people = campaign.settings.people.get(name, PeopleSettings())
        counts = counts_typing(campaign, name, place)
        texts = new_texts(campaign, pay, typing=counts)
    seconds, basis = pace(campaign, name)
    cap = caps_of(settings, kind.work).person
    return Work(
        kind=name,
        round=round.name if round else "",
        platform=place,
        texts=texts,
        shown=pages.plain_parts(name, texts)[:-1],
        unread=pages.unread(campaign.settings.campaign.language, texts),
        people=people,
        required=describe_people(people.model_copy(update={"people": 0})),
        pay=pay,
        seconds=seconds,
        basis=basis,
        wage=pay * 3600 / seconds,
        cap=cap,
        minutes=-(-cap * int(seconds) // 60),
        typing=counts_typing(campaign, name, place) and pages.says_typing(texts),
        trained=bool(settings.training_pass and training(campaign, name)),
    )
