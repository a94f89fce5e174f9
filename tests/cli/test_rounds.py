"""Rounds by their commands on a platform of tables: repeated, killed, on a full disk, dealt out."""

import csv
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
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
                # Times are in two; the other may be that of a round which is planned anew.
                timed = ("round.json", "tasks.jsonl", "standing.jsonl")
                for each in [name for name in step["inputs"] if name.endswith(timed)]:
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


REPEATED = {"exclude": "is excluded already", "undo": "is not excluded", "withdraw": "withdrew"}
"""What is said where a word on a person was said before; what it changes is brought about."""


@pytest.mark.parametrize("name", NAMES)
def test_a_command_again_changes_nothing(
    forked: Any, content: Any, stages: dict[str, Stage], tmp_path: Path, name: str
) -> None:
    stage = stages[name]
    desk = Desk(forked, Path(shutil.copytree(stage.after, tmp_path / "again")))
    done = desk.run(*stage.command)
    assert done.code == 0 or REPEATED.get(name, "-") in done.err, done.err
    assert "Traceback" not in done.err
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
        if stage.name == "erase":  # what can be said twice
            each["2-rounds/standing.jsonl"] = each["2-rounds/standing.jsonl"][-1:]
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
    assert done.code == 0 or REPEATED.get(stage.name, "-") in done.err, done.err
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

        def limit(size: int = size) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        done = desk.run(*stage.command, before=limit)
        if done.code:
            failed += 1
            assert "the disk is full" in done.err, done.err
        check_again(desk, content, stages, stage)
    assert failed


# --- only the labels that are needed ------------------------------------------------------------


def stream(seed: int, task: Row, golds: dict[str, str]) -> Iterator[Row]:
    """Without end what people say of a task: right, wrong, in haste, or half."""
    draw, texts = random.Random(f"{seed}/{task['context']}"), [task[f"text_{n}"] for n in (1, 2, 3)]
    hard = draw.choice((0.0, 0.25, 0.6))
    for n in range(99):
        row = label_row(task, f"s-{n}", golds, n)
        for text in sorted(texts):  # by text: the order of a task is the campaign's own
            if draw.random() < hard:
                place = texts.index(text) + 1
                row[f"label_{place}"] = draw.choice([*GOLD.values(), "related"])
        trouble = draw.random()
        if trouble < 0.1:
            row["seconds"] = 1
        elif trouble < 0.15:
            row["label_2"] = draw.choice(["", "dunno"])
        elif trouble < 0.2:
            row |= {"label_1": "", "label_2": "", "label_3": ""}
        yield row


def collect(desk: Desk, seed: int, of: int) -> dict[str, int]:
    """Answer and top up until nothing is lacking; how many labels each item got."""
    golds, streams = desk.golds(), dict[str, Iterator[Row]]()
    tasks = {t.id: t for t in desk.records("v/tasks.jsonl", Task)}
    for _ in range(40):
        rows = []
        for row in desk.export("v"):
            answers = streams.setdefault(row["task_id"], stream(seed, row, golds))
            rows += [next(answers) for _ in range(int(row["answers"]))]
        desk.bring("v", rows)
        said = desk.say("rounds", "top-up", "v")
        asked = json.loads((desk.rounds / "v" / "asked.json").read_text("utf-8"))
        codes: dict[str, Counter[Any]] = defaultdict(Counter)
        for line in (desk.rounds / "v" / "answers.jsonl").read_text("utf-8").splitlines():
            answer = json.loads(line)
            codes[answer["task"]][answer["code"]] += 1
        labels = Counter(label.association for label in desk.records("v/labels.jsonl", Label))
        for id, n in asked.items():
            taken = codes[id][None]
            halves = taken - min(labels[shown.association] for shown in tasks[id].shown)
            assert n <= of + codes[id].total() - taken + halves, (id, n, codes[id])
        if not said["answers"] and "waits for no answer" in desk.run("rounds", "export", "v").err:
            break
    else:
        raise AssertionError("it never ends")
    assert desk.status("v")["remaining"] == 0
    return Counter(label.item for label in desk.records("v/labels.jsonl", Label))


