"""Anyone can check a board: a good one has no finding, and every kind of change is found."""

import json
import shutil
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from curation.board.building import build, pages
from curation.board.folder import Board, open_board
from curation.board.log import NONE, Closed, Entry, Rechecked, Scored, chained, read_log, values
from curation.board.rechecking import size
from curation.board.verifying import MEANS, Verified, verify
from curation.campaign.settings import Hide
from curation.files import dump_json, dump_line
from curation.records import Annotation, Score
from curation.release.build import revealed_files
from curation.released.contents import SUMS, Contents
from support.commands import run
from support.hosting import Hosted, host, submission, submit

DATE = "2026-11-27"


def score(hosted: Hosted, number: int, hide: Hide) -> Scored:
    """A submission with its row, as the owner's command writes it."""
    import_scores = hosted.scores(number, ss=0.5 + number / 20)
    model = f"made-up/model-{number}"
    content = submission(hosted, import_scores if hide == "labels" else None, model=model)
    (path,) = submit(hosted, content)
    digest = scores = sha256(path.read_bytes()).hexdigest()
    if hide == "all":
        lines = b"".join(
            dump_line(Score(model=model, rule="ll-bos", association=id, value=value))
            for id, value in import_scores.items()
        )
        scores = sha256(lines).hexdigest()
        place = hosted.campaign.folder("boards") / f"{scores}.jsonl"
        place.write_bytes(lines)
    about = {name: content[name] for name in ("version", "model", "revision", "profile", "rules")}
    about |= {name: content[name] for name in ("by", "link", "how", "format")}
    shown = values(hosted.cats, import_scores, hide=hide)
    made = {"date": DATE, "file": path.name, "submission": digest, "scores": scores}
    return Scored.model_validate(about | made | {"values": shown})


def close(hosted: Hosted, hide: Hide) -> Closed:
    """Reveal the test set, as the owner's command does."""
    import pandas as pd

    from curation.catsets.stereoset import FileSettings

    place = hosted.board.root / "sets" / "0.1.0"
    labels = pd.DataFrame(columns=list(Annotation.model_fields)).astype({"counted": bool})
    contents = Contents("0.1.0", (), labels, (), FileSettings(language="en"))
    files = revealed_files(hosted.golds, contents, name="made up", warning="made up")
    (place / "revealed").mkdir()
    for name, data in files.items():
        (place / "revealed" / name).write_bytes(data)
    if hide == "all":
        (place / "scores").mkdir()
        for path in hosted.campaign.folder("boards").glob("*.jsonl"):
            shutil.copy(path, place / "scores")
    return Closed(date=DATE, version="0.1.0", revealed=sums(place / "revealed"))


