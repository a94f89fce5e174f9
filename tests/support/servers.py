"""An HTTP server on this machine: what the completions and chat endpoints of the tests share."""

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

# These stand in for a status: no answer in time; the connection is torn, before or in the answer;
# an answer of blanks, one by one.
SLOW, RESET, HALF, TRICKLE = 1, 2, 3, 4


class Fault(NamedTuple):
    """A response: what a server sends once instead of an answer, or any answer."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = {}


def ok(content: Any) -> Fault:
    """A response with this content."""
    return Fault(200, json.dumps(content))


def error(status: int, message: str, code: str = "odd") -> Fault:
    """A response with an error as OpenAI writes it."""
    told = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Fault(status, json.dumps({"error": told}))


class Server:
    """An endpoint; ``faults`` are sent first, one for each request.

    Attributes:
        path: of the requests that it answers.
        quirks: how it differs from the plainest server; they can be changed while it runs.
        listed: what GET /models says of its model; None: there is no such list.
        bodies: the requests that were answered without a fault, in order.
        requests: how many came, with those that got a fault.
        most_at_once: the largest number of requests under way; set ``quirks.pause`` to see more
            than one.
    """

    path = ""
    listed: Any = None

    def __init__(self, quirks: Any) -> None:
        self.quirks = quirks
        self.faults: list[Fault] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.requests = self.under_way = self.most_at_once = self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def answer_to(self, body: dict[str, Any]) -> Fault:
        """The response to a request that came to the right path with the right key."""
        raise NotImplementedError

    def respond(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Fault:
        """The response to any request."""
        place, key = path.partition("?")[0], headers.get("authorization", "nothing")
        if method == "GET":
            found = place == "/v1/models" and self.listed
        else:
            self.requests += 1
            self.paths.append(path)
            self.headers.append(headers)
            if fault := self.fault():
                return fault
            found = place == self.path
        if not found:
            return Fault(404, '{"detail": "Not Found"}')
        if self.quirks.key and key != f"Bearer {self.quirks.key}":
            return error(401, f"Incorrect API key provided: {key}.", "invalid_api_key")
        if method == "GET":
            return ok({"data": [{**self.listed, "created": time.time()}]})
        return self.answer_to(json.loads(raw))

    def fault(self) -> Fault | None:
        """What is sent instead of the next answer."""
        return self.faults.pop(0) if self.faults else None


class _Connection(asyncio.Protocol):
    def __init__(self, server: Server) -> None:
        self.server, self.buffer = server, b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        if not self.buffer[:1].isalpha():  # no HTTP: somebody wants to encrypt
            self.transport.write(b"HTTP/1.1 400 X\r\n\r\n")
            self.transport.close()
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", 0)) if found else 0
        if not found or len(rest) < length:
            return
        self.buffer = rest[length:]
        method, path, _ = first.split(" ", 2)
        server = self.server
        server.under_way += 1
        server.most_at_once = max(server.most_at_once, server.under_way)
        response = server.respond(method, path, headers, rest[:length])
        asyncio.get_running_loop().call_later(server.quirks.pause, self._send, response)

    def _send(self, response: Fault) -> None:
        self.server.under_way -= 1
        if response.status == RESET:
            linger = struct.pack("ii", 1, 0)  # close with a reset, not politely
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
        elif response.status in (HALF, TRICKLE):
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            self._trickle(1 if response.status == HALF else 200)
        elif response.status != SLOW:  # to a slow request, nothing is sent
            data = response.body.encode("utf-8", "surrogatepass")
            headers = {"Content-Type": "application/json", "Content-Length": len(data)}
            headers |= response.headers
            lines = [f"{name}: {value}" for name, value in headers.items()]
            head = "\r\n".join([f"HTTP/1.1 {response.status} X", *lines, "\r\n"])
            self.transport.write(head.encode("latin-1") + data)

    def _trickle(self, blanks: int) -> None:
        self.transport.write(b" ")
        if blanks == 1:
            self.transport.close()
        else:
            asyncio.get_running_loop().call_later(0.02, self._trickle, blanks - 1)


@contextmanager
def running(server: Any) -> Iterator[Any]:
    """The server for as long as it is needed, in a thread of this process."""
    loop, ready = asyncio.new_event_loop(), threading.Event()

    def run() -> None:
        loop.run_until_complete(serve(server, ready.set))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()


async def serve(server: Server, ready: Callable[[], object]) -> None:
    """Serve until the task is cancelled; ``ready`` is called when the port is known."""
    connections: list[_Connection] = []

    def connect() -> _Connection:
        connections.append(_Connection(server))
        return connections[-1]

    listening = await asyncio.get_running_loop().create_server(connect, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    ready()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        listening.close()
        for connection in connections:
            connection.transport.abort()