@pytest.mark.parametrize("seed", range(3))
def test_needed_labels_keep_what_all_labels_keep(forked: Any, tmp_path: Path, seed: int) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=3, sample=0.2, labels="all")
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben", "cho", "dan"])
    kept, given = {}, {}
    for labels in ("all", "needed"):
        own = desk.copy(tmp_path / labels)
        path = own.root / "campaign.toml"
        text = path.read_text("utf-8").replace('labels = "all"', f'labels = "{labels}"')
        path.write_text(text, "utf-8")
        own.open("validation", "v")
        given[labels] = collect(own, seed, 5)
        own.say("decisions", "agreement")
        decisions = read_records(own.root / "3-decisions" / "decisions.jsonl", Decision)
        kept[labels] = {d.item for d in decisions if d.kept}
        assert "too_few_labels" not in {d.reason for d in decisions}
        report = json.loads((own.root / "3-decisions" / "agreement.json").read_text("utf-8"))
        tasks = own.records("v/tasks.jsonl", Task)
        full = [t.item for t in tasks if t.full]
        assert len(full) == (21 if labels == "all" else 4)
        assert report["items"] == {"in": 21, "stopped_early": 21 - len(full)}
        whole = {t.item: 0 for t in tasks if t.full}
        for label in own.records("v/labels.jsonl", Label):
            if label.item in whole:
                whole[label.item] += 1
        assert all(n >= 15 for n in whole.values())
    assert kept["needed"] == kept["all"]
    assert 3 <= len(kept["all"]) < 21
    assert sum(given["needed"].values()) < sum(given["all"].values())


def test_what_a_writer_changed_is_asked_for_anew(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1)
    desk.open("intrasentence", "w", "--term", "baker", "--term", "potter")
    rows = [{**item_row(task, "ann", n), "answer_id": f"a-{n}", "updated_at": at(n)}
            for n, task in enumerate(desk.export("w"))]  # fmt: skip
    desk.bring("w", rows)
    desk.open("validation", "v")
    golds, table = desk.golds(), desk.export("v")
    later = {**rows[0], "stereotype": "quite other", "updated_at": at(5, 3)}
    desk.bring("w", [later], "later.csv")
    # What is out shows the old words; it comes back, and none of it counts for the new ones.
    given = [label_row(t, f"v-{k}", golds, n) for n, t in enumerate(table) for k in range(5)]
    assert desk.bring("v", given)["refused"] == {"text_changed": 5}
    # In that round nothing of it is asked for again: it would be in vain.
    assert desk.status("v")["remaining"] == 0
    assert desk.say("rounds", "top-up", "v")["answers"] == 0
    assert "waits for no answer" in desk.refused("rounds", "export", "v")
    desk.say("rounds", "close", "v")
    desk.open("validation", "v2")
    golds, table = desk.golds(), desk.export("v2")
    assert {t[f"text_{n}"] for t in table for n in (1, 2, 3)} == {
        sentence for sentence in golds if rows[0]["template"][:12] in sentence
    }
    given = [label_row(t, f"u-{k}", golds, n) for n, t in enumerate(table)
             for k in range(int(t["answers"]))]  # fmt: skip
    assert desk.bring("v2", given)["refused"] == {}
    assert desk.run("decisions", "filter").code == 0
    decisions = read_records(desk.root / "3-decisions" / "decisions.jsonl", Decision)
    assert [d.kept for d in decisions] == [True, True]


# --- who gets what ------------------------------------------------------------------------------


def dealt(desk: Desk, name: str, people: list[str]) -> dict[str, list[Row]]:
    """The tables of an export to people, by person."""
    shutil.rmtree(desk.out)
    desk.out.mkdir()
    file = desk.out / "people.txt"
    file.write_text("# who takes part\n" + "\n".join(people) + "\n", "utf-8")
    desk.export(name, "--people", file)
    index = read_csv(desk.out / f"{name}-who-gets-which.csv")
    return {row["person"]: read_csv(desk.out / row["file"]) for row in index}


