"""Damaged files of a campaign are refused with their place, or never lead outside its folder."""

import json
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.step import delete_files
from curation.campaign.store import Campaign
from curation.records import Task
from curation.rounds import steps as read
from curation.rounds.platforms.label_studio import local
from curation.rounds.status import read_asked
from curation.scores.results import read_runs
from curation.status import UNFINISHED, score_runs
from curation.terms.fetching import facts_files, facts_origins
from support.expected import fails

ORIGIN = {"properties": ["P1"], "population": {"P2": ["Q3"]}, "languages": ["en"], "least": 2}


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ([], ": not a JSON object"),
        ({"jobs": 1}, ", domain 'jobs': "),
        ({"jobs": {**ORIGIN, "population": "x"}}, ", domain 'jobs', field 'population': "),
        ({"jobs": {**ORIGIN, "population": {"P2": 1}}}, ", domain 'jobs', field 'population.P2': "),
        ({"jobs": {**ORIGIN, "least": "2"}}, ", domain 'jobs', field 'least': "),
    ],
)
def test_where_facts_are_from(campaign: Campaign, content: Any, where: str) -> None:
    for path in facts_files(campaign):
        write(path, "")
    write(campaign.folder("terms") / "facts.json", {"jobs": ORIGIN})
    assert facts_origins(campaign) == {"jobs": ORIGIN}
    write(campaign.folder("terms") / "facts.json", content)
    with fails(f"facts.json{where}"):
        facts_origins(campaign)


@pytest.mark.parametrize("rules", ["ll-acl", {"intrasentence": {}}])
def test_a_run_with_odd_rules(campaign: Campaign, rules: Any) -> None:
    run = campaign.folder("scores") / "m" / "default"
    write(run / "run.json", {"model": "m", "rules": rules})
    (run / "scores.jsonl").touch()
    assert [(score.model, score.state) for score in score_runs(campaign)] == [("m", UNFINISHED)]
    with fails("run.json, field 'rules'"):
        read_runs(campaign.folder("scores"))


@pytest.mark.parametrize("answers", [-1, 2.0, "2", None, True])
def test_answers_that_were_asked_for(campaign: Campaign, answers: Any) -> None:
    tasks = [Task(id=f"t-{n}", term="x", domain="d", target="t", wanted=1) for n in range(2)]
    write(campaign.folder("rounds") / "r" / "asked.json", {"t-0": 1, "t-1": answers})
    with fails("asked.json, task 't-1': "):
        read_asked(campaign, "r", tasks)


@pytest.mark.parametrize("name", ["", "x", "../raw/x", "/raw/x"])
def test_a_record_of_other_files_than_raw_answers(campaign: Campaign, name: str) -> None:
    write(campaign.folder("rounds") / "segments.json", {name: "0" * 64})
    with fails("segments.json: is damaged"):
        campaign[read.KNOWN_SEGMENTS]


@pytest.mark.parametrize("content", [[], {}, {"key": "x"}, {"key": 5}])
def test_a_servers_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: Any) -> None:
    monkeypatch.setenv(local.SERVERS, str(tmp_path))
    folder = local.server_folder("x", "validators")
    write(folder / "owner.json", content)
    (folder / "address").write_bytes(b"\xff")
    assert local.own_address("x", "validation")
    with fails("owner.json: does not hold the owner's account"):
        local.own_key("x", "validation")


def test_results_are_not_deleted_through_a_link(campaign: Campaign, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "notes.txt"
    write(mine, "mine")
    (campaign.root / "4-measures").symlink_to(mine.parent)
    with fails("is a link"):
        delete_files(campaign, [campaign.folder("measures") / "notes.txt"])
    assert mine.exists()
