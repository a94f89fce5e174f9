"""A campaign with a hidden test set: its files, what stops a build, and how it is revealed."""

import hashlib
import json
import shutil
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import open_campaign
from curation.catsets.stereoset import read_cats
from curation.files import CurationError
from curation.kinds import GOLDS
from curation.release import hiding, versions
from curation.release.checking import check_release
from curation.released.commitments import HiddenGold
from support.catsets import write_lines, write_parquet
from support.expected import fails, has
from support.labelled import Desk, proof
from support.strike import strike
from support.written import items, lines, read, shas

Rows = list[dict[str, Any]]


@pytest.fixture
def desk(hidden: Desk, tmp_path: Path) -> Desk:
    return hidden.copy(tmp_path / "c")


@pytest.fixture
def unbuilt(ready: Desk, tmp_path: Path) -> Desk:
    return ready.copy(tmp_path / "c")


def edit_gold(desk: Desk, change: Callable[[Rows], object]) -> Rows:
    rows = lines(desk.gold)
    change(rows)
    desk.gold.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return rows


# --- the files ------------------------------------------------------------------------------------


def test_the_gold_file_is_private_and_apart(desk: Desk) -> None:
    assert stat.S_IMODE(desk.gold.stat().st_mode) == 0o600
    assert "7-release/gold-*.jsonl" in (desk.root / ".gitignore").read_text("utf-8").splitlines()
    cats = {cat.id: cat for cat in desk.cats()}
    golds = [*map(HiddenGold.model_validate_json, desk.gold.read_bytes().splitlines())]
    for gold in golds:
        own = {a.id: (a.sentence, a.gold) for a in cats[gold.original].associations}
        assert {o.original: (o.sentence, o.gold_label) for o in gold.sentences} == own
    assert len({gold.nonce for gold in golds}) == len(golds)
    desk.gold.chmod(0o644)
    desk.done("decisions", "split")  # every command repairs modes
    assert stat.S_IMODE(desk.gold.stat().st_mode) == 0o600


def test_the_gold_file_is_a_gold_file_of_the_public_ids(hidden: Desk, tmp_path: Path) -> None:
    sentences = [s for row in lines(hidden.gold) for s in row["sentences"]]
    scores = [{"id": s["id"], "score": 3 - GOLDS.index(s["gold_label"])} for s in sentences]
    predictions, results = tmp_path / "p.json", tmp_path / "results.json"
    predictions.write_text(json.dumps({"intrasentence": scores, "intersentence": []}), "utf-8")
    command = ("scores", "predictions", "--predictions", predictions, "--json", results)
    hidden.free(*command, "--gold", hidden.gold)
    said = json.dumps(read(results))
    assert '"lms": 100.0' in said
    assert '"ss": 100.0' in said


def test_a_gold_file_of_one_cat_is_read(desk: Desk) -> None:
    (gold,) = edit_gold(desk, lambda rows: rows.__delitem__(slice(1, None)))
    (cat,) = read_cats(desk.gold)
    assert (cat.id, cat.context) == (gold["id"], gold["context"])


@pytest.mark.parametrize(
    "command",
    ["scores baselines --gold", "measures pitfalls --gold", "import stereoset -c CAMPAIGN"],
)
def test_readers_say_that_gold_labels_are_hidden(hidden: Desk, command: str) -> None:
    path = hidden.first / "test.json"
    done = hidden.forked(*command.replace("CAMPAIGN", str(hidden.root)).split(), path)
    assert done.code == 1
    has(done.err, f"{path}: the gold labels are hidden", "VERSION-revealed")


def test_hidden_labels_in_the_hugging_face_layout_are_recognised(tmp_path: Path) -> None:
    sentences = {"sentence": ["a", "b", "c"], "id": ["1", "2", "3"], "gold_label": [-1, -1, -1]}
    row = {
        "id": "x", "target": "t", "bias_type": "race", "context": "The BLANK.",
        "sentences": {**sentences, "labels": [{"label": [], "human_id": []}] * 3},
    }  # fmt: skip
    write_parquet(tmp_path / "test.parquet", [row])
    write_lines(tmp_path / "rows.jsonl", [row, row])
    for name in ("test.parquet", "rows.jsonl"):
        with fails(f"{name}: the gold labels are hidden"):
            read_cats(tmp_path / name)