def test_tasks_are_dealt_out_fairly_and_nobody_gets_their_own(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=3, per_person=18, per_term=3)
    desk.open("intrasentence", "w")
    writers = ["ann", "ben", "cho"]
    wrote = {r["task_id"]: r for r in desk.written("w", writers)}
    own = {text: row["annotator"] for row in wrote.values() for text in sentences(row)}
    desk.open("validation", "v")
    people = [*writers, *(f"val-{n}" for n in range(6))]
    share = dealt(desk, "v", people)
    got: dict[str, list[str]] = defaultdict(list)
    for person, rows in share.items():
        assert len(rows) <= 18
        assert max(Counter(row["target"] for row in rows).values()) <= 3
        for row in rows:
            got[row["task_id"]].append(person)
            assert own[row["text_1"]] != person
    assert {len(people) for people in got.values()} == {5}
    assert all(len(set(people)) == 5 for people in got.values())
    loads = [len(rows) for rows in share.values()]
    assert max(loads) - min(loads) <= 1
    assert dealt(desk, "v", people) == share

    # One answers what is not theirs: their own item, another's task twice, more than the cap.
    golds = desk.golds()
    rows = [label_row(r, who, golds, n) for who, rs in share.items() for n, r in enumerate(rs)]
    mine = next(r for rs in share.values() for r in rs if own[r["text_1"]] == "ann")
    rows.append(label_row(mine, "ann", golds, 500))
    rows.append(label_row(share["val-0"][0], "val-0", golds, 501))
    theirs = {r["task_id"] for r in share["val-1"]}
    more = [r for rs in share.values() for r in rs if r["task_id"] not in theirs]
    foreign = list({r["task_id"]: r for r in more}.values())[:6]
    rows += [label_row(r, "val-1", golds, 600 + n) for n, r in enumerate(foreign)]
    refused = desk.bring("v", rows)["refused"]
    assert refused["own_item"] == 1
    assert refused["second_answer"] == 1
    over = refused.get("over_person_cap", 0) + refused.get("over_term_cap", 0)
    assert over >= len(foreign) - (18 - len(share["val-1"]))
    for task, n in Counter(r["task_id"] for r in rows).items():
        assert n >= 5, task
    assert desk.status("v")["remaining"] == 0


def sentences(row: Row) -> list[str]:
    return [str(row["template"]).replace("BLANK", row[name]) for name in MEANT]


