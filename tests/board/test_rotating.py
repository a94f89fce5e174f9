"""Test sets are closed and revealed, and the next ones are opened."""

import json
import shutil
import signal
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from curation.board.creating import rotate
from curation.board.folder import Board, keep_head, open_board
from curation.board.log import Closed, Opened, Scored, values
from curation.catsets.stereoset import read_cats
from curation.files import dump_line
from curation.released import commitments, numbers
from support.commands import Ran
from support.expected import has
from support.labelled import Desk
from support.strike import strike, times
from support.written import files, lines


class Opening(NamedTuple):
    """A campaign, and its board with the test set 0.1.0."""

    desk: Desk
    root: Path

    @property
    def board(self) -> Board:
        return open_board(self.root)

    @property
    def owner(self) -> Path:
        return self.desk.root / "boards" / self.board.settings.id

    def copy(self, to: Path) -> "Opening":
        shutil.copytree(self.root, to / "b")
        return Opening(self.desk.copy(to / "c"), to / "b")

    def words(self, *more: str) -> tuple[Any, ...]:
        return ("board", "rotate", "--board", self.root, "--yes", *more)

    def rotate(self, *more: str, **how: Any) -> Ran:
        return self.desk.run(*self.words(*more), **how)

    def does(self, *more: str) -> str:
        done = self.rotate(*more)
        assert done.code == 0, done.err
        return done.out

    def refuses(self, *parts: str, words: tuple[str, ...] = ()) -> None:
        """Nothing changes, in the campaign or in the board."""
        before = files(self.root), files(self.desk.root)
        has(self.desk.refused(*self.words(*words)), *parts)
        assert (files(self.root), files(self.desk.root)) == before


def opening(desk: Desk, to: Path) -> Opening:
    own = Opening(desk.copy(to / "c"), to / "b")
    own.desk.done("board", "create", own.root, "--release", "0.1.0")
    return own


@pytest.fixture(scope="module")
def unseen(sealed: Desk, tmp_path_factory: pytest.TempPathFactory) -> Opening:
    """A board of a sealed test set with one row. Copy it before changing anything."""
    own = opening(sealed, tmp_path_factory.mktemp("unseen"))
    cats = list(read_cats(own.desk.gold))
    scores = {a.id: float(n) for n, cat in enumerate(cats) for a in cat.associations}
    content = b"".join(json.dumps([id, score]).encode() + b"\n" for id, score in scores.items())
    sha = sha256(content).hexdigest()
    (own.owner / "rows").mkdir()
    (own.owner / "rows" / f"{sha}.jsonl").write_bytes(content)
    row = Scored(
        date="2026-11-26", version="0.1.0", file="a.json", submission="1" * 64, model="m",
        revision="1", profile="default", rules={}, by="Ann", link="", how="", format="float32",
        scores=sha, values=values(cats, scores, hide="all"),
    )  # fmt: skip
    board = own.board
    keep_head(board, own.owner)
    board.append([row])
    keep_head(board, own.owner)
    return own


@pytest.fixture
def own(unseen: Opening, tmp_path: Path) -> Opening:
    return unseen.copy(tmp_path)


@pytest.fixture
def read_by_all(many: None, hidden: Desk, tmp_path: Path) -> Opening:
    """A board of a test set with hidden labels."""
    return opening(hidden, tmp_path)


def test_a_sealed_test_set_is_closed_and_the_next_one_opened(own: Opening) -> None:
    before = own.board
    said = own.does("--release", "0.2.0", "--rotates", "2028-02-03")
    has(
        said, "0.1.0 is closed", "0.2.0 is open; rotates in board.toml is 2028-02-03", "board build"
    )
    board, closed = own.board, own.root / "sets/0.1.0"
    _, row, last, new = board.entries()
    assert isinstance(row, Scored)
    assert isinstance(last, Closed)
    assert isinstance(new, Opened)
    assert files(closed / "revealed") == files(own.desk.revealed)
    sums = (closed / "revealed/SHA256SUMS").read_bytes()
    assert (last.version, last.revealed) == ("0.1.0", sha256(sums).hexdigest())
    (scores,) = (closed / "scores").iterdir()
    assert scores.name == f"{row.scores}.jsonl"
    assert sha256(scores.read_bytes()).hexdigest() == row.scores
    public = lines(closed / "sealed.jsonl")
    assert commitments.verify(public, lines(closed / "revealed/reveal.jsonl")) == []
    assert (new.version, board.open_version) == ("0.2.0", "0.2.0")
    whole = (board.open_set.folder / "set.json").read_bytes()
    assert new.facts == sha256(whole).hexdigest()
    assert {p.name for p in board.open_set.folder.iterdir()} == {"set.json", "sealed.jsonl"}
    changed = (before.root / "board.toml").read_text("utf-8")
    assert str(board.settings.rotates) == "2028-02-03"
    assert board.settings.model_copy(update={"rotates": before.settings.rotates}) == before.settings
    assert "# When you want to close the open test set" in changed
    own.refuses("gold labels of version 0.1.0 are revealed", words=("--release", "0.1.0"))
    assert own.board.open_version == "0.2.0"


