"""Nothing is written through a link; names that are not UTF-8 can be printed and kept.

Each writer of files is tried with a link in the place of the file or of its folder.
"""

import json
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from curation.campaign.manifest import Results, run_step
from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError, beside, dump_json, open_plain, sweep, writing
from curation.rounds.answers import archive
from curation.scores.run_folder import locked_run
from curation.work.run_folder import append_lines, cut_half_line, locked, set_aside
from support.strike import half_written

PRECIOUS = b"mine\nhalf a line"
STATE: dict[str, Any] = {"algorithm": 1, "settings": {}, "inputs": {}}
BUSY = CurationError("busy")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file outside of all folders that are written to."""
    path = tmp_path / "mine" / "precious.txt"
    path.parent.mkdir()
    path.write_bytes(PRECIOUS)
    return path


def _write(path: Path) -> None:
    with writing(path) as file:
        file.write(b"new")


def _enter(context: AbstractContextManager[object]) -> None:
    with context:
        pass


def _enter_run(path: Path) -> None:
    with locked_run(path.parent):
        append_lines(path, [b"line\n"])


FILE_WRITERS: dict[str, Callable[[Path], object]] = {
    "writing": _write,
    "appending": lambda path: append_lines(path, [b"line\n"]),
    "cutting a half line": cut_half_line,
    "opening": lambda path: open_plain(path, "ab").close(),
    "a lock": lambda path: _enter(locked(path.parent, BUSY, name=path.name)),
    "a run": _enter_run,
    "a step": lambda path: Results(path.parent).lines(path.name, [b"line"]),
    "a manifest": lambda path: run_step(Results(path.parent), "s", lambda results: {}, **STATE),
}


@pytest.mark.parametrize("name", FILE_WRITERS)
def test_no_writer_of_a_file_follows_a_link(tmp_path: Path, mine: Path, name: str) -> None:
    folder = tmp_path / "scores" / "model" / "rule"
    folder.mkdir(parents=True)
    link = folder / ("manifest.json" if name == "a manifest" else "scores.jsonl")
    link.symlink_to(mine)
    with pytest.raises(CurationError, match="is a link, and nothing is written") as caught:
        FILE_WRITERS[name](link)
    assert str(link) in caught.value.what
    assert caught.value.fix
    assert mine.read_bytes() == PRECIOUS
    assert link.is_symlink()
    assert sorted(path.name for path in folder.rglob("*")) == [link.name]


FOLDER_WRITERS: dict[str, Callable[[Path], object]] = {
    "a run": lambda folder: _enter_run(folder / "scores.jsonl"),
    "a step": lambda folder: run_step(Results(folder), "s", lambda results: {}, **STATE),
    "a folder of a step": lambda folder: Results(folder.parent).lines(f"{folder.name}/a", [b""]),
    "an archive": lambda folder: archive.deliver(folder, "answers", [{"a": 1}]),
    "an erasure": lambda folder: archive.erase(folder, lambda sent: True),
}


@pytest.mark.parametrize("name", FOLDER_WRITERS)
def test_no_writer_of_a_folder_follows_a_link(tmp_path: Path, mine: Path, name: str) -> None:
    home = tmp_path / "scores" / "model"
    home.mkdir(parents=True)
    (home / "rule").symlink_to(mine.parent)
    with pytest.raises(CurationError, match="is a link, and nothing is written"):
        FOLDER_WRITERS[name](home / "rule")
    assert [path.name for path in mine.parent.iterdir()] == [mine.name]


def test_a_link_under_the_temporary_name_is_not_followed(tmp_path: Path, mine: Path) -> None:
    path = tmp_path / "a.json"
    beside(path).symlink_to(mine)
    _write(path)
    assert path.read_bytes() == b"new"
    assert mine.read_bytes() == PRECIOUS


def test_sweeping_and_setting_aside_stay_in_the_folder(tmp_path: Path, mine: Path) -> None:
    left = half_written(mine.parent / "a.json")
    left.touch()
    folder = tmp_path / "scores" / "model" / "rule"
    folder.mkdir(parents=True)
    (folder / "superseded").symlink_to(mine.parent)
    sweep(folder)
    assert left.exists()
    with pytest.raises(CurationError, match="is a link"), locked_run(folder):
        set_aside(folder, ["scores.jsonl"])


@pytest.mark.parametrize(
    "name", ["1-terms", "3-decisions", "2-rounds/main", "5-scores/m/r", ".lock"]
)
def test_a_campaign_is_not_locked_if_what_it_writes_to_is_a_link(
    campaign: Campaign, mine: Path, name: str
) -> None:
    path = campaign.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(mine if name == ".lock" else mine.parent)
    with pytest.raises(CurationError, match="is a link") as caught:
        _enter(campaign.lock())
    assert str(path) in caught.value.what
    assert mine.read_bytes() == PRECIOUS


def test_a_campaign_may_be_behind_a_link_and_so_may_its_raw_answers(
    campaign: Campaign, tmp_path: Path
) -> None:
    raw = campaign.folder("rounds") / "main" / "raw"
    archive.deliver(raw, "answers", [{"a": 1}])
    raw.rename(tmp_path / "other-disk")
    raw.symlink_to(tmp_path / "other-disk")
    (tmp_path / "link").symlink_to(campaign.root)
    opened = open_campaign(tmp_path / "link")
    with opened.lock():
        _write(opened.folder("terms") / "a.json")
        (line,) = archive.read(opened.folder("rounds") / "main" / "raw")
        assert line[1].payload == {"a": 1}


# --- names that are not UTF-8 -------------------------------------------------------------------

ODD = os.fsdecode(b"caf\xe9")


def test_a_command_with_a_name_that_is_not_utf_8_takes_the_lock(
    campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["curation", "import", "answers", f"{ODD}.csv"])
    holder, other = campaign.root / ".lock-holder", Campaign(campaign.root, campaign.settings)
    with campaign.lock():
        holder.read_text("utf-8")
        # A damaged note of the holder is shown all the same.
        for note, says in ((holder.read_bytes(), "in use by"), (b"caf\xe9", "in use by caf")):
            holder.write_bytes(note)
            with pytest.raises(CurationError, match=says):
                _enter(other.lock())


@pytest.mark.parametrize(
    "words",
    [
        ("import", "answers", f"{ODD}.csv"),
        ("status", "--campaign", ODD),
        ("measures", "count", f"{ODD}.txt", "--out", "o.tsv"),
        ("measures", "count", "there", "--out", f"{ODD}/o.tsv"),
    ],
)
def test_messages_can_print_any_name(
    forked: Run, campaign: Campaign, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(campaign.root)
    (campaign.root / "there").write_text("a", "utf-8")
    done = forked(*words)
    assert done.code == 1
    assert "Traceback" not in done.err
    assert r"caf\udce9" in done.err or "there" in done.err


def test_a_campaign_whose_name_is_not_utf_8_works(
    forked: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "domain,target,context\nprofession,baker,The baker is BLANK.\n"
    (tmp_path / f"{ODD}.csv").write_text(rows, "utf-8")
    for words in (
        ("init", ODD, "--yes"),
        ("import", "answers", f"{ODD}.csv", "--campaign", ODD),
        ("status", "--campaign", ODD),
        ("status", "--campaign", ODD, "--json"),
    ):
        done = forked(*words)
        assert "Traceback" not in done.err, done.err
    json.loads(done.out)


def test_a_round_whose_name_is_not_utf_8_is_refused(campaign: Campaign) -> None:
    (campaign.folder("rounds") / ODD / "raw").mkdir(parents=True)
    (campaign.folder("rounds") / ODD / "raw" / "a.jsonl").touch()
    with pytest.raises(CurationError, match="the name of this folder is not UTF-8"):
        campaign.round_names()


def test_a_report_may_name_a_file_that_is_not_utf_8() -> None:
    written = json.loads(dump_json({"file": ODD, "value": float("nan")}))
    assert written == {"file": "caf?", "value": None}
