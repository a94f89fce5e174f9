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
from openpyxl import Workbook

from curation.catsets.stereoset import read_cats
from curation.formats.word_vectors import write_vectors
from curation.measures.counting import ALGORITHM as COUNTING
from curation.measures.counting import Counts, write_counts
from curation.records import Bias, Evidence
from curation.steps.trust.files import Measured, write_run
from support import arena_chat, catsets, desk, readers, scored
from support.desk import Desk

JOBS = ("baker", "court jester", "lamplighter", "wheelwright")
VALIDATORS = ("cora", "dirk", "emma", "fred", "gwen")
DOMAIN = """
[domains.hobby]
words = ["hobbies.csv"]
[domains.religion]
properties = ["P140"]
"""
HOBBIES = "term,also,language,domain,family,note\nkite flyer,kiter;kite pilot,en,hobby,kites,\n"
EDITS = "domain,term,action,into,family,note\nprofession,wheelwright,rename,wheel maker,,\n"
WORDS = "language,list,word\nen,negation,hardly\n*,violence,smash*\n"
REVIEWS = ("a fine plot", "a dull plot", "a warm end", "a cold end", "neither good nor bad")
MAPPING = """files = ["sentences.csv"]
language = "xx"
differing = "most"
skip = ["cat-2"]
[columns]
context = "context_xx"
target_original = "target"
[labels]
stereotype = "stereotype"
[domains]
profession = "work"
"""


ATTEST = '''# answers
intended_use = """
To compare models."""
review_date = "2030-01-31"
objective = "no"
'''
REPORT = {
    "curation": "0.1.0",
    "thresholds": {"alpha": 0.05},
    "open": ["owner"],
    "left_out": {"vectors/gender-w": "other words"},
    "rows": [
        {
            "subject": "scores",
            "name": "ll",
            "criterion": "sensitivity",
            "check": "padding",
            "status": "fail",
            "value": 0.25,
            "ci": [0.125, 0.5],
            "n": 12,
            "unit": "terms",
            "evidence": ["3-decisions/cats.jsonl"],
        }
    ],
}
STATEMENT = """description = "Mild sentences."
contact = "data@example.invalid"
doi = "10.1234/example.5678"

[[authors]]
name = "Ann Baker"
orcid = "0000-0002-1825-0097"

[[authors]]
name = "Institute of Tests"

[hub]
id = "example-lab/mild-set"
gated = "manual"
[hub.fields]
"Your name" = "text"

[answers]
purpose = '''
Jobs are missing elsewhere.

# Not a heading
'''
"""


TABLE_TEXTS = """
[validation]
stereotype = "Dhana"
objective = "Ni ukweli"

[sheet]
tasks = "Kazi"
how = ["Jaza **seli** zenye rangi.", "Hifadhi."]

[heading]
annotator = "Jina lako"
label_1 = "Lebo 1"
stereotype = "Neno la dhana"
"flags.objective" = "Ukweli?"

[hint]
label = "Chagua moja."

[column_words]
seconds = ["sekunde"]

[label_words]
unrelated = ["haihusiani", "-"]

[answer_words]
yes = ["ndiyo", "ndio"]
"""