def test_hidden_labels_are_revealed(read_by_all: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    own = read_by_all
    # Neither values about the first test set nor its few CATs count for the second one.
    monkeypatch.setattr("curation.release.hiding.ONE", numbers.ONE)
    value = numbers.GivenOut(version="0.1.0", cats="0" * 64, name="model m", value="60")
    (own.desk.releases / "given-out.jsonl").write_bytes(dump_line(value))
    done = json.loads(own.does("--release", "0.2.0", "--json"))
    assert done == {"closed": "0.1.0", "open": "0.2.0", "rotates": str(own.board.settings.rotates)}
    closed = own.root / "sets/0.1.0"
    public = lines(closed / "cats.jsonl")
    assert commitments.verify(public, lines(closed / "revealed/reveal.jsonl")) == []
    assert not (closed / "scores").exists()
    assert own.board.open_set.facts.rows == 3


def test_a_killed_rotation_comes_to_the_same_end(unseen: Opening, tmp_path: Path) -> None:
    more = ("--release", "0.2.0", "--rotates", "2028-02-03")
    done = unseen.copy(tmp_path / "done")
    places = (done.desk.root, done.root)
    seen = times(done.desk.run, done.words(*more), *places, seen=True)
    assert seen > 20
    end = files(done.root)
    for at in {*range(2, seen, 9), *range(seen - 6, seen)}:  # the last ones are of the log
        own = unseen.copy(tmp_path / str(at))
        before = strike(own.desk.root, own.root, at=at, seen=True)
        died = own.rotate(*more, before=before)
        assert died.code == -signal.SIGKILL, died.err
        own.does(*more)
        assert files(own.root) == end
        assert files(own.desk.revealed) == files(done.desk.revealed)
        shutil.rmtree(tmp_path / str(at))
    own = done
    own.does(*more)
    assert files(own.root) == end


def test_only_closed_then_opened_by_a_version_of_the_other_kind(
    read_by_all: Opening, sealed: Desk
) -> None:
    own = read_by_all
    has(own.does(), "0.1.0 is closed", "No test set is open")
    assert own.board.open_version == ""
    has(own.does(), "No test set is open")
    assert len(own.board.entries()) == 2
    readme = own.root / "README.md"
    has(readme.read_text("utf-8"), "self-reported")
    shutil.rmtree(own.desk.second)
    shutil.copytree(sealed.second, own.desk.second)
    shutil.copyfile(sealed.releases / "gold-0.2.0.jsonl", own.desk.releases / "gold-0.2.0.jsonl")
    own.does("--release", "0.2.0")
    assert own.board.open_set.facts.hide == "all"
    has(readme.read_text("utf-8"), "the owner runs it")


def test_nothing_is_revealed_without_a_yes(own: Opening) -> None:
    before = files(own.root)

    def no(version: str) -> None:
        raise ValueError(version)

    with own.desk.campaign.lock(), pytest.raises(ValueError, match=r"^0\.1\.0$"):
        rotate(own.board, own.desk.campaign, release="0.2.0", agree=no)
    assert files(own.root) == before
    assert not own.desk.revealed.exists()


def test_a_test_set_that_was_closed_is_never_opened_again(own: Opening) -> None:
    own.does()
    shutil.rmtree(own.desk.revealed)  # as in a campaign from an older backup
    own.refuses("gold labels of version 0.1.0 are revealed", words=("--release", "0.1.0"))


def test_a_changed_readme_stays(own: Opening) -> None:
    (own.root / "README.md").write_text("ours", "utf-8")
    own.does("--release", "0.2.0")
    assert (own.root / "README.md").read_text("utf-8") == "ours"


def test_labels_that_were_revealed_before_are_published(
    own: Opening, unseen: Opening, tmp_path: Path
) -> None:
    own.desk.reveal()
    card = own.desk.revealed / "README.md"
    own.does()
    assert files(own.root / "sets/0.1.0/revealed") == files(own.desk.revealed)
    other = unseen.copy(tmp_path / "other")
    other.desk.reveal()
    card = other.desk.revealed / "README.md"
    card.write_bytes(b"other")
    other.refuses("0.1.0-revealed: changed after it was built: README.md")


def test_what_stops_a_rotation(own: Opening, unseen: Opening, tmp_path: Path) -> None:
    own.refuses("version 9 is not built", words=("--release", "9"))
    for path in (own.root / "sets/0.1.0/sealed.jsonl", own.root / "sets/0.1.0/set.json"):
        content = path.read_bytes()
        path.write_bytes(content.replace(b"0", b"1", 1) + b" ")
        own.refuses(f"{path.name}")
        path.write_bytes(content)
    (row,) = (own.owner / "rows").iterdir()
    row.rename(tmp_path / "row")
    own.refuses("is lost or was changed, so nobody could check the row")
    (tmp_path / "row").rename(row)
    other = unseen.copy(tmp_path / "other")
    other.owner.rename(tmp_path / "owner")
    other.refuses("the board in")
    words = [word for word in own.words() if word != "--yes"]
    has(own.desk.refused(*words), "asks before it changes anything", "--yes")
    assert own.board.open_version == "0.1.0"
