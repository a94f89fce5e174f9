"""Folders of long work: what a killed command left behind."""

import os
from pathlib import Path

from curation.run_folder import cut_half_line


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