def build(forked: Any, root: Path) -> Path:
    """The folder with the campaign ``c`` and the files beside it."""
    made = Desk.make(forked, root / "c", JOBS)
    with (made.root / "campaign.toml").open("a", encoding="utf-8") as file:
        file.write(DOMAIN)
    (made.root / "1-terms" / "hobbies.csv").write_text(HOBBIES, "utf-8")
    (made.root / "1-terms" / "edits.csv").write_text(EDITS, "utf-8")
    made.root.joinpath("4-measures").mkdir()
    (made.root / "4-measures" / "words.csv").write_text(WORDS, "utf-8")
    example = Path(__file__).parents[2] / "data" / "example"
    shutil.copyfile(example / "dump.json", root / "dump.json")
    made.say("terms", "scan", root / "dump.json")
    made.open("intrasentence", "w", "--domain", "profession")
    written = made.written("w", ["ann", "bob"])
    made.say("rounds", "close", "w")
    made.open("validation", "v")
    golds = made.golds()
    tasks = made.export("v")
    rows = [
        desk.label_row(task, who, golds, n) for n, task in enumerate(tasks) for who in VALIDATORS
    ]
    made.bring("v", rows[:-3])
    made.say("rounds", "exclude", "fred", "--reason", "tired")
    for command in ("decisions agreement", "measures statistics", "measures pitfalls"):
        made.say(*command.split())
    made.say("release", "build")
    made.open("review", "r", "--term", "baker")
    _beside(made, root, written, rows)
    return root


def _beside(made: Desk, root: Path, written: list[desk.Row], rows: list[desk.Row]) -> None:
    """The files that commands are given."""
    (root / "text.toml").write_text(desk.STUDY + TABLE_TEXTS, "utf-8")
    (root / "statement.toml").write_text(STATEMENT, "utf-8")
    (root / "attest.toml").write_text(ATTEST, "utf-8")
    (root / "report.json").write_text(json.dumps(REPORT), "utf-8")
    desk.write_csv(root / "labels.csv", rows[-9:])
    _lines(root / "labels.jsonl", rows[-9:])
    for name in ("labels.xlsx", "labels-2.xlsx"):
        _workbook(root / name, rows[-9:])
    desk.write_csv(root / "written.csv", written)
    review = {"annotator": "ann", "consent": rows[0]["consent"], "decision": "drop"}
    tasks = [task["task_id"] for task in made.export("r")]
    desk.write_csv(root / "reviews.csv", [{"task_id": t, **review, "rename": ""} for t in tasks])
    example = Path(__file__).parents[2] / "data" / "example"
    for name in ("writers.csv", "validators.csv"):
        lines = (example / name).read_text("utf-8-sig").splitlines(keepends=True)
        (root / name).write_text("".join(lines[:9]), "utf-8")
    shutil.copyfile(next((made.root / "7-release").glob("*/test.json")), root / "gold.json")
    data = json.loads((root / "gold.json").read_text("utf-8"))["data"]
    scores = {
        kind: [{"id": s["id"], "score": -len(s["id"])} for i in items for s in i["sentences"]]
        for kind, items in data.items()
    }
    (root / "predictions.json").write_text(json.dumps(scores), "utf-8")
    predicted = [row for part in scores.values() for row in part]
    _lines(root / "predictions.jsonl", predicted)
    desk.write_csv(root / "predictions.csv", predicted)
    (root / "published.json").write_text((example / "published.json").read_text("utf-8"), "utf-8")
    (root / "people.txt").write_text("cora\ndirk\n# absent\ngwen\n", "utf-8")
    _lines(root / "reviews.jsonl", [{"text": t, "label": n % 2} for n, t in enumerate(REVIEWS)])
    desk.write_csv(
        root / "reviews-2.csv", [{"text": t, "stars": n + 1} for n, t in enumerate(REVIEWS)]
    )
    counts = Counts("en", {"the": 3, "cat": 2}, 5, 2, 1, {"counting": COUNTING})
    for name in ("counts.tsv", "counts.tsv.gz"):
        write_counts(root / name, counts)
    articles = "One day it rained.\nThen it was dry.\n\nA tram came.\nIt was late.\n"
    (root / "articles.txt").write_text(articles * 3, "utf-8")
    _lines(root / "articles.jsonl", [{"text": articles}, {"text": articles.upper()}])
    _vectors(root)
    _trust(root)
    _models(made, root)
    _packed(root, articles)
    _catsets(root / "catsets")
    (root / "answer.json").write_text(json.dumps(_sparql()), "utf-8")
    (root / "page.json").write_text(json.dumps(_page(rows)), "utf-8")
    _saved(root, rows)
    (root / "echo.json").write_text(json.dumps(_echo()), "utf-8")
    arena_chat.put(made, root)


