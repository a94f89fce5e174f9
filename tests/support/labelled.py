"""A campaign with labels, made from one that waits for them; its settings, and its files."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from support.desk import Desk, Row, label_row

PEOPLE = [f"val-{n}" for n in range(6)]


def label(forked: Any, unlabelled: Path, to: Path, golds: dict[str, str] | None = None) -> Desk:
    """A copy of the campaign with five labels of each association.

    Args:
        forked: runs commands.
        unlabelled: the campaign.
        to: the folder of the copy.
        golds: what the validators say of each sentence; by default what its writer meant.
    """
    desk = Desk(forked, Path(shutil.copytree(unlabelled, to)))
    tasks = json.loads((to / "tasks.json").read_text("utf-8"))
    answer(desk, tasks, golds)
    assert desk.run("decisions", "split").code == 0
    return desk


def answer(desk: Desk, tasks: list[Row], golds: dict[str, str] | None = None) -> None:
    """Bring five labels of each association of the round ``v``; ``golds`` as above."""
    known = golds or desk.golds()
    rows = [
        label_row(task, PEOPLE[(n + k) % 6], known, n)
        for n, task in enumerate(tasks)
        for k in range(5)
    ]
    desk.bring("v", rows, "v.csv")


def set_to(desk: Desk, old: str, new: str) -> None:
    """Replace a text that is once in the settings."""
    path = desk.root / "campaign.toml"
    text = path.read_text("utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), "utf-8")


def shas(folder: Path) -> dict[str, str]:
    """The sha256 of every file in a folder, by path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
