"""Impossible rounds are refused with a fix, and nothing changes."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.files import CurationError
from curation.records import Item
from support.desk import STUDY, Desk, item_row, write_csv
from support.written import beside

# --- bad input ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A campaign with an open round of writing, and a closed one."""
    desk = Desk.make(forked, tmp_path_factory.mktemp("begun") / "c")
    desk.open("intrasentence", "w")
    desk.open("intersentence", "shut")
    desk.say("rounds", "close", "shut")
    return desk


OPEN = ("rounds", "open", "intrasentence", "--platform", "files")


@pytest.mark.parametrize(("command", "says"), beside(__file__, "wrong_rounds.toml")["wrong"])
def test_what_cannot_be_is_refused_and_changes_nothing(
    desk: Desk, untouched: Any, command: str, says: str
) -> None:
    before = untouched(desk.root)
    assert says in desk.refused(*shlex.split(command))
    after = untouched(desk.root)
    assert {n for n in set(before) ^ set(after) if "/x/" not in n} == set()


def test_texts_that_are_not_whole(desk: Desk) -> None:
    """What can be wrong with a text is in ``tests/rounds/test_pages.py``."""
    path = desk.rounds / "text.toml"
    for content, says in (
        ("", "text.toml"),
        ('[study]\ninstitution = "x', "text.toml"),
        ('[study]\ninstitutions = "x"\n', "study.institutions: no such text"),
        (None, "do not name institution and contact, so nobody can consent"),
    ):
        path.unlink() if content is None else path.write_text(content, "utf-8")
        said = desk.refused(*OPEN, "--name", "new")
        assert says in said
        assert "text.toml" in said
        assert not (desk.rounds / "new").exists()
    path.write_text(STUDY, "utf-8")
    desk.open("intrasentence", "new")


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
        _ = open_campaign(desk.root).rounds
    assert caught.value.what.startswith(f"{path}, field '{field}': ")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("round.json", "no round 'w' was opened here"),
        ("tasks.jsonl", "w/tasks.jsonl: is not in this copy of the campaign"),
    ],
)
def test_a_file_of_a_round_that_is_gone_is_named(desk: Desk, name: str, says: str) -> None:
    """What can be damaged in one is in ``tests/fuzz/``."""
    (desk.rounds / "w" / name).unlink()
    for command in ("status", "export", "top-up"):
        assert says in desk.refused("rounds", command, "w")


def test_tables_that_do_not_fit(desk: Desk, tmp_path: Path, untouched: Any) -> None:
    table = desk.export("w")
    rows = [item_row(row, "ann", n) for n, row in enumerate(table)]
    file = tmp_path / "answers.csv"
    before = untouched(desk.root)
    for lacking in ("task_id", "annotator"):
        write_csv(file, [{k: v for k, v in row.items() if k != lacking} for row in rows])
        said = desk.refused("rounds", "import", "w", file)
        assert f"{file}: no column {lacking}" in said
    file.write_bytes(b"\xff\xfe\x00")
    for path in (file, tmp_path / "none.csv"):
        assert str(path) in desk.refused("rounds", "import", "w", path)
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

    def items() -> int:
        return len(desk.records("w/items.jsonl", Item))

    assert desk.bring("w", bare, "bare.csv")["refused"] == {"no_consent": len(rows)}
    assert items() == 0
    fix = f"import the file again with --consent {version}"
    again = write_csv(desk.out / "bare-2.csv", [{**row, "annotator": "p-9"} for row in bare])
    assert fix in desk.run("rounds", "import", "w", again).err
    late = [{"task_id": "t-x", "annotator": "p-0", "consent": version}]
    desk.bring("w", late, "late.csv")
    assert items() == len(rows) / 2
    for _ in range(2):  # again: the same
        desk.bring("w", bare, "bare.csv", "--consent", version)
        assert items() == len(rows)
    mixed = [{**bare[0], "annotator": "p-7"}, {**rows[0], "annotator": "p-8"}]
    file = write_csv(desk.out / "mixed.csv", mixed)
    assert "--consent" not in desk.run("rounds", "import", "w", file).err
