"""A team that runs a campaign from the files of ``tests/campaigns``, with rounds on tables."""

import csv
import json
import shutil
import tomllib
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from curation.campaign.settings import Settings, read_settings, settings_text
from curation.formats.table_words import blank_word, read_shipped
from curation.text.item_form import show_blank
from support.desk import GOLD, MEANT, Desk, Row, at, read_csv

CAMPAIGNS = Path(__file__).parents[1] / "campaigns"
LETTERS = {gold[0]: gold for gold in GOLD.values()}
FIRST, LATER = ("v1", "v2", "v3", "v4", "v5"), ("v6", "v7")
CARELESS = "v5"
LATE_WRITER = "w3"
Fill = Callable[[Row, str], Row]
SAVED_AS = {"id": ("utf-8", ","), "ar": ("utf-8-sig", ";"), "ja": ("utf-8", "\t")}
"""By language how the spreadsheets of its people save a table: encoding and separator."""


class Team(Desk):
    """The commands of a team, and what its people fill in."""

    def __init__(self, forked: Any, root: Path, data: Path, language: str) -> None:
        super().__init__(forked, root)
        self.data, self.language = data, language
        self.minute = 0
        self.said: dict[str, Any] = {}  # what commands said on the way

    @cached_property
    def expected(self) -> dict[str, Any]:
        """What the campaign comes to, worked out by hand."""
        return tomllib.loads((self.data / "expected.toml").read_text("utf-8"))

    @property
    def blank(self) -> str:
        """The word for the gap in the campaign's language."""
        return blank_word(read_shipped("text", self.language))

    @property
    def release(self) -> Path:
        return self.root / "7-release" / "0.1.0"

    def items(self) -> list[Any]:
        """The items of all rounds of writing."""
        return [row for path in self.rounds.glob("w-*/items.jsonl") for row in read_jsonl(path)]

    def people(self, name: str) -> list[Row]:
        """A file of the campaign's data."""
        return read_csv(self.data / f"{name}.csv")

    def begin(self, domains: str) -> None:
        """``curation init``, then the files and settings that the team adds."""
        language = self.language
        options = ("--language", language, "--domains", domains, "--name", f"Mild {language}")
        done = self.forked("init", self.root, "--yes", *options)
        assert done.code == 0, done.err
        path = self.root / "campaign.toml"
        settings = read_settings(path).model_dump(exclude_none=True)
        for section, keys in tomllib.loads((self.data / path.name).read_text("utf-8")).items():
            for key, value in keys.items():
                inner = settings[section].get(key)
                settings[section][key] = inner | value if isinstance(value, dict) else value
        # The dates of answers here are fixed, and rounds are opened when a test runs.
        settings["rounds"]["accept_times"] = ["r", "w-intrasentence", "w-intersentence", "v"]
        path.write_text(settings_text(Settings.model_validate(settings)), "utf-8")
        if (corpus := self.data / "corpus.txt").exists():
            counts = ("--out", self.root / "counts.tsv.gz", "--language", language)
            self.forked("measures", "count", corpus, *counts)
        places = {"1-terms": ("terms", "edits"), "2-rounds": ("text",), "4-measures": ("words",)}
        for folder, names in places.items():
            (self.root / folder).mkdir(exist_ok=True)
            for file in self.data.iterdir():
                if file.stem in names:
                    shutil.copyfile(file, self.root / folder / file.name)

    def deal(self, name: str, people: tuple[str, ...], fill: Fill) -> None:
        """Export a round for these people; each fills in their table, and it is imported."""
        self.minute += 60
        for who, tasks in self.tables(name, people).items():
            answered = []
            for n, task in enumerate(tasks):
                row = {"task_id": task["task_id"], "annotator": who, "seconds": "40"}
                row |= {"consent": task["consent"], "submitted_at": at(self.minute + n)}
                answered.append(row | fill(task, who))
            file = self.save(self.out / f"{name}-{who}-{self.minute}.csv", answered)
            self.said[f"{name} {who} {len(answered)}"] = self.say("rounds", "import", name, file)

    def save(self, path: Path, rows: list[Row]) -> Path:
        """A table as a spreadsheet of the language's people saves it."""
        encoding, separator = SAVED_AS[self.language]
        heads = list(dict.fromkeys(key for row in rows for key in row))
        with path.open("w", encoding=encoding, newline="") as file:
            writer = csv.DictWriter(file, heads, delimiter=separator)
            writer.writeheader()
            writer.writerows(rows)
        return path

    # --- what people say ------------------------------------------------------------------------

    def review(self, task: Row, who: str) -> Row:
        (row,) = (row for row in self.people("reviews") if row["term"] == task["term"])
        decision, _, more = row[who].partition(":")
        decision, _, name = decision.partition(">")
        answer = {"decision": decision, "rename": name}
        if decision == "merge":
            choices = (choice.split(": ", 1) for choice in task["merge_choices"].split(" | ")[:-1])
            return answer | {"merge_into": next(id for id, text in choices if text == more)}
        return answer | ({"reasons": more} if more else {})

    def write(self, kind: str) -> Fill:
        """Writers write what ``items.csv`` has next on a term; a second row is for the top-up.

        All but one write their language's word for the gap.
        """
        rows = [row for row in self.people("items") if row["kind"] == kind]
        waiting = {row["target"]: [r for r in rows if r["target"] == row["target"]] for row in rows}

        def fill(task: Row, who: str) -> Row:
            row = waiting[task["target"]].pop(0)
            answer = {name: row[name] for name in ("context", *MEANT)}
            if who != LATE_WRITER:
                answer["context"] = show_blank(answer["context"], self.blank)
            return answer

        return fill

    def label(self, task: Row, who: str) -> Row:
        item = self.item_of(task)
        of = item["target"], item["kind"]
        (row,) = (row for row in self.people("labels") if (row["target"], row["kind"]) == of)
        said = row[who]
        if said == "-":
            return {"label_1": "", "label_2": "", "label_3": ""}
        given = dict(zip(self.texts(item), said.strip("!"), strict=True))
        labels = {f"label_{n}": LETTERS[given[task[f"text_{n}"]]] for n in (1, 2, 3)}
        return labels | ({"seconds": "1"} if said.startswith("!") else {})

    def item_of(self, task: Row) -> Row:
        """The item of ``items.csv`` that a task shows."""
        shown = {task[f"text_{n}"] for n in (1, 2, 3)}
        (item,) = (row for row in self.people("items") if set(self.texts(row)) == shown)
        return item

    @staticmethod
    def texts(item: Row) -> list[str]:
        """The three sentences of an item, filled by plain replacement, whatever the tool does."""
        inner = item["kind"] == "intrasentence"
        context = one_space(item["context"])
        return [context.replace("BLANK", item[name]) if inner else item[name] for name in MEANT]


