"""Damaged files of every kind that is read: no traceback, no hang, no flood of memory.

Every input is made by a seed from a valid file of a small campaign. ``--fuzz N`` sets the number of
inputs in all; a failure names the file that shows it.
"""

import json
import os
import re
import resource
import shutil
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from threading import Thread
from types import FrameType
from typing import Any, NamedTuple

import pytest

from curation.files import LONGEST, CurationError, read_json
from curation.measures.counting import read_counts
from curation.models.endpoint.echoes import read_echoes
from curation.models.train.corpus import read_corpus
from curation.models.train.reviews import read_reviews
from curation.records import Event
from curation.terms.facts import FactRequest
from curation.terms.query import query
from curation.terms.wikidata import Service
from support import arena, commands
from support.mutate import PLACE, mutate

SECONDS = 5  # an input hangs if it computes for longer,
WAIT = 60  # or if it waits for longer
MEMORY = 1 << 30  # bytes that reading an input may take
OFTEN = 3  # functions get more inputs than commands: they are quick

ROUND = ("status", "rounds status", "rounds export v --to out")
FOLD = ("status", "decisions split")
COMMANDS: dict[str, Sequence[str]] = {
    "c/campaign.toml": ("status",),
    "c/1-terms/jobs.txt": ("terms select", "status"),
    "c/1-terms/hobbies.csv": ("terms select", "status"),
    "c/1-terms/edits.csv": ("terms select", "status"),
    "c/1-terms/targets.jsonl": ("terms explain baker", "status"),
    "c/1-terms/manifest.json": ("terms select", "status"),
    "c/2-rounds/text.toml": ("rounds open validation --name v2 --platform files",),
    "c/2-rounds/*/round.json": ROUND,
    "c/2-rounds/*/tasks.jsonl": ROUND,
    "c/2-rounds/*/asked.json": (*ROUND, "rounds top-up v"),
    "c/2-rounds/*/texts.json": ROUND,
    "c/2-rounds/*/answers.jsonl": ROUND,
    "c/2-rounds/*/items.jsonl": FOLD,
    "c/2-rounds/*/labels.jsonl": FOLD,
    "c/2-rounds/*/flags.jsonl": ("rounds status v",),
    "c/2-rounds/standing.jsonl": ("rounds status", "rounds exclude emma --reason x"),
    "c/2-rounds/people.jsonl": ("status", "rounds status"),
    "c/2-rounds/manifest.json": ("status", "rounds status"),
    "c/2-rounds/*/raw/*.jsonl": ("status", "rounds status"),
    "c/3-decisions/decisions.jsonl": ("status", "decisions agreement"),
    "c/3-decisions/cats.jsonl": ("measures statistics", "scores compare"),
    "c/3-decisions/agreement.json": ("scores compare", "decisions agreement"),
    "c/3-decisions/split.json": ("status", "decisions split"),
    "c/3-decisions/manifest.json": ("status",),
    "c/4-measures/pitfalls.jsonl": ("measures pitfalls", "release build"),
    "c/4-measures/manifest.json": ("status",),
    "c/5-scores/tiny/default/run.json": ("scores compare", "status"),
    "c/5-scores/tiny/default/scores.jsonl": ("scores compare",),
    "c/7-release/manifest.json": ("status", "release build"),
    "labels.csv": ("rounds import v {}", "status"),
    "labels.jsonl": ("rounds import v {}", "status"),
    "reviews.csv": ("rounds import r {}", "status", "rounds close r"),
    "writers.csv": ("import answers {}", "status"),
    "validators.csv": ("import answers {}", "status"),
    "published.json": ("import stereoset {}", "status"),
    "people.txt": ("rounds export r --to out --people {}",),
    "dump.json": ("terms scan {}",),
    "gold.json": ("scores predictions --gold {} --predictions predictions.json",),
    "predictions.json": (
        "scores predictions --gold gold.json --predictions {}",
        "scores compare --gold gold.json --predictions x={}",
    ),
}
"""Files below the arena, and the commands that read them."""
UNLOCKED = ("labels", "writers", "validators", "published", "reviews.csv")
"""Files of answers: whatever is in them, later commands must work."""


