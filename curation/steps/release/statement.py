"""What only the team can say of a campaign's dataset: ``7-release/statement.toml``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import CurationError, read_text
from curation.formats.toml_files import is_filled, read_toml, write_form
from curation.release.facts import Statement
from curation.release.texts import questions
from curation.release.texts.questions import BY_KEY, Question, open_keys
from curation.steps.rounds.round_files import read_texts
from curation.steps.rounds.round_status import own_texts

NAME = "statement.toml"
_WHO = ("institution", "ethics", "contact")  # keys in [study] that say who carries out the study


def place(campaign: Campaign) -> Path:
    """The file that the team fills in; it need not exist."""
    return campaign.folder("release") / NAME


def inputs(campaign: Campaign) -> list[Path]:
    """What the answers depend on; a file without any answer counts as a missing one."""
    return [*([place(campaign)] if _has_answers(campaign) else ()), own_texts(campaign)]


def read_statement(campaign: Campaign) -> Statement:
    """What the team says of the dataset; if the file is missing, all questions are open.

    An empty contact is that of ``[study]`` in ``2-rounds/text.toml``, and an empty answer on the
    ethical review is ``ethics`` there, so that nothing is written twice.

    Raises:
        CurationError: a file has an error; the message names line and key.
    """
    path = place(campaign)
    statement = questions.read_statement(path) if is_filled(path) else Statement()
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
    from curation.release.anonymous import names

    planned = (read_texts(campaign, name) or {} for name in campaign.round_names())
    studies = [_own_study(campaign), *map(_study, planned)]
    known = (text for study in studies for text in study.values() if text)
    return list(dict.fromkeys([*names(statement), *known]))


def _own_study(campaign: Campaign) -> dict[str, str]:
    path = own_texts(campaign)
    fix = "see the shipped file for an example"
    return _study(read_toml(path, fix=fix) if path.exists() else {})


def _study(texts: Mapping[str, Any]) -> dict[str, str]:
    """Who carries out the study, from ``[study]`` of texts for annotators; empty if not there."""
    section = texts.get("study")
    given = section if isinstance(section, Mapping) else {}
    values = {key: given.get(key) for key in _WHO}
    return {key: " ".join(v.split()) if isinstance(v, str) else "" for key, v in values.items()}


def open_questions(statement: Statement) -> list[Question]:
    """The questions that the team has not answered, in the order of the data statement."""
    return [BY_KEY[key] for key in open_keys(statement)]


def _has_answers(campaign: Campaign) -> bool:
    """Whether ``statement.toml`` says something, or has an error."""
    path = place(campaign)
    try:
        return is_filled(path) and questions.read_statement(path) != Statement()
    except CurationError:
        return True


def write_template(campaign: Campaign) -> bool:
    """Write ``statement.toml`` if it is missing; else add comments for questions that it lacks.

    Nothing that is in the file is changed. Call this under the campaign's lock.

    Returns:
        Whether the file was written.

    Raises:
        CurationError: the file cannot be read or written.
    """
    path = place(campaign)
    before = read_text(path) if is_filled(path) else ""
    text = questions.with_new_questions(before) if before else questions.statement_template()
    if text == before:
        return False
    if before:
        questions.read_statement(path)  # a damaged file is reported, and left as it is
    write_form(path, text)
    return True
