"""``curation release push`` sends what the commands built: two versions, and a hidden one."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.hub import TOKEN, Hub

Run = Callable[..., Any]
REPO = "made-up/mild"
pytestmark = [
    pytest.mark.outside,  # it builds and uploads three versions of the example
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_versions_of_the_example_go_up_one_after_the_other(
    demo: object, fake_hub: Hub, example: Path, example_hidden: Path, forked: Run, tmp_path: Path
) -> None:
    root = Path(shutil.copytree(example, tmp_path / "c"))
    said = []

    def push(version: str, *words: str) -> Any:
        done = forked("release", "push", version, "--to", REPO, "-c", root, *words)
        assert done.code == 0, done.err
        said.append(done.out + done.err)
        return done

    first = files(root / "7-release" / "0.1.0")
    listed = json.loads(push("0.1.0", "--dry-run", "--json").out)["files"]
    assert {row["path"] for row in listed} == first.keys()
    assert not fake_hub.repos
    push("0.1.0")
    sent = fake_hub.repos[REPO]
    assert {name: data for name, data in sent.files.items() if name in first} == first

    toml = root / "campaign.toml"
    text = toml.read_text("utf-8").replace('version = "0.1.0"', 'version = "0.2.0"')
    text = text.replace("leave_out = [", 'leave_out = ["item-001", ')
    toml.write_text(text.replace('keep = ""', 'keep = "0.1.0"'), "utf-8")
    assert forked("trust", "report", "-c", root).code == 0
    done = forked("release", "build", "-c", root)
    assert done.code == 0, done.err
    second = files(root / "7-release" / "0.2.0")
    assert "errata.jsonl" in second
    shown = {
        row["path"]: row["state"]
        for row in json.loads(push("0.2.0", "--dry-run", "--json").out)["files"]
    }
    assert shown.keys() >= second.keys()
    assert shown["errata.jsonl"] == "new"
    push("0.2.0")
    assert sent.files.keys() - {".gitattributes"} == second.keys()

    shutil.copytree(example_hidden, root / "7-release" / "0.3.0")
    push("0.3.0")
    hidden = files(example_hidden)
    assert sent.files.keys() - {".gitattributes"} == hidden.keys()
    assert not [name for name in sent.files if "gold" in name]
    assert sent.tags.keys() == {"0.1.0", "0.2.0", "0.3.0"}
    assert sent.private
    everything = b"".join(files(tmp_path).values())
    assert TOKEN.encode() not in everything
    assert TOKEN not in "".join(said)
