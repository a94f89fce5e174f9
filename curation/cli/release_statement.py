"""``curation release statement``: the questions that only the team can answer."""

from pathlib import Path

from curation.campaign import open_campaign
from curation.cli import console
from curation.cli.options import Json, Where
from curation.text.wording import amount


def statement(campaign: Where = Path(), as_json: Json = False) -> None:
    """List the questions about the dataset that your team has not answered.

    You answer them in 7-release/statement.toml, which this command writes if it is missing. It
    never changes your answers. Questions that a newer version of curation asks are added to the
    file as comments. A release marks each question that is still open.
    """
    from curation.release.texts.questions import QUESTIONS, SECTIONS
    from curation.steps.release import statement as step

    opened = open_campaign(campaign)
    with opened.lock():
        written = step.write_template(opened)
    questions = step.open_questions(step.read_statement(opened))
    path = step.place(opened)
    if as_json:
        rows = [{"key": q.key, "section": SECTIONS[q.section], "text": q.text} for q in questions]
        summary = {"file": str(path), "written": written, "questions": len(QUESTIONS)}
        console.say_json({**summary, "open": rows})
        return
    if written:
        console.say(f"Written: {path}")
    if not questions:
        console.say(f"All {len(QUESTIONS)} questions are answered in {path}.")
        return
    cells = [[SECTIONS[q.section], q.key, q.text] for q in questions]
    console.table("Open questions", ["section", "key", "question"], cells)
    console.say(f"{amount(len(questions), 'question')} of {len(QUESTIONS)} open; answer in {path}")
