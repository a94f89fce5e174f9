"""A completions endpoint on this machine: a tiny GPT-2 behind HTTP, answering as servers do."""

import json
import math
import socket
import struct
import threading
import time
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

BOS = "<|endoftext|>"
MADE_UP = [
    "The baker bakes bread in the morning and sells it at noon.",
    "Our neighbour from Lummerland sings a song about the sea.",
    "A cat sat on the mat. Rain fell on the roof of the old mill.",
    "She is kind, he is quiet, they are late for the train again.",
    "The gardener waters the roses 🙂 and the roses 🙂 grow 🙂 well.",
    "Café, crème brûlée: a small café is open, the café is closed.",
]

# These stand in for a status: no answer in time; the connection is torn, before or in the answer.
SLOW, RESET, HALF = 1, 2, 3


class Tiny(NamedTuple):
    """A language model with random weights and its tokenizer."""

    model: Any
    tokenizer: Any

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def logs(self, ids: Sequence[int], *, bf16: bool = False) -> list[float | None]:
        """The log-probability of each token but the first, given those before it.

        With ``bf16``, logits are about 40 and are rounded to steps of 1/4 after a random error of
        up to half a step, as if each batch summed in another order.
        """
        import torch

        with torch.inference_mode():
            logits = self.model(torch.tensor([list(ids)])).logits[0].double()
            if bf16:
                logits = (logits + 40 + torch.rand_like(logits) / 4 - 0.125).bfloat16().double()
        table = torch.log_softmax(logits, -1)
        return [None, *(table[n, token].item() for n, token in enumerate(ids[1:]))]

    def raw(self, token: int) -> bytes:
        from transformers.convert_slow_tokenizer import bytes_to_unicode

        letters = {char: byte for byte, char in bytes_to_unicode().items()}
        piece = self.tokenizer.convert_ids_to_tokens(token)
        return piece.encode() if piece == BOS else bytes(letters[char] for char in piece)


def tiny(window: int = 96) -> Tiny:
    """A GPT-2 of two layers with a byte-level tokenizer, trained on made-up text."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE())
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=420, special_tokens=[BOS], initial_alphabet=alphabet, show_progress=False
    )
    plain.train_from_iterator(MADE_UP * 3, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, bos_token=BOS, eos_token=BOS)
    torch.manual_seed(7)
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=window, n_embd=32, n_layer=2, n_head=2,
        initializer_range=0.4, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return Tiny(GPT2LMHeadModel(config).eval(), tokenizer)


class Fault(NamedTuple):
    """What a server sends once instead of an answer."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = {}


def _poison(value: Any) -> Any:
    return value if isinstance(value, int) else float(value)


@dataclass
class Quirks:
    """How a server differs from the plainest one."""

    takes_zero: bool = True  # max_tokens = 0
    takes_tops: bool = True  # logprobs > 0
    takes_lists: bool = True  # of prompts
    one_choice: bool = False  # for a list, it answers about its first prompt only
    backwards: bool = False  # choices come in another order
    zero_is_many: bool = False  # max_tokens = 0 is no bound
    refusal: int = 400
    own_bos: str = ""  # BOS stands before each text: «shown», as «nothing», «unsaid», or «hidden»
    writes: str = "vllm"  # how it writes tokens: see ``written``
    offsets: str = "written"  # «written», «true», «none», «minus»
    gives: str = "all"  # «all», «null», «zeros», «generated», «nothing»
    poisoned: Mapping[str, Any] = field(default_factory=dict)  # value by token
    window: int = 96
    key: str = ""
    composes: bool = False  # NFC before it reads
    usage: bool = True
    bf16: bool = False  # log-probabilities differ a little each time
    caches: bool = False  # blocks of 16 tokens that were read before; their values are stale


