"""A campaign with a hidden test set: its files, what stops a build, and how it is revealed."""

import hashlib
import json
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import open_campaign
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, read_records
from curation.records import Cat
from curation.release.hidden.commitments import HiddenGold
from curation.release.hidden.revealed import SNIPPET
from curation.steps.release import hidden, versions
from support.desk import Desk
from support.labelled import set_to, shas
from support.strike import strike

VERSION, GOLD = Path("7-release/0.1.0"), Path("7-release/gold-0.1.0.jsonl")
REVEALED = Path("7-release/0.1.0-revealed")


@pytest.fixture
def desk(forked: Any, hidden: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(hidden, tmp_path / "c")))


def items(path: Path) -> list[dict[str, Any]]:
    data = json.loads(path.read_text("utf-8"))["data"]
    return [item for kind in data for item in data[kind]]


def golds(desk: Desk) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (desk.root / GOLD).read_text("utf-8").splitlines()]


def edit_gold(desk: Desk, change: Callable[[list[dict[str, Any]]], Any]) -> list[dict[str, Any]]:
    rows = golds(desk)
    change(rows)
    (desk.root / GOLD).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return rows


# --- the files ------------------------------------------------------------------------------------


def test_the_test_set_is_hidden_and_dev_is_not(desk: Desk) -> None:
    hidden = items(desk.root / VERSION / "test.json")
    assert hidden
    for item in hidden:
        assert item["tier"] is None
        assert len(item["commitment"]) == 64
        assert [(s["gold_label"], s["labels"]) for s in item["sentences"]] == [("hidden", [])] * 3
    for item in items(desk.root / VERSION / "dev.json"):
        assert "commitment" not in item
        assert {s["gold_label"] for s in item["sentences"]} == {
            *("stereotype", "anti-stereotype", "unrelated")
        }
        assert all(s["labels"] for s in item["sentences"])
    cats = {c.id: c for c in read_records(desk.root / "3-decisions/cats.jsonl", Cat)}
    assert {(i["context"], i["target"]) for i in hidden} == {
        (c.context, c.target) for c in cats.values() if c.split == "test"
    }


def test_the_command_says_what_to_back_up(desk: Desk) -> None:
    said = desk.say("release", "build", "--hide", "labels")
    assert said["hidden"] == len(golds(desk))
    done = " ".join(desk.run("release", "build", "--hide", "labels").out.split())
    assert f"the gold labels of {said['hidden']} CATs are hidden" in done
    assert "back it up, it cannot be made again" in done


def test_the_gold_file_is_private_and_apart(desk: Desk) -> None:
    path = desk.root / GOLD
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "7-release/gold-*.jsonl" in (desk.root / ".gitignore").read_text("utf-8").splitlines()
    cats = {c.id: c for c in read_records(desk.root / "3-decisions/cats.jsonl", Cat)}
    lines = [HiddenGold.model_validate_json(line) for line in path.read_bytes().splitlines()]
    for gold in lines:
        own = {a.id: (a.sentence, a.gold) for a in cats[gold.original].associations}
        assert {o.original: (o.sentence, o.gold_label) for o in gold.sentences} == own
    assert len({gold.nonce for gold in lines}) == len(lines)
    path.chmod(0o644)
    assert desk.run("decisions", "split").code == 0  # every command repairs modes
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_gold_file_is_a_gold_file_of_the_public_ids(desk: Desk) -> None:
    rows = golds(desk)
    scores = [
        {
            "id": s["id"],
            "score": {"stereotype": 3, "anti-stereotype": 2, "unrelated": 1}[s["gold_label"]],
        }
        for row in rows
        for s in row["sentences"]
    ]
    predictions = desk.root / "p.json"
    predictions.write_text(json.dumps({"intrasentence": scores, "intersentence": []}), "utf-8")
    results = desk.root / "results.json"
    command = ("scores", "predictions", "--predictions", predictions, "--json", results)
    done = desk.forked(*command, "--gold", desk.root / GOLD)
    assert done.code == 0, done.err
    said = json.loads(results.read_text("utf-8"))
    assert '"lms": 100.0' in json.dumps(said)
    assert '"ss": 100.0' in json.dumps(said)


