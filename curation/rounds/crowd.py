"""Rounds on Prolific: the fields of a study, which submissions are complete, and bonuses.

Nothing is created or rejected on Prolific. Call these only under the campaign's lock;
``crowd_study`` needs none.
"""

import json
import re
from collections import Counter, defaultdict
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from math import ceil
from pathlib import Path
from statistics import median
from typing import NamedTuple

from curation.campaign.settings import caps_of, show_requirements
from curation.campaign.store import Campaign
from curation.files import CurationError, read_text, shipped, writing
from curation.formats.tables import csv_text, read_csv
from curation.formats.toml_files import read_toml
from curation.kinds import LABELS, REVIEW, ROUNDS, VALIDATION, RoundKindName
from curation.records import Fields, Round
from curation.rounds.answers import people
from curation.rounds.pay import write_pay
from curation.rounds.platforms import pages
from curation.rounds.platforms.interface import WAITS, CrowdStudy, Platform, Submission
from curation.rounds.platforms.opening import open_platform, write_round
from curation.rounds.platforms.texts import shown_texts, training
from curation.rounds.status import read_status
from curation.rounds.steps import fold_answers
from curation.text.wording import CENTS, amount, earned, money
from curation.work.reporter import QUIET, Reporter

APPROVED = "APPROVED"
READING = 120
"""Seconds for the information sheet and the instructions, which Prolific counts as work."""
_ENTRY = re.compile(r"([^,]+),(\d{1,9}\.\d\d)")  # of a list of bonuses


@cache
def reasons() -> dict[str, str]:
    """Why a submission is not approved, by code, in the order in which reasons are looked at."""
    return dict(read_toml(shipped("data", "people", "reasons.toml"), fix="put the file back"))


def crowd_study(
    campaign: Campaign, round: Round, reporter: Reporter = QUIET
) -> tuple[Platform, CrowdStudy]:
    """The platform of a round to which people come from Prolific, and its studies there.

    Raises:
        CurationError: nobody can come from there.
    """
    place = open_platform(campaign, round, reporter=reporter)
    studies = place.study
    if studies is None or not studies.link():
        raise CurationError(
            f"nobody can come from Prolific to round {round.name}",
            f"«curation rounds open {round.kind} --prolific» opens one on our own pages for them",
        )
    return place, studies


# --- the study ----------------------------------------------------------------------------------


class Study(NamedTuple):
    """A round's study: the body of the request that creates it, and what to paste into the form."""

    fields: Fields
    form: str


def study(campaign: Campaign, round: Round, *, places: int = 0, id: str = "") -> Study:
    """The fields of the study that brings people from Prolific to a round.

    A person does as many tasks as the cap allows, or an equal share. The reward is the pay of these
    tasks. The time of a task is the median of accepted answers to rounds of this kind, or else what
    the pages tell people; training and reading come on top.

    Args:
        campaign: the campaign.
        round: the round.
        places: how many people; 0 for ``people`` in ``[people.KIND]``, or as many as the cap needs.
        id: the study's id on Prolific. Submissions of other studies are then refused, and the
            reward is kept in ``round.json`` for the bonuses.

    Raises:
        CurationError: nobody can come to the round from Prolific, it is not known how many people
            it asks, the id is not one, or an earlier study of the round pays another reward.
    """
    from jinja2 import Template

    (_, studies), settings = crowd_study(campaign, round), campaign.settings.rounds
    status, work = read_status(campaign, round), ROUNDS[round.kind].work
    asked = [n for task, n in status.asked.items() if task not in status.void]
    cap = caps_of(settings, work).person
    places = places or round.people.people or (ceil(sum(asked) / cap) if cap else 0)
    if not places:
        raise CurationError(
            f"round {round.name}: it is not known how many people it asks", "say it with --places N"
        )
    tasks = max(1, min(cap or len(asked), len(asked), ceil(sum(asked) / places)))
    minutes, basis = _minutes(campaign, round, tasks)
    reward = float(earned(round.pay, tasks).quantize(CENTS, ROUND_HALF_UP))
    facts: Fields = {
        "round": round,
        "study": studies,
        "pages": pages,
        "texts": shown_texts(campaign, round),
        "work": work,
        "required": show_requirements(round.people),
        "currency": settings.currency,
        "floor": settings.wage_floor,
        "places": places,
        "tasks": tasks,
        "minutes": minutes,
        "basis": basis,
        "reward": reward,
    }

    def filled(name: str) -> str:
        text = read_text(shipped("data", "people", name))
        return str(Template(text, trim_blocks=True, lstrip_blocks=True).render(facts))

    facts["fields"] = json.loads(filled("study.json.jinja"))
    if id:
        if not (id.isascii() and id.isalnum()):
            raise CurationError(
                f"{id[:80]!r} is not the id of a study", "copy it from the address of its page"
            )
        if round.reward not in (None, reward):
            raise CurationError(
                f"an earlier study of round {round.name} pays {round.reward}, this one {reward}",
                "use --places so that it pays the same, or change reward in its round.json",
            )
        studies.add(id)
        write_round(campaign, round.model_copy(update={"reward": reward}))
    return Study(facts["fields"], filled("study.txt.jinja").strip())


