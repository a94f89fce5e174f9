"""Chat models that answer in different ways: each gives the lms and ss that were planted."""

from pathlib import Path

import pytest

from curation.scores.answer_report import Limits
from curation.scores.running import ask_cats, job
from support import chats
from support.chat_answers import WAYS, in_words, prefers
from support.talkers import made_up, spec

READ = ("terse", "bold", "JSON", "box", "tag", "phrase", "option", "sentence", "thinking")


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_talking_gives_the_planted_ss(tmp_path: Path, way: str) -> None:
    """It prefers the stereotype in two of three CATs of every term, and never what is unrelated."""
    likes = prefers("kind", "early", "hasty", "patient", "grumpy", "late")
    quirks = chats.Quirks(tops=0, again=likes)
    with chats.chatting(in_words(likes, way), quirks) as server:
        done = ask_cats(
            job(spec(name=chats.MODEL, url=server.url), tmp_path),
            made_up(12),
            limits=Limits(0.05, 0.95),
        )
    cell = done.report["splits"]["test"]["overall"]
    assert (cell["lms"], cell["ss"], cell["cats"]) == (100, pytest.approx(200 / 3), 12)
    asked_again = done.choice["answers"]["second"]
    assert asked_again == (0 if way in READ else 72)
    assert done.counts["no_answer"] == 0
