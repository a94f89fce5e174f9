"""Readers of single files and of replies, for the fuzz test: each is called below the arena."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from curation import files
from curation.board.submission import read_file, read_submission
from curation.catsets.stereoset import read_cats, read_entries, read_gold_file
from curation.formats.predictions import read_predictions, scores_of
from curation.formats.rows import as_json, read_rows
from curation.formats.table_words import key, round_words
from curation.formats.word_vectors import read_vectors
from curation.kinds import ROUND_KINDS
from curation.measures.counting import read_counts
from curation.measures.steps import read_cache
from curation.models.chat import read_prompts
from curation.models.echoes import read_echoes
from curation.models.train.corpus import read_corpus
from curation.models.train.reviews import read_reviews
from curation.records import Reply, Task
from curation.release.texts import questions as statement_file
from curation.rounds.answers import archive
from curation.rounds.answers.interpret import interpret
from curation.rounds.answers.rows import columns_of, file_row
from curation.rounds.platforms import pages
from curation.rounds.platforms.label_studio import local, platform
from curation.rounds.platforms.label_studio.client import Pulled
from curation.rounds.platforms.label_studio.connection import Connection
from curation.rounds.platforms.pages import read_training
from curation.rounds.workbooks import Row, columns, round_workbook
from curation.scores import asking
from curation.scores.answers import compare
from curation.terms.facts import FactRequest
from curation.terms.wikidata import Service, query
from curation.trust.measure.groups import Groups
from curation.trust.measure.human import passages, read_labels
from curation.trust.protocol.attested import read_answers
from curation.trust.runs.files import read_run
from curation.trust.runs.text import label_rows
from curation.trust.steps import read_report
from support import commands
from support.cats import intra

RAW = Path("c/2-rounds/v/raw")
PROMPTS = files.shipped("data", "prompts", "en.toml")
ASKED = intra("The baker is BLANK.", "kind", "grumpy", "square")
REVIEWS = ("reviews.jsonl", "reviews.jsonl.gz", "reviews-2.csv")
TEXTS = (
    *("articles.txt", "articles.txt.gz", "articles.txt.bz2", "articles.jsonl"),
    *("texts.parquet", "wiki_00"),
)
CATSETS = [
    f"catsets/{form}" for form in ("*.json", "*.jsonl", "*.csv", "*.parquet", "*.gz", "map.toml")
]
VECTORS = [f"vectors{form}" for form in (".bin", ".bin.gz", ".vec", ".vec.gz", ".txt", ".npz")]


def _group_labels(path: Path) -> object:
    """Labels of passages as ``curation trust text --labels`` reads them."""
    groups = Groups("people", {"hill": ("hill",), "lake": ("lake",)}, {"baker": ("baker",)})
    read = read_labels(list(label_rows(path)), groups)
    found = passages(read.labels, groups)
    return [*found.biases(confidence=0.95), *map(files.dump_line, read.refused)]


def _biases(path: Path) -> object:
    """Results whose run.json has their sha256, as after an edit by hand."""
    run = path.with_name("run.json")
    about = {**json.loads(run.read_bytes()), "bias_sha256": files.digest(path)}
    with files.writing(run) as file:
        file.write(files.dump_json(about))
    return read_run(path.parent)


def _texts(path: Path) -> object:
    """A campaign's own texts; whatever they are, each column is read as what it is."""
    texts = pages.texts("en", pages.read_own("en", path))
    words = round_words(texts)
    for kind in ROUND_KINDS:
        shown = columns(kind, texts, consent="1-abcdef", personal=False)
        assert len({key(column.heading) for column in shown}) == len(shown)
        for column in shown:
            meant = columns_of([column.heading], words)
            assert not column.fill or meant == {column.name.partition(".")[0]}, column
        round_workbook(kind, texts, shown, [Row({"task_id": "t-1"})])
    return file_row({column.heading: "" for column in shown}, words)


def _training(path: Path) -> object:
    """A campaign's own training set, for each kind of round."""
    return [read_training(path, "en", kind) for kind in ROUND_KINDS]


def _cats(path: Path) -> object:
    """A set of CATs as an import reads it, then as a gold file."""
    entries = read_entries(path)
    for entry in entries:
        as_json(entry.item, f"{path} {entry.where}")
    read_gold_file(path)
    return read_cats(path)


# --- a query service ------------------------------------------------------------------------


@contextmanager
def _served(content: bytes) -> Iterator[str]:
    """The address of a server that answers every request with this."""

    class Reply(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Reply) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Portless(Service):
    """A service whose saved answers do not depend on its address."""

    def _path(self, query: str) -> Path:
        return self._cache / f"{sha256(query.encode()).hexdigest()[:16]}.json"


def _asked(content: bytes, cache: Path) -> object:
    asks = [FactRequest("religion", ("P140",))]
    how: dict[str, Any] = {"contact": "a@example.invalid", "pause": lambda seconds: None}
    with _served(content) as url, _Portless(url, cache=cache, **how) as service:
        return query(service, asks, languages=["en"], own=["en"])


