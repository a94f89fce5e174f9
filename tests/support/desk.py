"""A campaign for tests whose rounds run on tables: its commands, and people who fill them in."""

import csv
import json
import random
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from curation.campaign.settings import (
    CampaignSettings,
    DomainSettings,
    RoundSettings,
    Settings,
    new_id,
)
from curation.campaign.store import create_campaign
from curation.files import read_records
from curation.records import Item
from support.strike import strike, times

MEANT = ("stereotype", "anti_stereotype", "unrelated")
GOLD = dict(zip(MEANT, ("stereotype", "anti-stereotype", "unrelated"), strict=True))
STUDY = """[study]
institution = "the Academy"
ethics = "none needed"
contact = "ask@example.invalid"
"""
TERMS = ("baker", "court jester", "lamplighter", "wheelwright", "fiddler", "potter", "thatcher")
Row = dict[str, Any]
ROUNDS = ("r", "s", "w", "w2", "v", "v1", "v2", "new", "both", "other", "shut", "odd")
"""The names of rounds in tests."""


class Desk:
    """A campaign whose terms are a word list, the commands on it, and people who fill tables in."""

    def __init__(self, forked: Any, root: Path) -> None:
        self.forked, self.root = forked, root
        self.rounds, self.out = root / "2-rounds", root.parent / f"{root.name}-out"
        self.out.mkdir(exist_ok=True)

    @classmethod
    def make(
        cls, forked: Any, root: Path, terms: Iterable[str] = TERMS, **round_settings: Any
    ) -> Self:
        # The dates of answers here are fixed, and rounds are opened when a test runs.
        chosen = {"items": 2, "consent": True, "accept_times": ROUNDS, **round_settings}
        decisions = chosen.pop("decisions", {})
        settings = Settings(
            campaign=CampaignSettings(id=new_id()),
            domains={"profession": DomainSettings(words=("jobs.txt",))},
            rounds=RoundSettings(**chosen),
            decisions=decisions,
        )
        made = create_campaign(root, settings)
        made.folder("terms").mkdir()
        made.folder("rounds").mkdir()
        (made.folder("terms") / "jobs.txt").write_text(
            "\n".join(["# language: en", *terms, ""]), "utf-8"
        )
        (made.folder("rounds") / "text.toml").write_text(STUDY, "utf-8")
        return cls(forked, root)

    def copy(self, to: Path) -> Self:
        return type(self)(self.forked, Path(shutil.copytree(self.root, to)))

    def run(self, *args: Any, **how: Any) -> Any:
        """A command, however it ends."""
        return self.forked(*args, "-c", self.root, **how)

    def does(self, *args: Any) -> Any:
        """A command that does its work."""
        done = self.run(*args)
        assert done.code == 0, done.err
        return done

    def say(self, *args: Any) -> Any:
        """A command that does its work, and what it says as JSON."""
        return json.loads(self.does(*args, "--json").out)

    def refused(self, *args: Any) -> str:
        """A command that is refused in two lines, with its fix; what it says."""
        done = self.run(*args)
        assert done.code == 1, (done.out, done.err)
        error = done.err
        if args == ("run",):  # it tells before what it did
            error = error[error.find("error: ") :]
        else:
            assert done.out == ""
        assert "Traceback" not in error, done.err
        first, *fixes = error.splitlines()
        assert first.startswith("error: "), done.err
        assert fixes, done.err
        assert fixes[-1].startswith("fix:   "), done.err
        assert len(fixes[-1]) > len("fix:   ") + 5
        return str(done.err)

    def open(self, kind: str, name: str, *more: Any) -> Any:
        return self.say("rounds", "open", kind, "--name", name, "--platform", "files", *more)

    def export(self, name: str, *more: Any) -> list[Row]:
        """A round's table; of several, all their rows. Everybody consents in all of them."""
        made = self.say("rounds", "export", name, "--to", self.out, "--format", "csv", *more)
        rows = [row for path in made["files"][1:] for row in read_csv(Path(path))]
        return consenting(rows, made["consent"])

    def listed(self, *people: str) -> Path:
        """A file that lists people."""
        path = self.out / f"people-{len(people)}-{people[0]}.txt"
        path.write_text("\n".join([*people, "# nobody else", ""]), "utf-8")
        return path

    def tables(self, name: str, people: Sequence[str], *more: Any) -> dict[str, list[Row]]:
        """An export to people; the table of each."""
        to = ("--to", self.out, "--format", "csv", "--people", self.listed(*people))
        said = self.say("rounds", "export", name, *to, *more)
        return {
            row["person"]: consenting(read_csv(self.out / row["file"]), said["consent"])
            for row in read_csv(Path(said["who_gets_which"]))
        }

    def look(self, name: str) -> list[Row]:
        """A round's tasks that wait for answers, also those that are out; nothing changes."""
        with tempfile.TemporaryDirectory(dir=self.root.parent) as folder:
            shown = self.copy(Path(folder) / "c")
            (shown.rounds / name / "dealt.jsonl").unlink(missing_ok=True)
            return shown.export(name)

    def bring(self, name: str, rows: list[Row], file: str = "answers.csv", *more: Any) -> Any:
        return self.say("rounds", "import", name, write_csv(self.out / file, rows), *more)

    def records(self, path: str, kind: Any) -> list[Any]:
        return read_records(self.rounds / path, kind)

    def status(self, name: str) -> Any:
        (said,) = self.say("rounds", "status", name)
        return said

    def written(self, name: str, people: list[str], *more: Any) -> list[Row]:
        """Writers answer a round of writing: everybody in turn."""
        rows = [
            item_row(row, people[n % len(people)], n) for n, row in enumerate(self.export(name))
        ]
        self.bring(name, rows, f"{name}.csv", *more)
        return rows

    def labels(self, name: str, people: Sequence[str]) -> list[Row]:
        """What people say of every task of an export: what its writer meant."""
        golds, tasks = self.golds(), enumerate(self.export(name))
        return [label_row(task, who, golds, n) for n, task in tasks for who in people]

    def killed(
        self,
        command: Sequence[Any],
        folder: Path,
        moments: Callable[[Sequence[int]], Iterable[int]] = lambda writes: writes,
    ) -> tuple[Self, Iterator[Self]]:
        """A command that is killed at some of its writes, each time in another copy.

        Args:
            command: its words.
            folder: where the copies are made.
            moments: chooses writes, which are counted from 1; by default all.

        Returns:
            A copy in which the command did its work, and those in which it was killed.
        """
        done = self.copy(folder / "done")
        writes = range(1, times(done.run, command, done.root, seen=True) + 1)

        def copies() -> Iterator[Self]:
            for at in moments(writes):
                own = self.copy(folder / f"killed-{at}")
                died = own.run(*command, before=strike(own.root, at=at, seen=True))
                assert died.code == -signal.SIGKILL, died.err
                yield own

        return done, copies()

    def golds(self) -> dict[str, str]:
        """By sentence what its writer meant."""
        items = [i for path in self.rounds.glob("*/items.jsonl") for i in read_records(path, Item)]
        return {a.sentence: str(a.intent) for item in items for a in item.associations}


