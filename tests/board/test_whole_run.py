"""The commands of docs/board.md are run as they are, from a campaign to a page of a closed board.

The page has commands for both kinds of test sets. Here is what it leaves to people: the campaign
with its CATs, a tiny model, the scores of another program, and new CATs for the next test set.
"""

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from curation.board.folder import open_board
from curation.board.submitting import public_cats
from curation.campaign.settings import Hide
from support import publishing
from support.commands import run
from support.guides import change, commands, compare
from support.models import gpt2, llama

PAGE = (Path(__file__).parents[2] / "docs/board.md").read_text("utf-8")
KINDS: dict[str, Hide] = {"With hidden labels": "labels", "With a sealed test set": "all"}
PART = re.compile(
    r"^## (?P<heading>[^\n]+)$"
    r"|^(?P<lines>\*\*Now run the lines that it printed\.\*\*)"
    r"|(?:^(?P<says>[^\n#|`][^\n]*(?:\n[^\n]+)*):\n\n)?^```(?P<sort>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


NAME = "Ann Example"
SUBMIT = re.findall(r"^curation board submit bakery/small.+", PAGE, re.MULTILINE)
(PREDICTIONS,) = re.findall(r"^curation board submit --predictions .+", PAGE, re.MULTILINE)


class Follower:
    """Somebody who does what the page says of one kind of test sets."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, hide: Hide, cats: int) -> None:
        self.root, self.folder, self.patch, self.hide, self.cats = root, root, patch, hide, cats
        self.said, self.ran = "", Counter[str]()
        self.terms = publishing.write_items(root / "first.json", cats, terms=16)
        more = 80 if hide == "all" else 280
        publishing.write_items(root / "second.json", more, terms=16, seed=2)
        self.campaign = root / "campaign"
        publishing.campaign(self.campaign)
        self.command(["curation", "import", "stereoset", "first.json", "-c", "campaign"])

    def follow(self) -> None:
        """Follow the whole page."""
        for part in PART.finditer(PAGE):
            if part["heading"]:
                self.prepare(part["heading"])
            elif part["lines"]:
                for line in re.findall(r"curation scores models .+", self.said):
                    line = re.sub(r"/(\w+)=FOLDER", r"/\1=../models/\1", line)
                    self.command(shlex.split(line))
            elif self.is_for_us(part["says"] or ""):
                self.do(part)

    def is_for_us(self, says: str) -> bool:
        return all(hide == self.hide for start, hide in KINDS.items() if says.startswith(start))

    def do(self, part: re.Match[str]) -> None:
        match part["sort"]:
            case "sh":
                self.said = "".join(self.command(words) for words in commands(part["text"]))
            case "":
                compare(part["text"], self.said)
            case "toml":
                name = re.fullmatch(r"Change in `(.+)`", part["says"])
                assert name, f"the page does not say what to do with {part[0]}"
                path = self.folder / name[1]
                there = tomlkit.parse(path.read_text("utf-8"))
                change(there, tomlkit.parse(part["text"]))
                path.write_text(tomlkit.dumps(there), "utf-8")
            case "text" | "json":  # other programs, and examples
                pass
            case sort:
                raise AssertionError(f"the page does not say what to do with a block of {sort}")

    def prepare(self, heading: str) -> None:
        """What people do before a section."""
        if heading == "Submit a model":
            gpt2(self.root / "models/small")
            llama(self.root / "models/wide")
            if self.hide == "labels":
                self.predict("tall", "wide", "zesty")
        if heading == "Score submissions":
            others = ["wide", "zesty"] if self.hide == "labels" else []
            for name in others:
                line = PREDICTIONS.replace("tall", name)
                assert line != PREDICTIONS
                self.command(shlex.split(line))
            if not others:
                line = f"curation board submit bakery/wide=../models/wide --by '{NAME}'"
                self.command(shlex.split(line))
        if heading == "Close a test set and open the next":
            publishing.drop_terms(self.campaign, self.terms)
            settings = self.campaign / "campaign.toml"
            settings.write_text(settings.read_text("utf-8").replace('"0.1.0"', '"0.2.0"'), "utf-8")
            words = ["import", "stereoset", str(self.root / "second.json"), "--round", "second"]
            self.command(["curation", *words])
            self.command(["curation", "release", "build"])

        if heading == "Verify a board":  # the same model on the next test set
            for line in (*SUBMIT, "curation board score", "curation board build"):
                self.command(shlex.split(line))

    def predict(self, *names: str) -> None:
        """Write the scores that other programs made."""
        cats = public_cats(open_board(self.folder).open_set)
        for seed, name in enumerate(names):
            publishing.write_predictions(self.root / f"predictions/{name}.json", cats, seed=seed)

    def command(self, words: list[str]) -> str:
        """Run a command line; what it prints."""
        match words:
            case ["cd", name]:
                self.folder /= name
                self.patch.chdir(self.folder)
                return ""
            case ["export", setting]:
                name, _, value = setting.partition("=")
                self.patch.setenv(name, value.replace("$PWD", str(self.folder)))
                return ""
        assert words[0] == "curation"
        found = [
            sorted(map(str, self.folder.glob(word))) if "*" in word else [word] for word in words
        ]
        full = [each for of_word in found for each in of_word]
        ran = run(*full[1:])
        print(f"$ {shlex.join(full)}\n{ran.out}{ran.err}")  # shown if the test fails
        assert ran.code == 0, f"{full}: {ran.err}"
        self.ran[" ".join(words[1:3])] += 1
        return ran.out + ran.err


def followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hide: Hide, cats: int
) -> tuple[Follower, list[dict[str, Any]]]:
    """The page is followed; who did so, and the rankings of the first test set."""
    monkeypatch.chdir(tmp_path)
    someone = Follower(tmp_path, monkeypatch, hide, cats)
    someone.follow()
    groups = {f"board {name}" for name in ("create", "submit", "check", "score", "build")}
    assert groups | {"board rotate", "board verify"} <= someone.ran.keys()
    content = json.loads((tmp_path / "board/results/board.json").read_bytes())
    entries = open_board(tmp_path / "board").entries()
    next_ones = {entry.what for entry in entries if entry.version == "0.2.0"}
    assert next_ones == {"opened", *(["waits"] if hide == "all" else ["scored", "refused"])}
    (closed,) = (each for each in content["sets"] if each["version"] == "0.1.0")
    assert min(closed["kinds"].values()) >= 100
    (ranking,) = closed["rankings"]
    page = (tmp_path / "board/index.html").read_text("utf-8")
    assert all(row["model"] in page for row in ranking["rows"])
    files = list((tmp_path / "board/results/every_eval_ever").rglob("*.json"))
    assert len(files) == sum(entry.what == "scored" for entry in entries)
    return someone, ranking["rows"]


@pytest.mark.models
@pytest.mark.long
def test_the_page_leads_to_a_board_with_a_sealed_test_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    someone, rows = followed(tmp_path, monkeypatch, "all", 300)
    assert {row["model"] for row in rows} == {"bakery/small", "bakery/wide"}
    assert someone.ran["scores models"] == 2
    assert all(row["rank"] for row in rows)


@pytest.mark.models
@pytest.mark.long
def test_the_page_leads_to_a_board_with_hidden_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rows = followed(tmp_path, monkeypatch, "labels", 280)
    (row,) = rows
    assert (row["model"], row["state"], row["rank"]) == ("bakery/small", "rechecked", 1)


@pytest.mark.outside
@pytest.mark.models
def test_a_large_test_set_with_hidden_labels_has_three_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rows = followed(tmp_path, monkeypatch, "labels", 5400)
    assert {row["model"] for row in rows} == {
        f"bakery/{name}" for name in ("small", "tall", "wide")
    }