def pace(campaign: Campaign, kind: RoundKindName) -> tuple[float, str]:
    """The seconds that a task of a kind takes, and what they are computed from."""
    times = [
        answer.seconds
        for each in campaign.rounds
        if each.kind == kind
        for answer in campaign.answers[each.name]
        if answer.seconds and answer.code is None
    ]
    if times:
        return median(times), f"median of {amount(len(times), 'answer')}"
    return ROUNDS[kind].seconds, "a guess, as there is no pilot"


def _minutes(campaign: Campaign, round: Round, tasks: int) -> tuple[int, str]:
    """The minutes that a person needs, and what they are computed from."""
    seconds, of = pace(campaign, round.kind)
    is_review = ROUNDS[round.kind].work == "review"
    example = REVIEW.seconds if is_review else VALIDATION.seconds / len(LABELS)
    trained = campaign.settings.rounds.training_pass and training(campaign, round.kind)
    before = READING + example * len(trained or ())
    return ceil(
        (before + seconds * tasks) / 60
    ), f"{seconds:.0f} s each: {of}; {before:.0f} s before"


# --- approval -----------------------------------------------------------------------------------


class Review(NamedTuple):
    """What may be approved.

    Attributes:
        ready: the submissions that are complete in our own records.
        left: all others, each with the code of the reason (``reasons``).
        asked: whether Prolific was asked; without a token nobody knows whose ids are true.
        file: without a token, the list to paste; None if it would be empty.
    """

    ready: list[Submission]
    left: list[tuple[Submission, str]]
    asked: bool
    file: Path | None = None


def review(campaign: Campaign, round: Round, *, reporter: Reporter = QUIET) -> Review:
    """Divide a round's submissions into those that may be approved, and the rest; pulls first.

    Raises:
        CurationError: nobody can come to the round from Prolific, or Prolific cannot be asked.
    """
    place, studies = crowd_study(campaign, round, reporter)
    place.pull()
    fold_answers(campaign, reporter=reporter)
    asked = studies.can_approve
    found = studies.submissions(ask=asked)
    here: dict[str, set[str]] = defaultdict(set)
    for answer in campaign.answers[round.name]:
        if answer.code != "skipped":
            here[answer.annotator].add(answer.task)
    out = people.out(campaign.standing)
    made = Review([], [], asked)
    for one in found:
        waits = one.status == WAITS
        tests = {
            "approved": one.status == APPROVED,
            "rejected": one.status == "REJECTED",
            one.standing: one.standing != "unchecked",
            "excluded": out.get(one.pseudonym, ("",))[0] == "excluded",
            one.outcome: True,
            "not_finished": waits and not one.outcome,
            "under_way": not one.outcome,
            "unchecked": asked and one.standing != "checked",
            "not_ended": asked and not waits,
            "no_answers": not one.answered,
            "not_pulled": len(here[one.pseudonym]) < one.answered,
        }
        if reason := next((code for code in reasons() if tests.get(code)), ""):
            made.left.append((one, reason))
        else:
            made.ready.append(one)
    if asked or not made.ready:
        return made
    file = campaign.folder("rounds") / f"approve-{round.name}.csv"
    rows = [("submission", "participant"), *((one.id, one.participant) for one in made.ready)]
    with writing(file, private=True) as stream:
        stream.write(csv_text(rows).encode())
    return made._replace(file=file)


