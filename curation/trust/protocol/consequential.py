"""Consequential validity: what people answer about the use of a measure, a dataset or scores.

Consequential validity emphasizes the eventual use and impact of a measure (Bommasani & Liang 2022,
Table 2 and section 6, after Messick 1988). A program cannot measure it. So people answer questions,
and the report says which answers are there: «attested», never «pass». The declared construct, its
groups and the reference are part of content validity and are attested in the same way.
"""

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from curation.bias import Criterion, CriterionName, Status, Subject
from curation.wording import amount


class Attestation(BaseModel):
    """What people answer; an empty text is an open question.

    ``objective`` says whether a value that is reported here is a training objective or a criterion
    of selection anywhere. ``review_date`` is the day of the next review, as YYYY-MM-DD.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    intended_use: str = ""
    forbidden_use: str = ""
    owner: str = ""
    adopters: str = ""
    review_date: str = ""
    objective: Literal["", "no", "yes"] = ""
    objective_where: str = ""
    definition: str = ""
    groups: str = ""
    reference: str = ""
    power: str = ""
    notice: str = ""


class Question(NamedTuple):
    """A question to the team. ``check`` is the check that needs its answer."""

    key: str
    check: str
    text: str


USES, OBJECTIVE, CONSTRUCT, NOTICE = "uses", "objective", "construct", "notice"
QUESTIONS = (
    Question("intended_use", USES, "What are these measures, this dataset and its scores for?"),
    Question("forbidden_use", USES, "What should nobody use them for, or conclude from them?"),
    Question("owner", USES, "Who is responsible for these answers, and for reviewing them?"),
    Question(
        "adopters",
        USES,
        "Who uses the results, and for which decisions? If nobody does yet, say so.",
    ),
    Question(
        "review_date",
        USES,
        "On which day will you review these answers? Write it as YYYY-MM-DD. After this day the "
        "report asks again.",
    ),
    Question(
        "objective",
        OBJECTIVE,
        "Is one of these values a training objective, or do you select models by it? Write no or "
        "yes. A measure that becomes a target stops being a good measure (Goodhart; Strathern "
        "1997).",
    ),
    Question(
        "definition",
        CONSTRUCT,
        "Which construct do you measure, in your own words? What would count as this bias, and "
        "what would not?",
    ),
    Question("groups", CONSTRUCT, "Which social groups is it about, and which are left out? Why?"),
    Question(
        "reference",
        CONSTRUCT,
        "Which reference is «no bias»: equal shares, shares in the world, or another one? Why?",
    ),
    Question(
        "power",
        CONSTRUCT,
        "Which of the groups has more power in the society that the texts are about, and in which "
        "direction would a bias do harm?",
    ),
    Question(
        "notice",
        NOTICE,
        "Which notice about offensive content do users of the dataset see, and under which licence "
        "do they get it?",
    ),
)
"""All questions, in the order of the file. ``objective_where`` is asked only after a yes."""
WHERE = Question(
    "objective_where", OBJECTIVE, "Which value is a target or selects models, where, and for whom?"
)

_CHECKS: dict[str, tuple[CriterionName, tuple[Subject, ...], str]] = {
    USES: (
        "consequential",
        ("measure", "dataset", "scores"),
        "which answers the team gave about intended and forbidden use, the owner, adopters and the "
        "day of the next review",
    ),
    OBJECTIVE: (
        "consequential",
        ("measure", "scores"),
        "whether the team says that a value is a training objective or selects models",
    ),
    CONSTRUCT: (
        "content",
        ("measure", "dataset"),
        "which answers the team gave about the construct, the groups, the reference and the "
        "direction of power",
    ),
    NOTICE: (
        "consequential",
        ("dataset",),
        "whether the team names a notice about offensive content and a licence",
    ),
}


def open_questions(answers: Attestation) -> list[Question]:
    """The questions that are not answered, in order."""
    asked = [*QUESTIONS, *([WHERE] if answers.objective == "yes" else ())]
    return [question for question in asked if not getattr(answers, question.key)]


def is_past(answers: Attestation, today: str) -> bool:
    """Whether the day of the next review has passed.

    Args:
        answers: the answers.
        today: the day, as YYYY-MM-DD.
    """
    return bool(answers.review_date) and answers.review_date < today


def attested(
    answers: Attestation,
    subjects: Collection[tuple[Subject, str]],
    *,
    today: str,
    evidence: Sequence[str] = (),
) -> list[Criterion]:
    """The criteria that people attest.

    Args:
        answers: what they answered.
        subjects: what the report is about, with the names of their rows.
        today: the day, as YYYY-MM-DD; a day of review before it makes the answers too old.
        evidence: the file with the answers.

    Returns:
        A row for each subject and check. The status is «attested» if all answers are there,
        «not_run» if one is missing, and «inconclusive» if the review is overdue or a value is a
        target. It is never «pass».
    """
    missing = open_questions(answers)
    rows = []
    for subject, name in subjects:
        for check, (criterion, of, computed) in _CHECKS.items():
            if subject not in of:
                continue
            asked = [question for question in QUESTIONS if question.check == check]
            lacking = [question.key for question in missing if question.check == check]
            status, change = _status(answers, check, lacking, today)
            rows.append(
                Criterion(
                    subject=subject,
                    name=name,
                    criterion=criterion,
                    check=check,
                    status=status,
                    statistic="answers",
                    n=sum(bool(getattr(answers, question.key)) for question in asked),
                    unit=f"of {amount(len(asked), 'answer')}",
                    computed=computed,
                    change=change,
                    evidence=tuple(evidence),
                )
            )
    return rows


def _status(
    answers: Attestation, check: str, lacking: Sequence[str], today: str
) -> tuple[Status, str]:
    """The status of a check, and what would change it."""
    if check == OBJECTIVE and answers.objective == "yes":
        return (
            "inconclusive",
            "judge by a measure that nobody trains for or selects by, or stop using this one as a "
            'target and set objective = "no"',
        )
    if lacking:
        return "not_run", f"answer {', '.join(lacking)} in attest.toml"
    if check == USES and is_past(answers, today):
        return (
            "inconclusive",
            f"the review was due on {answers.review_date}: review the answers in attest.toml, then "
            "set review_date to a later day",
        )
    return "attested", "a wrong or outdated answer; the report cannot check what people state"
