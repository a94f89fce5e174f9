"""The published folder: complete, documented, readable by others, and without personal data."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from curation.catsets.stereoset import read_cats
from curation.files import read_json, read_records
from curation.kinds import CAT_KINDS
from curation.reasons import REASONS
from curation.records import Cat, Rejection
from curation.release.anonymous import anonymize
from curation.release.texts.card import card
from curation.released.contents import HUB_SPLITS, SPLITS, DataFile, parquet_path
from curation.released.facts import Facts
from curation.text.item_form import attribute
from support import harnesses
from support.commands import ROOT
from support.desk import read_csv
from support.labelled import Desk
from support.written import files, items, lines, shas


def test_the_splits_are_the_kept_cats_and_share_no_family(
    example: Path, example_release: Path
) -> None:
    cats = {cat.id: cat for cat in read_records(example / "3-decisions/cats.jsonl", Cat)}
    split = {name: read_cats(example_release / f"{name}.json") for name in ("dev", "test")}
    assert {c.id for part in split.values() for c in part} == set(cats)
    for name, part in split.items():
        assert {cats[c.id].split for c in part} == {name}
    families = {name: {cats[c.id].family for c in part} for name, part in split.items()}
    assert not families["dev"] & families["test"]
    assert not {c.target for c in split["dev"]} & {c.target for c in split["test"]}


def test_the_long_table_holds_the_labels_of_the_json(example_release: Path) -> None:
    rows = read_csv(example_release / "annotations.csv")
    counted = Counter(
        (r["association_id"], r["annotator"], r["label"]) for r in rows if r["counted"] == "True"
    )
    in_json: Counter[tuple[str, str, str]] = Counter()
    for name in ("dev.json", "test.json"):
        for s in (s for item in items(example_release / name) for s in item["sentences"]):
            assert len(s["labels"]) <= 5
            assert sum(x["label"] == s["gold_label"] for x in s["labels"]) >= 3
            in_json.update((s["id"], x["human_id"], x["label"]) for x in s["labels"])
    assert counted == in_json
    assert any(r["counted"] == "False" for r in rows)


def test_no_person_and_no_intent_is_in_a_release(example: Path, example_release: Path) -> None:
    raw = b"".join(p.read_bytes() for p in example.glob("2-rounds/*/raw/*"))
    people = set(re.findall(rb'"annotator":"([^"]+)"', raw))
    assert len(people) > 20
    for name, content in files(example_release).items():
        assert not [person for person in people if person in content], name
        if name.endswith((".json", ".jsonl", ".csv")) and name != "release.json":
            for said in ("what the writer meant", REASONS["intent_mismatch"]):
                content = content.replace(said.encode(), b"")
            assert b"intent" not in content
    for name, content in files(example).items():
        if not {"raw", "tasks"} & set(name.split("/")):
            assert not [person for person in people if person in content], name


def test_every_reason_code_occurs_in_the_example(example: Path) -> None:
    refused = [*example.rglob("rejected.jsonl"), example / "1-terms/unreadable.jsonl"]
    found = {r.code for path in refused for r in read_records(path, Rejection)}
    # The status of candidates is in the same table as the terms.
    found |= {row["reason"] for row in read_csv(example / "1-terms/candidates.csv")} - {""}
    # Two only happen on Label Studio (tests/rounds/answers), two where answers come in by
    # themselves (tests/rounds/platforms/web), three are for texts that a model cannot score
    # (tests/models).
    of_platforms = {"deleted", "edited_by_other", "late", "time_impossible", "returned", "forged"}
    of_models = {"too_long", "nothing_to_score", "not_finite"}
    # Questions to chat models (tests/scores); the example has none.
    of_models |= {code for code in REASONS if code.startswith("answer_")}
    # And these are for CATs that another harness misreads (tests/release/test_lm_eval.py), or for
    # pilots (tests/rounds/commands/test_plan.py), or for flags that decide (test_flagged.py).
    of_exports = {"filler_cut", "filler_misread", "filler_punctuation", "no_labels"}
    of_exports |= {"other_domain", "target_in_two_domains", "pilot", "flagged"}
    assert found == set(REASONS) - of_platforms - of_models - of_exports


@pytest.mark.parametrize("name", ["example_release", "example_hidden", "example_sealed"])
def test_a_card_is_read_in_five_minutes(demo: object, name: str, request: Any) -> None:
    release = request.getfixturevalue(name)
    assert (release / "README.md").stat().st_size <= 12_000
    described = [DataFile(path, digest, 1, 1) for path, digest in shas(release).items()]
    review = anonymize(Facts.model_validate(read_json(release / "release.json")))
    assert len(card(review, described)) <= 12_000


@pytest.mark.parametrize("name", ["example_release", "example_hidden", "example_sealed"])
def test_card_and_statement_say_each_thing_once(demo: object, name: str, request: Any) -> None:
    release = request.getfixturevalue(name)
    texts = [
        (release / name).read_text("utf-8").splitlines() for name in ("README.md", "STATEMENT.md")
    ]
    both = {line for line in texts[0] if line in texts[1] and len(line) > 3}
    heads = {
        line
        for text in texts
        for line, below in pairwise(text)
        if line.startswith("|--") or below.startswith("|--")
    }
    notes = ("> **Content warning", "In brackets: ", "`*`: ")  # of tables, each below its own
    assert [line for line in both - heads if not line.startswith(notes)] == []
    for text in texts:
        said = Counter(line for line in text if len(line) > 60 and not line.startswith(("|", "- ")))
        assert [line for line, n in said.items() if n > 1 and not line.startswith(notes)] == []


# --- read by the code that was written for StereoSet, and by ours ---------------------------------


@pytest.mark.parametrize("split", SPLITS)
def test_stereosets_own_loader_reads_every_cat(example_release: Path, split: str) -> None:
    path = example_release / f"{split}.json"
    found = harnesses.stereoset(path)
    cats = {cat.id: cat for cat in read_cats(path)}
    for kind in CAT_KINDS:
        for read in found[kind]:
            cat = cats.pop(read.id)
            about = (cat.kind, cat.domain, cat.target, cat.context)
            assert (kind, read.bias_type, read.target, read.context) == about
            assert [(s.id, s.sentence, s.gold) for s in read.sentences] == [
                (option.id, option.sentence, option.gold) for option in cat.associations
            ]
            for sentence in read.sentences:
                given = Counter(label for _, label in sentence.labels)
                assert given[sentence.gold] >= 3
    assert not cats


@pytest.mark.parametrize("split", SPLITS)
def test_bias_bench_reads_fillers_of_one_word(example_release: Path, split: str) -> None:
    words = 0
    for cat in harnesses.bias_bench(example_release / f"{split}.json"):
        for sentence in cat.sentences:
            start, end = attribute(cat.context, sentence.sentence)
            filler = sentence.sentence[start:end]
            if filler.isalpha():
                assert sentence.word == filler
                words += 1
    assert words > 10


def test_files_of_other_languages_are_read(arabic_release: Path, japanese_release: Path) -> None:
    arabic, japanese = (arabic_release, CAT_KINDS[1], 5), (japanese_release, CAT_KINDS[0], 0)
    for folder, kind, people in (arabic, japanese):
        for split in SPLITS:
            own = read_cats(folder / f"{split}.json")
            parquet = read_cats(folder / parquet_path(kind, HUB_SPLITS[split]))
            assert [(c.id, c.context, c.associations) for c in own] == [
                (c.id, c.context, c.associations) for c in parquet
            ]
            assert own
            sentences = [s for item in items(folder / f"{split}.json") for s in item["sentences"]]
            assert {len(s["labels"]) for s in sentences} <= {0, people}


def test_an_import_of_the_release_gives_its_cats(
    example: Path, example_release: Path, forked: Any, tmp_path: Path
) -> None:
    assert forked("init", tmp_path / "c", "--yes").code == 0
    desk = Desk(forked, tmp_path / "c")
    for split in SPLITS:
        desk.done("import", "stereoset", example_release / f"{split}.json")
    for step in ("filter", "split"):
        desk.done("decisions", step)
    texts = {c.id: c for split in SPLITS for c in read_cats(example_release / f"{split}.json")}
    back = {cat.id: cat for cat in desk.cats()}
    own = {cat.id: cat for cat in Desk(forked, example).cats()}
    assert set(back) == set(texts) == set(own)
    for name, cat in back.items():
        for other in (texts[name], own[name]):
            for field in ("kind", "domain", "target", "context", "tier", "associations"):
                assert getattr(cat, field) == getattr(other, field)


# --- the files and fields are those that the documentation lists ----------------------------------

CELL = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+)[^|]*\|", re.MULTILINE)


def section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text("utf-8")
    level = heading.split(" ")[0]
    rest = text.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def table(text: str, first: str) -> list[str]:
    """The names in the first column of the table that begins with this heading."""
    rows = text.split(f"| {first} |", 1)[1].split("\n\n", 1)[0]
    return [name for cell in CELL.findall(rows) for name in re.findall(r"`([^`]+)`", cell)]


def names(folder: Path) -> set[str]:
    """Files in the folder, and folders with a slash at the end."""
    return {path.name + "/" * path.is_dir() for path in folder.iterdir()}


def keys(paths: Iterable[Path]) -> set[str]:
    return {key for path in paths for row in lines(path) for key in row}


@pytest.mark.parametrize("name", ["release", "hidden", "sealed", "anonymous"])
def test_the_table_of_release_md_lists_every_file(demo: object, request: Any, name: str) -> None:
    listed = set(table(section("release.md", "## The files"), "file")) - {"errata.jsonl"}
    other = {"hidden": {"sealed.jsonl"}, "sealed": {"hidden/", "test.json"}}
    without = other.get(name, {"hidden/", "sealed.jsonl"})
    assert listed - without == names(request.getfixturevalue(f"example_{name}"))


@pytest.mark.parametrize("name", ["example_release", "example_hidden", "example_sealed"])
def test_formats_md_lists_every_data_file(demo: object, request: Any, name: str) -> None:
    release = request.getfixturevalue(name)
    rows = table(section("formats.md", "## A release"), "file")
    patterns = [re.sub("KIND|SPLIT", "*", row) + "*" * row.endswith("/") for row in rows]
    found = {path for pattern in patterns for path in release.glob(pattern)}
    others = {"README.md", "STATEMENT.md", "LICENSE", "SHA256SUMS", "release.json"}
    left = files(release).keys() - {path.relative_to(release).as_posix() for path in found}
    assert {name for name in left if not name.startswith("lm-eval/")} == others


def test_formats_md_lists_every_field(
    example_release: Path, example_hidden: Path, example_sealed: Path
) -> None:
    text = section("formats.md", "## A release")
    cats = [*example_release.glob("cats/*.jsonl"), *example_hidden.glob("cats/*.jsonl")]
    options = {"options.id", "options.sentence"}
    assert set(table(text, "field in `cats/`")) == keys(cats) | options
    assert set(table(text, "field of `terms.jsonl`")) == keys([example_release / "terms.jsonl"])
    assert set(table(text, "field of `sealed.jsonl`")) == keys([example_sealed / "sealed.jsonl"])
    annotations = read_csv(example_release / "annotations.csv")
    assert table(text, "column of `annotations.csv`") == [*annotations[0]]
    columns = table(text, "field in `intersentence/` and `intrasentence/`")
    fields = {name.split(".")[0] for name in columns}
    for path in example_release.glob("int*/*.parquet"):
        assert set(parquet.read_schema(path).names) == fields


def test_the_readme_of_the_tasks_lists_every_task(example_release: Path) -> None:
    folder = example_release / "lm-eval"
    text = (folder / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    tasks = "".join(path.read_text("utf-8") for path in folder.rglob("*.yaml"))
    written = re.findall(r"^(?:task|group): (\w+)$", tasks, re.MULTILINE)
    parts = {f"{name}_{gold}" for name in listed for gold in ("stereotype", "anti_stereotype")}
    assert set(listed) == set(written) - parts
    for path in re.findall(r"`(cats/[^`*]+)`", text):
        assert not path.endswith(".jsonl") or (example_release / path).is_file()