def _saved(root: Path, rows: list[desk.Row]) -> None:
    """Files that the tool itself keeps beside campaigns, or in a campaign for itself."""
    readers.facts(root / "answer.json")
    lines = [["aa", 0.25, 0.25, 0.5], ["bb", 1.0, 0.0, 0.0]]
    _lines(root / "classified.jsonl", lines)
    known = {row["task_id"]: {"1": "2026-03-02T09:00:00Z"} for row in rows[:3]}
    index = {"segments": [], "since": None, "accounts": [7], "known": known}
    (root / "pulled.json").write_text(json.dumps(index), "utf-8")
    place = root / "servers" / "x" / "validators"
    place.mkdir(parents=True)
    owner = {"email": "a@example.invalid", "password": "made up", "key": "made up"}
    (place / "owner.json").write_text(json.dumps(owner), "utf-8")
    (place / "address").write_text("http://127.0.0.1:8091", "utf-8")


def _vectors(root: Path) -> None:
    """Word vectors in every form."""
    rows = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    for form in (".bin", ".vec", ".txt", ".npz"):
        write_vectors(root / f"vectors{form}", [(["baker", "New_York", "naïve", "kite"], rows)])
    for form in (".bin", ".vec"):
        content = (root / f"vectors{form}").read_bytes()
        (root / f"vectors{form}.gz").write_bytes(gzip.compress(content, mtime=0))


def _trust(root: Path) -> None:
    """Labels of passages, and a run of a measure."""
    names = ("passage", "target", "group", "annotator", "submitted_at", "text")
    rows = [
        (
            f"p{n // 2}",
            "baker",
            ("hill", "lake", "none")[n % 3],
            f"w{n % 2}",
            "2026-03-14",
            "Bread.",
        )
        for n in range(8)
    ]
    labels = [dict(zip(names, row, strict=True)) for row in rows]
    desk.write_csv(root / "group-labels.csv", labels)
    _lines(root / "group-labels.jsonl", labels)
    biases = [
        Bias(target="baker", groups=("hill", "lake"), soa=(3, 1), p=(0.75, 0.25), l1=0.5, n=4),
        Bias(target="tram driver", groups=("hill", "lake"), undefined="no_evidence"),
    ]
    identity = {"groups": ["hill", "lake"], "targets": {b.target: [b.target] for b in biases}}
    evidence = [Evidence(criterion="content", check="swap", statistic="share", value=1.0)]
    found = Measured(biases, {"n": 8}, evidence=evidence)
    write_run(root / "runs" / "vectors" / "people-small", "people", identity, found)


def _models(made: Desk, root: Path) -> None:
    """Two models and their ensemble, and files that are read with them."""
    scores, golds = made.root / "5-scores", (root / "gold.json", made.root / "dev.json")
    shutil.copyfile(next((made.root / "7-release").glob("*/dev.json")), golds[1])
    cats = [cat for path in golds for cat in read_cats(path)]
    golds[1].unlink()
    scored.put(scores, "tiny", "default", lambda cat, gold: -len(gold), cats)
    scored.put(scores, "other", "default", lambda cat, gold: len(cat.id + gold) % 7, cats)
    fitted = made.run("scores", "ensemble", "tiny/default", "other/default", "--name", "both")
    assert fitted.code == 0, fitted.err
    sizes = "model,parameters,corpus_gb\ntiny,1000,2.5\nother,20_000,\n"
    (root / "sizes.csv").write_text(sizes, "utf-8")
    sentences = [{"id": a.id, "score": 0.5} for cat in cats for a in cat.associations]
    (root / "sentiment.json").write_text(json.dumps({"intrasentence": sentences}), "utf-8")