class Completions(ThreadingHTTPServer):
    """The endpoint; ``faults`` are sent first, one a request."""

    daemon_threads = False  # none may be left in torch when the process ends

    def __init__(self, tiny: Tiny, quirks: Quirks) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tiny, self.quirks = tiny, quirks
        self.faults: list[Fault] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.paths: list[str] = []
        self.under_way = self.most_at_once = 0
        self.pause = 0.0  # seconds before each answer
        self.connections: list[socket.socket] = []
        self.lock, self.torch = threading.Lock(), threading.Lock()
        self.cached = set[tuple[int, ...]]()
        self.stale: list[float | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def prompts(self) -> list[str]:
        """Every text that it was sent, in order."""
        sent = [body["prompt"] for body in self.bodies]
        return [one for many in sent for one in ([many] if isinstance(many, str) else many)]

    def answer(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        how, prompts = self.quirks, body["prompt"]
        if body["model"] != "tiny":
            return 404, _error(f"The model `{body['model']}` does not exist.", "NotFoundError")
        if isinstance(prompts, list) and not how.takes_lists:
            return how.refusal, _error("prompt must be a string")
        if body["max_tokens"] == 0 and not how.takes_zero:
            return how.refusal, _error("max_tokens must be at least 1, got 0.")
        if body["logprobs"] > 0 and not how.takes_tops:
            return how.refusal, _error("logprobs must be 0")
        assert body["echo"] is True
        assert body["temperature"] == 0
        many = [prompts] if isinstance(prompts, str) else prompts
        most = 7 if how.zero_is_many and body["max_tokens"] == 0 else body["max_tokens"]
        for prompt in many:
            size = len(self._read(prompt)) + most
            if size > how.window:
                return 400, _error(
                    f"This model's maximum context length is {how.window} tokens. However, you "
                    f"requested {size} tokens.",
                )
        choices = [self._choice(n, prompt, most) for n, prompt in enumerate(many)]
        if how.one_choice:
            choices = choices[:1]
        if how.backwards:
            choices.reverse()
        done: dict[str, Any] = {"object": "text_completion", "choices": choices}
        if how.usage:
            done["usage"] = {"completion_tokens": most * len(many)}
        return 200, {**done, "system_fingerprint": "tiny-1"}

    def _read(self, prompt: str) -> list[int]:
        text = unicodedata.normalize("NFC", prompt) if self.quirks.composes else prompt
        return ([0] if self.quirks.own_bos else []) + self.tiny.ids(text)

    def _choice(self, index: int, prompt: str, most: int) -> dict[str, Any]:
        how, ids = self.quirks, self._read(prompt)
        given = len(ids)
        for _ in range(most):
            ids.append((ids[-1] + 5) % 300 + 1)  # some token or other: nobody asks which
        with self.torch:
            logs = self.tiny.logs(ids, bf16=how.bf16)
            if how.caches:
                logs = self._with_stale(ids, logs)
        tokens = written(self.tiny, ids, how.writes)
        logs = [
            _poison(how.poisoned[token]) if token in how.poisoned else log
            for token, log in zip(tokens, logs, strict=True)
        ]
        if how.gives == "null":
            logs[:given] = [None] * given
        elif how.gives == "zeros":
            logs = [0.0] * len(ids)
        elif how.gives == "generated":
            tokens, logs = tokens[given:], logs[given:]
        if how.own_bos == "hidden":  # as llama-cpp-python does: every BOS, and the first token's
            shown = [n for n, token in enumerate(ids) if token != 0]
            tokens, logs = [tokens[n] for n in shown], [None, *(logs[n] for n in shown[1:])]
        elif how.own_bos == "unsaid":
            tokens, logs = tokens[1:], logs[1:]
        elif how.own_bos == "nothing":
            tokens[0] = ""
        found: dict[str, Any] = {"tokens": tokens, "token_logprobs": logs}
        if how.offsets == "written":
            sizes = [0, *map(len, tokens)]
            found["text_offset"] = [sum(sizes[: n + 1]) for n in range(len(tokens))]
        elif how.offsets == "minus":
            found["text_offset"] = [-1] * len(tokens)
        elif how.offsets == "true":
            parts = [len(self.tiny.tokenizer.decode(ids[:n])) for n in range(len(tokens))]
            found["text_offset"] = parts
        return {"index": index, "logprobs": None if how.gives == "nothing" else found}

    def _with_stale(self, ids: list[int], logs: list[float | None]) -> list[float | None]:
        """Values of the text before, up to the end of the last block that was read before."""
        ends = range(16, len(ids), 16)
        end = max((end for end in ends if tuple(ids[:end]) in self.cached), default=0)
        self.cached |= {tuple(ids[:end]) for end in ends}
        before, self.stale = self.stale, logs
        return [*before[:end], *logs[min(end, len(before)) :]]


def written(tiny: Tiny, ids: Sequence[int], how: str) -> list[str]:
    """Tokens as servers write them.

    «vllm» and OpenAI's «bytes» differ in parts of characters; «late» has these at the token that
    completes the character, «gone» nowhere; «bare» loses spaces in front; «raw» and «▁» show the
    vocabulary's pieces; «shouts» changes the text; «ids» writes no text at all.
    """
    plain = [tiny.raw(token).decode("utf-8", "replace") for token in ids]
    if how == "bytes":
        return [_escaped(tiny.raw(token)) for token in ids]
    if how == "gone":
        return ["" if "\ufffd" in text else text for text in plain]
    if how == "late":
        done, waiting = [], b""
        for token in ids:
            waiting += tiny.raw(token)
            try:
                done.append(waiting.decode())
                waiting = b""
            except UnicodeDecodeError:
                done.append("")
        return done
    if how == "raw":
        return list(map(str, tiny.tokenizer.convert_ids_to_tokens(list(ids))))
    changes = {
        "bare": lambda text: text.removeprefix(" "),
        "▁": lambda text: text.replace(" ", "▁"),
        "shouts": str.upper,
    }
    if how == "ids":
        return [f"token_id:{token}" for token in ids]
    return [changes.get(how, str)(text) for text in plain]


def _escaped(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(chr(b) if b < 0x80 else f"\\x{b:02x}" for b in raw)


def _error(message: str, kind: str = "BadRequestError") -> dict[str, Any]:
    return {"error": {"message": message, "type": kind}}


@contextmanager
def serving(tiny: Tiny, quirks: Quirks | None = None) -> Iterator[Completions]:
    """The endpoint for as long as it is needed."""
    server = Completions(tiny, quirks or Quirks())
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        for connection in server.connections:
            with suppress(OSError):  # many are closed already
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # keeps the connection, as the real ones do
    wbufsize = -1  # head and body in one packet: quicker
    server: Completions

    def setup(self) -> None:
        super().setup()
        with self.server.lock:
            self.server.connections.append(self.connection)

    def handle(self) -> None:
        with suppress(OSError):  # the other side may have left
            super().handle()

    def do_GET(self) -> None:
        told = [{"id": "tiny", "owned_by": "vllm", "max_model_len": 96, "created": time.time()}]
        found = self.path.partition("?")[0] == "/v1/models" and self._allowed()
        self._send(200 if found else 404, json.dumps({"data": told}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        server = self.server
        with server.lock:
            server.under_way += 1
            server.most_at_once = max(server.most_at_once, server.under_way)
            server.paths.append(self.path)
            server.headers.append(dict(self.headers))
            fault = server.faults.pop(0) if server.faults else None
            if not fault:
                server.bodies.append(body)
        with suppress(OSError):  # the other side may have left
            try:
                time.sleep(server.pause)
                if fault:
                    self._fail(fault)
                elif self.path.partition("?")[0] != "/v1/completions":
                    self._send(404, json.dumps({"detail": "Not Found"}))
                elif not self._allowed():
                    said = f"Incorrect API key provided: {self.headers.get('Authorization')}."
                    self._send(401, json.dumps(_error(said)))
                else:
                    status, answer = server.answer(body)
                    self._send(status, json.dumps(answer))
            finally:
                with server.lock:
                    server.under_way -= 1

    def _allowed(self) -> bool:
        key = self.server.quirks.key
        return not key or self.headers.get("Authorization") == f"Bearer {key}"

    def _fail(self, fault: Fault) -> None:
        if fault.status == SLOW:
            time.sleep(0.6)
        if fault.status == HALF:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            self.close_connection = True
        elif fault.status in {SLOW, RESET}:
            self.close_connection = True
            linger = struct.pack("ii", 1, 0)  # close with a reset, not politely
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
        else:
            self._send(fault.status, fault.body, fault.headers)

    def _send(self, status: int, body: str, headers: Mapping[str, str] | None = None) -> None:
        data = body.encode("utf-8", "surrogatepass")
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        pass


def plainly(tiny: Tiny, before: Iterable[int], token: int) -> float:
    """log p(token | before), by one run of the model on just that."""
    import torch

    with torch.inference_mode():
        logits = tiny.model(torch.tensor([list(before)])).logits[0, -1].double()
    chances = torch.exp(logits - logits.max())
    return math.log(chances[token].item() / chances.sum().item())
