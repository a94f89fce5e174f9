"""Caps: how many answers a person may give, and how many people a round therefore needs."""

from typing import TYPE_CHECKING, get_args

from curation.campaign import Campaign
from curation.files import read_records
from curation.records import Person
from curation.settings import RoundSettings
from curation.steps.reporter import QUIET, Reporter
from curation.steps.rounds import round_files
from curation.text.rules import WORK, Caps, Work
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.steps.rounds.round_status import RoundStatus

NAMES = ("per_person", "per_term")
"""What the settings of caps begin with; each kind of work has its own."""


def caps_of(settings: RoundSettings, work: Work) -> Caps:
    """The caps of a kind of work: its own settings, or else those with the earlier names."""

    def cap(name: str) -> int:
        own, earlier = f"{name}_{work}", getattr(settings, name)
        is_own = own in settings.model_fields_set or earlier is None
        return int(getattr(settings, own) if is_own else earlier)

    return Caps(*map(cap, NAMES))


def warn_of_earlier_names(campaign: Campaign, *, reporter: Reporter = QUIET) -> None:
    """Say what to write instead of settings with earlier names."""
    settings = campaign.settings.rounds
    for name in NAMES:
        if (value := getattr(settings, name)) is None:
            continue
        own = [f"{name}_{work}" for work in get_args(Work)]
        new = [f"{each} = {value}" for each in own if each not in settings.model_fields_set]
        reporter.warn(
            f"campaign.toml, [rounds]: {name} is the earlier name of {', '.join(own)}; "
            + (f"write {', '.join(new)} instead" if new else "delete it: it has no effect")
        )


def warn_of_caps(campaign: Campaign, status: "RoundStatus", *, reporter: Reporter = QUIET) -> None:
    """Say if a round needs more people than the campaign knows, because of its caps."""
    from curation.rounds import people as standing
    from curation.rounds.allocation import least_people

    work = WORK[status.round.kind]
    caps = caps_of(campaign.settings.rounds, work)
    met = campaign.rounds / "people.jsonl"
    out = standing.out(round_files.read_standing(campaign))
    people = read_records(met, Person) if met.exists() else []
    known = sum(person.id not in out for person in people)
    asked = {task: n for task, n in status.asked.items() if task not in status.void}
    alone = {"per_person": caps._replace(term=0), "per_term": caps._replace(person=0)}
    for name, cap in zip(NAMES, caps, strict=True):
        least = least_people(status.tasks, asked, alone[name])
        if cap and least > known:
            people_needed = amount(least, "person", "people")
            text = (
                f"{name}_{work} = {cap}: round {status.round.name} needs at least {people_needed}"
            )
            if known:
                reporter.warn(f"{text}, and the campaign knows {known}; find more, or raise it")
            else:
                reporter.note(text)
