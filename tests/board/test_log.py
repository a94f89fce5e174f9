"""The log of a board: chained lines, none of which can be changed."""

from hashlib import sha256
from pathlib import Path

import pytest

from curation.board.log import NONE, Opened, chained, head, read_log
from curation.files import CurationError
from support.hosting import host
from support.rows import refused

OPENED = Opened(date="2026-11-26", version="0.1.0", facts="a" * 64)


def test_each_line_has_the_sha256_of_the_line_before_it(tmp_path: Path) -> None:
    lines = chained(chained([], [OPENED]), [refused("a.json", "x")] * 2)
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    entries, read = read_log(path)
    assert read == lines
    assert [entry.previous for entry in entries] == [NONE, *(head([line]) for line in lines[:2])]
    assert head(lines) == sha256(lines[-1]).hexdigest()


@pytest.mark.parametrize("line", [1, 2])
def test_a_changed_line_is_found(tmp_path: Path, line: int) -> None:
    lines = chained([], [OPENED, OPENED, OPENED])
    lines[line - 1] = lines[line - 1].replace(b"0.1.0", b"0.1.1")
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(lines))
    with pytest.raises(CurationError, match=f"line {line + 1}: does not follow the line before"):
        read_log(path)


def test_a_day_that_is_none_is_found(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b"".join(chained([], [OPENED])).replace(b"2026-11-26", b"2026-11-31"))
    with pytest.raises(
        CurationError, match=r"line 1: field .opened\.date.: Value error, day is out"
    ):
        read_log(path)


def test_a_hosted_board_has_an_open_test_set(tmp_path: Path) -> None:
    hosted = host(tmp_path)
    assert hosted.board.open_set.facts.cats == len(hosted.cats) == 200
    assert len(hosted.board.open_set.cats.read_text().splitlines()) == 200
