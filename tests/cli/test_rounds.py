"""Rounds by their commands on a platform of tables: repeated, killed, on a full disk, dealt out."""

import csv
import errno
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from curation.campaign import create_campaign
from curation.files import read_records
from curation.records import Decision, Item, Label, Task
from curation.settings import (
    AgreementSettings,
    CampaignSettings,
    DomainSettings,
    RoundSettings,
    Settings,
    new_id,
)

MEANT = ("stereotype", "anti_stereotype", "unrelated")
GOLD = dict(zip(MEANT, ("stereotype", "anti-stereotype", "unrelated"), strict=True))
STUDY = """[study]
institution = "the Academy"
ethics = "none needed"
contact = "ask@example.invalid"
pay = "nothing"
"""
TERMS = ("baker", "court jester", "lamplighter", "wheelwright", "fiddler", "potter", "thatcher")
Row = dict[str, Any]


class Desk:
    """A campaign whose terms are a word list, the commands on it, and people who fill tables in."""

    def __init__(self, forked: Any, root: Path) -> None:
        self.forked, self.root = forked, root
        self.rounds, self.out = root / "2-rounds", root.parent / f"{root.name}-out"
        self.out.mkdir(exist_ok=True)

    @classmethod
    def make(cls, forked: Any, root: Path, terms: Iterable[str] = TERMS, **knobs: Any) -> "Desk":
        said = {"items": 2, "consent": True, **knobs}
        decisions = said.pop("decisions", {})
        settings = Settings(
            campaign=CampaignSettings(id=new_id()),
            domains={"profession": DomainSettings(words=("jobs.txt",))},
            rounds=RoundSettings(**said),
            agreement=AgreementSettings(resamples=100),
            decisions=decisions,
        )
        made = create_campaign(root, settings)
        made.terms.mkdir()
        made.rounds.mkdir()
        (made.terms / "jobs.txt").write_text("\n".join(["# language: en", *terms, ""]), "utf-8")
        (made.rounds / "text.toml").write_text(STUDY, "utf-8")
        return cls(forked, root)

    def copy(self, to: Path) -> "Desk":
        return Desk(self.forked, Path(shutil.copytree(self.root, to)))

    def run(self, *args: Any, **how: Any) -> Any:
        """A command, however it ends."""
        return self.forked(*args, "-c", self.root, **how)

    def say(self, *args: Any) -> Any:
        """A command that does its work, and what it says as JSON."""
        done = self.run(*args, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    def refused(self, *args: Any) -> str:
        """A command that is refused in two lines, with its mend; what it says."""
        done = self.run(*args)
        assert (done.code, done.out) == (1, ""), (done.out, done.err)
        assert "Traceback" not in done.err, done.err
        first, *mends = done.err.splitlines()
        assert first.startswith("error: "), done.err
        assert mends, done.err
        assert mends[-1].startswith("mend:  "), done.err
        assert len(mends[-1]) > len("mend:  ") + 5
        return str(done.err)

    def open(self, kind: str, name: str, *more: Any) -> Any:
        return self.say("rounds", "open", kind, "--name", name, "--platform", "files", *more)

    def export(self, name: str, *more: Any) -> list[Row]:
        """A round's table; of several, all their rows."""
        made = self.say("rounds", "export", name, "--to", self.out, *more)["files"]
        return [row for path in made[1:] for row in read_csv(Path(path))]

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

    def golds(self) -> dict[str, str]:
        """By sentence what its writer meant."""
        items = [i for path in self.rounds.glob("*/items.jsonl") for i in read_records(path, Item)]
        return {a.sentence: str(a.intent) for item in items for a in item.associations}


def read_csv(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


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
    row: Row = {"task_id": task["task_id"], "annotator": who, "consent": task["consent_version"]}
    words = {name: word(who, n, name) for name in MEANT}
    here = word(who, n)
    if "text_1" in task:
        raise AssertionError("a task of validation is not written")
    row |= {"template": f"In {here} the {task['target']} is BLANK.", **words}
    return row | {"submitted_at": at(n), "seconds": 60}


def label_row(task: Row, who: str, golds: dict[str, str], n: int, *, wrong: str = "") -> Row:
    """What somebody says of a task of validation; ``wrong``: the same of all three."""
    row: Row = {"task_id": task["task_id"], "annotator": who, "consent": task["consent_version"]}
    for place in (1, 2, 3):
        row[f"label_{place}"] = wrong or golds[task[f"text_{place}"]]
    return row | {"submitted_at": at(n, 2), "seconds": 30}


def told(content: Any, root: Path) -> dict[str, Any]:
    """What a campaign holds, without the times at which commands were given."""
    found: dict[str, Any] = dict(content(root))
    for name in list(found):
        path = root / name
        if name.endswith(("round.json", "edits.csv")) or "standing" in name:
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
                # Times are in the one; the other may be that of a round which is planned anew.
                for each in [n for n in step["inputs"] if n.endswith(("round.json", "tasks.jsonl"))]:
                    del step["inputs"][each]
    return found


# --- the whole way, and every command again ---------------------------------------------------


class Stage(NamedTuple):
    """A command, and how an undisturbed campaign lay before and after it."""

    name: str
    command: tuple[Any, ...]
    before: Path
    after: Path


REVIEWED = {"court jester": "drop", "lamplighter": "merge"}


def review_row(task: Row, who: str, n: int) -> Row:
    action = REVIEWED.get(task["term"], "keep")
    row: Row = {"task_id": task["task_id"], "annotator": who, "decision": action}
    if action == "merge":
        into = next(c for c in task["choices"].split(" | ") if c.endswith(": wheelwright"))
        row["merge_into"] = into.split(": ")[0]
    row["rename"] = "master wheelwright" if task["term"] == "wheelwright" else ""
    return row | {"consent": task["consent_version"], "submitted_at": at(n), "seconds": 9}


WRITERS, VALIDATORS = ["Ann W.", "ben@example.invalid", "Chlöe"], [f"val-{n}" for n in range(5)]
NAMES = (
    *("open-review", "import-review", "close-review", "select", "open", "export", "import"),
    *("top-up", "close", "open-v", "export-v", "import-v", "top-up-v", "import-v-2", "close-v"),
    *("run", "exclude", "undo", "withdraw", "erase"),
)


@pytest.fixture(scope="module")
def stages(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stage]:
    folder = tmp_path_factory.mktemp("stages")
    desk = Desk.make(forked, folder / "0", labels="needed", sample=0.2)
    found: dict[str, Stage] = {}

    def step(name: str, *command: Any) -> Any:
        nonlocal desk
        before, desk = desk, desk.copy(folder / str(len(found) + 1))
        said = desk.say(*command)
        # What it says is left out: the folder stays as it is only where a copy is worked on.
        found[name] = Stage(name, command, before.root, desk.root)
        return said

    def table(name: str) -> list[Row]:
        shown = desk.copy(folder / f"looked-{name}-{len(found)}")  # to look changes nothing here
        return shown.export(name)

    def file(name: str, rows: list[Row]) -> Path:
        return write_csv(folder / f"{name}.csv", rows)

    files = ("--platform", "files")
    step("open-review", "rounds", "open", "review", "--name", "r", *files)
    rows = [review_row(t, f"rev-{k}", n) for n, t in enumerate(table("r")) for k in range(3)]
    step("import-review", "rounds", "import", "r", file("r", rows))
    step("close-review", "rounds", "close", "r")
    step("select", "terms", "select")
    step("open", "rounds", "open", "intrasentence", "--name", "w", *files)
    step("export", "rounds", "export", "w", "--to", folder / "tables")
    rows = [item_row(t, WRITERS[n % 3], n) for n, t in enumerate(table("w"))]
    rows[0]["template"] = "No gap here."
    step("import", "rounds", "import", "w", file("w", rows))
    step("top-up", "rounds", "top-up", "w")
    step("close", "rounds", "close", "w")
    step("open-v", "rounds", "open", "validation", "--name", "v", *files)
    people = folder / "people.txt"
    people.write_text("\n".join(VALIDATORS) + "\n", "utf-8")
    step("export-v", "rounds", "export", "v", "--people", people, "--to", folder / "dealt")
    golds, tasks = desk.golds(), table("v")
    short = next(n for n, t in enumerate(tasks) if int(t["answers"]) == 3)  # not of the sample
    rows = [
        label_row(t, who, golds, n, wrong="unrelated" if (n, who) == (short, "val-0") else "")
        for n, t in enumerate(tasks)
        for who in VALIDATORS[: int(t["answers"])]
    ]
    step("import-v", "rounds", "import", "v", file("v", rows))
    step("top-up-v", "rounds", "top-up", "v")
    more = [label_row(t, VALIDATORS[-1], golds, 99) for t in table("v")]
    step("import-v-2", "rounds", "import", "v", file("v2", more))
    step("close-v", "rounds", "close", "v")
    step("run", "run")
    step("exclude", "rounds", "exclude", "val-3", "--reason", "asleep")
    step("undo", "rounds", "exclude", "val-3", "--undo")
    step("withdraw", "rounds", "withdraw", "val-4")
    step("erase", "rounds", "withdraw", WRITERS[1], "--erase")
    assert tuple(found) == NAMES
    return found


def test_the_whole_way_says_what_it_should(stages: dict[str, Stage]) -> None:
    after = stages["import-v-2"].after
    edits = read_csv(stages["close-review"].after / "1-terms" / "edits.csv")
    assert {(e["term"], e["action"], e["into"]) for e in edits} == {
        ("court jester", "drop", ""),
        ("lamplighter", "merge", "wheelwright"),
        ("wheelwright", "rename", "master wheelwright"),
    }
    items = read_records(after / "2-rounds" / "w" / "items.jsonl", Item)
    tasks = {t.item: t for t in read_records(after / "2-rounds" / "v" / "tasks.jsonl", Task)}
    assert len(items) == len(tasks) == 9  # five terms of two items; one had no gap
    assert sum(t.full for t in tasks.values()) == 2
    labels = read_records(after / "2-rounds" / "v" / "labels.jsonl", Label)
    decided = read_records(stages["run"].after / "3-decisions" / "decisions.jsonl", Decision)
    assert all(d.kept for d in decided)
    # Three labels on each association, five in the sample; on one item the first validator
    # erred: with three labels two associations stand at 2 of 3, and need a fourth.
    given = Counter(label.item for label in labels)
    wrong = next(i for i, t in tasks.items() if not t.full)
    assert given == {i: 15 if t.full else 12 if i == wrong else 9 for i, t in tasks.items()}


@pytest.mark.parametrize("name", NAMES)
def test_a_command_again_changes_nothing(
    forked: Any, content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    desk = Desk(forked, Path(shutil.copytree(stage.after, tmp_path / "again")))
    done = desk.run(*stage.command)
    assert "Traceback" not in done.err
    if name == "undo":
        assert "there is nothing to take back" in done.err
    else:
        assert done.code == 0, done.err
    check_same(desk, content, stages, stage)


def check_same(desk: Desk, content: Any, stages: dict[str, Stage], stage: Stage) -> None:
    """The campaign lies as it did after the undisturbed command."""
    wanted = told(content, stage.after)
    if stage.name == "close-review":  # what it said of terms, the next command takes up
        assert desk.run("terms", "select").code == 0
        wanted = told(content, stages["select"].after)
    found = told(content, desk.root)
    for each in (found, wanted):
        if stage.name == "close-review":
            del each["2-rounds/manifest.json"]
        if stage.name in ("exclude", "undo", "withdraw", "erase"):  # what was said twice
            each["2-rounds/standing.jsonl"] = each["2-rounds/standing.jsonl"][-1:]
            for step in each["2-rounds/manifest.json"]["steps"].values():
                step["inputs"].pop("2-rounds/standing.jsonl", None)
    assert found == wanted


@pytest.mark.parametrize("name", ["close", "close-review"])
def test_a_closed_round_closed_again_is_as_it_was(
    forked: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    desk = Desk(forked, Path(shutil.copytree(stage.after, tmp_path / "again")))
    path = desk.rounds / str(stage.command[-1]) / "round.json"
    before = path.read_bytes()
    desk.run(*stage.command)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["open", "open-v", "close", "close-v"])
def test_nothing_is_out_of_date_after_a_command(
    forked: Any, stages: dict[str, Stage], name: str
) -> None:
    steps = json.loads(forked("status", "--json", "-c", stages[name].after).out)["steps"]
    made = {s["step"]: s["state"] for s in steps if s["state"] != "not run"}
    assert "out of date" not in made.values(), made


# --- kill -9, and a full disk -------------------------------------------------------------------


def strike(*folders: Path, at: int = 0, tell: int | None = None) -> Callable[[], None]:
    """Prepare a process to die at the ``at``-th time that it touches the disk under folders."""
    under, met = tuple(map(str, folders)), 0
    writes, events = os.O_WRONLY | os.O_RDWR | os.O_CREAT, {"os.rename", "os.remove", "os.mkdir"}
    fsync = os.fsync

    def meet() -> None:
        nonlocal met
        met += 1
        if tell is not None:
            os.pwrite(tell, str(met).encode(), 0)
        if met == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        harms = event in events or (event == "open" and args[2] & writes)
        if harms and str(args[0]).startswith(under):
            meet()

    def struck(handle: int) -> None:
        meet()
        fsync(handle)

    def prepare() -> None:
        os.fsync = struck
        sys.addaudithook(hook)

    return prepare


def moments(desk: Desk, command: tuple[Any, ...], *folders: Path) -> int:
    """How often a command touches the disk under folders."""
    with tempfile.TemporaryFile() as tell:
        done = desk.run(*command, before=strike(*folders, tell=tell.fileno()))
        assert done.code == 0, done.err
        tell.seek(0)
        return int(tell.read())


def check_again(desk: Desk, content: Any, stages: dict[str, Stage], stage: Stage) -> None:
    """A campaign whose command was broken off comes, given again, to where it would have come."""
    for words in (("rounds", "status"), ("status",)):
        looked = desk.run(*words)
        assert looked.code == 0 or "no round was opened here" in looked.err, looked.err
    done = desk.run(*stage.command)
    # An exclusion that was taken back before the end is one that needs no taking back.
    assert done.code == 0 or (stage.name == "undo" and "is not excluded" in done.err), done.err
    if stage.name == "undo":
        assert desk.run("run").code == 0
    check_same(desk, content, stages, stage)
    assert list(desk.root.rglob(".*.tmp")) == []


@pytest.mark.parametrize("name", NAMES)
def test_killed_anywhere_and_given_again(
    forked: Any, content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    counted = Desk(forked, Path(shutil.copytree(stage.before, tmp_path / "counted")))
    touched = moments(counted, stage.command, counted.root)
    assert touched >= 3  # at the least the lock, its holder and the end of it
    draw = random.Random(name)
    for moment in sorted(draw.sample(range(1, touched + 1), min(touched, 4))):
        desk = Desk(forked, Path(shutil.copytree(stage.before, tmp_path / f"killed-{moment}")))
        died = desk.run(*stage.command, before=strike(desk.root, at=moment))
        assert died.code == -signal.SIGKILL
        check_again(desk, content, stages, stage)


@pytest.mark.parametrize("name", ["import-v", "open-v"])
def test_killed_at_every_moment(
    forked: Any, stages: dict[str, Stage], content: Any, tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    counted = Desk(forked, Path(shutil.copytree(stage.before, tmp_path / "counted")))
    for moment in range(1, moments(counted, stage.command, counted.root) + 1, 2):
        desk = Desk(forked, Path(shutil.copytree(stage.before, tmp_path / f"killed-{moment}")))
        died = desk.run(*stage.command, before=strike(desk.root, at=moment))
        assert died.code == -signal.SIGKILL
        check_again(desk, content, stages, stage)


@pytest.mark.parametrize("name", ["close-review", "open", "export-v", "import-v", "erase"])
def test_a_full_disk(
    forked: Any, content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage, failed = stages[name], 0
    for size in (1, 300, 900, 2500, 6000):
        desk = Desk(forked, Path(shutil.copytree(stage.before, tmp_path / f"room-{size}")))
        limit = lambda size=size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        done = desk.run(*stage.command, before=limit)
        if done.code:
            failed += 1
            assert "the disk is full" in done.err, (errno.EFBIG, done.err)
        check_again(desk, content, stages, stage)
    assert failed
