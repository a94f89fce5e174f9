"""The data statement of a release: what its users must know of its people, texts and purpose.

The sections are those of data statements (Bender and Friedman 2018, versions 2 and 3); the
questions under them are those that datasheets ask (Gebru et al. 2021). The wording is curation's.
Facts that are recorded are filled in, and the team answers the rest (``questions``).
"""

from collections.abc import Callable, Mapping

from curation.formats.markdown import inline, paragraphs, table
from curation.release.facts import Facts, Reading, RoundFacts
from curation.release.texts import card_made, card_results
from curation.release.texts.card import answer, author_line
from curation.release.texts.card_made import limits
from curation.release.texts.questions import QUESTIONS, SECTIONS, Question, open_question
from curation.text.wording import amount

STATEMENTS = "https://aclanthology.org/Q18-1041/"
DATASHEETS = "https://arxiv.org/abs/1803.09010"


def statement(facts: Facts) -> bytes:
    """STATEMENT.md: the data statement with the datasheet's questions.

    Args:
        facts: what the release says about itself; unanswered questions are in bold.
    """
    lines = [
        f"# Data statement of {inline(facts.name)} {inline(facts.version)}",
        "",
        f"> **{inline(facts.warning)}**",
        "",
        f"Sections as in data statements ([Bender and Friedman]({STATEMENTS})), with the questions "
        f"of datasheets ([Gebru et al.]({DATASHEETS})) under them. Numbers come from the records "
        "of the project; [README.md](README.md) has more of them. The team wrote the other "
        "answers.",
        "",
    ]
    if facts.anonymous:
        lines += ["This statement is for review; names are left out.", ""]
    for section, title in SECTIONS.items():
        asked = [q for q in QUESTIONS if q.section == section]
        answers = [line for question in asked for line in _answer(facts, question)]
        recorded = _RECORDED[section](facts)
        parts = (answers, recorded) if section == "summary" else (recorded, answers)
        lines += [f"## {title}", "", *parts[0], *parts[1]]
    lines += ["## What people read", "", *_texts(facts)]
    return "\n".join(lines).rstrip("\n").encode() + b"\n"


def _answer(facts: Facts, question: Question) -> list[str]:
    """A question with its answer; an open question is shown once."""
    given = facts.statement
    if question.key == "authors":
        lines = [f"- {author_line(author)}" for author in given.authors]
        lines += [""] if lines else []
    elif question.field:
        lines = paragraphs(getattr(given, question.key))
    else:
        lines = paragraphs(given.answers.get(question.key, ""))
    shown = answer(facts, question.key, lines)
    return shown if shown[0] == open_question(question.text) else _asked(question.text, shown)


# --- what is recorded, by section -----------------------------------------------------------


def _asked(question: str, lines: list[str]) -> list[str]:
    """A question that the records answer; nothing if they do not."""
    return [f"**{question}**", "", *lines] if lines else []


def _summary(facts: Facts) -> list[str]:
    total = sum(size.cats for size in facts.sizes)
    return _asked(
        "What does the dataset consist of?",
        [
            f"{amount(total, 'CAT')}: a context about a target term, with a stereotype, an "
            "anti-stereotype and an unrelated association. The table counts them.",
            "",
            *card_made.sizes(facts),
        ],
    )


def _rationale(facts: Facts) -> list[str]:
    return [
        *_asked(
            "How were texts chosen for publication?",
            [*card_made.decided(facts), *card_results.retention(facts)],
        ),
        *_asked("How was the dataset split?", card_made.split_and_versions(facts)),
    ]


def _sources(facts: Facts) -> list[str]:
    imported = [made for made in facts.rounds if made.kind == "import"]
    lines = card_made.translated(facts)
    if imported:
        names = ", ".join(inline(made.name) for made in imported)
        lines += [f"These answers were imported, and not collected in a planned round: {names}."]
        lines += [""]
    return _asked("Which data came from elsewhere?", lines)


def _language(facts: Facts) -> list[str]:
    return _asked("Which language?", [f"Language code {inline(facts.language)}.", ""])


def _people(facts: Facts, kinds: tuple[str, ...]) -> list[str]:
    rounds = [made for made in facts.rounds if made.kind in kinds]
    count = {kind: facts.people[kind] for kind in kinds if facts.people.get(kind)}
    if not rounds and not count:
        return []
    note = ["The people of an imported round are all those who wrote or labelled in it.", ""]
    imported = any(made.kind == "import" for made in rounds)
    return [*card_made.people_and_rounds(count, rounds), *(note if imported else [])]


def _writers(facts: Facts) -> list[str]:
    kinds = ("intrasentence", "intersentence", "import")
    lines = _people(facts, kinds)
    if lines and not any(facts.people.get(kind) for kind in kinds):
        lines = ["The texts were imported, and it is not recorded who wrote them.", ""]
    return _asked("Who wrote the texts, and when?", lines)


def _annotators(facts: Facts) -> list[str]:
    labels = []
    if facts.annotations:
        labels = [
            f"{amount(facts.annotators, 'annotator')} gave the {amount(facts.annotations, 'label')}"
            f" in `annotations.csv`; {facts.counted:,} of them decided gold labels.",
            "",
        ]
    return [
        *_asked(
            "Who reviewed terms and labelled texts, and when?",
            [*_people(facts, ("review", "validation", "import")), *labels],
        ),
        *_asked("What were people paid?", _pay(facts)),
    ]


