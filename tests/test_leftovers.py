"""What killed commands leave is deleted, and nothing else."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from curation.catsets.stereoset import dataset
from curation.files import DAY, beside, dump_json, sweep, sweep_beside
from support.desk import Desk
from support.scored import CATS


@pytest.fixture(scope="module")
def gone() -> int:
    """The id of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def named(path: Path, process: int) -> Path:
    """The temporary file of another process of this machine."""
    name = beside(path).name.replace(f"-{os.getpid()}.", f"-{process}.")
    return path.with_name(name)


def test_only_ours_and_only_of_processes_that_ended(tmp_path: Path, gone: int) -> None:
    below = tmp_path / "below"
    below.mkdir()
    of_ours = {
        "ended": named(tmp_path / "a.json", gone),
        "running": named(tmp_path / "a.json", os.getppid()),
        "own": beside(tmp_path / "a.json"),
        "below": named(below / "b.json", gone),
        "elsewhere": tmp_path / ".a.json.00000000-5.tmp",
        "long ago": tmp_path / ".b.json.00000000-5.tmp",
    }
    others = (".notes.tmp", ".c.json.12.tmp", "a.tmp", ".hidden", "a.json", ".x.1a.tmp")
    theirs = [tmp_path / name for name in others]
    for path in (*of_ours.values(), *theirs):
        path.write_bytes(b"half")
    then = time.time() - DAY - 60
    os.utime(of_ours["long ago"], (then, then))

    def left() -> set[str]:
        assert all(path.exists() for path in theirs)
        return {what for what, path in of_ours.items() if path.exists()}

    sweep_beside(tmp_path / "z.json")
    assert left() == {"running", "own", "below", "elsewhere"}
    sweep(tmp_path, below=False)
    assert left() == {"running", "below", "elsewhere"}
    sweep(tmp_path)
    assert left() == {"running", "elsewhere"}


def test_folders_go_as_a_whole_and_links_alone(tmp_path: Path, gone: int) -> None:
    half, away = named(tmp_path / "0.1.0", gone), tmp_path / "away"
    (half / "deep").mkdir(parents=True)
    named(half / "deep" / "a.json", gone).write_bytes(b"half")
    away.mkdir()
    (away / "kept").write_bytes(b"whole")
    link = named(tmp_path / "0.2.0", gone)
    link.symlink_to(away)
    sweep(tmp_path)
    assert not half.exists()
    assert not link.is_symlink()
    assert (away / "kept").read_bytes() == b"whole"


def test_beside_the_files_that_options_name(
    forked: Any, tmp_path: Path, gone: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    gold, text = tmp_path / "gold.json", tmp_path / "text.txt"
    gold.write_bytes(dump_json(dataset(CATS, {}, version="1")))
    text.write_text("A baker bakes bread.\n", "utf-8")
    desk = Desk.make(forked, tmp_path_factory.mktemp("desk") / "campaign")
    desk.open("intrasentence", "w")
    out = tmp_path / "out"
    commands: list[tuple[Any, ...]] = [
        ("scores", "baselines", "--gold", gold, "--json", out / "a.json"),
        ("measures", "count", text, "--out", out / "a.tsv"),
        ("rounds", "export", "w", "--to", out, "-c", desk.root),
    ]
    out.mkdir()
    for words in commands:
        left = named(out / "a.json", gone), named(out / "b.json", os.getppid())
        for path in left:
            path.write_bytes(b"half")
        done = forked(*words)
        assert done.code == 0, done.err
        assert [path.exists() for path in left] == [False, True], words
