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
import json, os, sys, tempfile
from pathlib import Path
from support.strike import strike
import curation.cli
from curation import __main__ as entry
from curation.models import causal, faster, forward, loading, scoring
from curation.models.train import next_sentence, sentiment
from curation.scores import run_folder, running
import transformers.models.bert.modeling_bert, transformers.models.gpt2.modeling_gpt2
command, option, root, signals = json.loads(sys.argv[1])

def run(out, before=None):
    child = os.fork()
    if child == 0:
        code = 70
        try:
            sys.argv = ["curation", *command, option, str(out)]
            if before:
                before()
            entry.main()
            code = 0
        except SystemExit as end:
            code = end.code or 0
        finally:
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

root = Path(root)
with tempfile.TemporaryFile() as tell:
    codes = [run(root / "whole", strike(root, tell=tell.fileno()))]
    tell.seek(0)
    count = int(tell.read())
left = []
for number, (by, share) in enumerate(signals):
    out = root / f"ended-{number}"
    codes.append(run(out, strike(root, at=max(1, round(share * count)), by=by)))
    left.append([str(path) for path in out.rglob(".*.tmp")])
    codes.append(run(out))
json.dump([count, codes, left], open(root / "end.json", "w"))
"""


def command_of(name: str, root: Path) -> tuple[list[str], str]:
    """A quick command with a model, and the option that names what it writes."""
    if name == "nsp":
        model, corpus = tiny_bert(root / "bert"), write_corpus(root / "a.txt", 10, 6)
        return ["scores", "train-nsp", str(model), "--corpus", str(corpus), *SHORT], "--out"
    if name == "sentiment":
        model = make(root / "bert", [ALL], family="masked", steps=0)
        reviews = write_reviews(root / "a.csv", 60)
        words = ["measures", "train-sentiment", str(model), "--reviews", str(reviews)]
        return [*words, *SHORT], "--out"
    model = make(root / "causal", [ALL], family="causal", steps=0)
    (root / "gold.json").write_bytes(dump_json(dataset(CATS, {}, version="1")))
    return ["scores", "models", str(model), "--gold", str(root / "gold.json")], "--scores"


def results(folder: Path) -> dict[str, Any]:
    """The files that hold results; training.json, run.json and results.json have times."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.suffix == ".safetensors" or path.name in ("scores.jsonl", "rejected.jsonl")
    }


@pytest.mark.parametrize("name", ["nsp", "sentiment", "scores"])
def test_killed_or_stopped_at_any_moment_and_given_again(name: str, tmp_path: Path) -> None:
    command, option = command_of(name, tmp_path)
    draw = random.Random(name)
    by = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    signals = [(int(each), draw.uniform(0.1, 0.95)) for each in by]
    place = tmp_path / "runs"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLER, json.dumps([command, option, str(place), signals])],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            "OMP_NUM_THREADS": "1",
        },
        capture_output=True, encoding="utf-8", check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, codes, left = json.loads((place / "end.json").read_bytes())
    assert count >= 10
    assert codes == [0, -9, 0, -9, 0, 143, 0, 130, 0], done.stderr
    assert left[2:] == [[], []]  # a stopped command cleans up itself
    assert "Traceback" not in done.stderr
    whole = results(place / "whole")
    assert whole
    for number in range(len(by)):
        folder = place / f"ended-{number}"
        assert results(folder) == whole
        assert list(folder.rglob(".*.tmp")) == []