def sums(folder: Path) -> str:
    """Write the checksums of a folder; their own sha256."""
    lines = [
        f"{sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    ]
    (folder / SUMS).write_text("".join(lines))
    return sha256((folder / SUMS).read_bytes()).hexdigest()


@cache
def made(hide: Hide) -> Path:
    """A board with two rows, one of them rechecked, whose test set is closed."""
    root = Path(mkdtemp())
    hosted = host(root, hide=hide, cats=24, terms=4, rows=2)
    first, second = (score(hosted, number, hide) for number in (1, 2))
    about = {"file": first.file, "submission": first.submission, "version": "0.1.0"}
    found = {"cats": size(24, "float32").cats, "orders": 0, "beyond": 0, "largest": 1e-6}
    checked = Rechecked(**about, **found, date=DATE, agrees=True, revision="1")  # type: ignore[arg-type]
    hosted.board.append([first, second, checked, close(hosted, hide)])
    build(hosted.board)
    return hosted.board.root


@pytest.fixture
def board(tmp_path: Path) -> Board:
    return open_board(Path(shutil.copytree(made("labels"), tmp_path / "board")))


@pytest.fixture
def sealed(tmp_path: Path) -> Board:
    return open_board(Path(shutil.copytree(made("all"), tmp_path / "sealed")))


def again(board: Board, change: Callable[[list[Entry]], list[Entry]]) -> None:
    """Change entries of the log, with a whole chain and its pages."""
    entries = change(read_log(board.log)[0])
    board.log.write_bytes(b"".join(chained([], entries)))
    build(board)


def changed(entries: list[Entry], place: int, **values: Any) -> list[Entry]:
    entries[place] = entries[place].model_copy(update=values)
    return entries


def files(board: Board) -> int:
    """set.json, CATs, two submissions, five revealed files; of a sealed test set two of scores."""
    return 9 if board.test_set("0.1.0").facts.hide == "labels" else 11


def places(done: Verified) -> set[tuple[str, str]]:
    return {(finding.code, finding.where) for finding in done.findings}


@pytest.mark.parametrize("hide", ["board", "sealed"])
def test_a_good_board_has_no_finding(request: pytest.FixtureRequest, hide: str) -> None:
    board = request.getfixturevalue(hide)
    done = verify(board)
    assert done.findings == []
    assert done.counts == {
        "lines": 5,
        "test sets": 1,
        "files": files(board),
        "pages": len(pages(board)),
    } | {"rows": 2, "scores": 2}
    assert done.head == sha256(board.log.read_bytes().splitlines(keepends=True)[-1]).hexdigest()
    assert done.unknown == []


def test_before_a_reveal_scores_are_not_checked(tmp_path: Path) -> None:
    hosted = host(tmp_path, cats=40, terms=5)
    assert verify(hosted.board).unknown == ["the scores of 0.1.0, before it is revealed"]
    assert verify(hosted.board).counts["scores"] == 0


@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_changed_line_is_found(board: Board, line: int) -> None:
    lines = board.log.read_bytes().splitlines(keepends=True)
    lines[line - 1] = lines[line - 1].replace(b"2026-11-2", b"2026-11-1")
    board.log.write_bytes(b"".join(lines))
    late = {("not_in_order", f"results/log.jsonl line {line}")} if line > 1 else set()
    assert places(verify(board)) == late | {("log_changed", f"results/log.jsonl line {line + 1}")}


def test_all_damaged_lines_are_found(board: Board) -> None:
    lines = board.log.read_bytes().splitlines(keepends=True)
    lines[1], lines[3] = b"no\n", lines[3].replace(b'"what":', b'"what": ')
    board.log.write_bytes(b"".join(lines))
    done = verify(board)
    wrong = {n for code, n in places(done) if code == "log_changed"}
    assert wrong == {f"results/log.jsonl line {n}" for n in (2, 3, 4, 5)}


def test_a_dropped_line_is_found_by_the_head_that_was_kept(board: Board) -> None:
    head = verify(board).head
    again(board, lambda entries: entries[:-1])
    for each in (board.root / "sets" / "0.1.0" / name for name in ("revealed", "scores")):
        shutil.rmtree(each, ignore_errors=True)
    assert verify(board).findings == []
    assert places(verify(board, kept=head)) == {("head_missing", "results/log.jsonl")}
    assert verify(board, kept=verify(board).head).findings == []


@pytest.mark.parametrize(
    "name",
    ["submissions/001.json", "set.json", "CATS", "revealed/test.json", "revealed/SHA256SUMS"],
)
@pytest.mark.parametrize("code", ["changed", "missing"])
def test_a_file_that_is_not_the_one_of_the_log_is_found(board: Board, name: str, code: str) -> None:
    own = board.test_set("0.1.0").cats.name
    where = name if "submissions" in name else f"sets/0.1.0/{name.replace('CATS', own)}"
    path = board.root / where
    if code == "missing":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"e", b"f", 1))
    assert (code, where) in places(verify(board))


@pytest.mark.parametrize("where", ["sets/0.1.0/other.json", "sets/9.9.9/set.json"])
def test_a_file_that_the_log_does_not_know_is_found(board: Board, where: str) -> None:
    (board.root / where).parent.mkdir(exist_ok=True)
    (board.root / where).write_text("{}")
    assert places(verify(board)) == {("extra", where)}


def test_a_changed_gold_label_is_found(board: Board) -> None:
    path = board.root / "sets/0.1.0/revealed/test.json"
    content = json.loads(path.read_bytes())
    cat = content["data"]["intrasentence"][0]
    first, second, _ = cat["sentences"]
    first["gold_label"], second["gold_label"] = second["gold_label"], first["gold_label"]
    path.write_bytes(dump_json(content))
    again(board, lambda entries: changed(entries, -1, revealed=sums(path.parent)))
    done = verify(board)
    (found,) = (finding for finding in done.findings if finding.code == "not_as_committed")
    assert found.where == "sets/0.1.0/revealed"
    assert found.what == f"CAT {cat['id']}: test.json has other texts or gold labels than the proof"
    assert {code for code, _ in places(done)} <= {"not_as_committed", "not_its_scores"}


