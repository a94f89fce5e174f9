"""What ``curation status`` names as the next step, along whole campaigns."""

import json
from pathlib import Path
from typing import Any

from curation.files import read_records
from curation.records import Cat
from curation.scores.incomplete import cats_digest
from support.cats import intra
from support.commands import set_to
from support.desk import Desk, item_row
from support.scored import likes, put, write_gold

VALIDATORS = ("v-1", "v-2", "v-3", "v-4", "v-5")
WRITING = "curation rounds open intrasentence, or curation rounds open intersentence"


class Campaign:
    """A campaign whose next step is compared."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def says(self, what: str) -> None:
        assert self.desk.say("status")["next"] == what

    def write(self, name: str) -> None:
        """A round of writing, from its opening to its end."""
        desk = self.desk
        desk.open("intrasentence", name)
        self.says(f"{name}: 7 answers missing; curation rounds export {name}")
        rows = [item_row(t, f"w-{n}", n) for n, t in enumerate(desk.export(name))]
        assert desk.say("status")["next"].endswith(f"; curation rounds import {name} FILE")
        desk.bring(name, rows)
        self.says(f"{name}: nothing is missing; curation rounds close {name}")
        desk.say("rounds", "close", name)

    def label(self, name: str) -> None:
        """A round of validation, from its opening to its end."""
        desk = self.desk
        desk.open("validation", name)
        self.says(f"{name}: 35 answers missing; curation rounds export {name}")
        desk.bring(name, desk.labels(name, VALIDATORS), f"{name}.csv")
        self.says(f"{name}: nothing is missing; curation rounds close {name}")
        desk.say("rounds", "close", name)


def test_from_terms_to_a_release(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1)
    campaign = Campaign(desk)
    campaign.says("curation terms select")
    desk.say("terms", "select")
    assert "then curation rounds open KIND" in desk.say("status")["next"]
    campaign.write("w")
    campaign.says(
        "more labels for 7 items: curation rounds open validation, or curation import answers FILE"
    )
    campaign.label("v")
    campaign.says("curation run")
    desk.does("run")
    campaign.says("curation scores models MODEL, and curation scores baselines")
    cats = read_records(desk.root / "3-decisions/cats.jsonl", Cat)
    run = put(desk.root / "5-scores", "model", "default", likes, cats)
    campaign.says("curation scores models model")
    (run / "results.json").write_text(json.dumps({"of": {"sha256": cats_digest(cats)}}), "utf-8")
    campaign.says("curation scores compare")  # and a warning: what is built is without them
    set_to(desk.root, 'version = "0.1.0"', 'version = "0.2.0"')
    campaign.says("curation release build")
    desk.does("release", "build")
    where = "7-release/0.2.0"
    campaign.says(
        f"nothing is left to do: {where} is built; curation release check {where} tests it"
    )
    assert desk.forked("release", "check", desk.root / where).code == 0


def test_from_a_pilot_to_the_real_rounds(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1, accept_times=("pilot", "pilot-validation"))
    campaign = Campaign(desk)
    desk.say("terms", "select")
    campaign.write("pilot")
    campaign.says("curation rounds open validation --name pilot-validation")
    campaign.label("pilot-validation")
    campaign.says(f"curation rounds plan --budget N (from the pilot); then {WRITING}")
    desk.open("intrasentence", "w")
    campaign.says("w: 7 answers missing; curation rounds export w")


def test_from_published_gold_labels_to_scores(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1)
    campaign = Campaign(desk)
    cat = intra("The baker is BLANK.", "warm", "cold", "round", domain="profession", target="baker")
    desk.does("import", "stereoset", write_gold(tmp_path / "gold.json", [cat]))
    campaign.says(
        "1 item has published gold labels and no votes: collect labels («curation rounds open "
        "validation --of ROUND»), or keep the gold labels as they were published (trust_gold = "
        "true in [decisions])"
    )
    set_to(desk.root, "trust_gold = false", "trust_gold = true")
    set_to(desk.root, "accept = []", 'accept = ["domain_in_one_split"]')
    campaign.says("curation run")
    desk.does("run")
    campaign.says("curation scores models MODEL, and curation scores baselines")