def _catsets(folder: Path) -> None:
    """A set of CATs in every layout, packed, and with a mapping file."""
    folder.mkdir()
    for name, write in catsets.LAYOUTS.items():
        write(folder / name)
    packed = gzip.compress((folder / "stereoset.json").read_bytes(), mtime=0)
    (folder / "stereoset.json.gz").write_bytes(packed)
    (folder / "map.toml").write_text(MAPPING, "utf-8")


def _packed(root: Path, articles: str) -> None:
    """Compressed files, and tables of texts."""
    content = (articles * 30).encode()
    (root / "articles.txt.gz").write_bytes(gzip.compress(content, mtime=0))
    (root / "articles.txt.bz2").write_bytes(bz2.compress(content))
    (root / "reviews.jsonl.gz").write_bytes(
        gzip.compress((root / "reviews.jsonl").read_bytes(), mtime=0)
    )
    dump = (root / "dump.json").read_bytes()
    (root / "dump.json.gz").write_bytes(gzip.compress(dump, mtime=0))
    (root / "dump.json.bz2").write_bytes(bz2.compress(dump))
    texts = {"text": [articles, *REVIEWS], "label": [0, 1, 0, 1, 0, 1]}
    pyarrow.parquet.write_table(pyarrow.table(texts), root / "texts.parquet")
    page = f'<doc id="1" url="x" title="Rain">\nRain\n\n{articles}</doc>\n'
    (root / "wiki_00").write_text(page * 2, "utf-8")


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


def _sparql() -> dict[str, Any]:
    """Answers to each of the tool's queries, in one."""
    base = "http://www.wikidata.org/entity/"

    def row(item: str, key: str, value: str, **more: str) -> dict[str, Any]:
        kind = "uri" if key in ("parent", "class") else "literal"
        return {
            "o": {"type": "uri", "value": base + item},
            "k": {"type": "literal", "value": key},
            "v": {"type": kind, "value": value, **more},
            "n": {"type": "literal", "value": "7"},
        }

    rows = [
        row("Q10", "label", "baker", **{"xml:lang": "en"}),
        row("Q10", "parent", base + "Q11"),
        row("Q10", "sitelinks", "12"),
        row("Q11", "label", "artisan", **{"xml:lang": "en"}),
    ]
    return {"head": {"vars": ["o", "k", "v", "n"]}, "results": {"bindings": rows}}


def _page(rows: list[desk.Row]) -> dict[str, Any]:
    """A page of tasks with their annotations, as Label Studio sends it."""
    tasks = []
    for number, row in enumerate(rows[:6], 1):
        result = [
            {"from_name": name, "type": "choices", "value": {"choices": [row[name]]}}
            for name in ("label_1", "label_2", "label_3")
        ]
        annotation = {
            "id": number,
            "completed_by": {"id": 7, "email": "a@example.invalid"},
            "updated_by": 7,
            "was_cancelled": False,
            "lead_time": 30.5,
            "created_at": "2026-03-02T09:00:00.123456Z",
            "updated_at": f"2026-03-02T09:00:{number:02d}.123456Z",
            "result": result,
        }
        task = {"id": number, "updated_at": annotation["updated_at"], "data": {}}
        tasks.append({**task, "data": {"task_id": row["task_id"]}, "annotations": [annotation]})
    return {"total": len(tasks), "tasks": tasks}


def _echo() -> dict[str, Any]:
    """What an endpoint says of a text and its tokens."""
    tokens = ["The", " cat", " sat"]
    logprobs = {
        "tokens": tokens,
        "token_logprobs": [None, -1.5, -2.5],
        "text_offset": [0, 3, 7],
        "top_logprobs": [None, {" cat": -1.5}, {" sat": -2.5}],
    }
    choice = {"index": 0, "text": "".join(tokens), "logprobs": logprobs, "finish_reason": "length"}
    return {"id": "x", "model": "m", "choices": [choice], "usage": {"total_tokens": 3}}