def test_a_mapping_file_of_dev_and_a_hidden_test_names_the_item(desk: Desk) -> None:
    mapping, both = desk.releases / "both.toml", desk.root / "both.json"
    mapping.write_text('files = ["0.1.0/dev.json", "0.1.0/test.json"]\n', "utf-8")
    with fails("test.json: the gold labels are hidden"):
        read_cats(mapping)
    data = read(desk.first / "dev.json")
    data["data"]["intrasentence"] += items(desk.first / "test.json")
    both.write_text(json.dumps(data), "utf-8")
    with pytest.raises(CurationError, match=r"\(id [0-9a-f]{32}\): the gold labels are hidden"):
        read_cats(both)


# --- again, killed, changed, lost -----------------------------------------------------------------


def test_a_second_build_gives_the_same_bytes(desk: Desk) -> None:
    before = shas(desk.releases)
    shutil.rmtree(desk.first)  # as if the build was killed after the gold file
    (desk.releases / "manifest.json").unlink()
    desk.build("--hide", "labels")
    after = shas(desk.releases)
    assert after | {"manifest.json": before["manifest.json"]} == before


def test_the_option_is_the_setting_and_the_command_says_what_to_back_up(desk: Desk) -> None:
    before = shas(desk.first)
    assert desk.campaign.settings.release.hide == "labels"
    done = desk.build("--hide", "labels")
    assert "hide" not in done.err  # nothing to write
    count = desk.say("release", "build")["hidden"]
    assert count == len(lines(desk.gold))
    says = f"the gold labels of {count} CATs are hidden"
    has(done.out, says, "back it up, it cannot be made again")
    assert shas(desk.first) == before
    states = {step["step"]: step["state"] for step in desk.say("status")["steps"]}
    assert states["release"] == "up to date"


def test_other_cats_under_the_same_version_are_an_error(desk: Desk) -> None:
    before = shas(desk.releases)
    leave_out = lines(desk.gold)[0]["original"]
    desk.set(leave_out=[leave_out])
    desk.not_built(
        "gold-0.1.0.jsonl: is about other CATs: 1 hidden CAT changed or were added or removed",
        leave_out,
        "raise version in [release]",
        options=("--hide", "labels"),
    )
    assert shas(desk.releases) == before


def test_a_lost_gold_file_is_an_error_that_says_what_is_lost(desk: Desk) -> None:
    desk.gold.unlink()
    before = shas(desk.first)
    desk.not_built(
        "gold-0.1.0.jsonl: is lost, but 7-release/0.1.0 was built with it",
        "the nonces that prove them",
        "restore the file from a backup",
        "raise version in [release], build again",
        options=("--hide", "labels"),
    )
    desk.not_revealed("gold-0.1.0.jsonl: no such file")
    assert shas(desk.first) == before
    assert not desk.gold.exists()


def swap(row: dict[str, Any]) -> None:
    first, second, _ = row["sentences"]
    first["gold_label"], second["gold_label"] = second["gold_label"], first["gold_label"]


