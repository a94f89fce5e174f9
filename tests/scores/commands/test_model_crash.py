"""Trainings that are killed or stopped at any moment, and given again."""

import random
import signal
from pathlib import Path
from typing import Any

import pytest

from curation.models.tiny import make
from support.killer import killed
from support.reviews import ALL, write_reviews
from support.topics import tiny_bert, write_corpus

pytestmark = pytest.mark.environment  # each is a process of its own, with nine forks

SHORT = ("--length", "32", "--batch", "16", "--epochs", "2", "--held-out", "0.2")
SHORT += ("--device", "cpu", "--checkpoint-every", "1")


def command_of(name: str, root: Path) -> list[str]:
    """A quick command with a model; its last word is the option that names what it writes."""
    if name == "nsp":
        model, corpus = tiny_bert(root / "bert"), write_corpus(root / "a.txt", 10, 6)
        return ["scores", "train-nsp", str(model), "--corpus", str(corpus), *SHORT, "--out"]
    model = make(root / "bert", [ALL], family="masked", steps=0)
    words = ["measures", "train-sentiment", str(model)]
    return [*words, "--reviews", str(write_reviews(root / "a.csv", 60)), *SHORT, "--out"]


def results(folder: Path) -> dict[str, Any]:
    """The files of weights; training.json has times."""
    return {path.name: path.read_bytes() for path in folder.rglob("*.safetensors")}


@pytest.mark.parametrize("name", ["nsp", "sentiment"])
def test_killed_or_stopped_at_any_moment_and_given_again(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    by = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    signals = [(int(each), draw.uniform(0.1, 0.95)) for each in by]
    place = tmp_path / "runs"
    count, ends = killed(command_of(name, tmp_path), place, signals)
    assert count >= 10
    assert [end.code for end in ends] == [-9, -9, 143, 130], ends
    assert [end.left for end in ends[2:]] == [0, 0]  # a stopped command cleans up itself
    assert {end.again for end in ends} == {0}, ends
    assert "Traceback" not in "".join(end.err for end in ends)
    whole = results(place / "whole")
    assert whole
    for number in range(len(by)):
        folder = place / str(number)
        assert results(folder) == whole
        assert list(folder.rglob(".*.tmp")) == []