def test_a_gold_file_of_one_cat_is_read(desk: Desk) -> None:
    (gold,) = edit_gold(desk, lambda rows: rows.__delitem__(slice(1, None)))
    (cat,) = read_cats(desk.root / GOLD)
    assert (cat.id, cat.context) == (gold["id"], gold["context"])


@pytest.mark.parametrize(
    "command",
    [
        ("scores", "baselines", "--gold"),
        ("measures", "pitfalls", "--gold"),
        ("scores", "predictions", "--predictions", "PREDICTIONS", "--gold"),
        ("import", "stereoset", "-c", "CAMPAIGN"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_readers_say_that_gold_labels_are_hidden(desk: Desk, command: tuple[str, ...]) -> None:
    path = desk.root / VERSION / "test.json"
    predictions = desk.root / "p.json"
    predictions.write_text('{"intrasentence": [{"id": "a", "score": 1}], "intersentence": []}')
    words = {"CAMPAIGN": desk.root, "PREDICTIONS": predictions}
    done = desk.forked(*(words.get(word, word) for word in command), path)
    assert done.code == 1
    said = " ".join(done.err.split())
    assert f"{path}: the gold labels are hidden" in said, said
    assert "VERSION-revealed" in said


def test_hidden_labels_in_the_hugging_face_layout_are_recognised(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    import pyarrow

    sentences = {"sentence": ["a", "b", "c"], "id": ["1", "2", "3"], "gold_label": [-1, -1, -1]}
    row = {
        "id": "x", "target": "t", "bias_type": "race", "context": "The BLANK.",
        "sentences": {**sentences, "labels": [{"label": [], "human_id": []}] * 3},
    }  # fmt: skip
    parquet.write_table(pyarrow.Table.from_pylist([row]), tmp_path / "test.parquet")
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(row)}\n" * 2, "utf-8")
    for name in ("test.parquet", "rows.jsonl"):
        with pytest.raises(CurationError, match=f"{name}: the gold labels are hidden"):
            read_cats(tmp_path / name)


def test_a_mapping_file_of_dev_and_a_hidden_test_names_the_item(desk: Desk) -> None:
    mapping = desk.root / VERSION.parent / "both.toml"
    mapping.write_text('files = ["0.1.0/dev.json", "0.1.0/test.json"]\n', "utf-8")
    with pytest.raises(CurationError, match=r"test.json: the gold labels are hidden"):
        read_cats(mapping)
    data = json.loads((desk.root / VERSION / "dev.json").read_text("utf-8"))
    data["data"]["intrasentence"] += items(desk.root / VERSION / "test.json")
    (desk.root / "both.json").write_text(json.dumps(data), "utf-8")
    with pytest.raises(CurationError, match=r"\(id [0-9a-f]{32}\): the gold labels are hidden"):
        read_cats(desk.root / "both.json")


# --- again, killed, changed, lost -----------------------------------------------------------------


def test_a_second_build_gives_the_same_bytes(desk: Desk) -> None:
    before = shas(desk.root / "7-release")
    shutil.rmtree(desk.root / VERSION)  # as if the build was killed after the gold file
    (desk.root / "7-release/manifest.json").unlink()
    assert desk.run("release", "build", "--hide", "labels").code == 0
    after = shas(desk.root / "7-release")
    assert after.pop("manifest.json")
    before.pop("manifest.json")
    assert after == before


def test_the_option_is_the_setting(desk: Desk) -> None:
    before = shas(desk.root / VERSION)
    assert open_campaign(desk.root).settings.release.hide == "labels"
    assert "hide" not in desk.run("release", "build", "--hide", "labels").err  # nothing to write
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before
    assert desk.say("status")["steps"][-1]["state"] == "up to date"


def test_another_draw_gives_other_ids(desk: Desk) -> None:
    before = {item["id"] for item in items(desk.root / VERSION / "test.json")}
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.run("release", "build", "--hide", "labels").code == 0
    after = {item["id"] for item in items(desk.root / "7-release/0.2.0/test.json")}
    assert len(before) == len(after)
    assert not before & after


def test_other_cats_under_the_same_version_are_an_error(desk: Desk) -> None:
    before = shas(desk.root / "7-release")
    leave_out = golds(desk)[0]["original"]
    set_to(desk, "leave_out = []", f'leave_out = ["{leave_out}"]')
    said = desk.refused("release", "build", "--hide", "labels")
    assert (
        f"{GOLD.name}: is about other CATs: 1 hidden CAT changed or were added or removed" in said
    )
    assert leave_out in said
    assert "raise version in [release]" in said
    assert shas(desk.root / "7-release") == before


def test_a_lost_gold_file_is_an_error_that_says_what_is_lost(desk: Desk) -> None:
    (desk.root / GOLD).unlink()
    before = shas(desk.root / VERSION)
    said = " ".join(desk.refused("release", "build", "--hide", "labels").split())
    assert f"{GOLD.name}: is lost, but 7-release/0.1.0 was built with it" in said
    assert "the nonces that prove them" in said
    assert "restore the file from a backup" in said
    assert "raise version in [release], build again" in said
    said = desk.refused("release", "reveal", "0.1.0")
    assert f"{GOLD.name}: no such file" in said
    assert shas(desk.root / VERSION) == before
    assert not (desk.root / GOLD).exists()


def cut(rows: list[dict[str, Any]]) -> None:
    rows[1]["nonce"] = rows[1]["nonce"][:-2]


def zero(rows: list[dict[str, Any]]) -> None:
    rows[1]["nonce"] = "0" * 64


def swap(rows: list[dict[str, Any]]) -> None:
    first, second, _ = rows[1]["sentences"]
    first["gold_label"], second["gold_label"] = second["gold_label"], first["gold_label"]


def reword(rows: list[dict[str, Any]]) -> None:
    rows[1]["context"] += " Really."


def forget(rows: list[dict[str, Any]]) -> None:
    del rows[1]["nonce"]


def repeat(rows: list[dict[str, Any]]) -> None:
    rows.insert(1, rows[0])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (cut, "field 'nonce'"),
        (forget, "field 'nonce'"),
        (zero, "do not match the commitment"),
        (swap, "do not match the commitment"),
        (reword, "do not match the commitment"),
        (repeat, "is already in line 1"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_damaged_gold_file_names_line_and_item(desk: Desk, change: Any, says: str) -> None:
    rows = edit_gold(desk, change)
    for command in (("release", "reveal", "0.1.0"), ("release", "build", "--hide", "labels")):
        said = " ".join(desk.refused(*command).split())
        assert f"{GOLD.name} line 2 (CAT {rows[1]['original']})" in said, said
        assert says in said
        assert "restore the file from a backup" in said
    assert not (desk.root / REVEALED).exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]\n", b'{"id": 1}\n', b"\xff\n"])
def test_a_gold_file_that_is_none_is_an_error(desk: Desk, content: bytes) -> None:
    (desk.root / GOLD).write_bytes(content)
    assert GOLD.name in desk.refused("release", "reveal", "0.1.0")
    assert GOLD.name in desk.refused("release", "build", "--hide", "labels")


# --- what must not be published -------------------------------------------------------------------


def unhide(desk: Desk) -> None:
    set_to(desk, 'hide = "labels"', 'hide = ""')


def published_golds(desk: Desk) -> list[str]:
    """Public files that name an option of a test CAT by its id in the campaign.

    A hidden CAT has random ids. So a file that has none of these ids has none of the labels.
    """
    cats = read_records(desk.root / "3-decisions/cats.jsonl", Cat)
    ids = [a.id.encode() for cat in cats if cat.split == "test" for a in cat.associations]
    assert ids
    files = [path for path in (desk.root / "7-release").rglob("*") if path.is_file()]
    public = {path: path.read_bytes() for path in files if path.name != GOLD.name}
    return [str(path) for path, data in public.items() if any(id in data for id in ids)]


@pytest.fixture
def unbuilt(forked: Any, labelled: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(labelled, tmp_path / "c")))


def test_what_a_stopped_build_was_asked_to_hide_is_not_published_by_run(unbuilt: Desk) -> None:
    statement = unbuilt.root / "7-release/statement.toml"
    statement.parent.mkdir(exist_ok=True)
    statement.write_text("x =\n", "utf-8")
    assert unbuilt.run("release", "build", "--hide", "labels").code == 1
    statement.unlink()
    assert unbuilt.run("run").code == 0
    assert (unbuilt.root / GOLD).exists()
    assert published_golds(unbuilt) == []


@pytest.mark.parametrize("at", [8, 40])
def test_what_a_killed_build_was_asked_to_hide_is_not_published(unbuilt: Desk, at: int) -> None:
    words = ("release", "build", "--hide", "labels")
    assert unbuilt.run(*words, before=strike(unbuilt.root, at=at)).code == -signal.SIGKILL
    assert not (unbuilt.root / VERSION).exists()
    assert unbuilt.run("release", "build").code == 0
    assert (unbuilt.root / GOLD).exists()
    assert published_golds(unbuilt) == []


def test_a_build_that_waits_for_another_command_hides_all_the_same(unbuilt: Desk) -> None:
    with open_campaign(unbuilt.root).lock():
        assert "in use by" in unbuilt.run("release", "build", "--hide", "labels").err
    assert open_campaign(unbuilt.root).settings.release.hide == "labels"


def test_what_the_last_version_hides_stays_hidden_without_its_gold_file(desk: Desk) -> None:
    (desk.root / GOLD).unlink()
    unhide(desk)
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    for command in (("run",), ("release", "build"), ("release", "build", "--anonymous")):
        done = desk.run(*command)
        assert done.code == 1
        assert "that are hidden in version 0.1.0" in " ".join(done.err.split())
    assert not (desk.root / "7-release/0.2.0").exists()


def test_hidden_gold_labels_are_not_published_by_the_next_build(desk: Desk) -> None:
    count = len(golds(desk))
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    unhide(desk)
    assert "publishes_hidden" in desk.run("run").err
    said = " ".join(desk.refused("release", "build").split())
    assert f"publishes_hidden: the gold labels of {count} CATs would be published" in said
    assert "hidden in version 0.1.0" in said
    for way in ("--hide labels", "release reveal 0.1.0", '"publishes_hidden" to accept'):
        assert way in said
    assert not (desk.root / "7-release/0.2.0").exists()
    set_to(desk, "accept = []", 'accept = ["publishes_hidden"]')
    assert desk.run("release", "build").code == 0


def test_a_hidden_version_stays_hidden(desk: Desk) -> None:
    before = shas(desk.root / VERSION)
    assert "older data" not in desk.run("status").err
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before
    assert desk.run("release", "reveal", "0.1.0").code == 0
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before


def test_a_revealed_version_may_be_published(desk: Desk) -> None:
    assert "next: " in desk.run("release", "reveal", "0.1.0").out
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert 'set hide = "" in [release]' in desk.refused("release", "build")
    unhide(desk)
    assert desk.run("release", "build").code == 0


def test_published_gold_labels_cannot_be_hidden(
    forked: Any, labelled: Path, tmp_path: Path
) -> None:
    desk = Desk(forked, Path(shutil.copytree(labelled, tmp_path / "c")))
    assert desk.run("release", "build").code == 0
    said = " ".join(desk.run("release", "build", "--hide", "labels").err.split())
    assert "7-release/0.1.0 is built already with all gold labels" in said
    assert 'set hide = "" in [release]' in said
    count = len(items(desk.root / VERSION / "test.json"))
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    said = " ".join(desk.refused("release", "build", "--hide", "labels").split())
    assert (
        f"hidden_in_vain: the gold labels of {count} of {count} CATs to hide are in 7-release/0.1.0"
        in said
    )
    assert [p.name for p in (desk.root / "7-release").glob("gold*")] == []
    set_to(desk, "accept = []", 'accept = ["hidden_in_vain"]')
    done = desk.run("release", "build", "--hide", "labels")
    assert done.code == 0
    assert "hidden_in_vain" in done.err


def test_a_hidden_cat_of_somebody_who_withdraws_is_named(desk: Desk) -> None:
    assert desk.run("release", "reveal", "0.1.0").code == 0
    said = desk.say("rounds", "withdraw", "ben", "--erase", "--releases")
    assert said["released_in"] == ["0.1.0", "0.1.0-revealed"]
    assert not (desk.root / VERSION).exists()
    assert not (desk.root / REVEALED).exists()
    assert not (desk.root / GOLD).exists()


def test_the_gold_file_stays_if_it_has_nothing_of_a_person_who_is_erased(desk: Desk) -> None:
    before = (desk.root / GOLD).read_bytes()
    labels = (desk.rounds / "v/labels.jsonl").read_text("utf-8").splitlines()
    validator = json.loads(labels[0])["annotator"]
    said = desk.say("rounds", "withdraw", validator, "--erase", "--releases")
    assert said["released_in"] == ["0.1.0"]
    assert not (desk.root / VERSION).exists()
    assert (desk.root / GOLD).read_bytes() == before
    unhide(desk)
    assert "publishes_hidden" in desk.refused("release", "build")


@pytest.mark.parametrize("twice", [False, True])
def test_a_gold_file_without_its_folder_is_found_by_an_erasure(desk: Desk, twice: bool) -> None:
    shutil.rmtree(desk.root / VERSION)
    if twice:
        assert desk.say("rounds", "withdraw", "ben", "--erase")["released_in"] == ["0.1.0"]
        assert (desk.root / GOLD).exists()
    desk.say("rounds", "withdraw", "ben", "--erase", "--releases")
    assert not (desk.root / GOLD).exists()


def test_the_gold_file_stays_if_only_the_revealed_folder_is_deleted(desk: Desk) -> None:
    assert desk.run("release", "reveal", "0.1.0").code == 0
    assert versions.delete_versions(open_campaign(desk.root), ["0.1.0-revealed"], ()) == [
        "0.1.0-revealed"
    ]
    assert (desk.root / GOLD).exists()
    assert desk.run("release", "reveal", "0.1.0").code == 0


@pytest.mark.parametrize("end", ["-anonymous", "-revealed"])
def test_a_version_is_not_named_like_another_ones_folder(desk: Desk, end: str) -> None:
    set_to(desk, 'version = "0.1.0"', f'version = "0.1.0{end}"')
    said = desk.refused("release", "build")
    assert "must not end in -anonymous or -revealed" in said


def test_an_export_warns_of_hidden_gold_labels(desk: Desk, tmp_path: Path) -> None:
    done = desk.run("release", "export", "bias-bench", "--to", tmp_path / "exported")
    assert done.code == 0
    said = " ".join(done.err.split())
    assert "are hidden in version 0.1.0, and the export has them: do not publish it" in said


def test_a_version_with_hidden_gold_labels_is_not_uploaded(desk: Desk) -> None:
    unhide(desk)
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    set_to(desk, "accept = []", 'accept = ["publishes_hidden"]')
    assert desk.run("release", "build").code == 0
    set_to(desk, 'accept = ["publishes_hidden"]', "accept = []")
    said = desk.refused("release", "push", "0.2.0", "--to", "a/b", "--dry-run")
    assert "publishes_hidden: 0.2.0 has the gold labels of" in " ".join(said.split())
    assert desk.run("release", "reveal", "0.1.0").code == 0
    hidden.check_upload(open_campaign(desk.root), desk.root / "7-release/0.2.0")


# --- reveal ---------------------------------------------------------------------------------------


def test_a_revealed_version_proves_itself(desk: Desk, tmp_path: Path) -> None:
    said = desk.say("release", "reveal", "0.1.0")
    rows = golds(desk)
    assert said == {
        "folder": str(desk.root / REVEALED), "cats": len(rows), "unchanged": len(rows)
    }  # fmt: skip
    assert sorted(shas(desk.root / REVEALED)) == [
        *("README.md", "SHA256SUMS", "annotations.csv", "reveal.jsonl", "test.json")
    ]
    sums = subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=desk.root / REVEALED)
    assert sums.returncode == 0
    # The program in the README, with the two public folders and nothing else.
    text = (desk.root / REVEALED / "README.md").read_text("utf-8")
    assert SNIPPET in text
    program = text.split("```python\n")[1].split("```")[0]
    for name in (VERSION, REVEALED):
        shutil.copytree(desk.root / name, tmp_path / "public" / name.name)
    (tmp_path / "public/check.py").write_text(program, "utf-8")

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-I", "check.py", "0.1.0", "0.1.0-revealed"],
            cwd=tmp_path / "public", capture_output=True, text=True,
        )  # fmt: skip

    assert check().stdout == "all commitments hold\n"
    for name, old in (("reveal.jsonl", '\\"stereotype'), ("test.json", 'gold_label": "stereotype')):
        path = tmp_path / "public/0.1.0-revealed" / name
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, old.replace("stereotype", "unrelated"), 1), "utf-8")
        assert "AssertionError" in check().stderr
        path.write_text(text, "utf-8")


