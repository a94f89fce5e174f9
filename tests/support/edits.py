"""A small campaign, and edits of it drawn from a seed: then old results must play no part.

What an edit changes is in ``edits.toml``. Only commands and functions that users have are called:
nothing here depends on how steps keep and compare their results.
"""

import contextlib
import io
import random
import shutil
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from curation.across.corrections import correct_item
from curation.across.people import decide_on_person
from curation.campaign.settings import Settings, read_settings, settings_text
from curation.campaign.store import create_campaign, open_campaign
from curation.cli import demo
from curation.files import CurationError, read_records
from curation.measures.counting import ALGORITHM as COUNTING
from curation.measures.counting import Counts, write_counts
from curation.pipeline import STEPS, bring_up_to_date, read_status
from curation.records import Cat, Item
from curation.rounds.importing import import_answers, import_stereoset
from curation.terms.fetching import scan_facts
from curation.trust.runs.text import measure_labels, measure_texts
from support import commands, desk, frozen, scored
from support.desk import Desk
from support.heard import Heard
from support.strike import strike
from support.written import beside

EXAMPLE = commands.ROOT / "data" / "example"
CHANGES = beside(__file__)
FIRST = 20  # of the example's items
FLAGGED = "validate-2"  # the example's round of labels; it is open
LATER = ("validate-3", "validate-4", "write-3")
"""Rounds that edits open."""
PEOPLE = [*(f"validator-{n:02d}" for n in range(1, 15)), *(f"writer-{n}" for n in range(1, 15))]
RESULTS = (
    *(f"1-terms/{name}" for name in ("candidates.csv", "targets.jsonl", "rejected.jsonl")),
    *(
        f"2-rounds/*/{name}.jsonl"
        for name in ("items", "labels", "rejected", "answers", "flags", "reviews")
    ),
    *(f"2-rounds/*/{name}.jsonl" for name in ("typing", "checks", "pitfalls")),
    *("2-rounds/people.jsonl", "3-decisions", "6-trust/report.json", "6-trust/report.md"),
    *(f"4-measures/{name}.json*" for name in ("statistics", "sentiment", "sentiment_scores")),
    *(f"4-measures/{name}.json*" for name in ("keywords", "pitfalls")),
    "8-pages",
)
"""What steps make, and can make again from what else a campaign holds."""
MANIFESTS = "*/manifest.json"
NOT_CHANGED = {
    "campaign.id": "another key: a campaign of its own",
    "measures.tokenizer": "needs a model",
    "measures.sentiment": "needs a model",
    "measures.labels": "needs a model",
    "release.version": "has an edit of its own",
}
"""Settings that no edit changes, and why."""
REMOVED, LICENCE = "remove", "7-release/LICENSE.txt"


# --- the campaign -------------------------------------------------------------------------------


