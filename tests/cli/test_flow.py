"""What users do with a campaign, from one end to the other."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.files import read_json, read_records
from curation.records import Decision, Item, Label
from support.commands import set_to

LABELS = "item_id,annotator,association,label\n"


def writers(path: Path, count: int = 4) -> Path:
    head = "item_id,annotator,domain,target,context,stereotype,anti_stereotype,unrelated\n"
    rows = [
        f"i{n},w{n},profession,baker{n},Baker{n} is BLANK.,early,late,octal\n" for n in range(count)
    ]
    path.write_text(head + "".join(rows), "utf-8")
    return path


def validators(path: Path, people: str, count: int = 4, note: bool = False) -> Path:
    words = {"early": "stereotype", "late": "anti-stereotype", "octal": "unrelated"}
    rows = [
        f"i{n},{who},{word},{label}" + (",seen" if note else "") + "\n"
        for who in people
        for n in range(count)
        for word, label in words.items()
    ]
    head = LABELS.replace("\n", ",note\n") if note else LABELS
    path.write_text(head + "".join(rows), "utf-8")
    return path


def test_a_table_exported_again_with_a_column_more_adds_no_label(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    root = campaign.root
    set_to(root, "count_repeats = false", "count_repeats = true")
    assert forked("import", "answers", writers(tmp_path / "w.csv"), "-c", root).code == 0
    for note in (False, True):
        table = validators(tmp_path / f"v{note}.csv", "ab", note=note)
        assert forked("import", "answers", table, "-c", root).code == 0
    labels = read_records(campaign.rounds / "main" / "labels.jsonl", Label)
    assert len(labels) == 2 * 4 * 3
    assert forked("decisions", "filter", "-c", root).code == 0
    decisions = read_records(campaign.decisions / "decisions.jsonl", Decision)
    assert {d.reason for d in decisions} == {"too_few_labels"}  # two people, not four


@pytest.mark.parametrize("empty", ["labels only", "all refused"])
def test_a_campaign_without_items_says_what_to_do(
    forked: Any, campaign: Campaign, tmp_path: Path, empty: str
) -> None:
    table = validators(tmp_path / "t.csv", "abc")
    if empty == "all refused":
        table = writers(tmp_path / "t.csv")
        table.write_text(table.read_text("utf-8").replace("profession", "hobby"), "utf-8")
    done = forked("import", "answers", table, "-c", campaign.root)
    assert done.code == 0
    assert "answers were refused, and the file has" in done.err
    done = forked("run", "-c", campaign.root)
    assert done.code == 1
    assert "no CAT was kept" in done.err
    assert "there are no items yet" in forked("status", "-c", campaign.root).out


def test_a_writers_vote_counts_and_is_not_published(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    root = campaign.root
    set_to(root, "count_writer = false", "count_writer = true")
    for table in (writers(tmp_path / "w.csv"), validators(tmp_path / "v.csv", "ab")):
        assert forked("import", "answers", table, "-c", root).code == 0
    done = forked("run", "-c", root)
    assert done.code == 0, done.err
    release = campaign.releases / "0.1.0"
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
    items = read_records(campaign.rounds / "main" / "items.jsonl", Item)
    assert all(item.writer and item.writer not in table for item in items)


def test_a_domain_added_later_lets_its_items_in(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = writers(tmp_path / "w.csv")
    table.write_text(table.read_text("utf-8").replace("profession", "hobby"), "utf-8")
    assert forked("import", "answers", table, "-c", campaign.root).code == 0
    set_to(campaign.root, "[rounds]", "[domains.hobby]\n\n[rounds]")
    assert forked("decisions", "filter", "-c", campaign.root).code == 0
    assert len(read_records(campaign.decisions / "decisions.jsonl", Decision)) == 4


def test_a_json_list_is_read_and_another_table_is_refused_before_it_is_kept(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    path = tmp_path / "list.json"
    row = {
        "item_id": "i", "domain": "profession", "target": "baker", "context": "A baker came.",
        "stereotype": "He sang.", "anti_stereotype": "He was silent.", "unrelated": "Tin is grey.",
    }  # fmt: skip
    path.write_text(json.dumps([row], indent=1), "utf-8")
    done = forked("import", "answers", path, "-c", campaign.root, "--json")
    assert json.loads(done.out)["items"] == 1
    other = tmp_path / "other.csv"
    other.write_text("name,score\nx,1\n", "utf-8")
    done = forked("import", "answers", other, "-c", campaign.root)
    assert done.code == 1
    assert "other.csv: no column domain, target, context" in done.err
    assert "it has name, score" in done.err
    assert len(list((campaign.rounds / "main" / "raw").iterdir())) == 1


def test_settings_of_the_rounds_let_items_in(
    forked: Any, campaign: Campaign, tmp_path: Path
) -> None:
    table = writers(tmp_path / "w.csv")
    text = table.read_text("utf-8").replace("Baker0 is BLANK", "She is BLANK")
    table.write_text(text.replace("Baker1 is BLANK.", "Baker1 is BLANKnya."), "utf-8")
    assert forked("import", "answers", table, "-c", campaign.root).code == 0
    items = campaign.rounds / "main" / "items.jsonl"
    assert items.read_bytes().count(b"\n") == 2
    for setting in ("name_target", "blank_alone"):
        set_to(campaign.root, f"{setting} = true", f"{setting} = false")
    forked("decisions", "filter", "-c", campaign.root)
    assert items.read_bytes().count(b"\n") == 4
    assert '"Baker1 is earlynya."' in items.read_text("utf-8")


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


def test_init_keeps_what_a_folder_ignores_already(forked: Any, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("secrets.env\n", "utf-8")
    assert forked("init", tmp_path, "--yes").code == 0
    lines = (tmp_path / ".gitignore").read_text("utf-8").splitlines()
    assert lines[0] == "secrets.env"
    assert "2-rounds/*/raw/" in lines


def test_a_release_that_changes_under_its_version_is_said(forked: Any, finished: Path) -> None:
    set_to(finished, "seed = 1", "seed = 3")
    done = forked("run", "-c", finished)
    assert done.code == 0
    assert "7-release/0.1.0 is built already, and its content would change: " in done.err
    assert "raise version in [release] and build again" in done.err


def test_somebody_may_be_excluded_by_the_platforms_id(forked: Any, finished: Path) -> None:
    done = forked(
        "decisions", "agreement", "--exclude", "validator-11", "--by", "annotator", "-c", finished
    )
    assert done.code == 0, done.err
    assert "Without the labels of p-" in done.out
    assert "yes" not in done.out.split("Annotators against the others")[1]  # no suspect is left


def test_annotators_who_are_marked_are_counted_without_asking(forked: Any, finished: Path) -> None:
    marked = "1 annotator is marked as suspect"
    done = forked("decisions", "agreement", "-c", finished)
    assert f"{marked}: on average, under half of the others agree with them" in done.out
    assert "«curation decisions agreement --by annotator» shows" in done.out
    assert f"% {marked}" in forked("decisions", "agreement", "--latex", "-c", finished).out
    state = forked("status", "-c", finished)
    assert f"warning: {marked}" in state.err
    before = re.search(r"annotators (\d+), suspect 1", state.out)
    assert before, state.out
    forked("rounds", "exclude", "validator-11", "--reason", "random", "-c", finished)
    assert forked("decisions", "agreement", "-c", finished).code == 0
    state = forked("status", "-c", finished)
    assert "marked" not in state.err
    assert f"annotators {int(before[1]) - 1} " in state.out


def test_without_raw_answers_later_steps_run_and_imports_do_not(
    forked: Any, finished: Path, tmp_path: Path, untouched: Any
) -> None:
    for raw in finished.glob("2-rounds/*/raw"):
        shutil.rmtree(raw)
    set_to(finished, "needed = 3", "needed = 4")
    assert forked("run", "-c", finished).code == 0
    before = untouched(finished)
    done = forked("import", "answers", writers(tmp_path / "w.csv"), "-c", finished)
    assert done.code == 1
    assert "import on the machine that has them" in done.err
    assert untouched(finished) == before


def test_a_copy_without_private_files_says_what_it_lacks(
    forked: Any, finished: Path, untouched: Any
) -> None:
    for raw in finished.glob("2-rounds/*/raw"):
        shutil.rmtree(raw)
    main = finished / "2-rounds" / "main"
    items = (main / "items.jsonl").rename(main / "items.elsewhere")
    before = untouched(finished)
    for words in (("run",), ("decisions", "filter"), ("release", "build")):  # others are here
        done = forked(*words, "-c", finished)
        assert done.code == 1
        assert f"{main / 'items.jsonl'}: is not in this copy of the campaign" in done.err
        assert untouched(finished) == before
    items.rename(main / "items.jsonl")
    for tasks in finished.glob("2-rounds/*/tasks.jsonl"):
        tasks.unlink()
    done = forked("rounds", "status", "-c", finished)
    assert done.code == 1
    assert "tasks.jsonl: is not in this copy of the campaign" in done.err
    assert forked("scores", "baselines", "-c", finished).code == 0  # it needs the CATs only


def test_a_raw_answer_that_was_changed_stops_everything(
    forked: Any, finished: Path, untouched: Any
) -> None:
    segment = next((finished / "2-rounds/main/raw").iterdir())
    segment.write_bytes(segment.read_bytes().replace(b"late", b"Late", 1))
    before = untouched(finished)
    done = forked("run", "-c", finished)
    assert done.code == 1
    assert f"{segment}: these raw answers have changed" in done.err
    assert untouched(finished) == before
    status = forked("status", "-c", finished)
    assert "cannot run" in status.out
    assert "next: put the file back from a backup" in status.out


def test_a_copy_without_raw_answers_cannot_lose_a_domain(forked: Any, finished: Path) -> None:
    for raw in finished.glob("2-rounds/*/raw"):
        shutil.rmtree(raw)
    set_to(finished, "[domains.religion]", "[domains.creed]")
    done = forked("run", "-c", finished)
    assert done.code == 1
    assert "is not in 1-terms/targets.jsonl" in done.err
    assert "put its domain back" in done.err
