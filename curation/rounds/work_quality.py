"""How the people of a campaign work: their figures and marks, from the answers that are here."""

from typing import TYPE_CHECKING, NamedTuple

from curation.campaign.store import Campaign
from curation.files import CurationError, read_table, read_text
from curation.formats.tables import read_csv
from curation.records import Answer, Label
from curation.rounds import people as standing
from curation.rounds import raw_answers, round_files
from curation.rounds.answers.rows import column
from curation.rounds.round_status import open_platform
from curation.text.wording import amount

if TYPE_CHECKING:
    from curation.rounds.quality import PersonQuality


WITHDRAWN = ("CONSENT_REVOKED", "DATA_EXPIRED")
"""What Prolific writes in the place of a person's data that it does not give."""


class Quality(NamedTuple):
    """The people of a round, or of all rounds.

    Attributes:
        people: each person's figures and marks.
        excluded: how many people are excluded from the campaign.
        met: how many people have answered in the campaign.
    """

    people: "list[PersonQuality]"
    excluded: int
    met: int

    @property
    def marked(self) -> "list[PersonQuality]":
        """The people who have marks."""
        return [person for person in self.people if person.marks]


def read_quality(campaign: Campaign, round: str | None = None) -> Quality:
    """Everybody's figures and marks, from items, labels and answers as they are on disk.

    People who are excluded have no labels that count, so they are not in it. Needs no lock.

    Args:
        campaign: the campaign.
        round: the name of the round; None for all rounds.

    Raises:
        CurationError: there are no answers, the round has none, or the team's list of groups is
            damaged.
    """
    import pandas as pd

    from curation.rounds.quality import answers_of, people_figures

    if error := raw_answers.no_answers(campaign):
        raise error
    names = campaign.round_names()
    if round and round not in names:
        raise CurationError(
            f"round {round!r} has no answers", f"rounds with answers: {', '.join(names)}"
        )
    names = [round] if round else names
    labels = campaign.labels
    if round:  # also of a round that labels neutral associations, which count nowhere else
        path = campaign.folder("rounds") / round / "labels.jsonl"
        labels = read_table([path] if path.exists() else [], Label)
    planned = set(round_files.planned_rounds(campaign))
    tables = [answers_of(labels[~labels["round"].isin(list(planned))])]
    for path in (
        campaign.folder("rounds") / name / "answers.jsonl" for name in names if name in planned
    ):
        if path.exists():
            answers = read_table([path], Answer)
            counts = answers["code"].isna() | (answers["code"] == "too_fast")
            tables.append(answers[counts].assign(round=path.parent.name))
    meant = [
        (item.id, association.id, association.intent)
        for item in campaign.items
        if item.writer
        for association in item.associations
    ]
    people = people_figures(
        labels,
        pd.concat(tables),
        groups=read_groups(campaign),
        typing=[row for name in names for row in campaign.typing[name]],
        intents=pd.DataFrame(meant, columns=["item", "association", "value"]),
    )
    return Quality(people, *_excluded(campaign))


def _excluded(campaign: Campaign) -> tuple[int, int]:
    """How many people who have answered are excluded, and how many have answered."""
    out = standing.out(campaign.standing)
    met = standing.who_answered(campaign.people, out)
    return sum(out.get(person, ("",))[0] == "excluded" for person in met), len(met)


def about_removed(campaign: Campaign) -> str:
    """A warning if more people are excluded than marks.toml allows; else empty."""
    from curation.rounds.quality import thresholds

    excluded, met = _excluded(campaign)
    if excluded <= thresholds()["removed"]["above"] * met:
        return ""
    return (
        f"people excluded: {excluded} of {met}; beyond about 5 %, labels became worse with every "
        "method that was tested (arXiv 2509.08217)"
    )


def read_groups(campaign: Campaign) -> dict[str, str]:
    """The group of each person by pseudonym, from ``2-rounds/annotators.csv``; empty without it.

    Its columns are ``annotator``, a pseudonym or an id on the platform, and ``group``.

    Raises:
        CurationError: the file lacks a column, a line lacks a cell, a person is in two groups, or
            an id is given and the campaign's key is not on this machine.
    """
    path = campaign.folder("rounds") / "annotators.csv"
    if not path.exists():
        return {}
    columns, rows = read_csv(read_text(path), path)
    heads = {"group" if name.casefold() == "group" else column(name): name for name in columns}
    if missing := [name for name in ("annotator", "group") if name not in heads]:
        raise CurationError(f"{path}: no column {missing[0]!r}", "use the columns annotator, group")
    known = {person.id for person in campaign.people} | set(campaign.labels["annotator"].unique())
    platforms = [open_platform(campaign, each) for each in campaign.rounds]
    groups: dict[str, tuple[str, int]] = {}
    for line, row in rows:
        who, group = (str(row.get(heads[name]) or "").strip() for name in ("annotator", "group"))
        if not who or not group:
            raise CurationError(f"{path} line {line}: annotator or group is empty", "fill in both")
        if group.upper() in WITHDRAWN:
            continue
        if who not in known:
            name = standing.pseudonyms(standing.read_key(campaign.settings.campaign.id))(who)
            others = (platform.named(who) for platform in platforms if name not in known)
            who = next(filter(None, others), name)
        before, first = groups.setdefault(who, (group, line))
        if before != group:
            raise CurationError(
                f"{path} line {line}: this person is in group {before!r} in line {first}, and in "
                f"{group!r} here",
                "keep one of the lines",
            )
    return {who: group for who, (group, _) in groups.items()}


def about_marked(campaign: Campaign, rounds: list[str]) -> str:
    """How many people are marked, and the command that shows why; empty if nobody is.

    Args:
        campaign: the campaign.
        rounds: the rounds whose status is shown; with one, its people are meant.

    Raises:
        CurationError: the team's list of groups is damaged.
    """
    name = rounds[0] if len(rounds) == 1 else None
    if raw_answers.no_answers(campaign) or (name and name not in campaign.round_names()):
        return ""
    quality = read_quality(campaign, name)
    marked, people = len(quality.marked), amount(len(quality.people), "person", "people")
    command = f"curation rounds quality {name or ''}".strip()
    return f"marked: {marked} of {people}; {command}" if marked else ""