def build(root: Path) -> Path:
    """A campaign with the first items of the example, on which every step is up to date.

    Beside it is ``files/``, with answers that edits bring in.
    """
    commands.load()
    heard, files = Heard(), root.with_name("files")
    files.mkdir(parents=True)
    for name in ("writers.csv", "validators.csv"):
        head, *rows = (EXAMPLE / name).read_text("utf-8-sig").splitlines(keepends=True)
        column, end = (0, ",") if name == "writers.csv" else (1, ";")
        first = [row for row in rows if int(row.split(end)[column][-3:]) <= FIRST]
        later = [row for row in rows if FIRST < int(row.split(end)[column][-3:]) <= 2 * FIRST]
        cut = len(first) if name == "writers.csv" else len(first) - 12
        (files / name).write_text("".join([head, *first[:cut]]), "utf-8")
        (files / f"later-{name}").write_text("".join([head, *first[cut:], *later]), "utf-8")
    with frozen.pinned():
        own = read_settings(EXAMPLE / "campaign.toml").model_dump(mode="json")
        own["rounds"]["accept_times"] += LATER
        own["decisions"] |= {"rounds": [], "drop_flagged": 1}
        own["trust"]["samples"] = 40
        own["release"]["accept"] = ["domain_in_one_split", "licence_differs", "moved_to_test"]
        made = create_campaign(root, Settings.model_validate(own))
        for stage in ("terms", "rounds", "measures", "trust", "release"):
            made.folder(stage).mkdir(exist_ok=True)  # type: ignore[arg-type]
        for name, to in {
            "rounds/text.toml": "2-rounds/text.toml",
            "edits.csv": "1-terms/edits.csv",
            "statement.toml": "7-release/statement.toml",
        }.items():
            shutil.copyfile(EXAMPLE / name, root / to)
        shutil.copytree(EXAMPLE / "trust", root / "6-trust", dirs_exist_ok=True)
        (root / "1-terms" / "trades.txt").write_text("# language: en\nflorist\n", "utf-8")
        write_counts(
            root / "4-measures" / "counts.tsv",
            Counts("en", {"the": 30, "apple": 9, "early": 2}, 41, 5, 1, {"counting": COUNTING}),
        )
        with made.lock():
            scan_facts(made, [EXAMPLE / "dump.json"], workers=1, reporter=heard)
        for name in ("writers.csv", "validators.csv"):
            import_answers(made, files / name, reporter=heard)
        pilot = EXAMPLE / "pilot.jsonl"
        import_answers(made, pilot, round="pilot", known_terms=True, reporter=heard)
        import_stereoset(made, EXAMPLE / "published.json", reporter=heard)
        with silent():
            demo._rounds(demo.Steps(root), root, EXAMPLE / "rounds")
            again = ("rounds", "open", "validation", "--name", FLAGGED, "--platform", "files")
            commands.well(*again, "-c", root)
        measure_texts(made, [EXAMPLE / "trust" / "tales.txt"], workers=1, reporter=heard)
        measure_labels(made, EXAMPLE / "trust" / "labels.csv", source="tales", reporter=heard)
    assert not run(root, "split")
    cats = read_records(root / "3-decisions" / "cats.jsonl", Cat)
    scored.put(root / "5-scores", "likes", "default", scored.likes, cats)
    scored.put(root / "5-scores", "chance", "default", scored.chance(1), cats)
    assert not run(root)
    return root


