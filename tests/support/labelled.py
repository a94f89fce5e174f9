"""A campaign with labels, made from one that waits for them; its settings, and its versions."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from curation.campaign.store import Campaign, open_campaign
from curation.files import read_records
from curation.records import Cat
from support import desk
from support.commands import Ran
from support.desk import Row, label_row
from support.expected import has
from support.written import read

PEOPLE = [f"val-{n}" for n in range(6)]


class Desk(desk.Desk):
    """A campaign, its versions, and the commands that make them."""

    def __init__(self, forked: Any, root: Path) -> None:
        super().__init__(forked, root)
        self.releases = root / "7-release"
        self.first, self.second = self.releases / "0.1.0", self.releases / "0.2.0"
        self.revealed = self.releases / "0.1.0-revealed"
        self.gold = self.releases / "gold-0.1.0.jsonl"

    @property
    def campaign(self) -> Campaign:
        return open_campaign(self.root)

    def set(self, **settings: Any) -> None:
        """Change settings, as a person does in an editor; no two tables have the same of these."""
        path = self.root / "campaign.toml"
        text = path.read_text("utf-8")
        for name, value in settings.items():
            line = f"{name} = {json.dumps(value)}"
            text, found = re.subn(rf"(?m)^{name} = .*$", lambda _, line=line: line, text)
            assert found == 1, name
        path.write_text(text, "utf-8")

    def done(self, *words: Any, **how: Any) -> Ran:
        """How a command ended that does its work."""
        ran: Ran = self.run(*words, **how)
        assert ran.code == 0, ran.err
        return ran

    def free(self, *words: Any) -> Ran:
        """How a command ended that does its work on files, without the campaign."""
        ran: Ran = self.forked(*words)
        assert ran.code == 0, ran.err
        return ran

    def build(self, *options: str) -> Ran:
        return self.done("release", "build", *options)

    def not_built(self, *parts: str, options: tuple[str, ...] = ()) -> None:
        """A build is refused, and says these parts."""
        has(self.refused("release", "build", *options), *parts)

    def reveal(self) -> Ran:
        return self.done("release", "reveal", "0.1.0")

    def not_revealed(self, *parts: str) -> None:
        """Hidden gold labels are not revealed, and the command says these parts."""
        has(self.refused("release", "reveal", "0.1.0"), *parts)

    def facts(self, version: str = "0.1.0") -> dict[str, Any]:
        return dict(read(self.releases / version / "release.json"))

    def statement(self, version: str = "0.1.0") -> str:
        return (self.releases / version / "STATEMENT.md").read_text("utf-8")

    def card(self, version: str = "0.1.0") -> str:
        return (self.releases / version / "README.md").read_text("utf-8")

    def cats(self, *splits: str) -> list[Cat]:
        """The CATs of these splits, or of both."""
        every = read_records(self.root / "3-decisions/cats.jsonl", Cat)
        return [cat for cat in every if cat.split in (splits or ("dev", "test"))]

    def copy(self, to: Path) -> "Desk":
        return Desk(self.forked, Path(shutil.copytree(self.root, to)))


def proof(public: Path, revealed: Path) -> str:
    """What the program in the README of a revealed version says of the two folders."""
    program = (revealed / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    words = [sys.executable, "-I", "-c", program, public, revealed]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.stdout or done.stderr.splitlines()[-1]


def written(forked: Any, root: Path, *terms: str, items: int = 2) -> Desk:
    """A campaign of one kind, whose items wait for labels in the round ``v``."""
    made = Desk.make(forked, root, terms, items=items, near=1.0)
    made.open("intrasentence", "w")
    made.written("w", ["ann", "ben"])
    made.open("validation", "v")
    return made


def answer(campaign: Desk, tasks: list[Row], golds: dict[str, str] | None = None) -> None:
    """Bring five labels of each association of the round ``v``.

    Args:
        campaign: it waits for labels.
        tasks: the tasks of the round.
        golds: what the validators say of each sentence; by default what its writer meant.
    """
    known = golds or campaign.golds()
    rows = [
        label_row(task, PEOPLE[(n + k) % 6], known, n) | {"answer_id": f"answer-{n}-{k}"}
        for n, task in enumerate(tasks)
        for k in range(5)
    ]
    campaign.bring("v", rows, "v.csv")
