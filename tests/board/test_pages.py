"""The pages of a board: each number is in board.json, hostile texts are texts, files are ours."""

import csv
import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from curation.board.building import SUMS, build, pages
from curation.board.folder import Board, open_board
from curation.board.log import Closed, Opened, Waits
from curation.files import CurationError, dump_json
from support.commands import run
from support.hosting import host
from support.rows import rechecked, refused, scored, with_baselines
from support.told import Page, problems

HOSTILE = '<script>alert("1")</script>\u202e=1+1'
WAITS = Waits(date="2026-12-24", version="0.1.0", file="later.json", submission="b" * 64)
REFUSED = refused("bad.json", "missing_scores", "line 12: <b>no</b> score")


def labels(root: Path, rows: int) -> Board:
    """A board with hidden labels: every fifth row differs, every fourth is not checked."""
    hosted = host(root, cats=12, terms=3, rows=max(rows, 3))
    with_baselines(hosted)
    made = [scored(f"org/model-{n}", 95 - n, 1 + n % 9) for n in range(rows)]
    checks = [
        rechecked(row, 9 + n % 9, agrees=n % 5 > 0) for n, row in enumerate(made) if n % 4 < 3
    ]
    hosted.board.append([*made, *checks, *([REFUSED, WAITS] if rows else [])])
    return hosted.board


def sealed(root: Path, rows: int) -> Board:
    """A board with a sealed test set."""
    hosted = host(root, hide="all", cats=12, terms=3)
    with_baselines(hosted)
    made = (scored(f"org/model-{n}", 95 - n / 2, 1 + n % 9, sealed=True) for n in range(rows))
    hosted.board.append([*made])
    return hosted.board


def rotated(root: Path) -> Board:
    """A board with a closed test set and an open one."""
    board = labels(root, 7)
    new, old = board.root / "sets" / "0.2.0", board.open_set
    new.mkdir()
    facts = old.facts.model_copy(update={"version": "0.2.0"})
    (new / "set.json").write_bytes(dump_json(facts.model_dump()))
    closed = Closed(date="2026-12-28", version="0.1.0", revealed="e" * 64)
    board.append([closed, Opened(date="2026-12-29", version="0.2.0", facts="f" * 64)])
    return open_board(board.root)


def page_of(board: Board) -> str:
    return build(board).read_text("utf-8")


@pytest.mark.parametrize(("made", "rows"), [(labels, 0), (labels, 12), (sealed, 0), (sealed, 12)])
def test_each_number_is_what_board_json_says(tmp_path: Path, made: object, rows: int) -> None:
    board = made(tmp_path, rows)  # type: ignore[operator]
    page = page_of(board)
    assert list(problems(board.root, board.root)) == []
    told = [each for each in Page(page).told if each.by.key is not None]
    assert len(told) > 20 + 9 * rows
    assert page.count("org/model-11") == (rows == 12) * (2 if made is labels else 10)


def test_numbers_of_closed_test_sets_have_places_too(tmp_path: Path) -> None:
    board = rotated(tmp_path)
    page = page_of(board)
    assert list(problems(board.root, board.root)) == []
    assert 'href="sets/0.1.0/revealed/SHA256SUMS"' in page
    assert "Submissions that still waited when the test set was closed" in page


def test_a_page_says_the_states_the_queue_and_the_reasons(tmp_path: Path) -> None:
    page = page_of(labels(tmp_path, 5))
    text = re.sub(r"\s+", " ", re.sub(r"</?(bdi|data|span|time)[^>]*>", "", page))
    assert "of 59 CATs, 31 have another order, 40 another score" in text
    assert "2026-12-10: agrees; of 59 CATs, 0 have another order" in text
    assert "largest relative difference of a score is 0.4123" in text
    assert text.count("by Ann Example · rechecked") == 3
    assert text.count("by Ann Example · self-reported") == 1
    assert text.count("by Ann Example · differs") == 1
    cells = r'<th scope="row" class="words">1</th> <td class="words">later.json</td>'
    assert f'{cells}<td class="words">2026-12-24</td>' in text
    assert "associations have no score" in text
    assert "line 12: &lt;b&gt;no&lt;/b&gt; score" in text
    assert "prefers the longer text, on CATs of dev" in text


