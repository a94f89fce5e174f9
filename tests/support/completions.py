"""A completions endpoint on this machine: a tiny GPT-2 behind HTTP, answering as servers do."""

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from support.servers import Fault, Server, error, ok, running

BOS = "<|endoftext|>"
MADE_UP = (
    "The baker bakes bread in the morning and sells it at noon.",
    "Our neighbour from Lummerland sings a song about the sea.",
    "A cat sat on the mat. Rain fell on the roof of the old mill.",
    "She is kind, he is quiet, they are late for the train again.",
    "The gardener waters the roses 🙂 and the roses 🙂 grow 🙂 well.",
    "Café, crème brûlée: a small café is open, the café is closed.",
)


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


@cache
def tiny() -> Tiny:
    """A GPT-2 of two layers with a byte-level tokenizer, trained on made-up text."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, GPT2Tokenizer

    from support.models import byte_bpe

    tokenizer = GPT2Tokenizer(**byte_bpe(BOS, texts=MADE_UP * 3))
    torch.manual_seed(7)
    size = {"n_positions": 96, "n_embd": 32, "n_layer": 2, "n_head": 2}
    config = GPT2Config(vocab_size=len(tokenizer), initializer_range=0.4, **size)
    return Tiny(GPT2LMHeadModel(config).eval(), tokenizer)


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
    changes: Callable[[str, dict[str, Any]], object] = lambda prompt, found: None  # of an answer
    window: int = 96
    key: str = ""
    composes: bool = False  # NFC before it reads
    usage: bool = True
    bf16: bool = False  # log-probabilities differ a little each time
    caches: bool = False  # blocks of 16 tokens that were read before; their values are stale
    pause: float = 0.0  # seconds before each answer


class Completions(Server):
    """The endpoint of a tiny model."""

    path = "/v1/completions"

    def __init__(self, tiny: Tiny, quirks: Quirks) -> None:
        super().__init__(quirks)
        self.tiny = tiny
        self.cached = set[tuple[int, ...]]()
        self.stale: list[float | None] = []

    @property
    def listed(self) -> dict[str, Any]:
        return {"id": "tiny", "owned_by": "vllm", "max_model_len": self.quirks.window}

    @property
    def prompts(self) -> list[str]:
        """Every text that it was sent, in order."""
        sent = [body["prompt"] for body in self.bodies]
        return [one for many in sent for one in ([many] if isinstance(many, str) else many)]

    def answer_to(self, body: dict[str, Any]) -> Fault:
        self.bodies.append(body)
        how, prompts = self.quirks, body["prompt"]
        assert (body["echo"], body["temperature"]) == (True, 0)
        if body["model"] != "tiny":
            return error(404, f"The model `{body['model']}` does not exist.")
        if isinstance(prompts, list) and not how.takes_lists:
            return error(how.refusal, "prompt must be a string")
        if body["max_tokens"] == 0 and not how.takes_zero:
            return error(how.refusal, "max_tokens must be at least 1, got 0.")
        if body["logprobs"] > 0 and not how.takes_tops:
            return error(how.refusal, "logprobs must be 0")
        many = [prompts] if isinstance(prompts, str) else prompts
        most = 7 if how.zero_is_many and body["max_tokens"] == 0 else body["max_tokens"]
        if (size := max(len(self._read(prompt)) for prompt in many) + most) > how.window:
            said = f"maximum context length is {how.window} tokens. However, you requested {size}"
            return error(400, f"This model's {said} tokens.")
        choices = [self._choice(n, prompt, most) for n, prompt in enumerate(many)]
        if how.one_choice:
            choices = choices[:1]
        if how.backwards:
            choices.reverse()
        usage = {"usage": {"completion_tokens": most * len(many)}} if how.usage else {}
        return ok({"choices": choices, **usage, "system_fingerprint": "tiny-1"})

    def _read(self, prompt: str) -> list[int]:
        text = unicodedata.normalize("NFC", prompt) if self.quirks.composes else prompt
        return ([0] if self.quirks.own_bos else []) + self.tiny.ids(text)

    def _choice(self, index: int, prompt: str, most: int) -> dict[str, Any]:
        how, ids = self.quirks, self._read(prompt)
        given = len(ids)
        for _ in range(most):
            ids.append((ids[-1] + 5) % 300 + 1)  # some token or other: nobody asks which
        logs = self.tiny.logs(ids, bf16=how.bf16)
        if how.caches:
            logs = self._with_stale(ids, logs)
        tokens = written(self.tiny, ids, how.writes)
        logs = [how.poisoned.get(token, log) for token, log in zip(tokens, logs, strict=True)]
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
        places = range(len(tokens))
        if how.offsets == "written":
            found["text_offset"] = [len("".join(tokens[:n])) for n in places]
        elif how.offsets == "minus":
            found["text_offset"] = [-1 for _ in places]
        elif how.offsets == "true":
            found["text_offset"] = [len(self.tiny.tokenizer.decode(ids[:n])) for n in places]
        how.changes(prompt, found)
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
    if how == "ids":
        return [f"token_id:{token}" for token in ids]
    if how == "raw":
        return list(map(str, tiny.tokenizer.convert_ids_to_tokens(list(ids))))
    if how == "bytes":
        return [_escaped(tiny.raw(token)) for token in ids]
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
    changes = {
        "gone": lambda text: "" if "\ufffd" in text else text,
        "bare": lambda text: text.removeprefix(" "),
        "▁": lambda text: text.replace(" ", "▁"),
        "shouts": str.upper,
    }
    return [changes.get(how, str)(tiny.raw(token).decode("utf-8", "replace")) for token in ids]


def _escaped(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return "bytes:" + "".join(chr(b) if b < 0x80 else f"\\x{b:02x}" for b in raw)


def serving(tiny: Tiny, quirks: Quirks | None = None) -> AbstractContextManager[Completions]:
    """The endpoint for as long as it is needed."""
    return running(Completions(tiny, quirks or Quirks()))


def plainly(tiny: Tiny, before: Iterable[int], token: int) -> float:
    """log p(token | before), by one run of the model on just that."""
    import torch

    with torch.inference_mode():
        logits = tiny.model(torch.tensor([list(before)])).logits[0, -1].double()
    chances = torch.exp(logits - logits.max())
    return math.log(chances[token].item() / chances.sum().item())
