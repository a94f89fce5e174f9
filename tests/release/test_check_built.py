"""A check of what we build has no blocking finding, and only findings that a team can act on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.release.anonymous import anonymous
from curation.release.check import check
from curation.release.hidden import numbers
from support import releases
from support.labelled import Desk

ACTIONS = {"pitfalls", "baseline", "open_question", "no_address", "card_incomplete", "near_repeat"}
"""Findings about texts and answers of the team; everything else would be a fault of the build."""

pytestmark = pytest.mark.outside  # it builds six releases


@pytest.mark.parametrize("form", ["open", "hidden", "anonymous"])
def test_the_samples_have_no_blocking_finding(form: str, tmp_path: Path) -> None:
    contents, facts = releases.contents(), releases.facts()
    if form == "hidden":
        contents = releases.hidden(contents)
        facts = numbers.coarse(facts, contents, split="test")
        facts = facts.model_copy(update={"tiers": {"4": 2, "5": 1, "unknown": 1}})
    if form == "anonymous":
        facts = anonymous(facts)
    _, findings = check(releases.write(tmp_path / "1.0.0", contents, facts))
    assert not [f for f in findings if f.severity == "block"]


@pytest.mark.parametrize(
    "name",
    [
        *("example_release", "example_hidden", "example_anonymous"),
        *("arabic_release", "japanese_release"),
    ],
)
def test_built_releases(demo: object, request: pytest.FixtureRequest, name: str) -> None:
    _, findings = check(request.getfixturevalue(name))
    assert {f.code for f in findings if f.severity != "note"} <= ACTIONS


def test_revealed_gold_labels_are_checked_as_the_release_was(
    forked: Any, example_hidden: Path, tmp_path: Path
) -> None:
    desk = Desk(forked, example_hidden.parents[1]).copy(tmp_path / "c")
    desk.reveal()
    done = forked("release", "check", desk.revealed, "--public", example_hidden, "--json")
    assert done.code == 0, done.err  # also with targets that contexts name by old names
    found = {row["code"] for row in json.loads(done.out)["findings"] if row["severity"] != "note"}
    assert found <= {"pitfalls", "baseline"}


def test_a_file_that_is_there_twice_is_named(arabic_release: Path, tmp_path: Path) -> None:
    for name in ("dev.json", "dev-copy.json"):
        shutil.copyfile(arabic_release / "dev.json", tmp_path / name)
    _, findings = check(tmp_path)
    (found,) = (f for f in findings if f.code == "file_repeated")
    assert found.severity == "warn"
    assert found.where == "dev-copy.json and dev.json"
