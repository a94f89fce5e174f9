"""Lines that are appended to the files of long work."""

import os
from pathlib import Path

import pytest

from curation.run_folder import append_lines


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