def _pay(facts: Facts) -> list[str]:
    lines = [
        f"- Round {inline(made.name)}: {card_made.money(made.pay, made.currency)} for an answer."
        for made in facts.rounds
        if made.pay is not None
    ]
    return [*lines, ""] if lines else []


def _situation(facts: Facts) -> list[str]:
    days = sorted(day for made in facts.rounds for day in (made.first, made.last) if day)
    if not days:
        return []
    when = (
        f"People wrote and labelled between {inline(days[0])} and {inline(days[-1])}, in writing."
    )
    return _asked(
        "When and how were the texts produced?",
        [f"{when} The last section has what they read.", ""],
    )


_JSON = ("`dev.json` and `test.json` have", "`dev.json` has")


def _preprocessing(facts: Facts) -> list[str]:
    lines = [
        f"`cats/` has one CAT per line, {_JSON[facts.is_sealed]} StereoSet's format. "
        "Answers are archived as they came, and a release is computed from the archive.",
        "",
    ]
    without = card_made.left_out(facts)
    if without:
        lines += [*(f"- {line}" for line in without), ""]
    elif facts.rounds:
        lines += ["No answer was refused, all labels count, and all items are CATs.", ""]
    if facts.not_counted and facts.annotations:
        lines += ["`annotations.csv` has all labels of its CATs, also those not counted.", ""]
    return _asked("In which form is the data, and what was left out?", lines)


def _quality(facts: Facts) -> list[str]:
    counted = [row for row in facts.pitfalls if row.count]
    rows = [(inline(row.says), card_results.counted(row)) for row in counted]
    return [
        *_asked("How far do annotators agree?", card_results.agreement(facts)),
        *_asked("Which errors and sources of noise are known?", table(("pitfall", ">found"), rows)),
        *_asked(
            "Does the sentiment of texts reveal their gold labels?", card_results.sentiment(facts)
        ),
    ]


def _limitations(facts: Facts) -> list[str]:
    return _asked("Which limits does every dataset of this kind have?", limits())


def _metadata(facts: Facts) -> list[str]:
    return _asked(
        "Which version is this?",
        [
            f"Version {inline(facts.version)} of {inline(facts.date)}, under the licence "
            f"{inline(facts.licence.name)}.",
            "",
        ],
    )


def _ethics(facts: Facts) -> list[str]:
    lines = [
        "Yes: its texts state stereotypes about groups of people. Read with care, and warn others.",
        "",
    ]
    consents = [made for made in facts.rounds if made.consent]
    agreed = [
        f"- Round {inline(made.name)}: text {inline(made.consent or '')}." for made in consents
    ]
    other = [
        f"- Agreed to the licence {inline(name)}: {amount(people, 'annotator')}."
        for name, people in facts.other_licences.items()
    ]
    return [
        *_asked("Does the dataset contain offensive texts?", lines),
        *_asked(
            "Did people agree to the publication of their answers?",
            [*agreed, *other, "", "The last section has the text.", ""] if agreed or other else [],
        ),
    ]


def _distribution(facts: Facts) -> list[str]:
    hidden = facts.hidden
    if hidden is None:
        return []
    return _asked(
        "Is everything public?",
        [
            f"No: the {'texts and ' * facts.is_sealed}gold labels of "
            f"{amount(hidden.cats, 'CAT')} (split {inline(hidden.split)}) are hidden. "
            "README.md says how to have a model scored.",
            "",
        ],
    )


def _maintenance(facts: Facts) -> list[str]:
    return _asked("What has changed since the version before?", card_results.changes(facts))


_RECORDED: Mapping[str, Callable[[Facts], list[str]]] = {
    "summary": _summary,
    "rationale": _rationale,
    "sources": _sources,
    "language": _language,
    "writers": _writers,
    "annotators": _annotators,
    "situation": _situation,
    "preprocessing": _preprocessing,
    "quality": _quality,
    "limitations": _limitations,
    "metadata": _metadata,
    "ethics": _ethics,
    "distribution": _distribution,
    "maintenance": _maintenance,
}


# --- what people read -----------------------------------------------------------------------


def _texts(facts: Facts) -> list[str]:
    """What people read in each round; rounds with the same texts are named together."""
    groups: dict[tuple[tuple[Reading, ...], tuple[str, ...]], list[RoundFacts]] = {}
    for made in facts.rounds:
        if made.read or made.consent_text:
            groups.setdefault((made.read, made.consent_text), []).append(made)
    if not groups:
        return ["No text that people read is recorded.", ""]
    lines = ["The texts contain examples of stereotypes, so you have to open them.", ""]
    for (read, consent), rounds in groups.items():
        names = ", ".join(inline(made.name) for made in rounds)
        word = "Round" if len(rounds) == 1 else "Rounds"
        lines += ["<details>", f"<summary>{word} {names}</summary>", ""]
        for reading in read:
            lines += [f"**{inline(reading.heading)}**", ""] if reading.heading.strip() else []
            lines += [*(f"- {inline(line)}" for line in reading.lines if line.strip()), ""]
        if consent:
            lines += ["**What people agreed to**", ""]
            lines += [*(f"- {inline(line)}" for line in consent if line.strip()), ""]
        lines += ["</details>", ""]
    return lines
