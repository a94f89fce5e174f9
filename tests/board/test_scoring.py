"""``board score``: every submission ends with a score, a place in the queue, or a reason."""

import shlex
from datetime import date
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from curation.board.folder import open_board
from curation.board.log import NONE, Entry, Rechecked, Refused, Scored, Waits, read_log, values
from curation.board.scoring import Outcome, score
from curation.board.submitting import check_files
from curation.campaign.versions import History
from curation.files import CurationError, dump_json, dump_line, read_records
from curation.records import PAIRS, Comparison, Rejection
from curation.released.numbers import GivenOut, fingerprint
from curation.scores.asking import cat_digest
from support import commands
from support.hosting import BOARD_ID, TODAY, Hosted, host, score_here, submission, submit


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    return host(tmp_path, cats=60)


def settled(hosted: Hosted, today: date = TODAY) -> dict[str, Outcome]:
    """What came of each submission, by its file."""
    board = open_board(hosted.board.root)
    return {each.file: each for each in score(board, hosted.campaign, today=today)}


def lines(hosted: Hosted) -> list[Entry]:
    return read_log(hosted.board.log)[0][1:]


def ledger(hosted: Hosted) -> list[GivenOut]:
    return read_records(
        hosted.campaign.folder("release") / "given-out.jsonl", GivenOut, missing_ok=True
    )


def setting(hosted: Hosted, before: str, after: str) -> None:
    path = hosted.board.root / "board.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def test_rows_places_and_reasons(tmp_path: Path) -> None:
    hosted = host(tmp_path, cats=60, rows=2)
    made = [hosted.scores(seed) for seed in range(5)]
    lacks = dict(list(made[0].items())[1:])
    submit(
        hosted,
        submission(hosted, made[0], model="a/one"),
        submission(hosted, made[0], model="a/one"),
        submission(hosted, lacks, model="a/two"),
        submission(hosted, made[1], by="Eve Example"),
        submission(hosted, made[2], model="a/three"),
        submission(hosted, made[3], model="a/four"),
        submission(hosted, made[4], model="a/five"),
        submission(hosted, made[4], version="0.0.9"),
    )
    (hosted.board.submissions / "link.json").symlink_to("/etc/passwd")
    found = settled(hosted)
    ends = {name: (each.outcome, each.place) for name, each in found.items()}
    assert ends == {
        "001.json": ("scored", None),
        "002.json": ("refused", None),
        "003.json": ("refused", None),
        "004.json": ("not_approved", None),
        "005.json": ("scored", None),
        "006.json": ("waits", 1),
        "007.json": ("waits", 2),
        "008.json": ("refused", None),
        "link.json": ("refused", None),
    }
    assert all(each.why and each.fix for each in found.values() if each.outcome != "scored")
    logged = {e.file: e for e in lines(hosted) if isinstance(e, Refused | Waits | Scored)}
    assert "004.json" not in logged
    codes = {name: e.code for name, e in logged.items() if isinstance(e, Refused)}
    assert codes == {
        "002.json": "already_scored",
        "003.json": "missing_scores",
        "008.json": "other_set",
        "link.json": "not_plain",
    }
    assert logged["link.json"].submission == NONE
    row = logged["001.json"]
    assert isinstance(row, Scored)
    data = (hosted.board.submissions / "001.json").read_bytes()
    assert row.scores == row.submission == sha256(data).hexdigest()
    assert row.values == values(hosted.cats, made[0], hide="labels")
    assert row.values.kinds == row.values.domains == {}
    given, cell = ledger(hosted), row.values.overall
    assert [value.name for value in given] == [
        f"board {BOARD_ID}: a/one 1 (default)",
        f"board {BOARD_ID}: a/three 1 (default)",
    ]
    assert {value.cats for value in given} == {fingerprint(hosted.golds)}
    assert given[0].value == f"ss {cell.ss} {cell.ss_ci}, icat {cell.icat} {cell.icat_ci}"
    # What is settled stays; what waits keeps its place, behind it come new ones.
    submit(hosted, submission(hosted, made[4], model="a/six"))
    (hosted.board.submissions / "010.json").rename(hosted.board.submissions / "000.json")
    before = lines(hosted)
    again = settled(hosted)
    assert {name: each.place for name, each in again.items() if each.place} == {
        "006.json": 1,
        "007.json": 2,
        "000.json": 3,
    }
    assert lines(hosted)[:-1] == before
    assert ledger(hosted) == given