def test_revealed_cats_have_their_gold_labels_tiers_and_annotations(desk: Desk) -> None:
    assert desk.run("release", "reveal", "0.1.0").code == 0
    cats = {c.context: c for c in read_records(desk.root / "3-decisions/cats.jsonl", Cat)}
    revealed = items(desk.root / REVEALED / "test.json")
    public = items(desk.root / VERSION / "test.json")
    assert [i["id"] for i in revealed] == [i["id"] for i in public]
    for item in revealed:
        cat = cats[item["context"]]
        own = {a.sentence: a.gold for a in cat.associations}
        assert {s["sentence"]: s["gold_label"] for s in item["sentences"]} == own
        assert item["tier"] == cat.tier
        assert all(len(s["labels"]) == 5 for s in item["sentences"])
    done = desk.forked("scores", "baselines", "--gold", desk.root / REVEALED / "test.json")
    assert done.code == 0, done.err
    before = shas(desk.root / REVEALED)
    assert desk.run("release", "reveal", "0.1.0").code == 0
    assert shas(desk.root / REVEALED) == before


def test_a_reveal_needs_nothing_but_the_gold_file_and_the_release(desk: Desk) -> None:
    for name in ("1-terms", "2-rounds", "3-decisions", "4-measures"):
        shutil.rmtree(desk.root / name, ignore_errors=True)
    said = desk.say("release", "reveal", "0.1.0")
    assert (said["cats"], said["unchanged"]) == (len(golds(desk)), 0)
    assert all(item["tier"] is None for item in items(desk.root / REVEALED / "test.json"))


