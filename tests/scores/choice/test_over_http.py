"""Runs of chat models behind an endpoint on this machine: nothing is asked twice."""

import os
import signal
import time
from collections import Counter
from pathlib import Path

from curation.scores.choice.report import Limits
from curation.scores.choice.running import AskedCats, ask_cats
from curation.scores.running import job
from support.chat_answers import prefers
from support.chats import MODEL, Quirks, chatting
from support.talkers import made_up, spec

CATS = made_up(8)
QUESTIONS = 48
LIKES = prefers("kind", "early", "patient", "grumpy", "late", "hasty")
CONCURRENCY = 4


def ask(root: Path, url: str) -> AskedCats:
    model = spec(concurrency=CONCURRENCY, name=MODEL, url=url)
    return ask_cats(job(model, root), CATS, limits=Limits(0.05, 0.95))


def test_a_killed_command_asks_only_what_was_under_way_again(tmp_path: Path) -> None:
    with chatting(LIKES, Quirks(tops=0, pause=0.01)) as server:
        child = os.fork()
        if child == 0:
            try:
                ask(tmp_path, server.url)
            finally:
                os._exit(70)
        until = time.monotonic() + 60
        while len(server.bodies) < 20 and time.monotonic() < until:
            time.sleep(0.002)
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        path = tmp_path / MODEL / "choice" / "replies.jsonl"
        kept = path.read_bytes().count(b"\n")
        server.quirks.pause = 0
        done = ask(tmp_path, server.url)
        assert 0 < done.counts["before"] <= kept
        assert done.counts["asked"] + done.counts["before"] == QUESTIONS
        sent = Counter(server.texts)
        assert len(sent) == QUESTIONS
        assert sum(sent.values()) - QUESTIONS <= 2 * CONCURRENCY
        assert done.report["splits"]["test"]["overall"]["ss"] == 100
        requests = server.requests
        assert ask(tmp_path, server.url).counts["asked"] == 0
        assert server.requests == requests