def test_too_few_people_are_told_so(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", items=1)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    file = tmp_path / "people.txt"
    file.write_text("ann\nben\nv-1\nv-2\nv-3\n", "utf-8")
    said = desk.refused("rounds", "export", "v", "--people", file)
    assert "too few people" in said
    file.write_text("ann\nben\nv-1\nann\n", "utf-8")
    assert "'ann' stands twice" in desk.refused("rounds", "export", "v", "--people", file)
    file.write_text("ann\nben\nv-1\nv-2\nv-3\nv-4\n", "utf-8")
    desk.export("v", "--people", file)
    # Fewer people at the next export: no table of the last one may be left to be sent out.
    desk.bring("v", [label_row(t, f"x-{k}", desk.golds(), k) for t in desk.export("v")
                     for k in range(4)])  # fmt: skip
    file.write_text("v-1\nv-2\n", "utf-8")
    desk.export("v", "--people", file)
    index = {row["file"] for row in read_csv(desk.out / "v-who-gets-which.csv")}
    there = {p.name for p in desk.out.glob("v-0*.csv")}
    assert there == index


# --- reviews ------------------------------------------------------------------------------------


def reviewed(desk: Desk, said: dict[str, list[Row]], name: str = "r") -> Any:
    """A round of review in which terms get these words; what its end says."""
    desk.open("review", name, *(a for term in said for a in ("--term", term)))
    rows = []
    for task in desk.export(name):
        for n, row in enumerate(said[task["term"]]):
            into = row.pop("into", "")
            ids = {c.split(": ")[1]: c.split(": ")[0] for c in task["choices"].split(" | ")}
            rows.append({"task_id": task["task_id"], "annotator": f"r-{n}", "seconds": 9,
                         "consent": task["consent_version"], "submitted_at": at(n),
                         "merge_into": ids.get(into, into), **row})  # fmt: skip
    desk.bring(name, rows, "reviews.csv")
    return desk.run("rounds", "close", name)


KEEP, DROP = {"decision": "keep"}, {"decision": "drop", "reasons": "an insult"}


def merge(into: str) -> Row:
    return {"decision": "merge", "into": into}


@pytest.mark.parametrize(
    "before",
    [
        "target;bias_type;Action;note\nfiddler;profession;drop;a remark, with a comma",
        "domain\tterm\taction\tnote\nprofession\tfiddler\tdrop\ta note\n",
        'domain,term,action,into,family,note\nprofession,fiddler,drop,,,"two\nlines"\r\n',
        "\ufeffdomain;term;action\nprofession;fiddler;drop\n",
        "sep=;\ndomain;term;action\nprofession;fiddler;drop\n",
        'domain,term,action,note\nprofession,fiddler,drop,"one\u2028line"\n',
        "\ndomain;term;action\nprofession;fiddler;drop\n",
    ],
    ids=["semicolons", "tabs", "quoted", "mark", "sep", "separator", "blank line"],
)
def test_reviews_join_the_word_that_stands(forked: Any, tmp_path: Path, before: str) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.root / "1-terms" / "edits.csv"
    path.write_text(before, "utf-8")
    desk.say("terms", "select")
    path.write_text(before.replace("drop", ""), "utf-8")  # under review: nothing stands on it yet
    done = reviewed(
        desk,
        {
            "baker": [dict(DROP), dict(DROP), dict(KEEP)],
            "potter": [{**KEEP, "rename": "clay, potter"}, {**KEEP, "rename": "clay, potter"}],
            "thatcher": [merge("potter"), merge("potter"), merge("baker")],
            "lamplighter": [dict(KEEP), dict(DROP)],
        },
    )
    assert done.code == 0, done.err
    assert "reviewers are divided on lamplighter" in done.err
    desk.say("terms", "select")  # it can still be read
    rows = read_csv(desk.root / "1-terms" / "candidates.csv")
    status = {row["term"]: (row["status"], row["into"]) for row in rows}
    assert status["baker"][0] == "dropped"
    assert status["thatcher"] == ("merged", "clay, potter")
    assert status["clay, potter"][0] == "kept"
    assert status["lamplighter"][0] == "kept"
    text = path.read_text("utf-8-sig")
    for part in ("a remark, with a comma", "one\u2028line", '"two\nlines"'):
        assert (part in text) == (part in before)


def test_peoples_own_word_stays_and_what_it_hides_is_said(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.root / "1-terms" / "edits.csv"
    path.write_text(
        "domain,term,action,into,family,note\nprofession,baker,keep,,,we know it\n"
        "profession,lacemaker,add,,,\nprofession,potter,,,Potter,\n"
        "profession,fiddler,rename,violinist,,\n",
        "utf-8",
    )
    said = {t: [dict(DROP)] * 3 for t in ("baker", "lacemaker", "potter", "violinist", "thatcher")}
    done = reviewed(desk, {term: [dict(row) for row in rows] for term, rows in said.items()})
    assert done.code == 0, done.err
    edits = read_csv(path)
    words = [(e["term"], e["action"]) for e in edits]
    assert words[:4] == [("baker", "keep"), ("lacemaker", "add"), ("potter", ""),
                         ("fiddler", "rename")]  # fmt: skip
    assert ("thatcher", "drop") in words
    desk.say("terms", "select")
    assert ("baker", "drop") not in words  # what stands, stays
    # All reviewers would drop these; that their word does nothing must be told.
    for term in ("baker", "lacemaker"):
        assert term in done.err, done.err
    # Of the potter only the family stood there: the word on it is new.
    assert ("potter", "drop") in words


@pytest.mark.parametrize("what", ["each other", "one that is dropped"])
def test_reviews_that_do_not_go_together(forked: Any, tmp_path: Path, what: str) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    other = merge("baker") if what == "each other" else DROP
    done = reviewed(
        desk,
        {
            "baker": [merge("potter") for _ in range(3)],
            "potter": [dict(other) for _ in range(3)],
            "lamplighter": [{**merge("other"), "merge_into_other": "lamp"} for _ in range(3)],
        },
    )
    assert done.code == 0, done.err
    assert "lamplighter" in done.err  # the term into which it should merge is none yet
    selected = desk.run("terms", "select")  # what the command wrote must be readable
    assert selected.code == 0, selected.err
    rows = read_csv(desk.root / "1-terms" / "candidates.csv")
    status = {row["term"]: row["status"] for row in rows}
    if what == "each other":  # must not both be gone
        assert "kept" in (status["baker"], status["potter"]), status
    assert "baker" in done.err, done.err


def test_without_a_majority_nothing_is_said_of_a_term(forked: Any, tmp_path: Path) -> None:
    desk = Desk.make(forked, tmp_path / "c", reviewers=4)
    done = reviewed(
        desk,
        {
            "baker": [dict(DROP), dict(DROP), dict(KEEP), dict(KEEP)],
            "potter": [merge("baker"), merge("baker"), merge("thatcher"), merge("thatcher")],
            "thatcher": [dict(KEEP), merge("baker"), dict(DROP), merge("potter")],
        },
    )
    assert "reviewers are divided on baker, potter, thatcher" in done.err
    path = desk.root / "1-terms" / "edits.csv"
    assert not path.exists() or read_csv(path) == []


# --- bad input ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def begun(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with a round of writing that is open, and one that is closed."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("begun") / "c")
    desk.open("intrasentence", "w")
    desk.open("intersentence", "shut")
    desk.say("rounds", "close", "shut")
    return desk.root


@pytest.fixture
def desk(forked: Any, begun: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(begun, tmp_path / "c")))


OPEN = ("rounds", "open", "intrasentence", "--platform", "files")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("rounds", "open", "intra"), "no kind of round 'intra'"),
        (("rounds", "open", "review", "--platform", "mturk"), "no platform 'mturk'"),
        ((*OPEN, "--name", "a b"), "'a b' cannot be the name of a round"),
        ((*OPEN, "--name", "../w2"), "'../w2' cannot be the name"),
        ((*OPEN, "--name", "-x"), "'-x' cannot be the name"),
        ((*OPEN, "--name", "w\nx"), "cannot be the name"),
        ((*OPEN, "--name", "n" * 200), "cannot be the name"),
        ((*OPEN, "--term", "bakker"), "no kept term 'bakker'"),
        ((*OPEN, "--domain", "race"), "no domain 'race'"),
        (("rounds", "open", "review", "--name", "w"), "round w is one of intrasentence"),
        (("rounds", "open", "validation", "--platform", "files"), "no item that lacks labels"),
        (
            ("rounds", "open", "validation", "--platform", "files", "--of", "zz"),
            "round 'zz' has no items",
        ),
        (("rounds", "export", "zz"), "no round 'zz' was opened here"),
        (("rounds", "export", "../w"), "no round '../w' was opened here"),
        (("rounds", "export", "shut"), "round shut runs on files and is closed"),
        (("rounds", "top-up", "shut"), "round shut is closed"),
        (("rounds", "pull", "w"), "round w does not run on Label Studio"),
        (("rounds", "status", "zz"), "no round 'zz' was opened here"),
        (("rounds", "close", "zz"), "no round 'zz' was opened here"),
        (("rounds", "exclude", "ann", "--reason", "x"), "there are no answers yet"),
        (("rounds", "exclude", "ann"), "an exclusion needs a reason"),
        (("rounds", "withdraw", "ann"), "there are no answers yet"),
        (("rounds", "open", "review", "--url", "nowhere", "--name", "x"), "nowhere"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    desk: Desk, untouched: Any, command: tuple[str, ...], says: str
) -> None:
    before = untouched(desk.root)
    done = desk.run(*command)
    assert done.code == 1, done.out
    assert "Traceback" not in done.err
    assert says in done.err
    assert "mend:  " in done.err, done.err
    after = untouched(desk.root)
    assert {n for n in set(before) ^ set(after) if "/x/" not in n} == set()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "text.toml"),
        ("[study]\ninstitution = 3\n", "study.institution"),
        ('[study]\ninstitutions = "x"\n', "study.institutions: no such text"),
        ('[studies]\nx = "x"\n', "studies: no such section"),
        ('study = "x"\n', "study: no section"),
        ('[study]\ninstitution = "x', "text.toml"),
        ('[study]\ninstitution = "x"\n[consent]\nbox = ""\n', "consent.box: is empty"),
        ('[study]\ninstitution = "x"\n[consent]\nlines = ["{who}"]\n', "nothing is known as {who}"),
        (None, "annotators are not told institution and contact"),
    ],
)
def test_texts_that_are_not_whole(
    forked: Any, tmp_path: Path, content: str | None, says: str
) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.rounds / "text.toml"
    path.unlink()
    if content is not None:
        path.write_text(content, "utf-8")
    said = desk.refused(*OPEN, "--name", "w")
    assert says in said
    assert str(path) in said or "text.toml" in said
    assert not (desk.rounds / "w").exists()
    path.write_text(STUDY, "utf-8")
    desk.open("intrasentence", "w")