def test_a_changed_public_folder_is_named_and_nothing_is_revealed(desk: Desk) -> None:
    path = desk.root / VERSION / "test.json"
    text = path.read_text("utf-8")
    path.write_text(text.replace("baker", "Baker").replace("potter", "Potter"), "utf-8")
    assert "0.1.0: changed after it was built: test.json" in desk.refused(
        "release", "reveal", "0.1.0"
    )
    # Somebody also repairs the checksums.
    first = items(path)[0]
    path.write_text(text.replace(first["commitment"], "0" * 64), "utf-8")
    sums = desk.root / VERSION / "SHA256SUMS"
    lines = [
        f"{hashlib.sha256((desk.root / VERSION / name).read_bytes()).hexdigest()}  {name}"
        for name in (line.split("  ")[1] for line in sums.read_text().splitlines())
    ]
    sums.write_text("\n".join(lines) + "\n")
    said = " ".join(desk.refused("release", "reveal", "0.1.0").split())
    assert f"CAT {first['id']}: message and nonce do not give its commitment" in said
    sums.write_text("\n".join([*lines, "", "no checksum"]) + "\n")
    said = " ".join(desk.refused("release", "reveal", "0.1.0").split())
    assert f"SHA256SUMS line {len(lines) + 1}: is not a checksum with the name of a file" in said
    path.write_text("[]")
    sums.write_text(f"{hashlib.sha256(b'[]').hexdigest()}  test.json\n")
    desk.refused("release", "reveal", "0.1.0")
    sums.unlink()
    assert "SHA256SUMS: no such file" in desk.refused("release", "reveal", "0.1.0")
    shutil.rmtree(desk.root / VERSION)
    assert "no such folder" in desk.refused("release", "reveal", "0.1.0")
    assert not (desk.root / REVEALED).exists()


def test_a_version_that_does_not_exist_is_named_with_those_that_do(desk: Desk) -> None:
    said = desk.refused("release", "reveal", "0.9.0")
    assert "gold-0.9.0.jsonl: no such file" in said
    assert "versions with hidden gold labels: 0.1.0" in said


def test_another_reveal_of_the_same_version_is_not_written_over(desk: Desk) -> None:
    assert desk.run("release", "reveal", "0.1.0").code == 0
    path = desk.root / REVEALED / "README.md"
    path.write_text("mine")
    assert "its content would change: README.md" in desk.refused("release", "reveal", "0.1.0")
    assert path.read_text() == "mine"
    path.unlink()
    assert desk.run("release", "reveal", "0.1.0").code == 0
    assert path.stat().st_size > 500
