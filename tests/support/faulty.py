"""Query services for tests: a real engine on this machine, and one that fails by script."""

import json
import re
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlencode

JSON = "application/sparql-results+json"
TRACE = (
    "java.util.concurrent.TimeoutException: Query deadline is expired.\n"
    "\tat com.bigdata.bop.engine.RunState.checkDeadline(RunState.java:1002)\n"
)


class Answer(NamedTuple):
    """What a service sends: a status below 100 means no answer at all."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = {}


class Seen(NamedTuple):
    """One request as it came."""

    method: str
    headers: Mapping[str, str]
    form: Mapping[str, list[str]]
    at_once: int  # how many requests were under way, this one included

    @property
    def query(self) -> str:
        return self.form["query"][0]

    @property
    def items(self) -> list[str]:
        """The items it asks about, each once."""
        values = re.search(r"VALUES \?o \{ (.*?) \}", self.query)
        return values[1].replace("wd:", "").split() if values else []


Fault = Callable[[Seen], Answer | None]  # None: no fault this time

# These replace a status: no answer in time; the connection is torn, before or in the answer.
SLOW, RESET, HALF = 1, 2, 3


def always(answer: Answer) -> Fault:
    return lambda _: answer


def rows(*found: Mapping[str, str]) -> Answer:
    """A good answer; each value is an item's id, or a number."""

    def cell(value: str) -> dict[str, str]:
        if value[0] == "Q":
            return {"type": "uri", "value": f"http://www.wikidata.org/entity/{value}"}
        return {"type": "literal", "value": value}

    cells = [{name: cell(value) for name, value in row.items()} for row in found]
    return Answer(body=json.dumps({"head": {}, "results": {"bindings": cells}}))


GOOD = always(rows({"o": "Q1", "n": "7"}))
CUT = always(Answer(body='{"head": {"vars": ["o"]}, "results": {"bindings": [ {\n' + TRACE))
FAILED = always(Answer(500, "SPARQL-QUERY: queryStr=SELECT …\n" + TRACE))
PAGE = always(Answer(body="<!DOCTYPE html>\n<title>Log in to CoffeeNet</title>"))


def heavier_than(most: int, kind: str = "") -> Fault:
    """Times out on queries of a kind that are about more items than that."""

    def fault(seen: Seen) -> Answer | None:
        return Answer(500, TRACE) if len(seen.items) > most and kind in seen.query else None

    return fault


class Faulty(ThreadingHTTPServer):
    """Answers by its script first, one fault a request, then as ``then`` or the engine says."""

    daemon_threads = True

    def __init__(self, script: Iterable[Fault], then: Fault | None, engine: str | None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = iter(script)
        self.then = then
        self.engine = engine
        self.seen: list[Seen] = []
        self.under_way = 0
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/sparql"

    def answer(self, seen: Seen) -> Answer:
        with self.lock:
            fault = next(self.script, self.then)
        found = fault(seen) if fault else None
        return found or (forward(self.engine, seen.query) if self.engine else rows())


@contextmanager
def faulty(
    *script: Fault, then: Fault | None = None, engine: str | None = None
) -> Iterator[Faulty]:
    """A scripted service for as long as it is needed."""
    server = Faulty(script, then, engine)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection, as the real ones do
    wbufsize = -1  # head and body in one packet: quicker
    server: Faulty

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        with self.server.lock:
            self.server.under_way += 1
            seen = Seen(self.command, self.headers, parse_qs(body), self.server.under_way)
            self.server.seen.append(seen)
        try:
            answer = self.server.answer(seen)
        finally:
            with self.server.lock:
                self.server.under_way -= 1
        with suppress(OSError):  # the other side may have left
            self._send(answer)

    do_GET = do_POST  # noqa: N815

    def _send(self, answer: Answer) -> None:
        if answer.status == SLOW:
            time.sleep(1)
        if answer.status == HALF:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.close_connection = True
            return
        if answer.status in {SLOW, RESET}:
            self.close_connection = True
            linger = struct.pack("ii", 1, 0)  # close with a reset, not politely
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.shutdown(socket.SHUT_RD)
            self.connection.close()
            return
        data = answer.body.encode()
        kind = JSON if data.startswith(b"{") else "text/html"
        self.send_response(answer.status)
        about = {"Content-Type": kind, "Content-Length": str(len(data)), **answer.headers}
        for name, value in about.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def forward(engine: str, query: str) -> Answer:
    """What the engine says."""
    data = urlencode({"query": query}).encode()
    request = urllib.request.Request(engine, data, {"Accept": JSON})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Answer(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        return Answer(error.code, error.read().decode())


@contextmanager
def oxigraph(data: Path, folder: Path) -> Iterator[str]:
    """A real SPARQL engine with some data, and its address; it is stopped in the end."""
    beside = Path(sys.executable).with_name("oxigraph")
    binary = str(beside) if beside.exists() else shutil.which("oxigraph")
    assert binary, "no program oxigraph: pip install '.[test]'"
    store = ["--location", str(folder / "store")]
    subprocess.run([binary, "load", *store, "--file", str(data)], check=True, capture_output=True)
    for _ in range(5):  # another may take the port first
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        serve = [binary, "serve-read-only", *store, "--bind", f"127.0.0.1:{port}"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(serve, **quiet)
        try:
            while process.poll() is None:
                with suppress(OSError):
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                time.sleep(0.02)
            if process.poll() is None:
                yield f"http://127.0.0.1:{port}/query"
                return
        finally:
            process.terminate()
            process.wait()
    raise AssertionError("oxigraph did not start")
