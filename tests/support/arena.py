"""A small finished campaign, and a valid file of every kind that is read: fuzzing damages them."""

import bz2
import gzip
import json
import shutil
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from openpyxl import Workbook

from curation.catsets.stereoset import read_cats
from curation.files import read_json
from curation.formats.word_vectors import write_vectors
from curation.measures.counting import ALGORITHM as COUNTING
from curation.measures.counting import Counts, write_counts
from curation.records import Bias, Evidence
from curation.scores.asking import reply_line
from curation.trust.runs.files import Measured, write_run
from support import catsets, desk, readers, scored
from support.desk import Desk
from support.talkers import Talker

EXAMPLE = Path(__file__).parents[2] / "data" / "example"
FILES = Path(__file__).parents[1] / "fuzz" / "files"
"""What people and services write, as it is; what commands and programs write is made here."""
JOBS = ("baker", "court jester", "lamplighter", "wheelwright")
VALIDATORS = ("cora", "dirk", "emma", "fred", "gwen")
DOMAIN = """
[domains.hobby]
words = ["hobbies.csv"]
[domains.religion]
properties = ["P140"]
"""


def build(forked: Any, root: Path) -> Path:
    """The folder with the campaign ``c`` and the files beside it."""
    made = Desk.make(forked, root / "c", JOBS)
    with (made.root / "campaign.toml").open("a", encoding="utf-8") as file:
        file.write(DOMAIN)
    shutil.copytree(FILES, root, dirs_exist_ok=True)
    for name in ("dump.json", "published.json"):
        shutil.copyfile(EXAMPLE / name, root / name)
    made.say("terms", "scan", root / "dump.json")
    made.open("intrasentence", "w", "--domain", "profession")
    written = made.written("w", ["ann", "bob"])
    made.say("rounds", "close", "w")
    made.open("validation", "v")
    rows = made.labels("v", VALIDATORS)
    made.bring("v", rows[:-3])
    made.say("rounds", "exclude", "fred", "--reason", "tired")
    for command in ("decisions agreement", "measures statistics", "measures pitfalls"):
        made.say(*command.split())
    made.say("release", "build")
    made.open("review", "r", "--term", "baker")
    desk.write_csv(root / "written.csv", written)
    _answers(made, root, rows)
    _release(made, root)
    _packed(root)
    counts = Counts("en", {"the": 3, "cat": 2}, 5, 2, 1, {"counting": COUNTING})
    for name in ("counts.tsv", "counts.tsv.gz"):
        write_counts(root / name, counts)
    _vectors(root)
    _trust(root)
    for name, write in catsets.LAYOUTS.items():
        write(root / "catsets" / name)
    _compress(root / "catsets" / "stereoset.json", ".gz")
    readers.facts(root / "answer.json")
    _chat(made, root)
    return root


def _answers(made: Desk, root: Path, rows: list[desk.Row]) -> None:
    """Answers of people in tables, and as Label Studio sends them."""
    desk.write_csv(root / "labels.csv", rows[-9:])
    _lines(root / "labels.jsonl", rows[-9:])
    for name in ("labels.xlsx", "labels-2.xlsx"):
        _workbook(root / name, rows[-9:])
    review = {"annotator": "ann", "consent": rows[0]["consent"], "decision": "drop", "rename": ""}
    tasks = [task["task_id"] for task in made.export("r")]
    desk.write_csv(root / "reviews.csv", [{"task_id": task, **review} for task in tasks])
    for name in ("writers.csv", "validators.csv"):
        lines = (EXAMPLE / name).read_text("utf-8-sig").splitlines(keepends=True)
        (root / name).write_text("".join(lines[:9]), "utf-8")
    page = (root / "page.json").read_text("utf-8")
    for number, row in enumerate(rows[:6], 1):
        page = page.replace(f"TASK-{number}", row["task_id"])
    (root / "page.json").write_text(page, "utf-8")
    known = {row["task_id"]: {"1": "2026-03-02T09:00:00Z"} for row in rows[:3]}
    index = {"segments": [], "since": None, "accounts": [7], "known": known}
    (root / "pulled.json").write_text(json.dumps(index), "utf-8")


