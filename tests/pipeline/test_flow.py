"""What users do with a campaign, from one end to the other."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.store import Campaign
from curation.files import read_json
from curation.records import Decision, Item, Label
from support.commands import set_to
from support.desk import GOLD, Desk, Row, write_csv

WORDS = {"stereotype": "early", "anti_stereotype": "late", "unrelated": "octal"}


@pytest.fixture
def desk(forked: Any, campaign: Campaign) -> Desk:
    """A fresh campaign."""
    return Desk(forked, campaign.root)


@pytest.fixture
def whole(forked: Any, finished: Path) -> Desk:
    """The finished example campaign."""
    return Desk(forked, finished)


def lose_raw_answers(desk: Desk) -> None:
    for raw in desk.rounds.glob("*/raw"):
        shutil.rmtree(raw)


def writers(desk: Desk, **changes: str) -> Path:
    """A table of four items; where a cell has a key of the changes, its value stands there."""
    rows: list[Row] = [
        {"item_id": f"i{n}", "annotator": f"w{n}", "domain": "profession", "target": f"baker{n}"}
        | {"context": f"Baker{n} is BLANK.", **WORDS}
        for n in range(4)
    ]
    for before, after in changes.items():
        rows = [{k: v.replace(before, after) for k, v in row.items()} for row in rows]
    return write_csv(desk.out / "w.csv", rows)


def validators(desk: Desk, people: str, **more: str) -> Path:
    """A table in which people label the four items as their writers meant them."""
    rows: list[Row] = [
        {"item_id": f"i{n}", "annotator": who, "association": word, "label": GOLD[name], **more}
        for who in people
        for n in range(4)
        for name, word in WORDS.items()
    ]
    return write_csv(desk.out / "v.csv", rows)


def test_a_table_exported_again_with_a_column_more_adds_no_label(desk: Desk) -> None:
    set_to(desk.root, "count_repeats = false", "count_repeats = true")
    desk.does("import", "answers", writers(desk))
    for note in ({}, {"note": "seen"}):
        desk.does("import", "answers", validators(desk, "ab", **note))
    assert len(desk.records("main/labels.jsonl", Label)) == 2 * 4 * 3
    desk.does("decisions", "filter")
    decisions = desk.records("../3-decisions/decisions.jsonl", Decision)
    assert {d.reason for d in decisions} == {"too_few_labels"}  # two people, not four


def test_corrected_rows_are_no_refused_ones(desk: Desk) -> None:
    desk.does("import", "answers", writers(desk))
    for hour in (10, 11):
        times = {"submitted_at": "2026-03-01 09:00", "updated_at": f"2026-03-01 {hour}:00"}
        done = desk.does("import", "answers", validators(desk, "ab", **times))
        assert "were refused" not in done.err
    assert "superseded 24" in " ".join(done.out.split())


@pytest.mark.parametrize("empty", ["labels only", "all refused"])
def test_a_campaign_without_items_says_what_to_do(desk: Desk, empty: str) -> None:
    refused = empty == "all refused"
    table = writers(desk, profession="hobby") if refused else validators(desk, "abc")
    done = desk.does("import", "answers", table)
    assert "answers were refused, and the file has" in done.err
    assert "no CAT was kept" in desk.refused("run")
    assert "there are no items yet" in desk.does("status").out


def test_a_writers_vote_counts_and_is_not_published(desk: Desk) -> None:
    set_to(desk.root, "count_writer = false", "count_writer = true")
    for table in (writers(desk), validators(desk, "ab")):
        desk.does("import", "answers", table)
    desk.does("run")
    release = desk.root / "7-release" / "0.1.0"
    # Two validators and the writer make three of five; two labels are there to be seen.
    sentences = [
        s
        for name in ("dev.json", "test.json")
        for item in read_json(release / name)["data"]["intrasentence"]
        for s in item["sentences"]
    ]
    assert len(sentences) == 12
    assert {len(s["labels"]) for s in sentences} == {2}
    assert "intent, which is not published" in (release / "README.md").read_text("utf-8")
    table = (release / "annotations.csv").read_text("utf-8")
    items = desk.records("main/items.jsonl", Item)
    assert all(item.writer and item.writer not in table for item in items)


def test_a_json_list_is_read_and_another_table_is_refused_before_it_is_kept(desk: Desk) -> None:
    path, other = desk.out / "list.json", desk.out / "other.csv"
    row = {
        "item_id": "i", "domain": "profession", "target": "baker", "context": "A baker came.",
        "stereotype": "He sang.", "anti_stereotype": "He was silent.", "unrelated": "Tin is grey.",
    }  # fmt: skip
    path.write_text(json.dumps([row], indent=1), "utf-8")
    assert desk.say("import", "answers", path)["items"] == 1
    said = desk.refused("import", "answers", write_csv(other, [{"name": "x", "score": 1}]))
    assert "other.csv: no column domain, target, context" in said
    assert "it has name, score" in said
    assert len(list((desk.rounds / "main" / "raw").iterdir())) == 1


def test_a_campaign_in_a_language_with_affixes_lets_letters_touch_the_blank(
    forked: Any, tmp_path: Path
) -> None:
    for language, joins in (("id", True), ("tr-TR", True), ("sw", True), ("en", False)):
        folder = tmp_path / language
        done = forked("init", folder, "--yes", "--language", language, "--domains", "profession")
        assert done.code == 0, done.err
        value = "false" if joins else "true"
        assert f"\nblank_alone = {value}\n" in (folder / "campaign.toml").read_text("utf-8")
        assert ("blank_alone = false" in done.out + done.err) == joins
    folder = tmp_path / "id"
    head = "item_id,annotator,domain,target,kind,context,stereotype,anti_stereotype,unrelated\n"
    (tmp_path / "w.csv").write_text(
        f"{head}i1,w1,profession,guru,intrasentence,Guru itu di-BLANK-kan.,puji,abai,goreng\n"
        "i2,w1,profession,guru,intrasentence,Murid baru diBLANKkan guru.,tegur,sapa,rebus\n"
        "i3,w1,profession,perawat,intrasentence,Perawat \u202eitu\u202c BLANK.,baik,ketus,oktal\n",
        "utf-8",
    )
    done = forked("import", "answers", tmp_path / "w.csv", "-c", folder)
    assert done.code == 0, done.err
    assert "pitfalls in 2 of 3 items: bidi_control 1, blank_hyphen 1; see" in done.out


def test_annotators_who_are_marked_are_counted_without_asking(whole: Desk) -> None:
    marked = "1 annotator is marked as suspect"
    out = whole.run("decisions", "agreement").out
    assert f"{marked}: on average, under half of the others agree with them" in out
    assert "«curation decisions agreement --by annotator» shows" in out
    assert f"% {marked}" in whole.run("decisions", "agreement", "--latex").out
    state = whole.run("status")
    assert f"warning: {marked}" in state.err
    before = re.search(r"annotators (\d+), suspect 1", state.out)
    assert before, state.out
    # Somebody may be excluded by the platform's id.
    words = ("decisions", "agreement", "--exclude", "validator-11", "--by", "annotator")
    out = whole.does(*words).out
    assert "Without the labels of p-" in out
    assert "yes" not in out.split("Annotators against the others")[1]  # no suspect is left
    whole.run("rounds", "exclude", "validator-11", "--reason", "random")
    whole.does("decisions", "agreement")
    state = whole.run("status")
    assert "marked" not in state.err
    assert f"annotators {int(before[1]) - 1} " in state.out


def test_without_raw_answers_later_steps_run_and_imports_do_not(
    whole: Desk, untouched: Any
) -> None:
    lose_raw_answers(whole)
    set_to(whole.root, "needed = 3", "needed = 4")
    whole.does("run")
    before = untouched(whole.root)
    said = whole.refused("import", "answers", writers(whole))
    assert "import on the machine that has them" in said
    assert untouched(whole.root) == before
    # Nor can a domain be lost.
    set_to(whole.root, "[domains.religion]", "[domains.creed]")
    said = whole.refused("run")
    assert "is not in 1-terms/targets.jsonl" in said
    assert "put its domain back" in said


def test_a_copy_without_private_files_says_what_it_lacks(whole: Desk, untouched: Any) -> None:
    lose_raw_answers(whole)
    main = whole.rounds / "main"
    items = (main / "items.jsonl").rename(main / "items.elsewhere")
    before = untouched(whole.root)
    for words in (("run",), ("decisions", "filter"), ("release", "build")):  # others are here
        says = f"{main / 'items.jsonl'}: is not in this copy of the campaign"
        assert says in whole.refused(*words)
        assert untouched(whole.root) == before
    items.rename(main / "items.jsonl")
    for tasks in whole.rounds.glob("*/tasks.jsonl"):
        tasks.unlink()
    said = whole.refused("rounds", "status")
    assert "tasks.jsonl: is not in this copy of the campaign" in said
    whole.does("scores", "baselines")  # it needs the CATs only
