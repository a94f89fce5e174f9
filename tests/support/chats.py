"""A chat endpoint on this machine: it answers questions as chat servers do, with their quirks.

``python tests/support/chats.py --answer prefers:kind`` runs it in a process of its own. The first
line of its output is its address. ``--help`` lists the options.
"""

import argparse
import asyncio
import json
import math
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.chat_answers import ANSWERS, DRESSES, FILTERED, Answer, Said, at_random, error
from support.completions import HALF, RESET, SLOW, Fault

MODEL = "chatty"
THOUGHT = "Both sentences are fine, so let me think about which of them people write more often."
_TOKEN = re.compile(r"\s*\w+|\s*[^\w\s]|\s+")


@dataclass
class Quirks:
    """How a server differs from the plainest one. All can be changed while it runs."""

    model: str = MODEL
    limits: Sequence[str] = ("max_tokens", "max_completion_tokens")  # parameters that it takes
    takes_temperature: bool = True
    tops: int = 20  # the most top_logprobs; 0: it refuses logprobs
    gives_tops: bool = True  # it may take logprobs and give none
    refusal: int = 400  # its status for a parameter that it does not take
    dress: str = "plain"  # see DRESSES
    thinks: str = ""  # «tags», «field», «reasoning», or nothing
    thought: str = THOUGHT
    shape: str = "plain"  # «no choices», «null», «no message», «parts», «reversed», «sse», «list»
    filters: str = ""  # a word of texts that its content filter refuses
    filter_form: str = "azure"  # «azure», «openai», «gemini», «reply»
    window: int = 100_000  # words of a question
    key: str = ""
    lists: bool = True  # GET /models
    chat: bool = True  # False: a server with /completions only
    rate: int = 0  # requests per second; beyond it 429 with Retry-After
    every: Mapping[int, Fault] = field(default_factory=dict)  # the fault of each k-th request
    pause: float = 0.0  # seconds before each reply
    fingerprint: str = "fp-1"


