"""Chat models' runs that are killed at any moment: no reply is lost, and nothing is asked twice."""

import os
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from curation.scores import running
from curation.scores.answer_report import Limits
from curation.scores.running import ask_cats, job
from support import chats
from support.chat_answers import prefers
from support.strike import strike
from support.talkers import STEREOTYPES, Talker, made_up, spec

CATS = made_up(2)
QUESTIONS = 12
SECOND = 6  # questions about the baker, whose first replies are no letters
LIMITS = Limits(0.05, 0.95)
DERIVED = ("comparisons.jsonl", "rejected.jsonl", "choice.json")


def run(root: Path, log: Path, *, before: Callable[[], None] | None = None, dies: int = -1) -> int:
    """Ask about the CATs in a fork; every question is noted in ``log`` before it is answered.

    Args:
        root: the folder of scores.
        log: where questions are noted.
        before: called in the fork first.
        dies: the number of the question at which the process is killed before the reply comes.

    Returns:
        The exit status; negative for a signal.
    """
    child = os.fork()
    if child == 0:
        code = 70
        try:
            handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            talker = Talker(STEREOTYPES)

            def choose(first: str, second: str, again: str = "") -> str:
                os.write(handle, f"{again}{first}\t{second}\n".encode())
                if len(talker.asked) == dies + 1:
                    os.kill(os.getpid(), signal.SIGKILL)
                letter = STEREOTYPES(first, second)
                return letter if again or "baker" not in first else f"{letter} is usual, I think."

            talker.choose = choose
            talker.again = partial(choose, again="again\t")
            running.open_chat = talker.open  # type: ignore[assignment]
            if before:
                before()
            ask_cats(job(spec(), root), CATS, limits=LIMITS)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def derived(root: Path) -> list[bytes]:
    return [(root / "talker" / "choice" / name).read_bytes() for name in DERIVED]


def replies(root: Path, model: str = "talker") -> int:
    return (root / model / "choice" / "replies.jsonl").read_bytes().count(b"\n")


def check(root: Path, log: Path, whole: list[bytes], *, under_way: int) -> None:
    """A killed run goes on: every question was sent once, apart from one that was under way."""
    assert run(root, log) == 0
    assert derived(root) == whole
    sent = log.read_text("utf-8").splitlines()
    assert len(set(sent)) == QUESTIONS + SECOND
    assert len(sent) <= QUESTIONS + SECOND + under_way
    assert replies(root) == QUESTIONS + SECOND
    assert list(root.rglob("superseded/*")) == list(root.rglob(".*.tmp")) == []


def test_killed_at_any_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        running,
        "choice_report",
        lambda cats, asked, **_: (
            {"answers": {"questions": len(asked), "answered": len(asked)}} | {"no_score": ""}
        ),
    )
    log = tmp_path / "asked"
    with tempfile.TemporaryFile() as tell:
        root = tmp_path / "whole"
        assert run(root, log, before=strike(root, tell=tell.fileno())) == 0
        tell.seek(0)
        touches = int(tell.read())
    whole = derived(tmp_path / "whole")
    assert touches >= 10
    for share in (0.15, 0.4, 0.6, 0.8, 1.0):
        at = max(1, round(share * touches))
        root, log = tmp_path / f"{at}", tmp_path / f"asked-{at}"
        assert run(root, log, before=strike(root, at=at)) == -signal.SIGKILL
        check(root, log, whole, under_way=0)
    for dies in (0, 7, 15):  # the last one is a second question
        root, log = tmp_path / f"die-{dies}", tmp_path / f"asked-die-{dies}"
        assert run(root, log, dies=dies) == -signal.SIGKILL
        assert replies(root) == dies
        check(root, log, whole, under_way=1)


def test_a_killed_command_asks_an_endpoint_only_what_was_under_way_again(tmp_path: Path) -> None:
    likes = prefers("kind", "early", "patient", "grumpy", "late", "hasty")
    with chats.chatting(likes, chats.Quirks(tops=0, pause=0.01)) as server:
        work = job(spec(concurrency=4, name=chats.MODEL, url=server.url), tmp_path)
        cats = made_up(8)  # 48 questions
        child = os.fork()
        if child == 0:
            try:
                ask_cats(work, cats, limits=LIMITS)
            finally:
                os._exit(70)
        until = time.monotonic() + 60
        while len(server.bodies) < 20 and time.monotonic() < until:
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        kept = replies(tmp_path, chats.MODEL)
        server.quirks.pause = 0
        done = ask_cats(work, cats, limits=LIMITS)
        assert 0 < done.counts["before"] <= kept
        assert done.counts["asked"] + done.counts["before"] == 48
        sent = Counter(server.texts)
        assert len(sent) == 48
        assert sum(sent.values()) - 48 <= 2 * 4
        assert done.report["splits"]["test"]["overall"]["ss"] == 100
        requests = server.requests
        assert ask_cats(work, cats, limits=LIMITS).counts["asked"] == 0
        assert server.requests == requests