@contextlib.contextmanager
def silent() -> Any:
    """What is printed is lost."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def run(
    root: Path, *names: str, days: float = 0, draws: int = 0, ran: list[str] | None = None
) -> str:
    """Bring steps up to date, by default all; gives the error, if there is one.

    Args:
        root: the campaign.
        names: the steps.
        days: how many days have gone by.
        draws: where random draws begin.
        ran: the names of the steps that were run are added to it.
    """

    def tell(step: Any, did: bool) -> None:
        if ran is not None and did:
            ran.append(step.name)

    with frozen.pinned(days=days, draws=draws):
        return refusal(root, lambda: _run(root, names, tell))


def _run(root: Path, names: Sequence[str], tell: Any) -> None:
    campaign = open_campaign(root)
    with campaign.lock():
        bring_up_to_date(campaign, *names, reporter=Heard(), tell=tell)


def refusal(root: Path, work: Callable[[], object]) -> str:
    """The error that work on a campaign ends with; empty if it ends well."""
    try:
        work()
    except CurationError as error:
        return f"{error.what}; {error.fix}".replace(str(root), "ROOT")
    return ""


# --- a sequence of edits ------------------------------------------------------------------------


class Edited:
    """A copy of the campaign, and the edits of a seed.

    Attributes:
        root: the copy.
        done: what was done, in words.
        error: what both campaigns failed with, before all was again as at first.
    """

    def __init__(self, built: Path, folder: Path, seed: int) -> None:
        self.built, self.seed, self.folder = built, seed, folder
        self.root = Path(shutil.copytree(built, folder / "campaign"))
        self.draw, self.done = random.Random(seed), list[str]()
        self.days, self.versions, self.error = 0, 0, ""

    def edit(self) -> None:
        """Do what the seed draws; an edit that cannot be done says so, and nothing else is done."""
        name = self.draw.choices(list(EDITS), [weight for _, weight in EDITS.values()])[0]
        self.do(name, EDITS[name][0])

    def do(self, name: str, work: "Callable[[Edited], str]") -> None:
        """Do an edit, and keep in words what it was."""
        said, why = "", ""
        with frozen.pinned(**self._now()), silent():
            try:
                said = work(self)
            except CurationError as error:
                why = f" (refused: {error.what})"
        self.done.append(f"{name} {said}{why}".replace(str(self.folder), "…"))

    def _now(self) -> dict[str, Any]:
        """The clock, a minute after the edit before; random draws that no edit before had."""
        return {"days": self.days + len(self.done) / 1440, "draws": 1000 * len(self.done)}

    def bump(self) -> str:
        """Name a new version of the release."""
        self.versions += 1
        return self._set("release.version", f"0.1.{self.versions}")

    def setting(self) -> str:
        """Other values of one to three settings, or the first ones again."""
        return "; ".join(self._setting() for _ in range(self.draw.randint(1, 3)))

    def _setting(self) -> str:
        now, first = (_setting(root) for root in (self.root, self.built))
        table = CHANGES[self.draw.choices(["settings", "idle"], [9, 1])[0]]
        name = self.draw.choice(sorted(table))
        values = [first(name), *table[name]]
        return self._set(name, self.draw.choice([each for each in values if each != now(name)]))

    def _set(self, name: str, value: Any) -> str:
        path, (*tables, key) = self.root / "campaign.toml", name.split(".")
        own = content = read_settings(path).model_dump(mode="json")
        for table in tables:
            if table not in content:
                return f"{name}: no such table now"
            content = content[table]
        content[key] = value
        if value == REMOVED:
            del content[key]
        try:
            path.write_text(settings_text(Settings.model_validate(own)), "utf-8")
        except ValidationError:
            return f"{name} = {value!r}: not valid now"
        return f"{name} = {value!r}"

    def file(self) -> str:
        """Another content of a file, the first one again, a line less, or no file."""
        name = self.draw.choice(sorted(CHANGES["files"]))
        path, first = self.root / name, self.built / name
        now = path.read_bytes() if path.exists() else None
        others = [text.lstrip("\n").encode() for text in CHANGES["files"][name]]
        contents = [first.read_bytes() if first.exists() else None, None, *others]
        if now is not None:
            contents.append(b"".join(now.splitlines(keepends=True)[:-1]))
        other = self.draw.choice([content for content in contents if content != now])
        if other is None:
            path.unlink()
            return f"{name}: deleted"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(other)
        return f"{name}: {other[-200:].decode()!r}"

    def answers(self) -> str:
        """Some more answers from a table."""
        name = self.draw.choice(["later-writers.csv", "later-validators.csv"])
        head, *rows = (self.built.with_name("files") / name).read_text("utf-8").splitlines(True)
        own = self.draw.sample(rows, 3)
        table = self.folder / name
        table.write_text("".join([head, *own]), "utf-8")
        import_answers(open_campaign(self.root), table, reporter=Heard())
        return f"{name}: " + ", ".join(row[:30] for row in own)

    def person(self) -> str:
        """A person is excluded, comes back, withdraws, or is erased."""
        who = self.draw.choice(PEOPLE)
        action = self.draw.choice(["exclude", "readmit", "withdraw", "erase"])
        releases = self.draw.random() < 0.3
        campaign = open_campaign(self.root)
        said = f"{who} {action}, releases {releases}"
        with self._tried(said), campaign.lock():
            decide_on_person(campaign, who, action, "a test", releases=releases, reporter=Heard())  # type: ignore[arg-type]
        return said

    @contextlib.contextmanager
    def _tried(self, said: str) -> Any:
        try:
            yield
        except CurationError as error:
            raise CurationError(f"{said}: {error.what}", error.fix) from None

    def correction(self) -> str:
        """A text of an item is corrected."""
        paths = sorted(self.root.glob("2-rounds/*/items.jsonl"))
        every = [item for path in paths for item in read_records(path, Item)]
        if not every:
            return "no item"
        item = self.draw.choice(every)
        field = self.draw.choice(["stereotype", "unrelated"])
        text = f"{self.draw.choice(['Quiet', 'Round', 'Green'])} word {len(self.done)}"
        campaign = open_campaign(self.root)
        with self._tried(f"{item.id} {field}"), campaign.lock():
            correct_item(campaign, item.id, field, text, by="me", why="a test", reporter=Heard())
        return f"{item.id} {field} = {text}"

    def flag(self) -> str:
        """Somebody sends an answer again, with other flags."""
        table = self.root / "tasks" / "wave-1" / f"{FLAGGED}-answered.csv"
        row = self.draw.choice([row for row in desk.read_csv(table) if row["consent"]])
        row["flags"] = self.draw.choice(["", "objective", "ungrammatical"])
        sent = desk.write_csv(self.folder / "flagged.csv", [row])
        done = commands.run("rounds", "import", FLAGGED, sent, "-c", self.root)
        return f"{row['task_id']} {row['annotator']} {row['flags']!r} {done.err.strip()}"

    def round(self) -> str:
        """A round is opened, gets answers, or is closed."""
        made, name = Desk(commands.run, self.root), self.draw.choice(LATER)
        way = self.draw.choice(["open", "open", "answer", "close"])
        place = self.root / "2-rounds" / name / "round.json"
        said = f"{name}: {way}"
        if way == "open" or not place.exists():
            kind = name.split("-")[0]
            only = (
                ["--term", "baker", "--term", "librarian"] if kind == "write" else ["--of", "main"]
            )
            kind = "intrasentence" if kind == "write" else "validation"
            done = made.run("rounds", "open", kind, "--name", name, "--platform", "files", *only)
        elif way == "close":
            done = made.run("rounds", "close", name)
        else:
            done = made.run("rounds", "export", name, "--to", made.out, "--format", "csv", "--json")
            tables = sorted(made.out.glob(f"{name}*.csv"))
            if done.code == 0 and tables:
                rows = desk.consenting(desk.read_csv(tables[-1]), "1")
                table = desk.write_csv(made.out / "answers.csv", self._answered(made, name, rows))
                done = made.run("rounds", "import", name, table)
        return said if done.code == 0 else f"{said} (refused: {done.err.strip()})"

    def _answered(self, made: Desk, name: str, rows: list[desk.Row]) -> list[desk.Row]:
        people = [f"p-{n}" for n in range(4)]
        if name.startswith("write"):
            found = [desk.item_row(row, people[n % 4], n) for n, row in enumerate(rows)]
        else:
            golds = made.golds()
            found = [
                desk.label_row(row, who, golds, n, wrong=self.draw.choice(["", "", "unrelated"]))
                for n, row in enumerate(rows)
                for who in people
                if all(row[f"text_{place}"] in golds for place in (1, 2, 3))
            ]
        return found or [{"task_id": "none"}]

    def scores(self) -> str:
        """A model is scored on the CATs as they are now."""
        cats, model = self.root / "3-decisions" / "cats.jsonl", self.draw.choice(["chance", "new"])
        if not cats.exists():
            return "no CATs"
        shutil.rmtree(self.root / "5-scores" / model, ignore_errors=True)
        of = scored.chance(self.draw.randrange(9))
        scored.put(self.root / "5-scores", model, "default", of, read_records(cats, Cat))
        return model

    def measured(self) -> str:
        """The bias of a text is measured."""
        window = self.draw.choice([1, 2, 3])
        text = EXAMPLE / "trust" / "tales.txt"
        campaign = open_campaign(self.root)
        measure_texts(campaign, [text], window=window, workers=1, reporter=Heard())
        return f"window {window}"

    def licence(self) -> str:
        """The release gets the team's own licence, or the first one again."""
        path = self.root / LICENCE
        if path.exists():
            path.unlink()
            return self._set("release.licence", _setting(self.built)("release.licence"))
        path.write_text(f"Everybody may read it {len(self.done)} times.\n", "utf-8")
        return self._set("release.licence", "Our licence")

    def time(self) -> str:
        """Days go by."""
        self.days += (days := self.draw.choice([1, 30, 6000]))
        return f"{days} days"

    def result(self) -> str:
        """A result is deleted, cut, or brought back as it was at first."""
        names = sorted(files(self.root, RESULTS))
        if not names:
            return "no results"
        path = self.root / (name := self.draw.choice(names))
        way = self.draw.choice(["delete", "cut", "byte", "back"])
        data = path.read_bytes()
        if way == "delete":
            path.unlink()
        elif way == "cut":
            path.write_bytes(data[: len(data) // 2])
        elif way == "byte" and data:
            path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:] if data[3:] else b"x")
        elif (self.built / name).exists():
            shutil.copyfile(self.built / name, path)
        return f"{name}: {way}"

    def folder_of_results(self) -> str:
        """All results of a stage are deleted, with or without the manifest, or that alone."""
        names = ("1-terms", "2-rounds", "3-decisions", "4-measures", "6-trust", "8-pages")
        stage, way = self.draw.choice(names), self.draw.choice(["results", "manifest", "both"])
        if way != "manifest":
            strip(self.root, [name for name in RESULTS if name.startswith(stage)])
        if way != "results":
            (self.root / stage / "manifest.json").unlink(missing_ok=True)
        return f"{stage}: {way}"

    def version(self) -> str:
        """The folder of a built version is deleted."""
        built = sorted(path for path in (self.root / "7-release").glob("0.*") if path.is_dir())
        if not built:
            return "there is none"
        shutil.rmtree(gone := self.draw.choice(built))
        return gone.name

    def killed(self) -> str:
        """A command that runs all steps, or one, is killed when it writes."""
        at, names = self.draw.randint(1, 90), self.draw.choice([["run"], ["decisions", "split"]])
        by = self.draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
        before = strike(self.root, at=at, by=by, seen=True)
        done = commands.run(*names, "-c", self.root, before=before)
        return f"{' '.join(names)} at {at}: {done.code}"

    def named(self) -> str:
        """Some steps are named."""
        names = self.draw.sample([step.name for step in STEPS], self.draw.choice([1, 1, 2]))
        _run(self.root, names, None)
        return " ".join(names)

    def all(self) -> str:
        """All steps are run."""
        _run(self.root, (), None)
        return ""

    def restore(self) -> str:
        """All settings and files are again as at first."""
        shutil.copyfile(self.built / "campaign.toml", self.root / "campaign.toml")
        for name in (*CHANGES["files"], LICENCE):
            (self.root / name).unlink(missing_ok=True)
            if (self.built / name).exists():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.built / name, self.root / name)
        return ""

    # --- what must hold ---------------------------------------------------------------------------

    def check(self) -> None:
        """Incremental equals clean; if neither can be made, also when all is as at first."""
        self.error = self._compare()
        if self.error:
            self.do("restore", Edited.restore)
            again = self._compare()
            assert not again, self.says(f"fails with all settings and files as at first: {again}")

    def _compare(self) -> str:
        self.do("bump", Edited.bump)
        clean = self.folder / "clean"
        shutil.rmtree(clean, ignore_errors=True)
        shutil.copytree(self.root, clean)
        strip(clean, [*RESULTS, MANIFESTS])
        errors = [run(root, **self._now()) for root in (self.root, clean)]
        assert errors[0] == errors[1], self.says(
            f"incremental ends with {errors[0]!r}, and clean with {errors[1]!r}"
        )
        if not errors[0]:
            self._equal(clean)
            self._settled()
        return errors[0]

    def _equal(self, clean: Path) -> None:
        names = (*RESULTS, "7-release")
        old, new = files(self.root, names), files(clean, names)
        differ = sorted(name for name in {*old, *new} if old.get(name) != new.get(name))
        if differ:
            first = differ[0]
            sides = (_lines(data) for data in (old.get(first), new.get(first)))
            shown = next(
                (f"\n  incremental {a[:600]!r}\n  clean       {b[:600]!r}"
                 for a, b in zip(*sides, strict=False) if a != b), "",
            )  # fmt: skip
            raise AssertionError(self.says(f"differ: {', '.join(differ[:8])}{shown}"))

    def _settled(self) -> None:
        with frozen.pinned(**self._now()):
            states = {step.step: step.state for step in read_status(open_campaign(self.root)).steps}
        stale = {name: state for name, state in states.items() if state != "up to date"}
        assert not stale, self.says(f"after the run, status says {stale}")
        again = list[str]()
        assert not run(self.root, ran=again, **self._now()), self.says("a second run fails")
        assert not again, self.says(f"a second run runs {again}")

    def says(self, what: str) -> str:
        """A message that has the seed and the edits."""
        listed = "\n".join(f"  {n}. {each}" for n, each in enumerate(self.done, 1))
        return f"seed {self.seed}: {what}\nafter these edits:\n{listed}"


