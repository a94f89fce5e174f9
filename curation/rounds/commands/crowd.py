"""``curation rounds study`` and ``approve``: a study on Prolific, from its fields to its pay."""

from pathlib import Path
from typing import Annotated

import typer

from curation.campaign.store import Campaign
from curation.records import Round
from curation.rounds import crowd, round_files
from curation.terminal import console
from curation.terminal.options import Json, Natural, RoundArgument, Where, locked
from curation.text.wording import amount


def study(
    round: RoundArgument = None,
    campaign: Where = Path(),
    places: Natural = 0,
    id_: Annotated[str, typer.Option("--id")] = "",
    as_json: Json = False,
) -> None:
    """Print the fields of a study on Prolific that brings people to a round on our own pages.

    Paste them into the form of a new study. The command creates nothing on Prolific. The time comes
    from the answers of a pilot, if there are any. Requirements on people are those of [people.KIND]
    when the round was opened.

    With --json, the fields are the body of the API's request that creates a draft. They are also
    printed as text on standard error. The API has numbers of its own for countries and languages,
    so choose these on Prolific.

    Options:
        places (N): How many people; default: people in [people.KIND], or as many as the cap
            per_person_… needs.
        id_ (STUDY): The id that Prolific gave the study. It is kept with its reward: submissions of
            other studies are then refused. Repeat the command for another study of the round.
    """
    with locked(campaign) as opened:
        chosen = round_files.the_round(opened, round)
        made = crowd.study(opened, chosen, places=places, id=id_)
    tell = console.note if as_json else console.say
    tell(made.form)
    if id_:
        tell(f"\nkept: study {id_} brings people to {chosen.name}, and pays them this reward")
    if as_json:
        console.say_json(made.fields)


def approve(
    round: RoundArgument = None,
    campaign: Where = Path(),
    yes: bool = False,
    bonus: bool = False,
    as_json: Json = False,
) -> None:
    """Approve submissions on Prolific that are complete in our own records, and list the rest.

    Answers are pulled first. A submission is approved if its id is checked, the person finished, it
    awaits review, and all answers are in the archive. The rest are listed with the reason. Nothing
    is ever rejected. If the command was interrupted, run it again.

    The token is read from PROLIFIC_TOKEN. Without one, nothing is sent: the complete submissions
    are in 2-rounds/approve-ROUND.csv, to be pasted on Prolific.

    Options:
        yes: Approve without asking; needed with --json.
        bonus: Approve nothing. Write what people are owed beyond the study's reward, by the pay
            list, to 2-rounds/bonus-ROUND-N.csv, for Prolific's bulk bonus. What earlier lists have
            is left out.
    """
    with locked(campaign) as opened:
        chosen = round_files.the_round(opened, round)
        if bonus:
            _list_bonus(opened, chosen, as_json=as_json)
            return
        found = crowd.review(opened, chosen, reporter=console)
    if not as_json:
        rows = [(one.pseudonym, one.status, crowd.reasons()[why]) for one, why in found.left]
        if rows:
            console.table(f"Not approved in {chosen.name}", ["person", "status", "reason"], rows)
        console.say(f"complete: {amount(len(found.ready), 'submission')} in {chosen.name}")
    became: dict[str, str] = {}
    if found.asked and found.ready and (yes or (not as_json and typer.confirm("Approve them?"))):
        ids = [one.id for one in found.ready]
        became = crowd.crowd_platform(opened, chosen, console).approve(ids)
    if as_json:
        left = [{"person": one.pseudonym, "reason": why} for one, why in found.left]
        summary = {"round": chosen.name, "complete": len(found.ready), "became": became}
        console.say_json({**summary, "left": left, "file": found.file})
    elif became:
        console.table("What became of them", ["submission", "status"], list(became.items()))
    elif found.file:
        console.warn("PROLIFIC_TOKEN is not set, so nobody has checked whose ids these are")
        console.say(f"to paste on Prolific: {found.file} (private)")


def _list_bonus(campaign: Campaign, round: Round, *, as_json: bool) -> None:
    made = crowd.list_bonus(campaign, round, reporter=console)
    if as_json:
        console.say_json(made._asdict())
        return
    people = amount(made.people, "person", "people")
    console.say(f"{people}: {made.amount} {campaign.settings.rounds.currency} beyond the reward")
    console.say(f"in earlier lists, and not in this one: {made.before}")
    for why, n in made.left.items():
        console.say(f"not in a list: {amount(n, 'person', 'people')} ({crowd.reasons()[why]})")
    if made.file:
        console.say(f"to paste into Prolific's bulk bonus: {made.file} (private)")
