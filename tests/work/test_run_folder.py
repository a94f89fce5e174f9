"""Folders of long work: half lines of killed commands, and appended lines."""

import os
from pathlib import Path

import pytest

from curation.files import open_plain
from curation.work import run_folder
from curation.work.run_folder import append_lines, cut_half_line, write_whole
from support.full_disk import Full


def test_only_a_half_line_is_cut(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    cut_half_line(path)
    assert not path.exists()
    path.write_bytes(b"{}\n{}\n")
    os.utime(path, (1, 1))
    cut_half_line(path)  # another command may be appending to it: nothing is written
    assert (path.read_bytes(), path.stat().st_mtime) == (b"{}\n{}\n", 1)


def test_appended_lines_are_on_the_disk_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, synced = tmp_path / "scores.jsonl", list[tuple[int, int]]()

    def keep(handle: int) -> None:
        stat = os.fstat(handle)
        synced.append((stat.st_ino, stat.st_size))

    monkeypatch.setattr(os, "fsync", keep)
    append_lines(path, [b"1\n", b"2\n"])
    assert synced == [(path.stat().st_ino, 4)]


@pytest.mark.parametrize("block", [1, 2, 3, 5, 100, run_folder._BLOCK])
def test_half_lines_from_the_end(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_folder, "_BLOCK", block)
    path = tmp_path / "replies.jsonl"
    for content, kept in (
        (b"", b""), (b"{", b""), (b'{"a"', b""), (b"\n", b"\n"), (b"{}\n", b"{}\n"),
        (b"{}\n{", b"{}\n"), (b'{}\n{"a": 1', b"{}\n"), (b"\n{}\n\n{", b"\n{}\n\n"),
    ):  # fmt: skip
        path.write_bytes(content)
        cut_half_line(path)
        assert path.read_bytes() == kept


def test_writes_that_fail_again_leave_no_half_line(tmp_path: Path) -> None:
    """The file accepts some bytes of each line, and no more."""
    path = tmp_path / "replies.jsonl"
    path.write_bytes(b"{}\n")
    with open_plain(path, "ab") as file:
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                write_whole(Full(file, 5), b'{"a": 1}\n', path)
    assert path.read_bytes() == b"{}\n"
