"""``release export``: what is written, left out and refused, and what other harnesses misread."""

import contextlib
import json
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from curation.campaign.store import Campaign
from curation.catsets.stereoset import dataset, read_cats
from curation.files import dump_json
from curation.records import Cat
from curation.release import exporting
from curation.release.exporting import export
from curation.release.harness_files import misread_by_bias_bench
from curation.text.item_form import options
from support import commands, harnesses
from support.cats import REAL, cat, development_set, intra
from support.expected import fails, has
from support.strike import strike, times
from support.written import files, items, lines, read

GOOD = intra("The baker is BLANK.", "kind", "strict", "square", name="good")
CUT = intra("The baker is BLANK.", "very kind", "quite strict", "square", name="cut")
AFTER = cat("Our baker sings.", "Softly.", "Loudly.", "Water is wet.", name="after")
SAME = cat("Our baker sleeps.", "Softly.", "Softly.", "Water is wet.", name="same")
EXPORT = ("release", "export")
VOTES = [("p1", "stereotype"), ("p1", "related"), ("p2", "unrelated")]


def labels_of(cats: Iterable[Cat], votes: Any = VOTES) -> dict[str, Any]:
    return {a.id: votes for cat in cats for a in cat.associations}


def gold(path: Path, *cats: Cat, votes: Any = VOTES, labels: Any = None) -> Path:
    content = dataset(cats, labels or labels_of(cats, votes), version="1")
    path.write_bytes(dump_json(content))
    return path


def words(path: Path) -> dict[str, str | None]:
    """The filler of each sentence as bias-bench reads it."""
    return {s.id: s.word for read in harnesses.bias_bench(path) for s in read.sentences}


def fillers(cats: Iterable[Cat]) -> dict[str, str]:
    """The filler of each sentence of intrasentence CATs."""
    found: dict[str, str] = {}
    for each in (each for each in cats if each.kind == "intrasentence"):
        found |= dict(zip((a.id for a in each.associations), options(each), strict=True))
    return found


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return gold(tmp_path / "dev.json", GOOD, CUT, AFTER)


def test_a_gold_file_comes_back_with_its_votes(mixed: Path, tmp_path: Path) -> None:
    done = export("bias-bench", to=tmp_path / "new" / "out", gold=[mixed])
    assert done.files == ("dev.json", "mangled.jsonl")
    assert [c.id for c in done.cats] == ["good", "cut", "after"]
    assert (done.left_out, [m.option for m in done.mangled]) == (0, ["cut0", "cut1"])
    assert read(done.folder / "dev.json")["data"] == read(mixed)["data"]
    rows = lines(done.folder / "mangled.jsonl")
    assert [(row["code"], row["where"], row["detail"]) for row in rows] == [
        ("filler_cut", "cut, cut0", "'very kind' is read as 'very'"),
        ("filler_cut", "cut, cut1", "'quite strict' is read as 'quite'"),
    ]
    assert rows[0]["record"]["context"] == "The baker is BLANK."
    assert rows[0]["record"]["associations"] == CUT.model_dump(mode="json")["associations"]


