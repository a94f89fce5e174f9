"""What only the team can say of a campaign's dataset: ``7-release/statement.toml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.campaign.dataset import Dataset
from curation.campaign.store import Campaign
from curation.formats.toml_files import read_form, write_form
from curation.release.texts import questions
from curation.release.texts.questions import BY_KEY, Question, open_keys
from curation.released.facts import Statement
from curation.rounds.platforms.texts import OWN_TEXTS

NAME = "statement.toml"
_WHO = ("institution", "ethics", "contact")  # keys in [study] that say who carries out the study


def place(campaign: Campaign) -> Path:
    """The file that the team fills in; it need not exist."""
    return campaign.folder("release") / NAME


STATEMENT: Dataset[Statement] = Dataset(
    "statement",
    lambda campaign: [place(campaign)],
    lambda campaign: questions.read_statement(place(campaign)),
    by_value=True,
)
"""What the team says; a file without any answer counts as a missing one."""


def read_statement(campaign: Campaign) -> Statement:
    """What the team says of the dataset; if the file is missing, all questions are open.

    An empty contact is that of ``[study]`` in ``2-rounds/text.toml``, and an empty answer on the
    ethical review is ``ethics`` there, so that nothing is written twice.

    Raises:
        CurationError: a file has an error; the message names line and key.
    """
    statement = campaign[STATEMENT]
    study = _own_study(campaign)
    answers = dict(statement.answers)
    if study["ethics"]:
        answers.setdefault("review", study["ethics"])
    contact = statement.contact or study["contact"]
    return statement.model_copy(update={"contact": contact, "answers": answers})


def secrets(campaign: Campaign, statement: Statement) -> list[str]:
    """Names and addresses that a release for review must not have.

    They are those of the statement, and the institution, the approval and the contact in
    ``[study]`` of ``2-rounds/text.toml``, also as they were when rounds were planned.

    Args:
        campaign: the campaign.
        statement: what the team says, as from ``read_statement``.

    Raises:
        CurationError: a file has an error.
    """
    from curation.release.anonymous import identifying_names

    planned = (campaign.texts[name] or {} for name in campaign.round_names())
    studies = [_own_study(campaign), *map(_study, planned)]
    known = (text for study in studies for text in study.values() if text)
    return list(dict.fromkeys([*identifying_names(statement), *known]))


def _own_study(campaign: Campaign) -> dict[str, str]:
    return _study(campaign[OWN_TEXTS].texts)


def _study(texts: Mapping[str, Any]) -> dict[str, str]:
    """Who carries out the study, from ``[study]`` of texts for annotators; empty if not there."""
    section = texts.get("study")
    given = section if isinstance(section, Mapping) else {}
    values = {key: given.get(key) for key in _WHO}
    return {key: " ".join(v.split()) if isinstance(v, str) else "" for key, v in values.items()}


def open_questions(statement: Statement) -> list[Question]:
    """The questions that the team has not answered, in the order of the data statement."""
    return [BY_KEY[key] for key in open_keys(statement)]


def write_template(campaign: Campaign) -> bool:
    """Write ``statement.toml`` if it is missing; else add comments for questions that it lacks.

    Nothing that is in the file is changed. Call this under the campaign's lock.

    Returns:
        Whether the file was written.

    Raises:
        CurationError: the file cannot be read or written.
    """
    path = place(campaign)
    before = read_form(path)
    text = questions.with_new_questions(before) if before else questions.statement_template()
    if text == before:
        return False
    if before:
        questions.read_statement(path)  # a damaged file is reported, and left as it is
    write_form(path, text)
    return True
