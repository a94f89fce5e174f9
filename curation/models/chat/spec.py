"""How a chat model is asked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

Answered = Callable[[int, int, dict[str, Any]], None]
"""Receives the number of a text, the HTTP status (0 on this machine) and the body of the reply."""


@dataclass(frozen=True)
class ChatSpec:
    """How a chat model is asked: all that does not depend on the model.

    Attributes:
        prompts: the file of prompts.
        all_prompts: ask with every prompt of the file, not only the first of each kind.
        samples: how often each question is asked.
        temperature: of sampling; only for endpoints.
        max_tokens: the largest number of tokens of an answer; only for endpoints.
        concurrency: requests under way at the same time; only for endpoints.
    """

    prompts: Path
    all_prompts: bool = False
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 64
    concurrency: int = 8


class Chat(Protocol):
    """A chat model that is open: ``client.ChatEndpoint`` or ``local.LocalChat``."""

    def ask(self, texts: Sequence[str], answered: Answered) -> None:
        """Ask each text in a conversation of its own; each reply is passed on as it comes."""

    def about(self) -> dict[str, Any]:
        """What was opened, for ``run.json``."""