def one_space(text: str) -> str:
    """Imports keep one space between words."""
    return " ".join(text.split())


def run(forked: Any, root: Path, data: str, language: str, domains: str) -> Team:
    """A whole campaign, from ``init`` to ``release build``."""
    team = Team(forked, root, CAMPAIGNS / data, language)
    team.begin(domains)
    said = team.said
    said["select"] = team.say("terms", "select")
    said["open review"] = team.open("review", "r")
    team.deal("r", ("r1", "r2", "r3"), team.review)
    said["close review"] = team.say("rounds", "close", "r")
    said["select again"] = team.say("terms", "select")
    for kind in ("intrasentence", "intersentence"):
        name, fill = f"w-{kind}", team.write(kind)
        said[f"open {name}"] = team.open(kind, name)
        team.deal(name, ("w1", "w2", "w3"), fill)
        said[f"top-up {name}"] = team.say("rounds", "top-up", name)
        if said[f"top-up {name}"]["answers"]:
            team.deal(name, (LATE_WRITER,), fill)
        said[f"close {name}"] = team.say("rounds", "close", name)
    said["open v"] = team.open("validation", "v")
    team.deal("v", FIRST, team.label)
    said["before"] = team.say("decisions", "agreement", "--by", "annotator")
    said["status before"] = team.status("v")
    said["exclude"] = team.say("rounds", "exclude", CARELESS, "--reason", "the same of all")
    said["top-up v"] = team.say("rounds", "top-up", "v")
    team.deal("v", LATER, team.label)
    said["status"] = team.status("v")
    said["close v"] = team.say("rounds", "close", "v")
    said["run"] = team.say("run")
    return team


def read_jsonl(path: Path) -> Iterator[Any]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines())
