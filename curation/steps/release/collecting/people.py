"""What a release says about people and rounds: how many answered when, what they read, their pay.

People are counted, never named.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.files import CurationError, read_records
from curation.records import Answer, Item, Rejection, Round
from curation.release.facts import Reading, RoundFacts
from curation.steps.rounds import round_files

if TYPE_CHECKING:
    import pandas as pd

IMPORT = "import"
VALIDATION = "validation"
_DAY = len("2026-01-31")
_FILES = ("round.json", "texts.json", "answers.jsonl", "rejected.jsonl")


class _Answered(NamedTuple):
    """An accepted answer: who did what, and the day, if it is known."""

    person: str
    kind: str
    day: str | None


def inputs(campaign: Campaign) -> list[Path]:
    """The rounds' own files that are read here, besides items and labels."""
    folders = [campaign.rounds / name for name in campaign.round_names()]
    return [path for folder in folders for name in _FILES if (path := folder / name).exists()]


def round_facts(
    campaign: Campaign, items: Sequence[Item], labels: "pd.DataFrame"
) -> tuple[tuple[RoundFacts, ...], dict[str, int]]:
    """The facts about each round that has answers, and the number of people by what they did.

    Args:
        campaign: the campaign.
        items: its items.
        labels: its labels.

    Returns:
        The rounds, those that were opened here first, oldest first. And numbers of different people
        with an accepted answer: for "review", each kind of CAT (its writers) and "validation".

    Raises:
        CurationError: a file of a round is damaged.
    """
    answered_in = set(campaign.round_names())
    planned = {round.name: round for round in round_files.map_rounds(campaign)}
    names = [name for name in planned if name in answered_in]
    names += sorted(answered_in - planned.keys())
    written: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        written[item.round].append(item)
    given = dict(iter(labels.groupby("round", observed=True))) if len(labels) else {}
    people: dict[str, set[str]] = defaultdict(set)
    rounds = []
    for name in names:
        if name in planned:
            answers = round_files.read_answers(campaign, name)
            accepted, refused = _planned(planned[name], answers)
        else:
            accepted, refused = _imported(campaign, name, written[name], given.get(name))
        for answer in accepted:
            people[answer.kind].add(answer.person)
        published = any(a.intent is None for item in written[name] for a in item.associations)
        facts = _round(campaign, name, planned.get(name), accepted, refused)
        rounds.append(facts.model_copy(update={"published": published}))
    return tuple(rounds), {kind: len(those) for kind, those in sorted(people.items())}


def _planned(round: Round, answers: Iterable[Answer]) -> tuple[list[_Answered], int]:
    """The accepted answers to a round that was opened here, and how many were refused."""
    from curation.rounds import pay

    answers = list(answers)
    accepted = [
        _Answered(answer.annotator, round.kind, _day(answer.submitted_at))
        for answer in answers
        if answer.code is None
    ]
    done = pay.in_round(round.name, round.kind, answers)
    return accepted, sum(not each.accepted for each in done)


def _imported(
    campaign: Campaign, name: str, items: Sequence[Item], labels: "pd.DataFrame | None"
) -> tuple[list[_Answered], int]:
    """The accepted answers of a round that was imported, and how many were refused.

    An answer is an item, or a person's labels on one item. Items whose writer is not known are
    nobody's answers.
    """
    from curation.rounds import pay

    accepted = [
        _Answered(item.writer, item.kind, _day(item.submitted_at)) for item in items if item.writer
    ]
    days: dict[tuple[str, str], str | None] = {}
    if labels is not None:
        columns = (labels[column] for column in ("item", "annotator", "submitted_at"))
        for item, person, time in zip(*columns, strict=True):
            day, before = _day(time), days.get((item, person))
            days[item, person] = min(day, before) if day and before else day or before
    accepted += [_Answered(person, VALIDATION, day) for (_, person), day in days.items()]
    path = campaign.rounds / name / "rejected.jsonl"
    rejections = read_records(path, Rejection) if path.exists() else []
    rows: Any = () if labels is None else labels.itertuples(index=False)
    done = pay.imported(name, (), rows, rejections)
    return accepted, sum(not each.accepted for each in done)


def _day(time: object) -> str | None:
    return time[:_DAY] if isinstance(time, str) else None


def _round(
    campaign: Campaign,
    name: str,
    round: Round | None,
    accepted: Sequence[_Answered],
    refused: int,
) -> RoundFacts:
    days = sorted(answer.day for answer in accepted if answer.day)
    counted = RoundFacts(
        name=name,
        kind=round.kind if round else IMPORT,
        people=len({answer.person for answer in accepted}),
        answers=len(accepted),
        refused=refused,
        first=days[0] if days else None,
        last=days[-1] if days else None,
    )
    if round is None:
        return counted
    read, consent = _read_by_people(campaign, round)
    return counted.model_copy(
        update={
            "platform": round.platform,
            "consent": round.consent,
            "pay": round.pay or None,
            "currency": campaign.settings.rounds.currency if round.pay else "",
            "read": read,
            "consent_text": consent,
        }
    )


def _read_by_people(
    campaign: Campaign, round: Round
) -> tuple[tuple[Reading, ...], tuple[str, ...]]:
    """What the people of a round read, and the lines of the consent text."""
    from curation.rounds.pages import plain_parts

    texts = round_files.read_texts(campaign, round.name)
    if texts is None:
        return (), ()
    try:
        *parts, (_, consent) = plain_parts(round.kind, texts)
        read = tuple(Reading(heading=heading, lines=tuple(lines)) for heading, lines in parts)
        return read, (*consent, texts["consent"]["box"])
    except (KeyError, TypeError, ValueError):
        path = campaign.rounds / round.name / "texts.json"
        raise CurationError(
            f"{path}: not the texts of a round", "put the file back as it was"
        ) from None