def test_who_waits_has_a_turn_when_there_are_rows(tmp_path: Path) -> None:
    hosted = host(tmp_path, cats=60, rows=3)
    setting(hosted, "rotates", "rows = 1\nrotates")
    submit(hosted, *(submission(hosted, hosted.scores(n), model=f"a/m{n}") for n in range(4)))
    (hosted.board.submissions / "002.json").rename(hosted.board.submissions / "009.json")
    assert [e.outcome for e in settled(hosted).values()] == ["scored", "waits", "waits", "waits"]
    setting(hosted, "rows = 1", "rows = 2")
    assert [e.outcome for e in settled(hosted).values()] == ["scored", "waits", "waits"]
    setting(hosted, "rows = 2", "rows = 30")  # but the test set allows 3
    assert [e.outcome for e in settled(hosted).values()] == ["scored", "waits"]
    assert [e.file for e in lines(hosted) if isinstance(e, Scored)] == [
        *("001.json", "003.json", "004.json")
    ]
    assert [e.file for e in lines(hosted) if isinstance(e, Waits)] == [
        *("003.json", "004.json", "009.json")
    ]


def test_a_release_since_then_leaves_less_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 400 CATs on 20 terms of 20 allow 1 + floor(2 pi 0.01^2 400) = 1 row, whatever set.json says.
    sizes = [SimpleNamespace(split="dev", cats=1_000)]
    release = SimpleNamespace(version="0.1.0", cats=[], facts=SimpleNamespace(hidden=None))
    release.facts.sizes = sizes
    monkeypatch.setattr(History, "built", [release])
    hosted = host(tmp_path, cats=400, rows=3)
    submit(hosted, *(submission(hosted, hosted.scores(n), model=f"a/m{n}") for n in range(2)))
    first, second = settled(hosted).values()
    assert (first.outcome, second.outcome) == ("scored", "waits")
    assert "given-out.jsonl" in second.why
    (only,) = settled(hosted).values()
    assert (only.file, only.outcome, len(ledger(hosted))) == ("002.json", "waits", 1)


def test_after_its_day_nothing_is_scored(hosted: Hosted) -> None:
    setting(hosted, "rotates = 2099-01-01", "rotates = 2026-11-26")
    submit(hosted, submission(hosted, hosted.scores()), submission(hosted, {}, model="a/b"))
    late = settled(hosted, date(2026, 11, 27))
    assert late["001.json"].why == "nothing is scored after 2026-11-26, as board.toml says"
    assert [each.outcome for each in late.values()] == ["waits", "refused"]
    assert settled(hosted)["001.json"].outcome == "scored"


@pytest.mark.parametrize("gone", [False, True])
def test_a_row_stays_if_its_file_is_changed_or_deleted(hosted: Hosted, gone: bool) -> None:
    paths = submit(hosted, submission(hosted, hosted.scores()))
    settled(hosted)
    before = hosted.board.log.read_bytes()
    if gone:
        paths[0].unlink()
    else:
        paths[0].write_bytes(paths[0].read_bytes().replace(b"Ann", b"Ben"))
    found = settled(hosted)
    assert found["001.json"].outcome == "changed"
    assert found["001.json"].why.startswith("submissions/001.json: the submission was changed")
    assert hosted.board.log.read_bytes() == before


def test_an_older_copy_of_the_folder_is_not_scored(hosted: Hosted) -> None:
    before = hosted.board.log.read_bytes()
    submit(hosted, submission(hosted, hosted.scores()))
    settled(hosted)
    scored = hosted.board.log.read_bytes()
    hosted.board.log.write_bytes(before)
    with pytest.raises(CurationError, match="it is an older copy"):
        settled(hosted)
    assert hosted.board.log.read_bytes() == before
    hosted.board.log.write_bytes(scored)
    assert settled(hosted) == {}


def test_a_row_that_differs_does_not_keep_the_model_away(hosted: Hosted) -> None:
    submit(hosted, submission(hosted, hosted.scores(1)))
    settled(hosted)
    row = lines(hosted)[-1]
    assert isinstance(row, Scored)
    about = {"date": row.date, "version": row.version, "file": row.file}
    found = {"cats": 10, "orders": 9, "beyond": 9, "largest": 0.5, "revision": "1"}
    checked = Rechecked(**about, submission=row.submission, agrees=False, **found)  # type: ignore[arg-type]
    hosted.board.owner = hosted.campaign.folder("boards") / BOARD_ID
    hosted.board.append([checked])
    (path,) = submit(hosted, submission(hosted, hosted.scores(2)))
    assert check_files(hosted.board, [str(path)]) == {str(path): []}
    (same,) = submit(hosted, submission(hosted, hosted.scores(1)))  # the file that differed
    (error,) = check_files(hosted.board, [str(same)])[str(same)]
    assert error.code == "already_submitted"
    found = settled(hosted)
    assert found["002.json"].outcome == "scored"
    assert found["003.json"].why.startswith("submissions/001.json: the board has a row")