def _reviews(path: Path) -> object:
    return read_reviews([path])


def _corpus(path: Path) -> object:
    return read_corpus([path])


class _Replying(ThreadingHTTPServer):
    """A server that answers every request with the same bytes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Reply)
        self.content = content


class _Reply(BaseHTTPRequestHandler):
    server: _Replying

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


@contextmanager
def _served(path: Path) -> Iterator[str]:
    """The address of a server that says what is in a file."""
    with _Replying(path.read_bytes()) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _facts(path: Path) -> object:
    asks = [FactRequest("religion", ("P140",))]
    with _served(path) as url:
        how: dict[str, Any] = {"contact": "a@example.invalid", "pause": lambda seconds: None}
        with Service(url, cache=path.with_name("cache"), **how) as service:
            return query(service, asks, languages=["en"], own=["en"])


def _echo(path: Path) -> object:
    answer = read_json(path)
    if not isinstance(answer, dict):
        return None  # the connection refuses it
    echoes = read_echoes(answer, count=1, max_tokens=1) or []
    return [echo.spans("The cat sat", 0) for echo in echoes]


FUNCTIONS: dict[str, Callable[[Path], object]] = {
    "counts.tsv.gz": read_counts,
    "counts.tsv": read_counts,
    "reviews.jsonl": _reviews,
    "reviews-2.csv": _reviews,
    "articles.txt": _corpus,
    "articles.jsonl": _corpus,
    "answer.json": _facts,
    "echo.json": _echo,
}


class Flaw(NamedTuple):
    """What is wrong with how an input was treated."""

    input: str
    what: str


@pytest.fixture(scope="module")
def ring(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The arena. Copy it before changing anything."""
    return arena.build(forked, tmp_path_factory.mktemp("arena"))