LOOKING = (
    ("rounds", "status"), ("rounds", "status", "w"), ("status",), ("rounds", "top-up", "w"),
    ("rounds", "export", "w"), ("rounds", "close", "w"), (*OPEN, "--name", "w"),
    (*OPEN, "--name", "new"), ("rounds", "import", "w", "FILE"), ("run",),
    ("rounds", "exclude", "ann", "--reason", "x"), ("decisions", "agreement"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *[("round.json", c) for c in (b"", b"{", b"[]", b"{}", b'{"name": 3}', None)],
        *[("tasks.jsonl", c) for c in (b"{", b'{"id": "t-1"}\n', b"[]\n", b"\xff\n", None)],
        *[("asked.json", c) for c in (b"", b"{", b"[]", b"3", b'{"t-1": "x"}', b"{}", None)],
    ],
)
def test_a_damaged_file_of_a_round_is_named(
    desk: Desk, tmp_path: Path, name: str, content: bytes | None
) -> None:
    rows = [item_row(row, "ann", n) for n, row in enumerate(desk.export("w"))]
    file = write_csv(tmp_path / "answers.csv", rows)
    desk.bring("w", rows[:3])
    path = desk.rounds / "w" / name
    path.unlink() if content is None else path.write_bytes(content)
    for words in LOOKING:
        own = desk.copy(tmp_path / f"copy-{len(list(tmp_path.iterdir()))}")
        done = own.run(*(file if word == "FILE" else word for word in words))
        assert "Traceback" not in done.err, (words, done.err)
        if done.code:
            place = "w/" + name if content is not None else "w"
            assert (
                place in done.err
                or "no round" in done.err
                or "waits for no" in done.err
                or ("no CAT" in done.err)
            ), (words, done.err)
            assert "mend:  " in done.err, (words, done.err)


