"""Commands with models that are killed or stopped at any moment, and given again."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import dataset
from curation.files import dump_json
from curation.models.tiny import make
from support.reviews import ALL, write_reviews
from support.scored import CATS
from support.topics import tiny_bert, write_corpus

pytestmark = pytest.mark.environment  # each is a process of its own, with nine forks

ROOT = Path(__file__).parents[2]
SHORT = ("--length", "32", "--batch", "16", "--epochs", "2", "--held-out", "0.2")
SHORT += ("--device", "cpu", "--checkpoint-every", "1")

# A fresh process, in which torch has not yet computed, and forks of it: one counts how often the
# disk is touched, others get a signal at a chosen touch and are followed by one that goes on.
KILLER = """
import json, sys
from pathlib import Path
from support.commands import load, run
from support.strike import strike, times
from curation.models import causal, faster, forward, loading, scoring
from curation.models.train import next_sentence, sentiment
import transformers.models.bert.modeling_bert, transformers.models.gpt2.modeling_gpt2
load()
command, root, signals = json.loads(sys.argv[1])
count, ends = times(run, [*command, f"{root}/whole"], Path(root)), []
for number, (by, share) in enumerate(signals):
    words = [*command, f"{root}/ended-{number}"]
    ended = run(*words, before=strike(Path(root), at=max(1, round(share * count)), by=by))
    left = len(list(Path(words[-1]).rglob(".*.tmp")))
    again = run(*words, before=lambda: None)
    ends.append([ended.code, left, again.code, ended.err + again.err])
json.dump([count, ends], open(f"{root}/end.json", "w"))
"""


def command_of(name: str, root: Path) -> list[str]:
    """A quick command with a model; its last word is the option that names what it writes."""
    if name == "nsp":
        model, corpus = tiny_bert(root / "bert"), write_corpus(root / "a.txt", 10, 6)
        return ["scores", "train-nsp", str(model), "--corpus", str(corpus), *SHORT, "--out"]
    if name == "sentiment":
        model = make(root / "bert", [ALL], family="masked", steps=0)
        words = ["measures", "train-sentiment", str(model)]
        return [*words, "--reviews", str(write_reviews(root / "a.csv", 60)), *SHORT, "--out"]
    model = make(root / "causal", [ALL], family="causal", steps=0)
    (root / "gold.json").write_bytes(dump_json(dataset(CATS, {}, version="1")))
    return ["scores", "models", str(model), "--gold", str(root / "gold.json"), "--scores"]


def results(folder: Path) -> dict[str, Any]:
    """The files that hold results; training.json, run.json and results.json have times."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix == ".safetensors" or path.name in ("scores.jsonl", "rejected.jsonl")
    }


@pytest.mark.parametrize("name", ["nsp", "sentiment", "scores"])
def test_killed_or_stopped_at_any_moment_and_given_again(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    by = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    signals = [(int(each), draw.uniform(0.1, 0.95)) for each in by]
    place = tmp_path / "runs"
    place.mkdir()
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    given = json.dumps([command_of(name, tmp_path), str(place), signals])
    done = subprocess.run(
        [sys.executable, "-c", KILLER, given],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, encoding="utf-8", check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, ends = json.loads((place / "end.json").read_bytes())
    assert count >= 10
    assert [code for code, *_ in ends] == [-9, -9, 143, 130], ends
    assert [left for _, left, *_ in ends[2:]] == [0, 0]  # a stopped command cleans up itself
    assert {again for *_, again, _ in ends} == {0}, ends
    assert "Traceback" not in "".join(err for *_, err in ends)
    whole = results(place / "whole")
    assert whole
    for number in range(len(by)):
        folder = place / f"ended-{number}"
        assert results(folder) == whole
        assert list(folder.rglob(".*.tmp")) == []