EDITS: dict[str, tuple[Callable[[Edited], str], int]] = {
    "setting": (Edited.setting, 12),
    "file": (Edited.file, 7),
    "answers": (Edited.answers, 2),
    "person": (Edited.person, 2),
    "correction": (Edited.correction, 1),
    "flag": (Edited.flag, 2),
    "round": (Edited.round, 2),
    "scores": (Edited.scores, 1),
    "measured": (Edited.measured, 1),
    "licence": (Edited.licence, 1),
    "time": (Edited.time, 1),
    "result": (Edited.result, 2),
    "folder": (Edited.folder_of_results, 1),
    "version": (Edited.version, 1),
    "bump": (Edited.bump, 1),
    "killed": (Edited.killed, 1),
    "named": (Edited.named, 2),
    "all": (Edited.all, 1),
}
"""What an edit does, and how often it is drawn."""


def _setting(root: Path) -> Callable[[str], Any]:
    """A function that gives the value of a setting; ``REMOVED`` for a table that is not there."""
    every = read_settings(root / "campaign.toml").model_dump(mode="json")

    def value(name: str) -> Any:
        found = every
        for key in name.split("."):
            found = found.get(key, REMOVED) if isinstance(found, dict) else REMOVED
        return found

    return value


def strip(root: Path, patterns: Sequence[str]) -> None:
    """Delete what patterns name."""
    for path in sorted({path for pattern in patterns for path in root.glob(pattern)}):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def files(root: Path, patterns: Sequence[str]) -> dict[str, bytes]:
    """The files that patterns name, or that are in folders that they name; no manifests."""
    named = {path for pattern in patterns for path in root.glob(pattern)}
    inside = {path for folder in named if folder.is_dir() for path in folder.rglob("*")}
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in named | inside
        if path.is_file() and path.name != "manifest.json"
    }


def _lines(data: bytes | None) -> list[bytes]:
    return [b"(no such file)"] if data is None else [*data.splitlines(), b"(its end)"]


def play(built: Path, folder: Path, seed: int, *, edits: int = 8) -> Edited:
    """A sequence of edits, after which incremental must equal clean.

    Args:
        built: the campaign of ``build``, whose key is there.
        folder: where the copies are made.
        seed: what the edits are drawn from.
        edits: how many.

    Raises:
        AssertionError: it does not; the message names the seed, the edits and the first file.
    """
    commands.load()
    edited = Edited(built, folder, seed)
    for _ in range(edits):
        edited.edit()
    edited.check()
    return edited