def test_one_bad_file_does_not_stop_the_others(hosted: Hosted) -> None:
    submit(hosted, submission(hosted, hosted.scores()))
    folder = hosted.board.submissions
    bad = {
        "000.json": b"\xff\xfe",
        "0000.json": b"{" * 5000,
        "00.json": b"[]",
        "00x.json": b'{"scores": {"a": 1e999}}',
    }
    for name, data in bad.items():
        (folder / name).write_bytes(data)
    (folder / "a folder.json").mkdir()
    with (folder / "large.json").open("wb") as file:
        file.truncate(200 << 20)
    (folder / "notes.txt").write_text("hello")
    found = settled(hosted)
    assert found.pop("001.json").outcome == "scored"
    assert {each.outcome for each in found.values()} == {"refused"}
    assert found.keys() == {*bad, "a folder.json", "large.json", "notes.txt"}
    assert len(lines(hosted)) == 8


def test_a_sealed_set_shows_the_command_and_takes_complete_runs(tmp_path: Path) -> None:
    hosted = host(tmp_path, hide="all", cats=60)
    submit(
        hosted,
        submission(hosted, None, model="a/one"),
        submission(hosted, None, model="a/two"),
        submission(hosted, None, model="a/three"),
        submission(hosted, None, model="a/tag", revision="v1.0"),
        submission(hosted, None, model="a/commit", revision="b" * 40),
        submission(hosted, None, model="a/folder", revision=f"sha256:{'c' * 64}"),
    )
    found = settled(hosted)
    assert [each.place for each in found.values()] == [1, 2, 3, 4, 5, 6]
    scores, gold = (
        hosted.campaign.folder("boards") / BOARD_ID / "scores",
        hosted.campaign.folder("release") / "gold-0.1.0.jsonl",
    )
    tail = ["--profile", "default", "--gold", str(gold), "--scores"]
    assert shlex.split(found["001.json"].fix) == [
        *("curation", "scores", "models", "a/one", "--revision=1", *tail, str(scores / "1"))
    ]
    folder = str(scores / f"sha256:{'c' * 64}")
    assert shlex.split(found["006.json"].fix)[3:] == ["a/folder=FOLDER", *tail, folder]
    made = hosted.scores(1)
    score_here(hosted, made, model="a/one")
    score_here(hosted, dict(list(made.items())[3:]), model="a/two")  # not complete
    folder = score_here(hosted, dict(list(made.items())[3:]), model="a/three")
    ids = list(made)[:3]
    refused = [
        Rejection(code="too_long", detail="x", where="a/three", record={"association": id})
        for id in ids
    ]
    (folder / "rejected.jsonl").write_bytes(b"".join(map(dump_line, refused)))
    score_here(hosted, made, model="a/tag", submitted="v1.0", revision="a" * 40)
    # another commit
    score_here(hosted, made, model="a/commit", submitted="b" * 40, revision="a" * 40)
    found = settled(hosted)
    assert {name: each.outcome for name, each in found.items()} == {
        "001.json": "scored",
        "002.json": "waits",
        "003.json": "refused",
        "004.json": "scored",
        "005.json": "waits",
        "006.json": "waits",
    }
    assert "1 of 60 CATs" in found["003.json"].why
    rows = {e.file: e for e in lines(hosted) if isinstance(e, Scored)}
    assert rows["001.json"].values == values(hosted.cats, made, hide="all")
    assert rows["001.json"].values.kinds.keys() == {"intrasentence", "intersentence"}
    assert rows["004.json"].revision == "a" * 40
    kept = hosted.campaign.folder("boards") / BOARD_ID / "rows" / f"{rows['001.json'].scores}.jsonl"
    assert sha256(kept.read_bytes()).hexdigest() == rows["001.json"].scores
    assert kept.stat().st_mode & 0o777 == 0o600
    assert ledger(hosted) == []