def _release(made: Desk, root: Path) -> None:
    """Gold files, predictions for them, two models and their ensemble."""
    dev, gold = made.root / "dev.json", root / "gold.json"
    for name, path in (("test.json", gold), ("dev.json", dev)):
        shutil.copyfile(next((made.root / "7-release").glob(f"*/{name}")), path)
    scores = {
        kind: [{"id": s["id"], "score": -len(s["id"])} for i in items for s in i["sentences"]]
        for kind, items in read_json(gold)["data"].items()
    }
    (root / "predictions.json").write_text(json.dumps(scores), "utf-8")
    predicted = [row for part in scores.values() for row in part]
    _lines(root / "predictions.jsonl", predicted)
    desk.write_csv(root / "predictions.csv", predicted)
    cats = [cat for path in (gold, dev) for cat in read_cats(path)]
    dev.unlink()
    folder = made.root / "5-scores"
    scored.put(folder, "tiny", "default", lambda cat, gold: -len(gold), cats)
    scored.put(folder, "other", "default", lambda cat, gold: len(cat.id + gold) % 7, cats)
    made.does("scores", "ensemble", "tiny/default", "other/default", "--name", "both")
    sentences = [{"id": a.id, "score": 0.5} for cat in cats for a in cat.associations]
    (root / "sentiment.json").write_text(json.dumps({"intrasentence": sentences}), "utf-8")


def _vectors(root: Path) -> None:
    """Word vectors in every form."""
    rows = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    for form in (".bin", ".vec", ".txt", ".npz"):
        write_vectors(root / f"vectors{form}", [(["baker", "New_York", "naïve", "kite"], rows)])
    for form in (".bin", ".vec"):
        _compress(root / f"vectors{form}", ".gz")


def _trust(root: Path) -> None:
    """A run of a measure."""
    biases = [
        Bias(target="baker", groups=("hill", "lake"), soa=(3, 1), p=(0.75, 0.25), l1=0.5, n=4),
        Bias(target="tram driver", groups=("hill", "lake"), undefined="no_evidence"),
    ]
    identity = {"groups": ["hill", "lake"], "targets": {b.target: [b.target] for b in biases}}
    evidence = [Evidence(criterion="content", check="swap", statistic="share", value=1.0)]
    found = Measured(biases, {"n": 8}, evidence=evidence)
    write_run(root / "runs" / "vectors" / "people-small", "people", identity, found)


def _chat(made: Desk, root: Path) -> None:
    """Prompts, replies to questions about one CAT, and a run of a chat model."""
    shutil.copyfile(readers.PROMPTS, root / "prompts.toml")
    replies = zip(readers.questions(), read_json(root / "chat-replies.json"), strict=True)
    lines = [reply_line(question, *reply, max_tokens=64) for question, reply in replies]
    (root / "replies.jsonl").write_bytes(b"".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        talker = Talker(lambda first, second: "AB"[second < first])
        patch.setattr("curation.scores.running.open_chat", talker.open)
        made.does("scores", "models", "chat:chatty", "--endpoint", "http://127.0.0.1:9/v1")


def _packed(root: Path) -> None:
    """Compressed files, and a table of texts."""
    for name in ("articles.txt", "dump.json"):
        _compress(root / name, ".gz", ".bz2")
    _compress(root / "reviews.jsonl", ".gz")
    text = (root / "articles.txt").read_text("utf-8")
    texts = {"text": [text, "a plot", "an end"], "label": [0, 1, 0]}
    pyarrow.parquet.write_table(pyarrow.table(texts), root / "texts.parquet")


def _compress(path: Path, *ends: str) -> None:
    pack = {".gz": lambda data: gzip.compress(data, mtime=0), ".bz2": bz2.compress}
    for end in ends:
        path.with_name(path.name + end).write_bytes(pack[end](path.read_bytes()))


def _workbook(path: Path, rows: list[desk.Row]) -> None:
    """A workbook with answers, dates, a hidden sheet with lists, and a page of instructions."""
    book = Workbook()
    heads = list(rows[0])
    sheets = (book.active, book.create_sheet("Lists"), book.create_sheet("Instructions"))
    tasks, lists, help = sheets
    tasks.append(heads)
    for row in rows:
        tasks.append(list(row.values()))
        place = tasks.cell(tasks.max_row, heads.index("submitted_at") + 1)
        place.value = datetime.fromisoformat(place.value.removesuffix("Z"))
    lists.append(["stereotype", "anti-stereotype", "unrelated"])
    lists.sheet_state = "hidden"
    for name in heads:
        help.append([name, "what to write"])
    tasks.merge_cells("J1:K1")
    book.save(path)


def _lines(path: Path, rows: list[Any]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