def facts(path: Path) -> object:
    """What a query service says that answers with this file; its answers are saved beside it."""
    return _asked(path.read_bytes(), path.with_name("answers"))


def _saved(path: Path) -> object:
    """What is said with one saved answer; the service would give the right one."""
    return _asked(Path("answer.json").read_bytes(), path.parent)


# --- models ---------------------------------------------------------------------------------


def _echo(path: Path) -> object:
    answer = files.read_json(path)
    if not isinstance(answer, dict):
        return None  # the connection refuses it
    echoes = read_echoes(answer, count=1, max_tokens=1) or []
    return [echo.spans("The cat sat", 0) for echo in echoes]


def questions() -> list[asking.ChatQuestion]:
    """What a chat model is asked about one CAT."""
    return asking.chat_questions(ASKED, read_prompts(PROMPTS))


def _replies(path: Path) -> object:
    """Replies as a run reads them: what is still open, the comparisons, the tokens."""
    asked, prompts = questions(), read_prompts(PROMPTS)
    read = asking.read_replies(path, asked, prompts)
    rows = [asking.Asked(*place, answer.reading) for place, answer in read.answered.items()]
    taken = asking.usage(files.each_record(path, Reply), asked, read)
    return (
        asking.open_questions(asked, read, max_tokens=64),
        compare([ASKED], rows, model="m"),
        taken,
    )


# --- Label Studio ---------------------------------------------------------------------------


class _Server(Connection):
    """A server whose first page of tasks is a file; it has no other page."""

    url = "http://127.0.0.1:8080"

    def __init__(self, path: Path) -> None:
        self.reply = files.read_json(path)

    def ask(self, method: str, path: str, **_: Any) -> Any:
        return self.reply

    def pages(self, *args: Any, **how: Any) -> Iterator[list[dict[str, Any]]]:
        yield self.page(*args, **{"after": 0, **how})["tasks"]


def _pulled(path: Path) -> object:
    """Pull a page into the archive; whatever is in it, the campaign goes on."""
    server = _Server(path)
    known: platform.Known = {}
    fetched = Pulled(server, 1, since=None, known={}, people=lambda: {7: "a@example.invalid"})
    for batch in fetched.batches:
        archive.deliver(RAW, "label_studio", batch)
        for payload in batch:
            platform.note_seen(known, payload)
    index = path.with_name("pulled.json")
    platform.keep_seen(RAW, index, platform.Seen(fetched.since, known))
    assert platform.read_seen(RAW, index).known == known
    tasks = {task.id: task for task in files.read_records(RAW.with_name("tasks.jsonl"), Task)}
    for where, event in archive.read(RAW):
        list(interpret(event, round="v", where=where, tasks=tasks, kind="validation"))
    ran = commands.run("rounds", "status", "-c", "c")
    assert ran.code == 0, ran.err
    return None


def _owner(path: Path) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(local.SERVERS, "servers")
        address = local.own_address("x", "validation")
        return address, local.own_key("x", "validation")


FUNCTIONS: dict[str, Callable[[Path], object]] = {
    "labels-2.xlsx": lambda path: [
        as_json(row, "row") for _, row in list(read_rows(path, lambda text: None, columns_of))
    ],
    "text.toml": _texts,
    "training.csv": _training,
    "statement.toml": statement_file.read_statement,
    **dict.fromkeys(VECTORS, read_vectors),
    **dict.fromkeys(("group-labels.csv", "group-labels.jsonl"), _group_labels),
    "runs/*/*/run.json": lambda path: read_run(path.parent),
    "runs/*/*/bias.jsonl": _biases,
    "attest.toml": read_answers,
    "report.json": read_report,
    **dict.fromkeys(("counts.tsv.gz", "counts.tsv"), read_counts),
    **dict.fromkeys(REVIEWS, lambda path: read_reviews([path])),
    **dict.fromkeys(TEXTS, lambda path: read_corpus([path])),
    **dict.fromkeys(
        ("predictions.jsonl", "predictions.csv"),
        lambda path: scores_of(read_predictions(path), where=str(path)),
    ),
    **dict.fromkeys(CATSETS, _cats),
    "submission.json": lambda path: read_submission(read_file(path, str(path)), str(path)),
    "answer.json": facts,
    "answers/*.json": _saved,
    "echo.json": _echo,
    "classified.jsonl": lambda path: [high - low for low, _, high in read_cache(path).values()],
    "prompts.toml": read_prompts,
    "replies.jsonl": _replies,
    "page.json": _pulled,
    "pulled.json": lambda path: platform.read_seen(RAW, path),
    **dict.fromkeys(("servers/x/validators/owner.json", "servers/x/validators/address"), _owner),
}
"""Files below the arena, and what reads them."""