def test_another_tag_is_another_model(tmp_path: Path) -> None:
    hosted = host(tmp_path, hide="all", cats=12, terms=3)
    submit(hosted, *(submission(hosted, None, revision=f"v{n}") for n in (1, 2, 3)))
    score_here(hosted, hosted.scores(1), submitted="v1", revision="a" * 40)
    found = settled(hosted)
    assert [each.outcome for each in found.values()] == ["scored", "waits", "waits"]
    assert "--revision=v2" in found["002.json"].fix
    score_here(hosted, hosted.scores(2), submitted="v2", revision="b" * 40)
    score_here(hosted, hosted.scores(2), submitted="v3", revision="b" * 40)  # v2 again
    found = settled(hosted)
    assert [each.outcome for each in found.values()] == ["scored", "refused"]
    assert "submissions/002.json: the board has a row" in found["003.json"].why
    rows = [each.revision for each in lines(hosted) if isinstance(each, Scored)]
    assert rows == ["a" * 40, "b" * 40]


def test_rules_of_another_family_are_refused_when_the_model_is_scored(tmp_path: Path) -> None:
    hosted = host(tmp_path, hide="all", cats=12, terms=3)
    rules = {"intrasentence": "infill", "intersentence": "conditional"}
    submit(hosted, submission(hosted, None, rules=rules))
    assert settled(hosted)["001.json"].outcome == "waits"
    score_here(hosted, hosted.scores())
    found = settled(hosted)["001.json"]
    assert found.outcome == "refused"
    assert found.why.startswith("the family of made-up/tiny is causal: the rules are not those of")


def test_a_chat_model_has_comparisons_instead_of_scores(tmp_path: Path) -> None:
    hosted = host(tmp_path, hide="all", cats=12, terms=3)
    setting(hosted, '["default"]', '["default", "choice"]')
    rules = {"intrasentence": "choice", "intersentence": "choice"}
    about = {"profile": "choice", "rules": rules, "revision": "b" * 40}
    submit(hosted, submission(hosted, None, model="a/chat", **about))
    assert shlex.split(settled(hosted)["001.json"].fix)[3:7] == [
        *("chat:a/chat", f"--revision={'b' * 40}", "--profile", "choice")
    ]
    folder = (
        hosted.campaign.folder("boards") / BOARD_ID / "scores" / ("b" * 40) / "a--chat" / "choice"
    )
    folder.mkdir(parents=True)
    run = {"model": "a/chat", "family": "chat", "revision": "b" * 40, "rules": rules}
    (folder / "run.json").write_bytes(dump_json(run))
    made = [
        Comparison(
            model="a/chat", rule="choice", cat=cat.id, pair=pair, won=won, split=0.0,
            replicates=1, asked=cat_digest(cat),
        )
        for cat in hosted.cats
        for pair, won in zip(PAIRS, (1.0, 1.0, 0.5), strict=True)
    ]  # fmt: skip
    (folder / "comparisons.jsonl").write_bytes(b"".join(map(dump_line, made[1:])))
    assert settled(hosted)["001.json"].outcome == "waits"  # one comparison has no answer yet
    (folder / "comparisons.jsonl").write_bytes(b"".join(map(dump_line, made)))
    row = settled(hosted)["001.json"].values
    assert row
    assert (row.overall.lms, row.overall.ss, row.overall.icat) == (100, 50, 100)
    kept = hosted.campaign.folder("boards") / BOARD_ID / "rows"
    (path,) = kept.iterdir()
    assert path.read_bytes() == (folder / "comparisons.jsonl").read_bytes()


def test_the_command_shows_outcomes(tmp_path: Path) -> None:
    hosted = host(tmp_path, cats=60, rows=1)
    made = hosted.scores()
    submit(hosted, *(submission(hosted, made, model=name) for name in ("a/one", "a/two")))
    words = ("board", "score", "--board", hosted.board.root, "--campaign", hosted.campaign.root)
    told = commands.told(*words)
    assert told["counts"] == {"scored": 1, "waits": 1}
    assert [each["place"] for each in told["submissions"]] == [None, 1]
    said = commands.well(*words).out
    assert "waits, place 1" in said
    assert "002.json: close the test set and open the next" in said


def test_lost_gold_labels_are_to_be_restored(tmp_path: Path) -> None:
    hosted = host(tmp_path, cats=12, terms=3)
    (hosted.campaign.folder("release") / "gold-0.1.0.jsonl").unlink()
    with pytest.raises(CurationError, match=r"gold-0\.1\.0\.jsonl: no such file") as caught:
        score(hosted.board, hosted.campaign, today=TODAY)
    assert caught.value.fix == "restore your backup"
