"""A chat endpoint on this machine: it answers questions as chat servers do, with their quirks."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from support.chat_answers import FILTERED, Answer, Said, at_random
from support.servers import Fault, Server, error, ok, running

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
    refusal: int = 400  # its status for a parameter that it does not take
    thinks: str = ""  # «tags», «field», «reasoning», or nothing
    shape: str = "plain"  # «no choices», «null», «parts», «sse», «list»
    filters: str = ""  # a word of texts that its content filter refuses
    filter_form: str = "azure"  # «azure», «openai», «gemini», «reply»
    window: int = 100_000  # words of a question
    key: str = ""
    lists: bool = True  # GET /models
    chat: bool = True  # False: a server with /completions only
    every: Mapping[int, Fault] = field(default_factory=dict)  # the fault of each k-th request
    pause: float = 0.0  # seconds before each reply
    again: Answer | None = None  # how it answers second questions


class Chats(Server):
    """The endpoint of a chat model, which answers as a function says."""

    def __init__(self, answer: Answer, quirks: Quirks) -> None:
        super().__init__(quirks)
        self.answer = answer

    @property
    def path(self) -> str:  # type: ignore[override]
        return "/v1/chat/completions" if self.quirks.chat else "/v1/completions"

    @property
    def listed(self) -> dict[str, Any] | None:
        how = self.quirks
        told = {"id": how.model, "owned_by": "nobody", "max_model_len": how.window}
        return told if how.lists else None

    @property
    def texts(self) -> list[str]:
        """Every question that was answered, in order."""
        return [body["messages"][-1]["content"] for body in self.bodies]

    def fault(self) -> Fault | None:
        every = (fault for n, fault in self.quirks.every.items() if self.requests % n == 0)
        return super().fault() or next(every, None)

    def answer_to(self, body: dict[str, Any]) -> Fault:
        quirks, text = self.quirks, body["messages"][-1]["content"]
        if body["model"] != quirks.model:
            return error(404, f"The model `{body['model']}` does not exist.", "model_not_found")
        if refused := self._refused(body):
            said = f"Unsupported parameter: '{refused}' is not supported with this model."
            return error(quirks.refusal, said, "unsupported_parameter")
        self.bodies.append(body)
        if (words := len(text.split())) > quirks.window:
            said = f"maximum context length is {quirks.window} tokens. However, your messages"
            told = f"This model's {said} resulted in {words} tokens."
            return error(400, told, "context_length_exceeded")
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
        quirks, question = self.quirks, body["messages"][0]["content"]
        second = len(body["messages"]) > 1
        said = (quirks.again if second and quirks.again else self.answer)(question)
        text = (
            f"<think>\n{THOUGHT}\n</think>\n\n{said.text}" if quirks.thinks == "tags" else said.text
        )
        thought = _TOKEN.findall(THOUGHT) if quirks.thinks in {"field", "reasoning"} else []
        limit = body.get("max_completion_tokens", body.get("max_tokens", 1 << 30))
        room = max(0, limit - len(thought))
        tokens = _TOKEN.findall(text)
        finish = "length" if len(tokens) > room else "stop"
        tokens = tokens[:room]
        message: dict[str, Any] = {"role": "assistant", "content": "".join(tokens)}
        if thought:
            name = "reasoning_content" if quirks.thinks == "field" else "reasoning"
            message[name] = "".join(thought[:limit])
        if quirks.filters and quirks.filters in question:
            message["content"], tokens, finish = None, [], "content_filter"
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": finish}
        if body.get("logprobs"):
            content = [_logs(token, said, body.get("top_logprobs", 0)) for token in tokens]
            choice["logprobs"] = {"content": content}
        used = len(_TOKEN.findall(question)), len(tokens) + min(limit, len(thought))
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        return {
            "id": f"chatcmpl-{len(self.bodies)}", "object": "chat.completion", "created": 0,
            "model": f"{quirks.model}-2026", "choices": [choice],
            "usage": dict(zip(names, (*used, sum(used)), strict=True)),
            "system_fingerprint": "fp-1",
        }  # fmt: skip

    def _shaped(self, content: dict[str, Any]) -> Fault:
        shape, choice = self.quirks.shape, content["choices"][0]
        message = choice["message"]
        if shape == "no choices":
            content["choices"] = []
        elif shape == "null":
            message["content"] = None
        elif shape == "parts":
            message["content"] = [{"type": "text", "text": message["content"]}]
        elif shape == "sse":
            delta = {**content, "choices": [{"index": 0, "delta": message}]}
            stream = f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n"
            return Fault(200, stream, {"Content-Type": "text/event-stream"})
        return ok([content] if shape == "list" else content)


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


def chatting(
    answer: Answer | None = None, quirks: Quirks | None = None
) -> AbstractContextManager[Chats]:
    """The endpoint for as long as it is needed, in a thread of this process."""
    return running(Chats(answer or at_random(0), quirks or Quirks()))
