"""Impossible rounds are refused with a fix, and nothing changes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import open_campaign
from curation.files import CurationError
from curation.records import Item
from curation.steps.rounds.round_files import planned_rounds
from support.desk import MEANT, STUDY, Desk, item_row, write_csv

# --- bad input ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def begun(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign with an open round of writing, and a closed one."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("begun") / "c")
    desk.open("intrasentence", "w")
    desk.open("intersentence", "shut")
    desk.say("rounds", "close", "shut")
    return desk.root


@pytest.fixture
def desk(forked: Any, begun: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(begun, tmp_path / "c")))


OPEN = ("rounds", "open", "intrasentence", "--platform", "files")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("rounds", "open", "intra"), "no kind of round 'intra'"),
        (("rounds", "open", "review", "--platform", "mturk"), "no platform 'mturk'"),
        ((*OPEN, "--name", "a b"), "'a b' cannot be the name of a round"),
        ((*OPEN, "--name", "../w2"), "'../w2' cannot be the name"),
        ((*OPEN, "--name", "-x"), "'-x' cannot be the name"),
        ((*OPEN, "--name", "w\nx"), "cannot be the name"),
        ((*OPEN, "--name", "n" * 200), "cannot be the name"),
        ((*OPEN, "--term", "bakker"), "no kept term 'bakker'"),
        ((*OPEN, "--domain", "race"), "no domain 'race'"),
        (("rounds", "open", "review", "--name", "w"), "round w is of kind intrasentence"),
        (("rounds", "open", "validation", "--platform", "files"), "every item has its labels"),
        (
            ("rounds", "open", "validation", "--platform", "files", "--of", "zz"),
            "round 'zz' has no items",
        ),
        (("rounds", "export", "zz"), "no round 'zz' was opened here"),
        (("rounds", "export", "../w"), "no round '../w' was opened here"),
        (("rounds", "export", "shut"), "round shut is closed"),
        (("rounds", "top-up", "shut"), "round shut is closed"),
        (("rounds", "pull", "w"), "round w does not run on Label Studio"),
        (("rounds", "status", "zz"), "no round 'zz' was opened here"),
        (("rounds", "close", "zz"), "no round 'zz' was opened here"),
        (("rounds", "exclude", "ann", "--reason", "x"), "there are no answers yet"),
        (("rounds", "exclude", "ann"), "an exclusion needs a reason"),
        (("rounds", "withdraw", "ann"), "there are no answers yet"),
        (("rounds", "open", "review", "--url", "nowhere", "--name", "x"), "nowhere"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    desk: Desk, untouched: Any, command: tuple[str, ...], says: str
) -> None:
    before = untouched(desk.root)
    done = desk.run(*command)
    assert done.code == 1, done.out
    assert "Traceback" not in done.err
    assert says in done.err
    assert "fix:   " in done.err, done.err
    after = untouched(desk.root)
    assert {n for n in set(before) ^ set(after) if "/x/" not in n} == set()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "text.toml"),
        ("[study]\ninstitution = 3\n", "study.institution"),
        ('[study]\ninstitutions = "x"\n', "study.institutions: no such text"),
        ('[studies]\nx = "x"\n', "studies: no such section"),
        ('study = "x"\n', "study: it is not a section"),
        ('[study]\ninstitution = "x', "text.toml"),
        ('[study]\ninstitution = "x"\n[consent]\nbox = ""\n', "consent.box: it is empty"),
        ('[study]\ninstitution = "x"\n[consent]\nlines = ["{who}"]\n', "there is no fact {who}"),
        (None, "do not name institution and contact, so nobody can consent"),
    ],
)
def test_texts_that_are_not_whole(
    forked: Any, tmp_path: Path, content: str | None, says: str
) -> None:
    desk = Desk.make(forked, tmp_path / "c")
    path = desk.rounds / "text.toml"
    path.unlink()
    if content is not None:
        path.write_text(content, "utf-8")
    said = desk.refused(*OPEN, "--name", "w")
    assert says in said
    assert str(path) in said or "text.toml" in said
    assert not (desk.rounds / "w").exists()
    path.write_text(STUDY, "utf-8")
    desk.open("intrasentence", "w")


LOOKING = (
    ("rounds", "status"), ("rounds", "status", "w"), ("status",), ("rounds", "top-up", "w"),
    ("rounds", "export", "w"), ("rounds", "close", "w"), (*OPEN, "--name", "w"),
    (*OPEN, "--name", "new"), ("rounds", "import", "w", "FILE"), ("run",),
    ("rounds", "exclude", "ann", "--reason", "x"), ("decisions", "agreement"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[("name", "other"), ("pay", float("inf")), ("pay", 1e308), ("pay", -1)],
        *[("answers", 10**30), ("seed", 10**400), ("seed", -1), ("seed", None)],
    ],
)
def test_a_value_that_no_round_has_is_named(desk: Desk, field: str, value: Any) -> None:
    path = desk.rounds / "w" / "round.json"
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**content, field: value}), "utf-8")
    with pytest.raises(CurationError) as caught:
        planned_rounds(open_campaign(desk.root))
    assert caught.value.what.startswith(f"{path}, field '{field}': ")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *[("round.json", c) for c in (b"", b"{", b"[]", b"{}", b'{"name": 3}', None)],
        *[("tasks.jsonl", c) for c in (b"{", b'{"id": "t-1"}\n', b"[]\n", b"\xff\n", None)],
        *[("asked.json", c) for c in (b"", b"{", b"[]", b"3", b'{"t-1": "x"}', b"{}", None)],
    ],
)
def test_a_damaged_file_of_a_round_is_named(
    desk: Desk, tmp_path: Path, name: str, content: bytes | None
) -> None:
    rows = [item_row(row, "ann", n) for n, row in enumerate(desk.export("w"))]
    file = write_csv(tmp_path / "answers.csv", rows)
    desk.bring("w", rows[:3])
    path = desk.rounds / "w" / name
    path.unlink() if content is None else path.write_bytes(content)
    for words in LOOKING:
        own = desk.copy(tmp_path / f"copy-{len(list(tmp_path.iterdir()))}")
        done = own.run(*(file if word == "FILE" else word for word in words))
        assert "Traceback" not in done.err, (words, done.err)
        if done.code:
            place = "w/" + name if content is not None else "w"
            assert (
                place in done.err
                or "no round" in done.err
                or "waits for no" in done.err
                or ("no CAT" in done.err)
            ), (words, done.err)
            assert "fix:   " in done.err, (words, done.err)


def test_tables_that_do_not_fit(desk: Desk, tmp_path: Path, untouched: Any) -> None:
    table = desk.export("w")
    rows = [item_row(row, "ann", n) for n, row in enumerate(table)]
    file = tmp_path / "answers.csv"
    before = untouched(desk.root)
    for lacking in ("task_id", "annotator"):
        write_csv(file, [{k: v for k, v in row.items() if k != lacking} for row in rows])
        said = desk.refused("rounds", "import", "w", file)
        assert f"{file}: no column {lacking}" in said
    for content in (b"", b"task_id,annotator\n", b"\xff\xfe\x00", b"{", b'["x"]'):
        file.write_bytes(content)
        assert str(file) in desk.refused("rounds", "import", "w", file)
    assert str(tmp_path) in desk.refused("rounds", "import", "w", tmp_path / "none.csv")
    write_csv(file, rows)
    assert "shut" in desk.refused("rounds", "import", "shut", file)
    assert {k: v for k, v in untouched(desk.root).items() if "/3-" not in k} == before
    # The table of another round, or of another campaign.
    desk.open("intrasentence", "other")
    said = desk.refused("rounds", "import", "other", file)
    assert f"{file} row 1, task_id " in said
    assert "this table is of round w, and not of other" in said
    assert "curation rounds import w FILE" in said
    write_csv(file, [{**row, "task_id": f"t-{n}"} for n, row in enumerate(rows)])
    said = desk.refused("rounds", "import", "w", file)
    assert "row 1, task_id 't-0': neither this nor another row is about a task of round w" in said
    # A row about another task is refused alone.
    said = desk.bring("w", [rows[0], {**rows[1], "task_id": "t-1"}])
    assert said["refused"] == {"unknown_task": 1}


def test_without_consent_nothing_counts_until_it_is_there(desk: Desk) -> None:
    rows = [item_row(row, f"p-{n % 2}", n) for n, row in enumerate(desk.export("w"))]
    version = rows[0]["consent"]
    bare = [{**row, "consent": ""} for row in rows]
    said = desk.bring("w", bare, "bare.csv")
    assert said["refused"] == {"no_consent": len(rows)}
    assert desk.records("w/items.jsonl", Item) == []
    again = write_csv(desk.out / "bare-2.csv", [{**row, "annotator": "p-9"} for row in bare])
    assert (
        f"import the file again with --consent {version}"
        in desk.run("rounds", "import", "w", again).err
    )
    late = [{"task_id": "t-x", "annotator": "p-0", "consent": version}]
    desk.bring("w", late, "late.csv")
    assert len(desk.records("w/items.jsonl", Item)) == len(rows) / 2
    desk.bring("w", bare, "bare.csv", "--consent", version)
    assert len(desk.records("w/items.jsonl", Item)) == len(rows)
    desk.bring("w", bare, "bare.csv", "--consent", version)  # again: the same
    assert len(desk.records("w/items.jsonl", Item)) == len(rows)
    mixed = [{**bare[0], "annotator": "p-7"}, {**rows[0], "annotator": "p-8"}]
    mixed_file = write_csv(desk.out / "mixed.csv", mixed)
    assert "--consent" not in desk.run("rounds", "import", "w", mixed_file).err


def test_a_results_file_of_mturk_as_it_is(desk: Desk) -> None:
    turk = []
    for n, task in enumerate(desk.export("w")):
        row = item_row(task, f"A{n % 3}", n)
        turk.append({
            "HITId": f"H{n}", "HITTypeId": "T", "Title": "Write", "Reward": "$0.40",
            "AssignmentId": f"AS{n}", "WorkerId": row["annotator"],
            "AssignmentStatus": "Submitted", "AcceptTime": "Sat May 02 09:00:00 PDT 2026",
            "SubmitTime": "Sat May 02 10:22:05 PDT 2026", "WorkTimeInSeconds": "61",
            **{f"Input.{k}": v for k, v in task.items()},
            **{f"Answer.{k}": row[k] for k in ("template", *MEANT, "consent")},
        })  # fmt: skip
    said = desk.bring("w", turk, "Batch_1_results.csv")
    assert said["refused"] == {}
    items = desk.records("w/items.jsonl", Item)
    assert len(items) == len(turk)
    assert items[0].submitted_at == "2026-05-02T17:22:05.000Z"
    assert items[0].seconds == 61
    assert desk.bring("w", turk, "Batch_1_results.csv")["known"] == len(turk)