def test_tables_that_do_not_fit(desk: Desk, tmp_path: Path, untouched: Any) -> None:
    table = desk.export("w")
    rows = [item_row(row, "ann", n) for n, row in enumerate(table)]
    file = tmp_path / "answers.csv"
    before = untouched(desk.root)
    for lacking in ("task_id", "annotator"):
        write_csv(file, [{k: v for k, v in row.items() if k != lacking} for row in rows])
        said = desk.refused("rounds", "import", "w", file)
        assert f"{file}: no column {lacking}" in said
    for content in (b"", b"task_id,annotator\n", b"\xff\xfe\x00", b"{", b'["x"]'):
        file.write_bytes(content)
        assert str(file) in desk.refused("rounds", "import", "w", file)
    assert str(tmp_path) in desk.refused("rounds", "import", "w", tmp_path / "none.csv")
    write_csv(file, rows)
    assert "shut" in desk.refused("rounds", "import", "shut", file)
    assert {k: v for k, v in untouched(desk.root).items() if "/3-" not in k} == before
    # The table of another round, or of another campaign: each row is refused, by name.
    desk.open("intrasentence", "other")
    said = desk.bring("other", rows)
    assert said["refused"] == {"unknown_task": len(rows)}


def test_without_consent_nothing_counts_until_it_is_there(desk: Desk) -> None:
    rows = [item_row(row, f"p-{n % 2}", n) for n, row in enumerate(desk.export("w"))]
    version = rows[0]["consent"]
    bare = [{**row, "consent": ""} for row in rows]
    said = desk.bring("w", bare, "bare.csv")
    assert said["refused"] == {"no_consent": len(rows)}
    assert desk.records("w/items.jsonl", Item) == []
    late = [{"task_id": "t-x", "annotator": "p-0", "consent": version}]
    desk.bring("w", late, "late.csv")
    assert len(desk.records("w/items.jsonl", Item)) == len(rows) / 2
    desk.bring("w", bare, "bare.csv", "--consent", version)
    assert len(desk.records("w/items.jsonl", Item)) == len(rows)
    desk.bring("w", bare, "bare.csv", "--consent", version)  # again: the same
    assert len(desk.records("w/items.jsonl", Item)) == len(rows)


def test_a_results_file_of_mturk_as_it_is(desk: Desk) -> None:
    turk = []
    for n, task in enumerate(desk.export("w")):
        row = item_row(task, f"A{n % 3}", n)
        turk.append({
            "HITId": f"H{n}", "HITTypeId": "T", "Title": "Write", "Reward": "$0.40",
            "AssignmentId": f"AS{n}", "WorkerId": row["annotator"],
            "AssignmentStatus": "Submitted", "AcceptTime": "Sat May 02 09:00:00 PDT 2026",
            "SubmitTime": "Sat May 02 10:22:05 PDT 2026", "WorkTimeInSeconds": "61",
            **{f"Input.{k}": v for k, v in task.items()},
            **{f"Answer.{k}": row[k] for k in ("template", *MEANT, "consent")},
        })  # fmt: skip
    said = desk.bring("w", turk, "Batch_1_results.csv")
    assert said["refused"] == {}
    items = desk.records("w/items.jsonl", Item)
    assert len(items) == len(turk)
    assert items[0].submitted_at == "2026-05-02T17:22:05.000Z"
    assert items[0].seconds == 61
    assert desk.bring("w", turk, "Batch_1_results.csv")["known"] == len(turk)
