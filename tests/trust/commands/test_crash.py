"""The trust commands, killed anywhere or run twice at once: nothing is half written."""

import json
import random
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import trust
from support.strike import strike, times

pytestmark = pytest.mark.long

Command = tuple[str | Path, ...]
MOMENTS = 2


def commands(folder: Path) -> dict[str, Command]:
    """The commands by name; those that read a corpus work in this process."""
    glove, root = folder / "glove.txt", ("-c", folder / "campaign")
    out = ("--method", "soft", "--groups", trust.NAME, "--out", folder / "less.bin")
    return {
        "text": ("trust", "text", folder / "t" / "texts-0.txt", "--workers", "1", *root),
        "vectors": ("trust", "vectors", glove, *root),
        "debias": ("trust", "debias", glove, *out, *root),
        "report": ("trust", "report", *root),
    }


@pytest.fixture(scope="module")
def start(forked: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust")
    trust.campaign_with_groups(folder)
    trust.write_texts(folder / "t", documents=2, files=1)
    trust.write_glove(folder / "glove.txt")
    prior = ("trust", "prior", folder / "glove.txt", "--measure", "caliskan")
    assert forked(*prior, "-c", folder / "campaign").code == 0  # for the report
    return folder


def contents(folder: Path) -> dict[str, str]:
    """The files without the times in them; manifests have more of these."""
    time = re.compile(r'"finished_at": "[^"]*"')
    return {
        str(path.relative_to(folder)): time.sub("", path.read_text("utf-8", "replace"))
        for path in folder.rglob("*")
        if path.is_file() and "manifest" not in path.name
    }


@pytest.mark.parametrize("name", ["text", "vectors", "debias", "report"])
def test_killed_and_run_again(
    forked: Callable[..., Any], start: Path, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "c"
    command, before = commands(folder)[name], set(contents(start))

    def fresh() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(start, folder)

    fresh()
    moments = times(forked, command, folder)
    whole = contents(folder)
    draw = random.Random(name)
    for moment in draw.sample(range(1, moments + 1), MOMENTS):
        for by in (signal.SIGKILL, signal.SIGINT):
            fresh()
            died = forked(*command, before=strike(folder, at=moment, by=by))
            assert "Traceback" not in died.err
            for path, text in contents(folder).items():
                unfinished = path.endswith(".tmp") or ".lock" in path or path == "less.bin.json"
                known = path in before or text == whole.get(path)
                assert unfinished or known, f"half of {path} is there"
            if by == signal.SIGINT:
                assert not list(folder.rglob(".*.tmp"))
            assert forked(*command).code == 0
            again = contents(folder)
            results = {path: text for path, text in whole.items() if ".lock" not in path}
            assert {path: again[path] for path in results} == results


def test_two_at_once(forked: Callable[..., Any], start: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(start, tmp_path / "c"))
    vectors = commands(folder)["vectors"]
    done = forked(*vectors, before=lambda: forked(*vectors))  # another ends while this one starts
    assert done.code == 0, done.err
    (about,) = folder.glob("campaign/6-trust/runs/vectors/*/run.json")
    assert json.loads(about.read_bytes())["source"] == "people-glove"