def test_what_is_misread_is_left_out_on_request(mixed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = export("bias-bench", to=out, gold=[mixed], leave_out=True)
    assert done.files == ("dev.json", "left_out.jsonl")
    assert done.left_out == 1
    assert [c.id for c in read_cats(out / "dev.json")] == ["good", "after"]
    assert {row["record"]["id"] for row in lines(out / "left_out.jsonl")} == {"cut"}
    again = export("bias-bench", to=tmp_path / "b", gold=[out / "dev.json"])
    assert again.mangled == ()
    assert again.files == ("dev.json",)


def test_what_is_only_not_counted_stays(tmp_path: Path) -> None:
    island = GOOD.model_copy(update={"domain": "island"})
    file = gold(tmp_path / "set.json", island, CUT)
    done = export("bias-bench", to=tmp_path / "out", gold=[file], leave_out=True)
    assert done.files == ("left_out.jsonl", "mangled.jsonl", "test.json")
    codes = [row["code"] for row in lines(done.folder / "mangled.jsonl")]
    assert codes == ["other_domain", "target_in_two_domains"]
    codes = [row["code"] for row in lines(done.folder / "left_out.jsonl")]
    assert set(codes) == {"filler_cut", "target_in_two_domains"}


def test_tasks_and_their_data(tmp_path: Path) -> None:
    gold_files = [gold(tmp_path / "dev.json", GOOD, AFTER), gold(tmp_path / "r.json", CUT, SAME)]
    more: dict[str, Any] = {"leave_out": True, "name": "Ma série n° 2"}
    done = export("lm-eval", to=tmp_path / "out", gold=gold_files, **more)
    parts = ("intrasentence-dev", "intersentence-dev", "intrasentence-test")
    assert done.tasks == tuple(f"ma_serie_n_2_{part.replace('-', '_')}" for part in parts)
    assert done.left_out == 1  # two of its sentences are the same
    found = files(tmp_path / "out")
    data = {name for name in found if name.startswith("cats/")}
    assert data == {f"cats/{part}.jsonl" for part in parts}
    row = json.loads(found["cats/intersentence-dev.jsonl"])
    assert (row["stereotype"], row["unrelated"]) == ("Softly.", "Water is wet.")
    assert "lm-eval/intrasentence-test.yaml" in found
    assert "lm-eval/intersentence-test.yaml" not in found


def test_one_kind_or_split(mixed: Path, tmp_path: Path) -> None:
    done = export("bias-bench", to=tmp_path / "a", gold=[mixed], kind="intersentence")
    assert [c.id for c in done.cats] == ["after"]
    assert json.loads((tmp_path / "a" / "dev.json").read_bytes())["data"]["intrasentence"] == []
    with fails("no CAT in the split «test»"):
        export("bias-bench", to=tmp_path / "b", gold=[mixed], split="test")
    assert not (tmp_path / "b").exists()


def test_nothing_left_is_an_error_with_the_reasons(tmp_path: Path) -> None:
    file = gold(tmp_path / "set.json", GOOD, AFTER, votes=[])
    with fails("nothing is left to export: no_labels 6"):
        export("bias-bench", to=tmp_path / "out", gold=[file], leave_out=True)
    assert not (tmp_path / "out").exists()
    done = export("bias-bench", to=tmp_path / "out", gold=[file])
    assert {m.effect for m in done.mangled} == {"stops"}


def test_a_folder_with_files_is_never_written_to(mixed: Path, tmp_path: Path) -> None:
    full, link, file = tmp_path / "full", tmp_path / "link", tmp_path / "file"
    for folder in (full, tmp_path / "empty"):
        folder.mkdir()
    (full / "mine.txt").write_text("mine")
    link.symlink_to(full)
    file.write_text("a file")
    places = {full: "is not empty", link: "is a link", file: "is not a folder"}
    for place, wrong in {**places, file / "below": "is not a folder"}.items():
        with fails(wrong):
            export("bias-bench", to=place, gold=[mixed])
    assert files(full) == {"mine.txt": b"mine"}
    done = export("bias-bench", to=tmp_path / "empty", gold=[mixed])
    assert set(files(tmp_path / "empty")) == set(done.files)


def test_names_without_a_name_are_folders_too(mixed: Path, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with contextlib.chdir(tmp_path / "here"):
        with fails("is the folder in which you are"):
            export("bias-bench", to=Path(), gold=[mixed])
        with fails("is not empty"):
            export("bias-bench", to=Path(".."), gold=[mixed])
        assert export("bias-bench", to=Path("new"), gold=[mixed]).folder == Path("new")


def test_a_failed_export_leaves_nothing(mixed: Path, tmp_path: Path) -> None:
    before, full = set(tmp_path.iterdir()), OSError(28, "No space left on device")
    never = mock.patch.object(exporting.os, "replace", side_effect=full)
    with never, pytest.raises(OSError, match="No space"):
        export("bias-bench", to=tmp_path / "out", gold=[mixed])
    assert set(tmp_path.iterdir()) == before


def test_what_is_no_gold_file_is_refused(tmp_path: Path, campaign: Campaign) -> None:
    (tmp_path / "bad.json").write_text("{}")
    with fails("bad.json"):
        export("lm-eval", to=tmp_path / "out", gold=[tmp_path / "bad.json"])
    with fails():
        export("lm-eval", campaign, to=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("harm", ["changed", "missing", "more"])
def test_a_changed_export_is_not_written_to(mixed: Path, tmp_path: Path, harm: str) -> None:
    to = tmp_path / "out"
    export("lm-eval", to=to, gold=[mixed], name="Mild")
    file = next(path for path in sorted(to.rglob("*")) if path.is_file())
    if harm == "missing":
        file.unlink()
    else:
        (file if harm == "changed" else file.with_name("mine.txt")).write_bytes(b"mine")
    before = files(to)
    with fails("is not empty"):
        export("lm-eval", to=to, gold=[mixed], name="Mild")
    assert files(to) == before


@pytest.mark.long
def test_a_killed_export_is_whole_the_next_time(forked: Any, mixed: Path, tmp_path: Path) -> None:
    """It is killed at each call that changes the disk, also after the folder is in its place."""
    words = (*EXPORT, "bias-bench", "--gold", mixed, "--to")
    whole = tmp_path / "whole"
    (whole / "out").mkdir(parents=True)
    moments = times(forked, (*words, whole / "out"), whole)
    assert moments >= 8  # the folder; two files are opened, synced and renamed; the folder again
    for at in range(1, moments + 1):
        below = tmp_path / f"killed-{at}"
        (below / "out").mkdir(parents=True)
        died = forked(*words, below / "out", before=strike(below, at=at))
        assert died.code == -signal.SIGKILL
        if at == moments:
            assert files(below) == files(whole)
        again = forked(*words, below / "out")
        assert again.code == 0, again.err
        assert files(below) == files(whole)


# --- the command --------------------------------------------------------------------------------


def test_the_command_names_what_is_misread(mixed: Path, tmp_path: Path) -> None:
    to = tmp_path / "out"
    words = ("--gold", mixed, "--to", to)
    done = commands.run(*EXPORT, "bias-bench", *words)
    assert done.code == 0, done.err
    has(done.out, "filler_cut", "'very kind' is read as 'very'", "Content warning")
    has(done.out, f"3 CATs in {to}")
    has(done.err, "bias-bench misreads 1 CAT without an error: use --leave-out")
    before = files(to)
    again = commands.run(*EXPORT, "bias-bench", *words)
    assert (again.code, files(to)) == (0, before)
    assert f"{to}: has exactly these files already" in again.err
    other = commands.run(*EXPORT, "lm-eval", *words)
    assert (other.code, files(to)) == (1, before)
    assert f"error: {to}: is not empty" in other.err


def test_the_command_prints_json(mixed: Path, tmp_path: Path) -> None:
    to = tmp_path / "out"
    words = ("--gold", mixed, "--to", to, "--json", "--name", "Mild")
    said = json.loads(commands.run(*EXPORT, "lm-eval", *words).out)
    tasks = ["mild_intrasentence_dev", "mild_intersentence_dev"]
    counts = {"cats": 3, "left_out": 0, "tasks": tasks, "mangled": []}
    assert said == {"folder": str(to), "files": sorted(files(to)), **counts}


def test_a_loader_that_stops_is_a_warning(tmp_path: Path) -> None:
    file = gold(tmp_path / "set.json", GOOD, votes=[])
    done = commands.run(*EXPORT, "bias-bench", "--gold", file, "--to", tmp_path / "o")
    assert done.code == 0
    assert "bias-bench and StereoSet's code stop with an error at 1 CAT" in done.err


def test_twelve_of_54_options_of_the_example_are_misread(finished: Path, tmp_path: Path) -> None:
    done = export("bias-bench", finished, to=tmp_path / "all", split="dev", kind="intrasentence")
    assert 3 * len(done.cats) == 54
    codes = Counter(m.code for m in done.mangled)
    assert codes == {"filler_cut": 11, "filler_punctuation": 1}  # «by train»; «old-fashioned»
    own, found = fillers(done.cats), words(tmp_path / "all" / "dev.json")
    wrong = {m.option for m in done.mangled if m.effect == "misread"}
    assert {id for id, word in found.items() if word != own[id]} == wrong
    left = export("bias-bench", finished, to=tmp_path / "left", leave_out=True, split="dev")
    read = harnesses.stereoset(tmp_path / "left" / "dev.json")
    whole = [s for c in read["intrasentence"] for s in c.sentences]
    assert all(s.word == own[s.id] for s in whole)
    assert sum(map(len, read.values())) == len(left.cats)
    misread = {m.cat for m in done.mangled if m.effect == "misread"}
    assert misread.isdisjoint(c.id for c in read["intrasentence"])
    assert len(whole) == 54 - 3 * len(misread)


def test_a_campaigns_labels_are_those_of_its_release(finished: Path, tmp_path: Path) -> None:
    done = export("bias-bench", finished, to=tmp_path / "out")
    assert {"dev.json", "test.json"} <= set(done.files)
    for name in ("dev.json", "test.json"):
        released, exported = (
            {item["id"]: [s["labels"] for s in item["sentences"]] for item in items(folder / name)}
            for folder in (finished / "7-release" / "0.1.0", tmp_path / "out")
        )
        assert exported == released


# --- what bias-bench and StereoSet's own code misread ---------------------------------------------

MARKS = intra("The baker is BLANK.", "well-read", "strict", "square", name="marks")
GLUED = intra("The baker is unBLANK.", "kind", "just", "even", name="glued")
SHIFTED = intra("The  baker  is BLANK.", "a", "b", "c", name="shifted")
BARE = cat(
    "The baker is late.", "The baker is a.", "The baker is b.", "The baker is c.",
    name="bare", kind="intrasentence",
)  # fmt: skip
TWICE = intra("A BLANK baker is BLANK.", "kind", "strict", "square", name="twice")
SHORT = cat(
    "Here the baker is BLANK.", "Kind.", "Here the baker is strict.", "Here the baker is square.",
    name="short", kind="intrasentence",
)  # fmt: skip
EMPTY = intra("The baker is BLANK now.", "!", "strict", "square", name="empty")


MISREAD: list[tuple[Cat, list[tuple[str | None, str, str, str]]]] = [
    (GOOD, []),
    (CUT, [("cut0", "filler_cut", "misread", "'very kind' is read as 'very'"),
           ("cut1", "filler_cut", "misread", "'quite strict' is read as 'quite'")]),
    (MARKS, [("marks0", "filler_punctuation", "misread", "'well-read' is read as 'wellread'")]),
    (GLUED, [(f"glued{n}", "blank_glued", "misread", f"{word!r} is read as {'un' + word!r}")
             for n, word in enumerate(("kind", "just", "even"))]),
    (SHIFTED, []),  # the sentences have the same double spaces
    (BARE, [(None, "blank_missing", "stops", "no BLANK in 'The baker is late.'")]),
    (TWICE, [(None, "blank_twice", "misread",
              "'A BLANK baker is BLANK.': one filler is read, and put into every BLANK")]),
    (SHORT, [("short0", "filler_misread", "stops", "'Kind.' has no word at the place of BLANK")]),
    (EMPTY, [("empty0", "filler_misread", "stops", "'!' is read as an empty text")]),
]  # fmt: skip


@pytest.mark.parametrize(("item", "expected"), MISREAD, ids=[item.id for item, _ in MISREAD])
def test_a_filler_that_is_misread(item: Cat, expected: list[Any], tmp_path: Path) -> None:
    found = misread_by_bias_bench([item], labels_of([item]))
    assert [(m.option, m.code, m.effect, m.detail) for m in found] == expected
    assert {m.cat for m in found} <= {item.id}
    path = gold(tmp_path / "test.json", item)
    if [m for m in found if m.effect == "stops" and "empty" not in m.detail]:
        with pytest.raises((IndexError, ValueError)):
            harnesses.bias_bench(path)
        return
    wrong = {m.option for m in found} - {None}
    assert {name for name, word in words(path).items() if word != fillers([item])[name]} == wrong


def test_sentences_of_a_template_with_other_spaces_are_misread(tmp_path: Path) -> None:
    wider = intra("The baker  is BLANK.", "a", "b", "c")
    item = wider.model_copy(update={"context": "The baker is BLANK."})
    found = misread_by_bias_bench([item], labels_of([item]))
    assert [(m.code, m.detail) for m in found] == [
        ("filler_misread", f"{word!r} is read as 'is'") for word in "abc"
    ]
    assert set(words(gold(tmp_path / "test.json", item)).values()) == {"is"}


def test_a_sentence_without_labels_stops_both_loaders(tmp_path: Path) -> None:
    labels = {**labels_of([GOOD, AFTER]), "good1": [], "after2": []}
    found = misread_by_bias_bench([GOOD, AFTER], labels)
    assert {(m.code, m.effect) for m in found} == {("no_labels", "stops")}
    assert [m.option for m in found] == ["good1", "after2"]
    with pytest.raises(IndexError):
        harnesses.bias_bench(gold(tmp_path / "test.json", GOOD, AFTER, labels=labels))
    with pytest.raises(IndexError):
        harnesses.stereoset(gold(tmp_path / "test.json", AFTER, labels=labels))


def test_other_domains_and_targets_in_two_domains_are_not_counted() -> None:
    other = intra("A Quillon is BLANK.", "a", "b", "c", name="o", domain="island", target="Quillon")
    again = intra("A Quillon is BLANK.", "a", "b", "c", name="q", domain="race", target="Quillon")
    cats = [GOOD, other, again]
    found = misread_by_bias_bench(cats, labels_of(cats))
    assert [(m.cat, m.code, m.effect) for m in found] == [
        ("o", "other_domain", "not_counted"),
        ("o", "target_in_two_domains", "not_counted"),
        ("q", "target_in_two_domains", "not_counted"),
    ]
    assert "'Quillon' is in 'island' and 'race'" in found[1].detail


@pytest.mark.realdata
@pytest.mark.skipif(not REAL.exists(), reason="no StereoSet data")
def test_twelve_options_of_stereosets_own_development_set_are_misread(tmp_path: Path) -> None:
    cats = development_set()
    # Four contexts join BLANK to letters: «BLANKed», «sometimes,BLANK» and the like.
    wrong = {m.option for m in misread_by_bias_bench(cats, labels_of(cats)) if m.option}
    assert len(wrong) == 12
    read, own = words(gold(tmp_path / "test.json", *cats)), fillers(cats)
    assert {name for name, word in read.items() if word != own[name]} == wrong