@pytest.fixture(scope="module")
def each(request: pytest.FixtureRequest) -> int:
    """The number of inputs for each command."""
    total: int = request.config.getoption("--fuzz")
    return -(-total // (len(COMMANDS) + OFTEN * len(FUNCTIONS)))


@pytest.mark.parametrize("name", [*COMMANDS, *FUNCTIONS])
def test_a_damaged_file_is_refused_or_read(
    ring: Path, each: int, tmp_path: Path, name: str
) -> None:
    each *= OFTEN if name in FUNCTIONS else 1
    flaws = _in_a_child(lambda tell: _try_all(ring, name, each, tmp_path, tell), each)
    assert not flaws, "\n\n".join(f"{flaw.input}\n{flaw.what}" for flaw in flaws[:10])


def _in_a_child(work: Callable[[Callable[[Flaw], None]], None], each: int) -> list[Flaw]:
    """Do work in a fork that has little memory, and is killed if it hangs."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            limit = int(Path("/proc/self/statm").read_text().split()[0]) * 4096 + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            with os.fdopen(writer, "w") as out:
                work(lambda flaw: print(json.dumps(flaw), file=out, flush=True))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    signal.signal(signal.SIGALRM, _stop(child))
    signal.alarm(WAIT + each * SECONDS)
    with os.fdopen(reader) as lines:
        flaws = [Flaw(*json.loads(line)) for line in lines]
    signal.alarm(0)
    _, status = os.waitpid(child, 0)
    if status and not flaws:
        flaws.append(Flaw("", f"the process ended with {os.waitstatus_to_exitcode(status)}"))
    return flaws


def _stop(child: int) -> Callable[[int, FrameType | None], None]:
    return lambda *_: os.kill(child, signal.SIGKILL)


class HangError(BaseException):
    """An input took too long; not an Exception, so that nothing handles it."""


def _hang(*_: object) -> None:
    raise HangError


def _try_all(
    ring: Path, name: str, each: int, tmp_path: Path, tell: Callable[[Flaw], None]
) -> None:
    for end in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(end, _hang)
    for number in range(each):
        random = Random(f"{name} {number}")
        copy = tmp_path / f"{number}"
        if name in COMMANDS:
            shutil.copytree(ring, copy)
        else:
            copy.mkdir()
            shutil.copyfile(ring / name, copy / name)
        os.chdir(copy)
        path = random.choice(sorted(Path().glob(name)))
        before = path.read_bytes()
        after = mutate(random, before, name)
        path.write_bytes(after)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        try:
            flaw = _read(name, path, before, after)
        except HangError:
            flaw = f"more than {SECONDS} s:\n{traceback.format_exc()[-3000:]}"
        except Exception:
            flaw = traceback.format_exc()[-3000:]
        for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
            signal.setitimer(timer, 0)
        os.chdir(tmp_path)
        if flaw:
            tell(Flaw(str(copy / path), flaw))
        else:
            shutil.rmtree(copy)


def _read(name: str, path: Path, before: bytes, after: bytes) -> str:
    """What is wrong with how a file is read; empty if nothing."""
    if name in FUNCTIONS:
        try:
            FUNCTIONS[name](path)
        except CurationError as error:
            return _unclear(path, error.what, error.fix)
        return ""
    if "/raw/" in name:
        Path("c/2-rounds/manifest.json").unlink()
    for number, command in enumerate(COMMANDS[name]):
        words = [word.replace("{}", str(path)) for word in command.split()]
        own = [] if command.startswith("scores predictions") or "--gold" in words else ["-c", "c"]
        ran = commands.run(*words, *own)
        if flaw := _flawed(path, ran):
            return f"$ curation {' '.join(words)}\n{flaw}"
        locked = ran.code and (name.startswith(UNLOCKED) and number)
        locked = locked or (ran.code and "/raw/" in name and _are_events(after))
        if locked:
            return f"$ curation {' '.join(words)}\nfails from now on: {ran.err}"
    return ""


def _flawed(path: Path, ran: commands.Ran) -> str:
    if "Traceback" in ran.err or ran.code not in (0, 1):
        return f"exit code {ran.code}: {ran.err[-3000:]}"
    if ran.code == 0:
        return ""
    match = re.search(r"^error: (.*?)(?:\nfix: +(.*))?\Z", ran.err, re.DOTALL | re.MULTILINE)
    return _unclear(path, match[1], match[2] or "") if match else f"no error: {ran.err!r}"


def _unclear(path: Path, text: str, fix: str) -> str:
    """What a refusal lacks: the file, a place in it, a fix."""
    if fix and (STATE.search(text) or SERVICE.search(text)):
        return ""
    flat = "".join(text.split())
    lacks = []
    if path.name not in flat:
        lacks.append("the file")
    if not PLACE.search(text) and not WHOLE.search(text):
        lacks.append("the place")
    if not fix:
        lacks.append("a fix")
    if len(text) > LONGEST + 100:
        lacks.append("an end")
    return f"lacks {' and '.join(lacks)}: {text[:500]!r}, fix: {fix[:200]!r}" if lacks else ""


WHOLE = re.compile(
    r"is empty|ends in the middle|cut off|UTF-16|at end of document|another version|"
    r"no such file|not a StereoSet file|not predictions|not a table of|not a JSON object|"
    r"no (column|header|words|prediction|answers)|has (no|none)|(for|of) id \S|is not a list|"
    r"there is no|contains no items"
)
"""How a refusal says that it concerns the whole file, or a record by its id."""
SERVICE = re.compile(r"^(http://)?127\.0\.0\.1:\d+")
"""How a refusal names a service whose answer cannot be read."""
STATE = re.compile(r"too few people|waits for no answer|(item|term) has its|different reviews? of")
"""Refusals that are not about a file: what was read does not suffice for the command."""


def _are_events(data: bytes) -> bool:
    """Whether each line is an event, and none is there twice."""
    try:
        ids = [Event.model_validate_json(line).id for line in data.splitlines() if line.strip()]
    except ValueError:
        return False
    return len(set(ids)) == len(ids)
