"""``curation release push`` sends what the commands built: two versions, and a hidden one."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.hub import TOKEN, Hub
from support.labelled import Desk
from support.written import files

REPO = "made-up/mild"
pytestmark = [
    pytest.mark.outside,  # it builds and uploads three versions of the example
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]


def test_versions_of_the_example_go_up_one_after_the_other(
    demo: object, fake_hub: Hub, example: Path, example_hidden: Path, forked: Any, tmp_path: Path
) -> None:
    desk = Desk(forked, example).copy(tmp_path / "c")
    said = []

    def push(version: str, *words: str) -> Any:
        done = desk.done("release", "push", version, "--to", REPO, *words)
        said.append(done.out + done.err)
        return done

    first = files(desk.first)
    listed = json.loads(push("0.1.0", "--dry-run", "--json").out)["files"]
    assert {row["path"] for row in listed} == first.keys()
    assert not fake_hub.repos
    push("0.1.0")
    sent = fake_hub.repos[REPO]
    assert sent.own_files == first

    desk.set(version="0.2.0", keep="0.1.0")
    toml = desk.root / "campaign.toml"
    text = toml.read_text("utf-8").replace("leave_out = [", 'leave_out = ["item-001", ')
    toml.write_text(text, "utf-8")
    desk.done("trust", "report")
    desk.build()
    second = files(desk.second)
    assert "errata.jsonl" in second
    listed = json.loads(push("0.2.0", "--dry-run", "--json").out)["files"]
    shown = {row["path"]: row["state"] for row in listed}
    assert shown.keys() >= second.keys()
    assert shown["errata.jsonl"] == "new"
    push("0.2.0")
    assert sent.own_files.keys() == second.keys()

    shutil.copytree(example_hidden, desk.releases / "0.3.0")
    push("0.3.0")
    assert sent.own_files.keys() == files(example_hidden).keys()
    assert not [name for name in sent.files if "gold" in name]
    assert sent.tags.keys() == {"0.1.0", "0.2.0", "0.3.0"}
    assert sent.private
    assert TOKEN.encode() not in b"".join(files(tmp_path).values())
    assert TOKEN not in "".join(said)
