"""Numbers about the campaign itself: its steps and rounds, people, cost, and what is still open."""

from collections.abc import Sequence
from typing import Any

import orjson

from curation.campaign.step import Step
from curation.campaign.store import Campaign
from curation.files import read_json
from curation.release.statement import read_statement
from curation.release.texts.questions import QUESTIONS, SECTIONS, open_keys
from curation.rounds import people
from curation.status import UP_TO_DATE, Status, read_status

_WITHOUT_LABELS = ("select", "answers")
"""The steps whose counts depend on nobody's labels."""
_OPEN = ("round", "kind", "state", "tasks", "people", "answers", "refused", "asked", "cost")
"""What a round's progress tells of no label; its pace and end depend on the time of day."""
_TIMED = ("per_day", "done_at")


def numbers(
    campaign: Campaign, pipeline: Sequence[Step], *, hidden: bool, status: Status | None = None
) -> dict[str, Any]:
    """The state of a campaign, as ``curation status`` and ``curation rounds status`` say it.

    Args:
        campaign: the campaign.
        pipeline: the steps before the report.
        hidden: leave out what depends on labels: counts of steps, warnings, which items are
            decided.
        status: the state, if it is known.

    Returns:
        ``steps`` (by name: state, fix, counts and note), ``rounds``, ``work``, ``scores``,
        ``warnings`` and ``next`` as in ``Status``; ``people`` with an answer that
        counts; ``cost`` of the rounds that were opened here, in ``currency``. Paths are relative to
        the campaign's folder.
    """
    status = status or read_status(campaign, pipeline)
    steps = {
        step.step: {
            "state": step.state,
            "fix": step.fix,
            "counts": step.counts if not hidden or step.step in _WITHOUT_LABELS else {},
            "note": step.note if step.state == UP_TO_DATE else "",  # what changed is the team's
        }
        for step in status.steps
    }
    work = [
        {
            name: value
            for name, value in progress._asdict().items()
            if name not in _TIMED and (name in _OPEN or not hidden)
        }
        for progress in status.work
    ]
    rounds = campaign.settings.rounds
    content = {
        "steps": steps,
        "rounds": [row._asdict() for row in status.rounds],
        "work": work,
        "scores": [run._asdict() for run in status.scores],
        "warnings": [] if hidden else status.warnings,
        "next": status.next,
        "people": _people(campaign),
        "cost": {
            "currency": rounds.currency,
            "now": round(sum(progress.cost for progress in status.work), 2),
            "budget": rounds.budget or None,
        },
    }
    text = orjson.dumps(content).decode()
    for folder in dict.fromkeys((campaign.root.resolve(), campaign.root)):
        text = text.replace(f"{folder.as_posix()}/", "") if folder.is_absolute() else text
    return dict(orjson.loads(text))


def _people(campaign: Campaign) -> int:
    """How many people have answered, without those who are out, whose answers do not count."""
    return len(people.who_answered(campaign.people))


def statement(campaign: Campaign) -> dict[str, Any]:
    """What the team says of the dataset, and which questions it has not answered.

    Returns:
        ``description``, ``warning`` and others as in ``release.json``; ``answers``, each with its
        section, question and text; ``open`` with the open questions of the data statement, and
        ``attest`` with those of the trust report.
    """
    from curation.release.collecting import warning
    from curation.trust.protocol.attested import questions

    said = read_statement(campaign)
    trust = campaign.folder("trust") / "report.json"
    report = read_json(trust) if trust.exists() else {}
    missing = {*open_keys(said)}
    release = campaign.settings.release
    answers = [
        {"section": SECTIONS[q.section], "question": q.text, "answer": said.answer(q.key)}
        for q in QUESTIONS
        if not q.field and q.key not in missing
    ]
    return {
        "version": release.version,
        "licence": release.licence,
        "language": campaign.settings.campaign.language,
        "warning": warning(campaign),
        "authors": [author.name for author in said.authors],
        **{name: getattr(said, name) for name in ("description", "contact", "takedown", "doi")},
        "answers": answers,
        "open": [question.text for question in QUESTIONS if question.key in missing],
        "attest": [q.text for q in questions().asked if q.key in report.get("open", ())],
    }