# --- bonuses ------------------------------------------------------------------------------------


class Bonus(NamedTuple):
    """A list of bonuses: ``amount`` for ``people``; ``file`` is None if nobody is owed more.

    ``before`` is the sum of earlier lists. ``left`` counts people with pay who are not in it, by
    the code of the reason.
    """

    file: Path | None
    people: int
    amount: str
    before: str
    left: Counter[str]


def list_bonus(campaign: Campaign, round: Round, *, reporter: Reporter = QUIET) -> Bonus:
    """Write what people are owed beyond the reward of the study, by the pay list of the round.

    Who gets the reward is owed the pay of accepted answers beyond it. Who returned the study, or
    ran out of time, is owed the pay of all that they sent, because it was refused for that. What
    earlier lists have is left out.

    Raises:
        CurationError: the reward is not known, or Prolific cannot be asked.
    """
    if round.reward is None:
        raise CurationError(
            f"round {round.name}: it is not known what its study pays",
            f"«curation rounds study {round.name} --id STUDY» keeps it",
        )
    place, studies = crowd_study(campaign, round, reporter)
    place.pull()
    found = studies.submissions(ask=studies.can_approve)
    paid = write_pay(campaign, [round.name], reporter=reporter).file
    pseudonym = people.pseudonyms(people.read_key(campaign.settings.campaign.id))
    rows = {pseudonym(row["person"]): row for _, row in read_csv(read_text(paid), paid)[1]}
    number, before = _listed(campaign, round)
    new, left = dict[str, Decimal](), Counter[str]()
    for one in found:
        row = rows.get(one.pseudonym)
        if row is None or one.standing in ("forged", "unknown"):
            continue
        accepted = Decimal(row["amount"])
        owed = accepted + Decimal(row["top_up"] or 0)
        is_gone = one.standing == "returned"
        if row["standing"] == "excluded":
            left["excluded"] += 1
        elif studies.can_approve and one.standing == "unchecked":
            left["unchecked"] += 1
        elif one.status == APPROVED or (one.outcome == "finished" and not is_gone):
            new[one.participant] = new.get(one.participant, owed) - Decimal(str(round.reward))
        elif is_gone and one.status != "REJECTED":
            # The floor is for all of the time, so a top-up has the pay of refused answers in it.
            sent = accepted + Decimal(row["amount_refused"])
            new.setdefault(one.participant, max(owed, sent))
        else:
            left["rejected" if is_gone else one.outcome or "under_way"] += 1
    new = {who: (sum_ - before[who]).quantize(CENTS, ROUND_HALF_UP) for who, sum_ in new.items()}
    new = {who: sum_ for who, sum_ in new.items() if sum_ > 0}
    file = campaign.folder("rounds") / f"bonus-{round.name}-{number}.csv" if new else None
    if file:
        with writing(file, private=True) as stream:
            stream.write("".join(f"{who},{sum_}\n" for who, sum_ in new.items()).encode())
    now, earlier = (money(sum(each.values(), Decimal(0))) for each in (new, before))
    return Bonus(file, len(new), now, earlier, left)


def _listed(campaign: Campaign, round: Round) -> tuple[int, dict[str, Decimal]]:
    """The number of the next list of bonuses, and what earlier lists have for each participant.

    Raises:
        CurationError: a list was changed.
    """
    number, listed = 1, defaultdict[str, Decimal](Decimal)
    for path in campaign.folder("rounds").glob(f"bonus-{round.name}-*.csv"):
        if not (named := re.fullmatch(r"(\d+)", path.stem[len(f"bonus-{round.name}-") :])):
            continue  # of a round whose name begins like this one's
        number = max(number, int(named[1]) + 1)
        for line in read_text(path).splitlines():
            if not (entry := _ENTRY.fullmatch(line)):
                raise CurationError(f"{path}: {line[:80]!r} is not ID,AMOUNT", "put the file back")
            listed[entry[1]] += Decimal(entry[2])
    return number, listed
