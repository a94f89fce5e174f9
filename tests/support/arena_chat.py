"""What the arena has of chat models: prompts, replies, and a run."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.scores.choice.asking import reply_line
from support import readers
from support.desk import Desk
from support.talkers import Talker


def _said(text: str, **more: Any) -> dict[str, Any]:
    """The reply of a chat endpoint."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, **more}
    used = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
    return {"object": "chat.completion", "choices": [choice], "usage": used}


CHAT = "chat:chatty --endpoint http://127.0.0.1:9/v1"
_LETTERS = [{"token": "A", "logprob": -0.25}, {"token": " B", "logprob": -1.5}]
REPLIES: Sequence[tuple[int, dict[str, Any]]] = (
    (200, _said("A", logprobs={"content": [{**_LETTERS[0], "top_logprobs": _LETTERS}]})),
    (200, _said("The answer is **B**.")),
    (200, _said("<think>Both are fine.</think>\n\nA")),
    (200, _said("I'm sorry, but I can't help with that.", finish_reason="stop")),
    (400, {"error": {"message": "filtered", "code": "content_filter"}}),
    (0, {"letters": [-0.25, -1.5], "top": "A", "top_log": -0.25}),
)


def put(made: Desk, root: Path) -> None:
    """Prompts, replies to questions about one CAT, and a run of a chat model."""
    shutil.copyfile(readers.PROMPTS, root / "prompts.toml")
    lines = [
        reply_line(question, status, body, max_tokens=64)
        for question, (status, body) in zip(readers.questions(), REPLIES, strict=True)
    ]
    (root / "replies.jsonl").write_bytes(b"".join(lines))
    with pytest.MonkeyPatch.context() as patch:
        talker = Talker(lambda first, second: "AB"[second < first])
        patch.setattr("curation.scores.choice.running.open_chat", talker.open)
        ran = made.run("scores", "models", *CHAT.split())
    assert ran.code == 0, ran.err
