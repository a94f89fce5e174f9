"""What people attest: the use of a measure, a dataset or scores, and the construct.

Consequential validity emphasizes the eventual use and impact of a measure (Bommasani & Liang 2022,
Table 2 and section 6, after Messick 1988). A program cannot measure it. So people answer the
questions of ``data/trust/questions.toml``, and the report says which answers are there: «attested»,
never «pass». The declared construct, its groups and the reference belong to content validity and
are attested in the same way.

The answers are in ``6-trust/attest.toml``. The file is the team's: it is written once, with all
questions, and never changed.
"""

import re
from collections.abc import Collection, Mapping, Sequence, Set
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from curation.files import CurationError, read_text, shipped
from curation.formats.toml_files import (
    CONTROL,
    comment,
    line_of,
    parsed_toml,
    read_form,
    read_toml,
    toml_key,
    write_form,
)
from curation.records import Criterion, CriterionName, Status, Subject
from curation.text.wording import amount, did_you_mean

_DOCS = "docs/trust.md describes attest.toml (Attestations)"
Answers = Mapping[str, str]
"""What people answer, by the key of the question; one that is missing or empty is open."""


class Question(BaseModel):
    """A question to the team.

    ``check`` is the check that needs its answer, ``form`` says what an answer must be. One with
    ``after_yes`` is only asked if the question before it was answered with yes.
    """

    key: str
    check: str
    text: str
    form: Literal["text", "day", "no or yes"] = "text"
    after_yes: bool = False


class AttestedCheck(BaseModel):
    """A check that needs answers: its criterion, and the subjects that it is about."""

    criterion: CriterionName
    subjects: tuple[Subject, ...]
    computed: str


class Questions(BaseModel):
    """All questions, in the order of the file, and the checks that need their answers."""

    asked: tuple[Question, ...] = Field(alias="questions")
    checks: dict[str, AttestedCheck]


@cache
def questions() -> Questions:
    """The questions that come with curation."""
    path = shipped("data", "trust", "questions.toml")
    return Questions.model_validate(read_toml(path, fix="see attested.py for its keys"))


# --- the file -----------------------------------------------------------------------------------


def template() -> str:
    """The text of an ``attest.toml`` without answers."""
    text = read_text(shipped("data", "trust", "attest.toml"))
    for question in questions().asked:
        text += "" if question.after_yes else "\n"
        text += comment(("If yes: " if question.after_yes else "") + question.text)
        empty = '""' if question.form != "text" else "'''\n'''"
        text += f"{question.key} = {empty}\n"
    return text


def write_template(path: Path) -> bool:
    """Write the file if it is missing or empty; if it is in a campaign, under the campaign's lock.

    Returns:
        Whether the file was written.

    Raises:
        CurationError: it cannot be written.
    """
    if read_form(path):
        return False
    write_form(path, template())
    return True


def read_answers(path: Path) -> dict[str, str]:
    """The answers that are not empty, by key; without the file, all questions are open.

    Raises:
        CurationError: the file has an error; the message names line and key.
    """
    text = read_form(path)
    content = parsed_toml(text, path, fix="put each text between quotes; " + _DOCS)
    forms = {question.key: question.form for question in questions().asked}
    answers = {k: v.strip() if isinstance(v, str) else v for k, v in content.items()}
    for key, answer in answers.items():
        what, fix = _wrong(key, answer, forms)
        if what:
            where = line_of(text, [key], depth=0) or line_of(text, [key], depth=1)
            raise CurationError(f"{path}{where}, {toml_key(key)[:200]}: {what}", fix)
    return {key: answer for key, answer in answers.items() if answer}


def _wrong(key: str, answer: Any, forms: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong with an answer and how to fix it; empty texts if nothing is."""
    if key not in forms:
        listed = f"known keys: {', '.join(forms)}; {_DOCS}"
        return "no such question", did_you_mean(key, forms, listed)
    if not isinstance(answer, str):
        return "is not a text", 'write a text between quotes, such as "text"'
    if CONTROL.search(answer):
        return "it has a control character", "remove it"
    if forms[key] == "day" and answer and not _is_day(answer):
        return f"{answer[:40]!r} is not a day", 'write it as YYYY-MM-DD, such as "2030-01-31"'
    if forms[key] == "no or yes" and answer not in ("", "no", "yes"):
        return f"{answer[:40]!r} is not an answer", 'write "no" or "yes", or leave it empty'
    return "", ""


def _is_day(text: str) -> bool:
    try:
        return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", text)) and bool(date.fromisoformat(text))
    except ValueError:
        return False


# --- the report ---------------------------------------------------------------------------------


def open_questions(answers: Answers, subjects: Set[Subject]) -> list[Question]:
    """The questions about these subjects that are not answered, in order."""
    asked, before = [], ""
    for question in questions().asked:
        if subjects & {*questions().checks[question.check].subjects}:
            answer = answers.get(question.key, "")
            if not answer and (not question.after_yes or before == "yes"):
                asked.append(question)
            before = answer
    return asked


def is_past(answers: Answers, today: str) -> bool:
    """Whether the day of the next review has passed.

    Args:
        answers: the answers.
        today: the day, as YYYY-MM-DD.
    """
    return "" < answers.get("review_date", "") < today


def attested(
    answers: Answers,
    subjects: Collection[tuple[Subject, str]],
    *,
    due: bool,
    evidence: Sequence[str] = (),
) -> list[Criterion]:
    """The criteria that people attest.

    Args:
        answers: what they answered.
        subjects: what the report is about, with the names of their rows.
        due: whether the day of the review has passed, so that the answers are too old.
        evidence: the file with the answers.

    Returns:
        A row for each subject and check. The status is «attested» if all answers are there,
        «not_run» if one is missing, and «inconclusive» if the review is overdue or a value is a
        target. It is never «pass».
    """
    missing, rows = open_questions(answers, {subject for subject, _ in subjects}), []
    for subject, name in subjects:
        for check, about in questions().checks.items():
            if subject not in about.subjects:
                continue
            asked = [q for q in questions().asked if q.check == check and not q.after_yes]
            lacking = [question.key for question in missing if question.check == check]
            status, change = _status(answers, check, lacking, due)
            rows.append(
                Criterion(
                    subject=subject,
                    name=name,
                    criterion=about.criterion,
                    check=check,
                    status=status,
                    statistic="answers",
                    n=sum(bool(answers.get(question.key)) for question in asked),
                    unit=f"of {amount(len(asked), 'answer')}",
                    computed=about.computed,
                    change=change,
                    evidence=tuple(evidence),
                )
            )
    return rows


def _status(answers: Answers, check: str, lacking: Sequence[str], due: bool) -> tuple[Status, str]:
    """The status of a check, and what would change it."""
    if check == "objective" and answers.get("objective") == "yes":
        return (
            "inconclusive",
            "judge by a measure that nobody trains for or selects by, or stop using this one as a "
            'target and set objective = "no"',
        )
    if lacking:
        return "not_run", f"answer {', '.join(lacking)} in attest.toml"
    if check == "uses" and due:
        return (
            "inconclusive",
            f"the review was due on {answers['review_date']}: review the answers in attest.toml, "
            "then set review_date to a later day",
        )
    return "attested", "a wrong or outdated answer; the report cannot check what people state"
