"""A command reads each file of a campaign once: to know that it is as it was, and to use it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNTING = """
import json, os, sys
from collections import Counter
opened = Counter()
root = os.path.realpath(sys.argv[1])
def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, os.PathLike)):
        path = os.path.realpath(os.fspath(arguments[0]))
        if path.startswith(root + os.sep) and "/.lock" not in path:
            opened[os.path.relpath(path, root)] += 1
sys.addaudithook(note)
from curation.cli import app
try:
    app([sys.argv[2], "-c", root, "--json"])
finally:
    with open(sys.argv[3], "w") as file:
        json.dump(opened, file)
"""


@pytest.mark.parametrize("command", ["run", "status"])
def test_no_file_is_opened_more_than_twice(finished: Path, tmp_path: Path, command: str) -> None:
    said = tmp_path / "opened.json"
    arguments = [sys.executable, "-c", COUNTING, str(finished), command, str(said)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    opened = json.loads(said.read_bytes())
    assert opened.keys() >= {"campaign.toml", "2-rounds/main/items.jsonl", "1-terms/manifest.json"}
    assert len(opened) > 150
    assert {path: times for path, times in opened.items() if times > 2} == {}