def test_a_changed_proof_is_found(board: Board) -> None:
    path = board.root / "sets/0.1.0/revealed/reveal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    first, last = json.loads(lines[0]), json.loads(lines.pop())
    message = json.loads(first["message"])
    golds = [option["gold_label"] for option in message["options"]]
    for option, gold in zip(message["options"], golds[1:] + golds[:1], strict=True):
        option["gold_label"] = gold
    first["message"] = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    lines[0] = f"{json.dumps(first)}\n"
    path.write_text("".join(lines))
    again(board, lambda entries: changed(entries, -1, revealed=sums(path.parent)))
    (found,) = verify(board).findings
    assert (found.code, found.where) == ("not_as_committed", "sets/0.1.0/revealed")
    assert f"CAT {first['id']}: message and nonce do not give its commitment" in found.what
    assert f"CAT {last['id']}: is not revealed" in found.what


@pytest.mark.parametrize("metric", ["lms", "ss", "icat", "ss_ci", "terms"])
def test_a_wrong_value_is_found_though_the_chain_is_whole(board: Board, metric: str) -> None:
    row = read_log(board.log)[0][1]
    assert isinstance(row, Scored)
    value = getattr(row.values.overall, metric)
    wrong = (value[0], round(value[1] + 0.1, 1)) if isinstance(value, tuple) else value + 1
    overall = row.values.overall.model_copy(update={metric: wrong})
    shown = row.values.model_copy(update={"overall": overall})
    again(board, lambda entries: changed(entries, 1, values=shown))
    done = verify(board)
    assert places(done) == {("not_its_scores", "results/log.jsonl line 2")}
    assert done.findings[0].what.startswith(f"{row.model}: overall.{metric} is {wrong}, ")


def test_values_about_hidden_labels_have_one_decimal(board: Board) -> None:
    row = read_log(board.log)[0][1]
    assert isinstance(row, Scored)
    for finer in (0.01, 1e-12):  # tells more of the labels, or is how floats differ
        overall = row.values.overall.model_copy(update={"ss": row.values.overall.ss + finer})
        shown = row.values.model_copy(update={"overall": overall})
        again(board, lambda entries, shown=shown: changed(entries, 1, values=shown))  # type: ignore[misc]
        assert places(verify(board)) == {("too_much", "results/log.jsonl line 2")}


def test_an_open_test_set_shows_no_more_than_it_may(board: Board) -> None:
    row = read_log(board.log)[0][1]
    assert isinstance(row, Scored)
    shown = row.values.model_copy(update={"kinds": {"intrasentence": row.values.overall}})
    again(board, lambda entries: changed(entries, 1, values=shown)[:-1])
    assert ("too_much", "results/log.jsonl line 2") in places(verify(board))


@pytest.mark.parametrize("found", [{"cats": 3}, {"orders": 1}, {"beyond": 2}])
def test_a_recheck_that_cannot_agree_is_found(board: Board, found: dict[str, int]) -> None:
    again(board, lambda entries: changed(entries, 3, **found))
    assert places(verify(board)) == {("weak_recheck", "results/log.jsonl line 4")}


def test_values_of_a_sealed_set_may_differ_by_what_machines_do(sealed: Board) -> None:
    board = sealed
    row = read_log(board.log)[0][1]
    assert isinstance(row, Scored)
    domain = row.values.domains["hobby"]
    for by, expected in ((1e-11, set()), (1e-7, {"not_its_scores"})):
        cell = domain.model_copy(update={"lms": domain.lms + by})
        shown = row.values.model_copy(update={"domains": row.values.domains | {"hobby": cell}})
        again(board, lambda entries, shown=shown: changed(entries, 1, values=shown))  # type: ignore[misc]
        assert {finding.code for finding in verify(board).findings} == expected


def test_scores_that_lack_a_cat_are_found(sealed: Board) -> None:
    board = sealed
    row = read_log(board.log)[0][1]
    assert isinstance(row, Scored)
    path = board.root / "sets/0.1.0/scores" / f"{row.scores}.jsonl"
    less = b"".join(path.read_bytes().splitlines(keepends=True)[1:])
    path.unlink()
    name = sha256(less).hexdigest()
    path.with_name(f"{name}.jsonl").write_bytes(less)
    again(board, lambda entries: changed(entries, 1, scores=name))
    (found,) = verify(board).findings
    assert (found.code, found.where) == ("not_its_scores", "results/log.jsonl line 2")
    assert found.what == "made-up/model-1: 1 CATs have no score"


def test_a_published_score_file_that_was_changed_is_found(sealed: Board) -> None:
    board = sealed
    path = next((board.root / "sets/0.1.0/scores").iterdir())
    path.write_bytes(path.read_bytes().replace(b"-3", b"-4", 1))
    where = path.relative_to(board.root).as_posix()
    assert ("changed", where) in places(verify(board))


