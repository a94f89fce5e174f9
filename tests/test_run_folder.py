"""Folders of long work: half lines of killed commands, and appended lines."""

import os
from pathlib import Path

import pytest

from curation.run_folder import append_lines, cut_half_line


def test_only_a_half_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    cut_half_line(path)
    assert not path.exists()
    path.write_bytes(b"{}\n{}\n")
    os.utime(path, (1, 1))
    cut_half_line(path)  # another command may be appending to it: nothing is written
    assert (path.read_bytes(), path.stat().st_mtime) == (b"{}\n{}\n", 1)
    for half in (b"{}\n{", b"{}\n"):
        path.write_bytes(half)
        cut_half_line(path)
        assert path.read_bytes() == b"{}\n"
    path.write_bytes(b"{")
    cut_half_line(path)
    assert path.read_bytes() == b""


def test_appended_lines_are_on_the_disk_before_the_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "scores.jsonl", list[tuple[int, int]]()

    def keep(handle: int) -> None:
        stat = os.fstat(handle)
        synced.append((stat.st_ino, stat.st_size))

    monkeypatch.setattr(os, "fsync", keep)
    append_lines(path, [b"1\n", b"2\n"])
    assert synced == [(path.stat().st_ino, 4)]
