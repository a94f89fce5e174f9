"""What hostile submitters and careless owners try with a board."""

import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from curation.board.building import build
from curation.board.folder import open_board
from curation.board.log import Rechecked, Scored
from curation.board.scoring import Outcome, score
from curation.board.verifying import verify
from curation.files import CurationError, beside, writing
from support.hosting import BOARD_ID, TODAY, Hosted, host, submission, submit
from support.strike import KilledError


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    return host(tmp_path, cats=60)


def settled(hosted: Hosted) -> dict[str, Outcome]:
    """One run of «board score», by a command of its own."""
    board = open_board(hosted.board.root)
    return {each.file: each for each in score(board, hosted.campaign, today=TODAY)}


def rechecked(row: Scored, *, agrees: bool) -> Rechecked:
    about = {"date": row.date, "version": row.version, "file": row.file}
    found = {"cats": 10, "orders": 0, "beyond": 0, "largest": 0.0, "revision": "1"}
    return Rechecked(**about, submission=row.submission, agrees=agrees, **found)  # type: ignore[arg-type]


def the_row(hosted: Hosted) -> Scored:
    (row,) = (each for each in hosted.board.entries() if isinstance(each, Scored))
    return row


def test_a_line_that_the_owner_did_not_write_is_refused(hosted: Hosted) -> None:
    submit(hosted, submission(hosted, hosted.scores()))
    settled(hosted)
    written = hosted.board.log.read_bytes()
    # A proposal that was merged: the chain has no secret, so the line follows the others.
    open_board(hosted.board.root).append([rechecked(the_row(hosted), agrees=True)])
    with pytest.raises(CurationError, match="has lines that you have not written") as error:
        settled(hosted)
    assert "restore it from version control" in error.value.fix
    hosted.board.log.write_bytes(written)
    assert settled(hosted) == {}


@pytest.mark.parametrize("moment", ["before", "after"])
def test_killed_beside_the_log_the_owner_still_knows_the_head(
    hosted: Hosted, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    submit(hosted, submission(hosted, hosted.scores()))
    heads = hosted.campaign.folder("boards") / BOARD_ID / "head.txt"

    def only_private(path: Path, *, private: bool = False) -> AbstractContextManager[Any]:
        if not private:
            raise KilledError
        return writing(path, private=True)

    if moment == "before":  # the heads are noted, the log is not written
        with monkeypatch.context() as patch:
            patch.setattr("curation.board.folder.writing", only_private)
            with pytest.raises(KilledError):
                settled(hosted)
    else:  # the log is written, and its head is not noted alone
        settled(hosted)
        last = heads.read_text()
        heads.write_text(f"{'a' * 64}\n{last}")
    assert len(heads.read_text().split()) == 2
    assert [each.outcome for each in settled(hosted).values()] in ([], ["scored"])
    assert the_row(hosted).file == "001.json"
    assert len(heads.read_text().split()) == 1


def test_a_pipe_in_place_of_a_submission_is_a_finding(hosted: Hosted) -> None:
    (path,) = submit(hosted, submission(hosted, hosted.scores()))
    settled(hosted)
    path.unlink()
    os.mkfifo(path)
    found = {(each.code, each.where) for each in verify(open_board(hosted.board.root)).findings}
    assert {("unreadable", "submissions/001.json"), ("page_changed", "index.html")} <= found


def test_a_lost_log_does_not_become_an_empty_page(hosted: Hosted) -> None:
    for content in (b"", None):
        hosted.board.log.write_bytes(content) if content is not None else hosted.board.log.unlink()
        with pytest.raises(CurationError, match=r"log\.jsonl"):
            build(open_board(hosted.board.root))
    assert not (hosted.board.root / "index.html").exists()


def test_what_a_killed_build_left_is_removed(hosted: Hosted) -> None:
    submit(hosted, submission(hosted, hosted.scores()))
    settled(hosted)
    board = open_board(hosted.board.root)
    build(board)
    (page,) = (board.root / "results/every_eval_ever").rglob("*.json")
    for path in (page, board.root / "results/board.csv"):
        left = beside(path)
        left.with_name(left.name.replace(f"-{os.getpid()}.", f"-{2**22 + 1}.")).write_bytes(b"x")
    assert [each.code for each in verify(board).findings] == ["extra", "extra"]
    build(board)
    assert verify(board).findings == []


@pytest.mark.parametrize("head", ["", "5ae5ab9d9c74", "A" * 64, "--yes"])
def test_a_head_that_was_not_copied_whole_accuses_nobody(hosted: Hosted, head: str) -> None:
    with pytest.raises(CurationError, match="a head is 64 of 0-9 and a-f"):
        verify(hosted.board, kept=head)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["Ann Example", "Ben Example"]', '"Ann Example"', r'must be a list, such as \["Ann'),
        ("expires = 2099-12-31", "", "expires: is missing"),
        ("expires", "expire", "no such setting|is missing"),
    ],
)
def test_settings_are_explained_in_plain_words(
    hosted: Hosted, old: str, new: str, says: str
) -> None:
    path = hosted.board.root / "board.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(CurationError, match=says):
        open_board(hosted.board.root)