ORDER: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "a test set that is opened twice": (lambda e: [e[0], *e], "not_in_order"),
    "a row after the test set is closed": (
        lambda e: [e[0], e[1], e[3], e[4], e[2]],
        "not_in_order",
    ),
    "a row before the test set is opened": (lambda e: [e[1], e[0], *e[2:]], "not_in_order"),
    "a recheck without a row": (lambda e: [e[0], e[2], e[3], e[4]], "not_in_order"),
    "a day before that of an earlier line": (
        lambda e: [e[0], e[1].model_copy(update={"date": "2026-01-01"}), *e[2:]],
        "not_in_order",
    ),
    "a model twice": (lambda e: [e[0], e[1], e[1], e[3], e[4]], "scored_twice"),
    "more rows than allowed": (lambda e: [e[0], e[1], e[2], e[2], *e[3:]], "too_many_rows"),
}


def test_a_model_whose_recheck_differs_may_have_another_row(board: Board) -> None:
    def change(entries: list[Entry]) -> list[Entry]:
        opened, first, second, checked, closed = entries
        other = second.model_copy(update={"model": first.model})  # type: ignore[union-attr]
        differs = checked.model_copy(update={"agrees": False})
        return [opened, first, differs, other, closed]

    again(board, change)
    assert {finding.code for finding in verify(board).findings} == {"not_as_submitted"}


@pytest.mark.parametrize("name", ORDER)
def test_what_the_log_may_not_say_is_found(board: Board, name: str) -> None:
    change, code = ORDER[name]
    again(board, change)
    codes = {finding.code for finding in verify(board).findings}
    assert code in codes
    assert codes <= {code, "extra", "scored_twice"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("scores", "a" * 64),
        ("model", "made-up/other"),
        ("revision", "2"),
        ("by", "Ben Example"),
        ("format", "float16"),
    ],
)
def test_a_row_that_is_not_its_submission_is_found(board: Board, name: str, value: str) -> None:
    again(board, lambda entries: changed(entries, 2, **{name: value}))
    (found,) = verify(board).findings
    assert (found.code, found.where) == ("not_as_submitted", "results/log.jsonl line 3")
    assert found.what.startswith((f"{name} is {value}, and in 002.json ", "its scores are not"))


def test_a_path_outside_of_the_board_is_not_read(board: Board) -> None:
    entries = changed(read_log(board.log)[0], 1, file="../../secret.json")
    board.log.write_bytes(b"".join(chained([], entries)))
    (found,) = (f for f in verify(board).findings if f.code == "log_changed")
    assert found.where == "results/log.jsonl line 2"
    assert found.what.startswith("field 'scored.file': ")


def test_pages_that_the_log_does_not_give_are_found(board: Board) -> None:
    page, table = (board.root / name for name in ("index.html", "results/board.csv"))
    page.write_text(page.read_text("utf-8").replace("model-1", "model-9"), "utf-8")
    table.unlink()
    (board.root / "results" / "best.html").write_text("model-9 is the best")
    done = verify(board)
    assert {(f.code, f.where, f.what[:4]) for f in done.findings} == {
        ("page_changed", "index.html", "has "),
        ("page_changed", "results/board.csv", "no s"),
        ("extra", "results/best.html", "has "),
    }
    build(board)
    assert places(verify(board)) == {("extra", "results/best.html")}


def test_pages_of_another_version_of_curation_are_named_as_such(board: Board) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("curation.board.building.__version__", "99.0")
        build(board)
    done = verify(board)
    assert {f.code for f in done.findings} == {"other_version"}
    found = done.findings[0]
    assert "results/board.json" in {f.where for f in done.findings}
    assert "install that version" in MEANS[found.code]


def test_the_command_lists_findings_and_says_what_they_mean(board: Board) -> None:
    ran = run("board", "verify", board.root)
    assert (ran.code, ran.err) == (0, "")
    counts = f"{files(board)} files, {len(pages(board))} pages, 2 rows, 2 scores"
    assert f"0 findings\nchecked: 5 lines, 1 test sets, {counts}\n" in ran.out
    assert ran.out.endswith(f"head of the log, to keep: {verify(board).head}\n")
    again(board, lambda entries: [entries[0], *entries[2:]])
    (board.root / "sets/0.1.0/other.json").write_text("{}")
    ran = run("board", "verify", board.root, "--head", "f" * 64)
    assert ran.code == 1
    for code in ("head_missing", "extra"):
        assert f"{code}: {MEANS[code]}" in " ".join(ran.out.split())
    told = json.loads(run("board", "verify", board.root, "--json").out)
    assert told["findings"][0].keys() == {"code", "where", "what"}
    assert told["counts"]["lines"] == 4


def test_an_earlier_head_of_an_empty_log_is_always_kept(board: Board) -> None:
    assert verify(board, kept=NONE).findings == []