DAMAGED: dict[str, tuple[Callable[[Rows], object], str]] = {
    "cut": (lambda rows: rows[1].update(nonce=rows[1]["nonce"][:-2]), "field 'nonce'"),
    "missing": (lambda rows: rows[1].pop("nonce"), "field 'nonce'"),
    "zero": (lambda rows: rows[1].update(nonce="0" * 64), "do not match the commitment"),
    "labels": (lambda rows: swap(rows[1]), "do not match the commitment"),
    "text": (lambda rows: rows[1].update(context="Other."), "do not match the commitment"),
    "twice": (lambda rows: rows.insert(1, rows[0]), "is already in line 1"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_gold_file_names_line_and_item(desk: Desk, name: str) -> None:
    change, says = DAMAGED[name]
    cat = edit_gold(desk, change)[1]["original"]
    where = f"gold-0.1.0.jsonl line 2 (CAT {cat})"
    desk.not_revealed(where, says, "restore the file from a backup")
    assert not desk.revealed.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]\n", b'{"id": 1}\n', b"\xff\n"])
def test_a_gold_file_that_is_none_is_an_error(desk: Desk, content: bytes) -> None:
    desk.gold.write_bytes(content)
    desk.not_revealed("gold-0.1.0.jsonl")
    desk.not_built("gold-0.1.0.jsonl", options=("--hide", "labels"))


# --- what must not be published -------------------------------------------------------------------


def published_golds(desk: Desk) -> list[str]:
    """Public files that name an option of a test CAT by its id in the campaign.

    A hidden CAT has random ids. So a file that has none of these ids has none of the labels.
    """
    ids = [a.id.encode() for cat in desk.cats("test") for a in cat.associations]
    assert ids
    files = [path for path in desk.releases.rglob("*") if path.is_file() and path != desk.gold]
    return [str(path) for path in files if any(id in path.read_bytes() for id in ids)]


def test_what_a_stopped_build_was_asked_to_hide_is_not_published_by_run(unbuilt: Desk) -> None:
    statement = unbuilt.releases / "statement.toml"
    statement.parent.mkdir(exist_ok=True)
    statement.write_text("x =\n", "utf-8")
    assert unbuilt.run("release", "build", "--hide", "labels").code == 1
    statement.unlink()
    unbuilt.done("run")
    assert unbuilt.gold.exists()
    assert published_golds(unbuilt) == []


@pytest.mark.parametrize("at", [8, 40])
def test_what_a_killed_build_was_asked_to_hide_is_not_published(unbuilt: Desk, at: int) -> None:
    words = ("release", "build", "--hide", "labels")
    assert unbuilt.run(*words, before=strike(unbuilt.root, at=at)).code == -signal.SIGKILL
    assert not unbuilt.first.exists()
    unbuilt.build()
    assert unbuilt.gold.exists()
    assert published_golds(unbuilt) == []


def test_a_build_that_waits_for_another_command_hides_all_the_same(unbuilt: Desk) -> None:
    with unbuilt.campaign.lock():
        assert "in use by" in unbuilt.run("release", "build", "--hide", "labels").err
    assert open_campaign(unbuilt.root).settings.release.hide == "labels"


def test_what_the_last_version_hides_stays_hidden_without_its_gold_file(desk: Desk) -> None:
    desk.gold.unlink()
    desk.set(hide="", version="0.2.0")
    for command in (("run",), ("release", "build"), ("release", "build", "--anonymous")):
        done = desk.run(*command)
        assert done.code == 1
        has(done.err, "that are hidden in version 0.1.0")
    assert not desk.second.exists()


def test_hidden_gold_labels_are_not_published_by_the_next_build(desk: Desk) -> None:
    desk.set(version="0.2.0", hide="")
    assert "publishes_hidden" in desk.run("run").err
    count = len(lines(desk.gold))
    desk.not_built(
        f"publishes_hidden: the gold labels of {count} CATs would be published",
        "hidden in version 0.1.0",
        *("--hide labels", "release reveal 0.1.0", '"publishes_hidden" to accept'),
    )
    assert not desk.second.exists()
    desk.set(accept=["publishes_hidden"])
    desk.build()
    # It is not uploaded either before the gold labels are revealed.
    desk.set(accept=[])
    said = desk.refused("release", "push", "0.2.0", "--to", "a/b", "--dry-run")
    has(said, "publishes_hidden: 0.2.0 has the gold labels of")
    desk.reveal()
    hiding.check_upload(desk.campaign, desk.second)


def test_a_hidden_version_stays_hidden_and_what_is_revealed_may_be_published(desk: Desk) -> None:
    before = shas(desk.first)
    assert "older data" not in desk.run("status").err
    desk.build()
    assert shas(desk.first) == before
    assert "next: " in desk.reveal().out
    desk.build()
    assert shas(desk.first) == before
    desk.set(version="0.2.0")
    desk.not_built('set hide = "" in [release]')
    desk.set(hide="")
    desk.build()


def test_published_gold_labels_cannot_be_hidden(unbuilt: Desk) -> None:
    unbuilt.build()
    said = unbuilt.run("release", "build", "--hide", "labels").err
    has(said, "7-release/0.1.0 is built already with all gold labels", 'set hide = "" in [release]')
    count = len(items(unbuilt.first / "test.json"))
    unbuilt.set(version="0.2.0")
    known = f"the gold labels of {count} of {count} CATs to hide are in 7-release/0.1.0"
    unbuilt.not_built(f"hidden_in_vain: {known}", options=("--hide", "labels"))
    assert [p.name for p in unbuilt.releases.glob("gold*")] == []
    unbuilt.set(accept=["hidden_in_vain"])
    assert "hidden_in_vain" in unbuilt.build("--hide", "labels").err


# --- somebody withdraws ---------------------------------------------------------------------------


def withdrawn(desk: Desk, person: str, *more: str) -> list[str]:
    """The versions that hold what is lost."""
    said: list[str] = desk.say("rounds", "withdraw", "--yes", person, "--erase", *more)[
        "released_in"
    ]
    return said


def test_a_hidden_cat_of_somebody_who_withdraws_is_named(desk: Desk) -> None:
    desk.reveal()
    assert withdrawn(desk, "ben", "--releases") == ["0.1.0", "0.1.0-revealed"]
    assert not [path for path in (desk.first, desk.revealed, desk.gold) if path.exists()]


def test_the_gold_file_stays_if_it_has_nothing_of_a_person_who_is_erased(desk: Desk) -> None:
    before = desk.gold.read_bytes()
    validator = lines(desk.rounds / "v/labels.jsonl")[0]["annotator"]
    assert withdrawn(desk, validator, "--releases") == ["0.1.0"]
    assert not desk.first.exists()
    assert desk.gold.read_bytes() == before
    desk.set(hide="")
    desk.not_built("publishes_hidden")


@pytest.mark.parametrize("twice", [False, True])
def test_a_gold_file_without_its_folder_is_found_by_an_erasure(desk: Desk, twice: bool) -> None:
    shutil.rmtree(desk.first)
    if twice:
        assert withdrawn(desk, "ben") == ["0.1.0"]
        assert desk.gold.exists()
    withdrawn(desk, "ben", "--releases")
    assert not desk.gold.exists()


def test_the_gold_file_stays_if_only_the_revealed_folder_is_deleted(desk: Desk) -> None:
    desk.reveal()
    gone = versions.delete_versions(desk.campaign, ["0.1.0-revealed"], ())
    assert gone == ["0.1.0-revealed"]
    assert desk.gold.exists()
    desk.reveal()


def test_an_export_warns_of_hidden_gold_labels(desk: Desk, tmp_path: Path) -> None:
    done = desk.done("release", "export", "bias-bench", "--to", tmp_path / "exported")
    has(done.err, "are hidden in version 0.1.0, and the export has them: do not publish it")


# --- reveal ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["labels", "all"])
def test_a_revealed_version_proves_texts_and_labels(
    hidden: Desk, sealed: Desk, tmp_path: Path, level: str
) -> None:
    desk = (hidden if level == "labels" else sealed).copy(tmp_path / "c")
    count = len(lines(desk.gold))
    said = {"folder": str(desk.revealed), "cats": count, "unchanged": count}
    assert desk.say("release", "reveal", "0.1.0") == said
    names = ["README.md", "SHA256SUMS", "annotations.csv", "reveal.jsonl", "test.json"]
    assert sorted(shas(desk.revealed)) == names
    assert subprocess.run(["sha256sum", "-c", "SHA256SUMS"], cwd=desk.revealed).returncode == 0
    readme = (desk.revealed / "README.md").read_text("utf-8")
    assert "```python\nimport hashlib, hmac, json, os, sys\n" in readme  # ``proof`` runs it
    path, cats = desk.revealed / "test.json", desk.cats("test")
    assert {item["context"] for item in items(path)} == {cat.context for cat in cats}

    def found() -> tuple[str, str]:
        """What the program in the README says, and a check."""
        findings = check_release(desk.revealed, public=desk.first)
        own = {"not_as_committed", "part_missing", "card_incomplete", "no_config"}
        details = [f.detail for f in findings if f.code in own or f.severity == "block"]
        return proof(desk.first, desk.revealed), " ".join(details)

    assert found() == ("all commitments hold\n", "")
    texts = "test.json has other texts or gold labels than the proof"
    proofs = "message and nonce do not give its commitment"
    for name, old, new, says in (
        ("test.json", cats[0].context, "Something BLANK.", texts),
        ("test.json", 'gold_label": "stereotype', 'gold_label": "unrelated', texts),
        ("test.json", 'bias_type": "profession', 'bias_type": "age', texts),
        ("reveal.jsonl", '\\"stereotype', '\\"unrelated', proofs),
        ("reveal.jsonl", "the ", "a ", proofs),
    ):
        path = desk.revealed / name
        before = path.read_text("utf-8")
        assert old in before
        path.write_text(before.replace(old, new, 1), "utf-8")
        proved, details = found()
        assert proved.startswith("AssertionError")
        assert says in details
        path.write_text(before, "utf-8")


def test_what_is_not_the_public_side(desk: Desk, tmp_path: Path) -> None:
    desk.reveal()
    for name, source in (("plain", desk.first / "dev.json"), ("device", Path("/dev/zero"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "test.json").symlink_to(source)
    for revealed, public, message in (
        (desk.revealed, tmp_path / "plain", "has no hidden CATs"),
        (desk.first, desk.first, "reveal.jsonl: no such file"),
        (desk.revealed, tmp_path / "none", "none: no such folder"),
        (desk.revealed, tmp_path / "device", "test.json: is a device"),
    ):
        with fails(message):
            check_release(revealed, public=public)


def test_revealed_cats_have_their_gold_labels_tiers_and_annotations(desk: Desk) -> None:
    desk.reveal()
    cats = {cat.context: cat for cat in desk.cats()}
    revealed, public = (items(f / "test.json") for f in (desk.revealed, desk.first))
    assert [item["id"] for item in revealed] == [item["id"] for item in public]
    for item in revealed:
        cat = cats[item["context"]]
        own = {a.sentence: a.gold for a in cat.associations}
        assert {s["sentence"]: s["gold_label"] for s in item["sentences"]} == own
        assert item["tier"] == cat.tier
        assert all(len(s["labels"]) == 5 for s in item["sentences"])
    desk.free("scores", "baselines", "--gold", desk.revealed / "test.json")
    before = shas(desk.revealed)
    desk.reveal()
    assert shas(desk.revealed) == before


def test_a_reveal_needs_nothing_but_the_gold_file_and_the_release(desk: Desk) -> None:
    for name in ("1-terms", "2-rounds", "3-decisions", "4-measures"):
        shutil.rmtree(desk.root / name, ignore_errors=True)
    said = desk.say("release", "reveal", "0.1.0")
    assert (said["cats"], said["unchanged"]) == (len(lines(desk.gold)), 0)
    assert all(item["tier"] is None for item in items(desk.revealed / "test.json"))


def test_a_changed_public_folder_is_named_and_nothing_is_revealed(desk: Desk) -> None:
    path, sums = desk.first / "test.json", desk.first / "SHA256SUMS"
    text = path.read_text("utf-8")
    path.write_text(text.replace("baker", "Baker").replace("potter", "Potter"), "utf-8")
    desk.not_revealed("0.1.0: changed after it was built: test.json")
    # Somebody also repairs the checksums.
    first = items(path)[0]
    path.write_text(text.replace(first["commitment"], "0" * 64), "utf-8")
    listed = [line.split("  ")[1] for line in sums.read_text().splitlines()]
    now = shas(desk.first)
    repaired = "".join(f"{now[name]}  {name}\n" for name in listed)
    sums.write_text(repaired)
    desk.not_revealed(f"CAT {first['id']}: message and nonce do not give its commitment")
    sums.write_text(f"{repaired}\nno checksum\n")
    where = f"SHA256SUMS line {len(listed) + 1}"
    desk.not_revealed(f"{where}: is not a checksum with the name of a file")
    path.write_text("[]")
    sums.write_text(f"{hashlib.sha256(b'[]').hexdigest()}  test.json\n")
    desk.not_revealed()
    sums.unlink()
    desk.not_revealed("SHA256SUMS: no such file")
    shutil.rmtree(desk.first)
    desk.not_revealed("no such folder")
    assert not desk.revealed.exists()


def test_a_version_that_does_not_exist_is_named_with_those_that_do(hidden: Desk) -> None:
    said = hidden.refused("release", "reveal", "0.9.0")
    has(said, "gold-0.9.0.jsonl: no such file", "versions with hidden gold labels: 0.1.0")


def test_another_reveal_of_the_same_version_is_not_written_over(desk: Desk) -> None:
    desk.reveal()
    path = desk.revealed / "README.md"
    path.write_text("mine")
    desk.not_revealed("its content would change: README.md")
    assert path.read_text() == "mine"
    path.unlink()
    desk.reveal()
    assert path.stat().st_size > 500
