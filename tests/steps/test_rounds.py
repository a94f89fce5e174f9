"""A round can be run from Python, without the command line and without a terminal."""

from pathlib import Path

import pytest

from curation.campaign import Campaign
from curation.rounds.tables.reading import read_rows
from curation.steps.people import decide_on_person
from curation.steps.rounds.running import close_round, open_round, pull_round, top_up_round
from curation.steps.rounds.sheets import export_round, import_round
from support.answers import WORDS
from support.desk import STUDY
from support.expected import fails


def test_a_round_is_opened_answered_topped_up_and_closed(
    campaign: Campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign.rounds.mkdir()
    (campaign.rounds / "text.toml").write_text(STUDY, "utf-8")
    campaign.terms.mkdir(exist_ok=True)
    edits = "domain,term,action\nprofession,baker,add\nprofession,nurse,add\n"
    (campaign.terms / "edits.csv").write_text(edits, "utf-8")
    with campaign.lock():
        opened = open_round(campaign, "intrasentence", platform="files", terms=["baker"])
        round = opened.round
        assert (round.name, round.state, opened.address) == ("intrasentence-1", "open", "")
        items = campaign.settings.rounds.items
        assert (opened.tasks, opened.answers) == (items, items)

        exported = export_round(campaign, round, tmp_path / "out", format="csv")
        assert exported.tables == [(tmp_path / "out" / "intrasentence-1.csv", items)]
        tasks = [row for _, row in read_rows(exported.tables[0][0])]
        consent = {"consent": round.consent}
        answers = [
            {"task_id": task["task_id"], "annotator": "w1", "template": text, **WORDS, **consent}
            for task, text in zip(tasks, ("The baker sang BLANK.", "No gap."), strict=False)
        ]
        came = import_round(campaign, round, answers)
        assert came.counts == {"new": len(answers), "known": 0}
        assert (came.items, came.pitfalls) == (1, [])
        assert came.refused == ({"blank_missing": 1} if items > 1 else {})

        # The refused answer took a place: one more is asked for, and only once.
        assert sum(top_up_round(campaign, round).values()) == len(answers) - 1
        assert top_up_round(campaign, round) == {}

        change = decide_on_person(campaign, "w1", "exclude", "a bot")
        assert (change.before["items"], change.after["items"]) == (1, 0)
        with fails("excluded already"):
            decide_on_person(campaign, "w1", "exclude", "a bot")

        with fails("does not run on Label Studio"):
            pull_round(campaign, round)
        closed, added = close_round(campaign, round)
        assert (closed.state, added) == ("closed", [])
        again = "curation rounds open intrasentence --name intrasentence-1"
        with fails("is closed", fix=again):
            top_up_round(campaign, closed)
    assert capsys.readouterr() == ("", "")