class Elements(HTMLParser):
    """The elements of a page, and the attributes of its links."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[dict[str, str | None]] = []
        self.attributes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "a":
            self.links.append(dict(attrs))


def test_texts_of_submitters_are_only_texts(tmp_path: Path) -> None:
    hosted = host(tmp_path, hide="all", cats=12, terms=3)
    same = {"by": HOSTILE, "how": HOSTILE, "revision": HOSTILE, "profile": HOSTILE}
    rows = [
        scored(HOSTILE, 90, link="javascript:alert(1)", sealed=True, **same),
        scored(HOSTILE, 80, link='https://example.org/"><script>', sealed=True, **same),
    ]
    bad = REFUSED.model_copy(update={"file": HOSTILE, "code": HOSTILE, "detail": HOSTILE})
    hosted.board.append([*rows, bad])
    page = page_of(hosted.board)
    elements = Elements(page)
    assert not elements.names & {"script", "img", "iframe", "form", "object", "base"}
    assert not [name for name in elements.attributes if name.startswith("on") or name == "style"]
    outside = [link for link in elements.links if ":" in str(link["href"])]
    assert [link["href"] for link in outside] == ['https://example.org/"><script>']
    assert {link["rel"] for link in outside} == {"nofollow noopener"}
    with (hosted.board.root / "results" / "board.csv").open(newline="", encoding="utf-8") as file:
        assert {row["model"] for row in csv.DictReader(file)} == {HOSTILE}


def test_the_page_allows_its_own_style_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(labels(tmp_path, 3))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#39;", "'").split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_the_table_has_a_row_for_each_row_of_each_ranking(tmp_path: Path) -> None:
    board = labels(tmp_path, 5)
    board.append([scored("=1+1", 70, profile="other")])
    build(board)
    with (board.root / "results" / "board.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    first, last = rows[0], rows[-1]
    assert (first["version"], first["profile"], first["rank"]) == ("0.1.0", "default", "1")
    assert (first["model"], first["icat"], first["icat_ci.low"]) == ("org/model-1", "94.0", "89.0")
    assert (last["profile"], last["model"], last["rank"]) == ("other", "'=1+1", "")


def test_a_table_without_rows_has_a_header(tmp_path: Path) -> None:
    board = labels(tmp_path, 0)
    build(board)
    assert (board.root / "results" / "board.csv").read_text().startswith("version,profile,rank")
    assert "No model has a row yet." in (board.root / "index.html").read_text("utf-8")


def test_the_same_log_gives_the_same_bytes_and_names_them(tmp_path: Path) -> None:
    board = labels(tmp_path, 5)
    first = pages(board)
    printed = run("board", "build", "--board", board.root)
    assert (printed.code, printed.out.strip()) == (0, str(board.root / "index.html"))
    assert {path: (board.root / path).read_bytes() for path in first} == first
    assert pages(open_board(board.root)) == first
    sums = dict(line.split("  ")[::-1] for line in first[SUMS].decode().splitlines())
    others = {path: data for path, data in first.items() if path != SUMS}
    assert sums == {path: sha256(data).hexdigest() for path, data in others.items()}
    content = json.loads(first["results/board.json"])
    assert content["head"] == sha256(board.log.read_bytes().splitlines(True)[-1]).hexdigest()


def test_files_of_rows_that_are_gone_are_deleted_and_nothing_else(tmp_path: Path) -> None:
    board = labels(tmp_path, 3)
    build(board)
    own = board.root / "results" / "every_eval_ever" / "data"
    assert len(rows := [*own.rglob("*.json")]) == 3
    (outside := tmp_path / "outside").mkdir()
    (outside / "a.json").write_text("a")
    (own / "link").symlink_to(outside)
    others = [board.root / "mine.txt", board.root / "results" / "mine.txt"]
    for path in others:
        path.write_text("mine")
    board.log.write_bytes(board.log.read_bytes().splitlines(keepends=True)[0])
    build(board)
    assert not [path for path in rows if path.exists()]
    assert not own.exists()
    assert all(path.exists() for path in (*others, outside / "a.json", board.log))


@pytest.mark.parametrize("name", ["index.html", "results/board.json", "results/SHA256SUMS"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    board = labels(tmp_path, 3)
    (tmp_path / "mine").write_text("mine")
    (board.root / name).symlink_to(tmp_path / "mine")
    with pytest.raises(CurationError, match="is a link"):
        build(board)
    assert (tmp_path / "mine").read_text() == "mine"
    assert sum((board.root / path).is_file() for path in pages(board)) == 1  # nothing else, either


def test_nothing_is_deleted_through_a_link(tmp_path: Path) -> None:
    board = labels(tmp_path, 3)
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "a.json").write_text("a")
    (board.root / "results" / "every_eval_ever").symlink_to(tmp_path / "theirs")
    with pytest.raises(CurationError, match="is a link"):
        build(board)
    assert (tmp_path / "theirs" / "a.json").exists()
