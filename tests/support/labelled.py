"""A campaign with labels, made from one that waits for them."""

import json
import shutil
from pathlib import Path
from typing import Any

from support.desk import Desk, label_row

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
    known = golds or desk.golds()
    rows = [
        label_row(task, PEOPLE[(n + k) % 6], known, n)
        for n, task in enumerate(tasks)
        for k in range(5)
    ]
    desk.bring("v", rows, "v.csv")
    assert desk.run("decisions", "split").code == 0
    return desk