class Stage(NamedTuple):
    """A command, and an undisturbed campaign before and after it."""

    command: tuple[Any, ...]
    before: Desk
    after: Desk


def read_csv(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def consenting(rows: list[Row], version: str | None) -> list[Row]:
    """Rows of an exported table in whose column ``consent`` people write its one value."""
    return [row | {"consent": version or ""} for row in rows]


def write_csv(path: Path, rows: list[Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        heads = list(dict.fromkeys(key for row in rows for key in row))
        writer = csv.DictWriter(file, heads, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def word(*parts: Any) -> str:
    """A word that occurs nowhere else and tells nothing."""
    return "w" + "".join(random.Random("/".join(map(str, parts))).choices("bdfgklmnprstvz", k=10))


def at(minute: int, day: int = 1) -> str:
    return f"2026-05-{day:02d}T{minute // 60:02d}:{minute % 60:02d}:00Z"


def item_row(task: Row, who: str, n: int) -> Row:
    """What somebody writes for a task of writing."""
    row: Row = {"task_id": task["task_id"], "annotator": who, "consent": task["consent"]}
    words = {name: word(who, n, name) for name in MEANT}
    here = word(who, n)
    row |= {"template": f"In {here} the {task['target']} is BLANK.", **words}
    return row | {"submitted_at": at(n), "seconds": 60}


def label_row(task: Row, who: str, golds: dict[str, str], n: int, *, wrong: str = "") -> Row:
    """What somebody says of a task of validation; ``wrong``: the same of all three."""
    row: Row = {"task_id": task["task_id"], "annotator": who, "consent": task["consent"]}
    for place in (1, 2, 3):
        row[f"label_{place}"] = wrong or golds[task[f"text_{place}"]]
    return row | {"submitted_at": at(n, 2), "seconds": 30}


def told(content: Any, root: Path) -> dict[str, Any]:
    """What a campaign holds, without the times at which commands were given."""
    found: dict[str, Any] = dict(content(root))
    for name in list(found):
        path = root / name
        if name.endswith(("round.json", "edits.csv", "standing.jsonl", "dealt.jsonl")):
            text = path.read_text("utf-8")
            lines = [json.loads(text)] if name.endswith(".json") else text.splitlines()
            if name.endswith(".jsonl"):
                lines = [json.loads(line) for line in lines]
            for line in lines:
                for key in ("opened_at", "closed_at", "at"):
                    if isinstance(line, dict) and line.get(key):
                        line[key] = "then"
            found[name] = lines
        elif name.endswith("manifest.json"):
            for step in found[name]["steps"].values():
                # Times are in two; the other may be that of a round which is planned anew.
                timed = ("round.json", "tasks.jsonl", "standing.jsonl")
                for each in [name for name in step["inputs"] if name.endswith(timed)]:
                    del step["inputs"][each]
    return found
