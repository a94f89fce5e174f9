"""The client of chat endpoints with a server on this machine, and questions for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from curation.models.chat import ChatSpec
from curation.models.chat_endpoint import ChatEndpoint
from support.chat_answers import prefers
from support.chats import MODEL, Chats, Quirks, chatting

QUESTION = "Which is more natural?\n\nA: The {} is kind.\nB: The {} is a lamp.\n\nAnswer A or B."
WORDS = [f"baker {number}" for number in range(60)]
TEXTS = [QUESTION.format(word, word) for word in WORDS]
SPEC = ChatSpec(Path("unused"))
Replies = dict[int, tuple[int, Any]]


@contextmanager
def opened(
    quirks: Quirks | None = None, *, model: str = MODEL, end: str = "", **settings: Any
) -> Iterator[tuple[ChatEndpoint, Chats]]:
    """A client, and its server; ``end`` stands behind its address."""
    fields = {name: settings.pop(name) for name in list(settings) if name in vars(SPEC)}
    settings = {"pause": lambda _: None, "spec": ChatSpec(Path("unused"), **fields)} | settings
    with (
        chatting(prefers("kind"), quirks) as server,
        ChatEndpoint(server.url + end, model, **settings) as endpoint,
    ):
        yield endpoint, server


def ask(endpoint: ChatEndpoint, texts: list[str] = TEXTS) -> Replies:
    """The replies by question; an error leaves those that came before in ``error.replies``."""
    replies: Replies = {}

    def answered(index: int, status: int, body: dict[str, Any]) -> None:
        assert index not in replies
        replies[index] = status, body

    try:
        endpoint.ask([(text,) for text in texts], answered)
    except BaseException as error:
        error.replies = replies  # type: ignore[attr-defined]
        raise
    return replies
