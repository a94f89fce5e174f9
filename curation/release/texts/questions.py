"""The questions about a dataset that only its team can answer.

``STATEMENT.md`` shows each question with its answer; an open question is in bold there. Keys are
permanent, because ``statement.toml`` files have them. The sections are those of data statements
(Bender and Friedman 2018, versions 2 and 3). The questions are curation's own words for what data
statements and datasheets (Gebru et al. 2021) ask.
"""

from typing import NamedTuple

from curation.formats.markdown import inline
from curation.release.facts import Statement


class Question(NamedTuple):
    """A question to the team.

    ``section`` is a key of ``SECTIONS``. A question with ``field`` is answered by the field of
    ``Statement`` that its key names; any other by ``Statement.answers``.
    """

    key: str
    section: str
    text: str
    field: bool = False


SECTIONS = {
    "summary": "Executive summary",
    "rationale": "Curation rationale",
    "sources": "Source datasets",
    "language": "Language varieties",
    "writers": "Language user demographics",
    "annotators": "Annotator demographics",
    "situation": "Linguistic situation and text characteristics",
    "preprocessing": "Preprocessing and data formatting",
    "quality": "Capture quality",
    "limitations": "Limitations",
    "metadata": "Metadata",
    "ethics": "Disclosures and ethical review",
    "distribution": "Distribution",
    "maintenance": "Maintenance",
}
"""The sections of a data statement in order: key and title."""

QUESTIONS = (
    Question("description", "summary", "What is this dataset, in two or three sentences?", True),
    Question(
        "purpose",
        "rationale",
        "Why did you make this dataset? What was missing without it?",
    ),
    Question(
        "coverage",
        "rationale",
        "Why these domains and target terms? Which groups are missing, and why?",
    ),
    Question(
        "sources",
        "sources",
        "Are texts, labels or terms taken or translated from other sources? Name each with its "
        "licence, and say who translated or adapted it.",
    ),
    Question(
        "variety",
        "language",
        "Which varieties of the language did people write, and in which script? Which country or "
        "region, and which time, do the stereotypes refer to?",
    ),
    Question(
        "writers",
        "writers",
        "What do you know about the people who wrote the texts: age, gender, origin, first "
        "language, education, membership of the target groups? If you did not ask, say why.",
    ),
    Question(
        "validators",
        "annotators",
        "What do you know about the people who labelled the texts: age, gender, origin, first "
        "language, education, membership of the target groups? If you did not ask, say why.",
    ),
    Question(
        "recruitment",
        "annotators",
        "How did you find the people who wrote and labelled, and which requirements did they "
        "have to meet, such as country, language or earlier work?",
    ),
    Question(
        "training",
        "annotators",
        "Were people trained or tested before they began, or excluded later? How, and by which "
        "criteria?",
    ),
    Question(
        "pay",
        "annotators",
        "What did people earn in an hour of work, how was that set, and how does it compare with "
        "the minimum wage where they live?",
    ),
    Question(
        "team",
        "annotators",
        "Who chose the terms, wrote the instructions and decided in doubtful cases? What is their "
        "background, and how are they related to the groups that the dataset is about?",
    ),
    Question(
        "conditions",
        "situation",
        "Under which conditions did people work: place, device, time limits, contact with others? "
        "Could language models or other tools help them, and did you check?",
    ),
    Question(
        "editing",
        "preprocessing",
        "Were texts corrected, shortened, translated or left out by hand? By whom, and by which "
        "rules? Are the texts before these changes kept?",
    ),
    Question("limits", "limitations", "Which weaknesses of this dataset must its users know?"),
    Question("authors", "metadata", "Who made this dataset?", True),
    Question("contact", "metadata", "At which address can people ask about the dataset?", True),
    Question(
        "review",
        "ethics",
        "Did an ethics board or a similar body review the work? Which one, with which result, and "
        "under which number?",
    ),
    Question(
        "funding",
        "ethics",
        "Who paid for the work, and does anybody in the team have an interest in its results?",
    ),
    Question(
        "harm",
        "ethics",
        "How did you protect people who had to write or read offensive texts? Did anything happen?",
    ),
    Question(
        "personal_data",
        "ethics",
        "Can anybody be identified by the texts or labels, alone or with other data? What did you "
        "do about it?",
    ),
    Question(
        "groups",
        "ethics",
        "Were people of the target groups involved or consulted? What could publication do to "
        "these groups?",
    ),
    Question(
        "uses",
        "distribution",
        "What is the dataset meant for? What should nobody use it for?",
    ),
    Question(
        "access",
        "distribution",
        "Where is the dataset published, who can get it, and for how long? Who holds the parts "
        "that are not public?",
    ),
    Question(
        "takedown",
        "maintenance",
        "At which address can people ask to have a text or their answers removed?",
        True,
    ),
    Question(
        "maintenance",
        "maintenance",
        "Who maintains the dataset? How are errors reported and corrected, how long do earlier "
        "versions stay available, and how can others contribute?",
    ),
)
"""All questions, in the order of the statement."""

BY_KEY = {question.key: question for question in QUESTIONS}


def is_answered(question: Question, statement: Statement) -> bool:
    """Whether a statement has an answer to a question."""
    if question.field:
        return bool(getattr(statement, question.key))
    return bool(statement.answers.get(question.key, "").strip())


def open_keys(statement: Statement) -> tuple[str, ...]:
    """The keys of the questions that a statement does not answer, in order."""
    return tuple(q.key for q in QUESTIONS if not is_answered(q, statement))


def open_question(text: str) -> str:
    """An open question, in bold, for a card or a data statement."""
    return f"**Open question for the team: {inline(text)}**"