class Chats:
    """The endpoint; ``faults`` are sent first, one for each request.

    Attributes:
        bodies: the requests that were answered without a fault, in order.
        requests: how many came, with those that got a fault.
        most_at_once: the largest number of requests under way; set ``Quirks.pause`` to see more
            than one.
    """

    def __init__(self, answer: Answer, quirks: Quirks) -> None:
        self.answer, self.quirks = answer, quirks
        self.faults: list[Fault] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.requests = self.under_way = self.most_at_once = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[str]:
        """Every question that was answered, in order."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def respond(self, method: str, path: str, headers: dict[str, str], raw: bytes) -> Fault:
        """The response to a request."""
        quirks, path = self.quirks, path.partition("?")[0]
        allowed = not quirks.key or headers.get("authorization") == f"Bearer {quirks.key}"
        if method == "GET":
            if path != "/v1/models" or not quirks.lists:
                return Fault(404, '{"detail": "Not Found"}')
            listed = {"id": quirks.model, "owned_by": "nobody", "max_model_len": quirks.window}
            return _ok({"object": "list", "data": [listed]}) if allowed else _no_key(headers)
        self.requests += 1
        self.paths.append(path)
        self.headers.append(headers)
        self.times.append(time.monotonic())
        if fault := self._fault():
            return fault
        if path != ("/v1/chat/completions" if quirks.chat else "/v1/completions"):
            return Fault(404, '{"detail": "Not Found"}')
        if not allowed:
            return _no_key(headers)
        return self._reply(json.loads(raw))

    def _fault(self) -> Fault | None:
        if self.faults:
            return self.faults.pop(0)
        for number, fault in self.quirks.every.items():
            if self.requests % number == 0:
                return fault
        rate = self.quirks.rate
        if rate and len(self.times) > rate:
            rest = 1 - (self.times[-1] - self.times[-1 - rate])
            if rest > 0:
                self.times.pop()  # it does not count
                return Fault(429, "slow down", {"Retry-After": str(math.ceil(rest))})
        return None

    def _reply(self, body: dict[str, Any]) -> Fault:
        quirks, text = self.quirks, body["messages"][-1]["content"]
        if body["model"] != quirks.model:
            return error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
        if refused := self._refused(body):
            return error(
                quirks.refusal,
                f"Unsupported parameter: '{refused}' is not supported with this model.",
                "unsupported_parameter",
            )
        self.bodies.append(body)
        if (words := len(text.split())) > quirks.window:
            return error(
                400,
                f"This model's maximum context length is {quirks.window} tokens. However, your "
                f"messages resulted in {words} tokens.",
                "context_length_exceeded",
            )
        if quirks.filters and quirks.filters in text and quirks.filter_form != "reply":
            return FILTERED[quirks.filter_form]
        return self._shaped(self._content(body))

    def _refused(self, body: Mapping[str, Any]) -> str:
        quirks = self.quirks
        for name in ("max_tokens", "max_completion_tokens"):
            if name in body and name not in quirks.limits:
                return name
        if "temperature" in body and not quirks.takes_temperature:
            return "temperature"
        if ("logprobs" in body or "top_logprobs" in body) and not quirks.tops:
            return "logprobs"
        return "top_logprobs" if body.get("top_logprobs", 0) > quirks.tops else ""

    def _content(self, body: Mapping[str, Any]) -> dict[str, Any]:
        quirks, question = self.quirks, body["messages"][-1]["content"]
        said = self.answer(question)
        text = DRESSES[quirks.dress](said.text) if said.letters else said.text
        limit = body.get("max_completion_tokens", body.get("max_tokens", 1 << 30))
        thought = _TOKEN.findall(quirks.thought) if quirks.thinks else []
        if quirks.thinks == "tags":
            text = f"<think>\n{quirks.thought}\n</think>\n\n{text}"
            thought = []
        room = max(0, limit - len(thought))
        tokens = _TOKEN.findall(text)
        finish = "length" if len(tokens) > room else "stop"
        tokens = tokens[:room]
        message: dict[str, Any] = {"role": "assistant", "content": "".join(tokens)}
        if quirks.thinks in {"field", "reasoning"}:
            name = "reasoning_content" if quirks.thinks == "field" else "reasoning"
            message[name] = "".join(thought[:limit])
        if quirks.filters and quirks.filters in question:
            message["content"], tokens, finish = None, [], "content_filter"
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
        if body.get("logprobs") and quirks.gives_tops:
            content = [_logs(token, said, body.get("top_logprobs", 0)) for token in tokens]
            choice["logprobs"] = {"content": content}
        used = {
            "prompt_tokens": len(_TOKEN.findall(question)),
            "completion_tokens": len(tokens) + min(limit, len(thought)),
        }
        return {
            "id": f"chatcmpl-{len(self.bodies)}", "object": "chat.completion", "created": 0,
            "model": f"{quirks.model}-2026", "choices": [choice],
            "usage": {**used, "total_tokens": sum(used.values())},
            "system_fingerprint": quirks.fingerprint,
        }  # fmt: skip

    def _shaped(self, content: dict[str, Any]) -> Fault:
        shape, choice = self.quirks.shape, content["choices"][0]
        if shape == "no choices":
            content["choices"] = []
        elif shape == "null":
            choice["message"]["content"] = None
        elif shape == "no message":
            del choice["message"]
        elif shape == "parts":
            text = choice["message"]["content"]
            choice["message"]["content"] = [{"type": "text", "text": text}]
        elif shape == "reversed":
            content = _reversed(content)
        elif shape == "list":
            return Fault(200, json.dumps([content]))
        elif shape == "sse":
            delta = {**content, "choices": [{"index": 0, "delta": choice["message"]}]}
            return Fault(
                200, f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n",
                {"Content-Type": "text/event-stream"},
            )  # fmt: skip
        return _ok(content)


def _logs(token: str, said: Said, top: int) -> dict[str, Any]:
    letter = token.strip()
    chances = dict(said.letters) if letter in said.letters else {letter: 0.99}
    rest = {"The": 0.001, "Sentence": 0.0005, "**": 0.0002, "\n": 0.0001, "I": 0.00005}
    most = sorted((chances | rest).items(), key=lambda each: -each[1])[:top]

    def entry(text: str, p: float) -> dict[str, Any]:
        return {"token": text, "logprob": math.log(p) if p else -9999.0, "bytes": [*text.encode()]}

    space = token[: len(token) - len(letter)]
    return {
        **entry(token, chances.get(letter, 0.5)),
        "top_logprobs": [entry(space + text, p) for text, p in most],
    }


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(each) for each in value] if isinstance(value, list) else value


def _ok(content: Mapping[str, Any]) -> Fault:
    return Fault(200, json.dumps(content))


def _no_key(headers: Mapping[str, str]) -> Fault:
    sent = headers.get("authorization", "nothing")
    return error(401, f"Incorrect API key provided: {sent}.", "invalid_api_key")


# --- HTTP


class _Connection(asyncio.Protocol):
    def __init__(self, server: Chats) -> None:
        self.server, self.buffer = server, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        if not found:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        length = int(headers.get("content-length", 0))
        if len(rest) < length:
            return
        self.buffer = rest[length:]
        method, path, _ = first.split(" ", 2)
        server = self.server
        server.under_way += 1
        server.most_at_once = max(server.most_at_once, server.under_way)
        response = server.respond(method, path, headers, rest[:length])
        if server.quirks.pause:
            loop = asyncio.get_running_loop()
            loop.call_later(server.quirks.pause, self._send, response)
        else:
            self._send(response)

    def _send(self, response: Fault) -> None:
        self.server.under_way -= 1
        if response.status == RESET:
            linger = struct.pack("ii", 1, 0)  # close with a reset, not politely
            connection = self.transport.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.transport.abort()
        elif response.status == HALF:
            self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.transport.close()
        elif response.status != SLOW:  # to a slow request, nothing is sent
            data = response.body.encode("utf-8", "surrogatepass")
            headers = {"Content-Type": "application/json", **response.headers}
            head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
            self.transport.write(
                f"HTTP/1.1 {response.status} X\r\n{head}Content-Length: {len(data)}\r\n\r\n"
                .encode("latin-1") + data
            )  # fmt: skip


@contextmanager
def chatting(answer: Answer | None = None, quirks: Quirks | None = None) -> Iterator[Chats]:
    """The endpoint for as long as it is needed, in a thread of this process."""
    server = Chats(answer or at_random(0), quirks or Quirks())
    loop, ready = asyncio.new_event_loop(), threading.Event()

    def run() -> None:
        loop.run_until_complete(_serve(server, ready.set))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert ready.wait(10)
        yield server
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()


async def _serve(server: Chats, ready: Callable[[], object], port: int = 0) -> None:
    connections: list[_Connection] = []

    def connect() -> _Connection:
        connections.append(_Connection(server))
        return connections[-1]

    loop = asyncio.get_running_loop()
    listening = await loop.create_server(connect, "127.0.0.1", port)
    server.port = listening.sockets[0].getsockname()[1]
    ready()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        listening.close()
        for connection in connections:
            connection.transport.abort()


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--answer", default="random:0", help=f"one of {', '.join(ANSWERS)}")
    parser.add_argument(
        "--quirks",
        type=json.loads,
        default={},
        help='JSON: fields of Quirks; ‹every› as {"7": [429, "slow down", {}]}',
    )
    parser.add_argument("--log", type=Path, help="the texts of questions go there, JSON lines")
    args = parser.parse_args()
    name, _, rest = args.answer.partition(":")
    every = {int(k): Fault(*fault) for k, fault in args.quirks.pop("every", {}).items()}
    quirks = Quirks(**args.quirks, every=every)
    server = Chats(ANSWERS[name](*filter(None, rest.split(":"))), quirks)
    if args.log:
        log, answer = args.log.open("a", encoding="utf-8"), server.answer

        def logged(text: str) -> Said:
            log.write(json.dumps(text) + "\n")
            log.flush()
            return answer(text)

        server.answer = logged
    asyncio.run(_serve(server, lambda: print(server.url, flush=True), args.port))


if __name__ == "__main__":
    main()
