"""The published folder: complete, checked, readable, and without personal data."""

import re
from collections import Counter
from pathlib import Path

import pytest

from curation.catsets.stereoset import read_cats
from curation.files import read_records
from curation.reasons import REASONS
from curation.records import Cat, Rejection
from support.desk import read_csv
from support.written import files, items, lines, shas


@pytest.fixture
def release(example_release: Path) -> Path:
    return example_release


def test_checksums_hold_for_every_file(release: Path) -> None:
    rows = (release / "SHA256SUMS").read_text("utf-8").splitlines()
    listed = dict(reversed(row.split("  ")) for row in rows)
    found = shas(release)
    del found["SHA256SUMS"]
    assert listed == found


def test_the_splits_are_the_kept_cats_and_share_no_family(example: Path, release: Path) -> None:
    cats = {cat.id: cat for cat in read_records(example / "3-decisions/cats.jsonl", Cat)}
    split = {name: read_cats(release / f"{name}.json") for name in ("dev", "test")}
    assert {c.id for part in split.values() for c in part} == set(cats)
    for name, part in split.items():
        assert {cats[c.id].split for c in part} == {name}
    families = {name: {cats[c.id].family for c in part} for name, part in split.items()}
    assert not families["dev"] & families["test"]
    assert not {c.target for c in split["dev"]} & {c.target for c in split["test"]}
    for cat in split["dev"] + split["test"]:
        before = cats[cat.id]
        assert (cat.context, cat.associations) == (before.context, before.associations)


def test_every_file_has_the_tiers_of_the_cats(example: Path, release: Path) -> None:
    tiers = {cat.id: cat.tier for cat in read_records(example / "3-decisions/cats.jsonl", Cat)}
    assert {3, 4, 5} <= set(tiers.values())
    for name in ("dev.json", "test.json"):
        for cat in read_cats(release / name):
            assert cat.tier == tiers[cat.id]
    for row in read_csv(release / "annotations.csv"):
        assert row["tier"] == str(tiers[row["cat_id"]] or "")


def test_the_long_table_holds_the_labels_of_the_json(release: Path) -> None:
    rows = read_csv(release / "annotations.csv")
    counted = Counter(
        (r["association_id"], r["annotator"], r["label"]) for r in rows if r["counted"] == "True"
    )
    in_json: Counter[tuple[str, str, str]] = Counter()
    for name in ("dev.json", "test.json"):
        for s in (s for item in items(release / name) for s in item["sentences"]):
            assert len(s["labels"]) <= 5
            assert sum(x["label"] == s["gold_label"] for x in s["labels"]) >= 3
            in_json.update((s["id"], x["human_id"], x["label"]) for x in s["labels"])
    assert counted == in_json
    assert any(r["counted"] == "False" for r in rows)


def test_no_person_and_no_intent_is_in_a_release(example: Path, release: Path) -> None:
    raw = b"".join(p.read_bytes() for p in example.glob("2-rounds/*/raw/*"))
    people = set(re.findall(rb'"annotator":"([^"]+)"', raw))
    assert len(people) > 20
    for name, content in files(release).items():
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
    # Two only happen on Label Studio (tests/rounds/test_forms.py), three are for texts that a model
    # cannot score (tests/models).
    of_platforms = {"deleted", "edited_by_other"}
    of_models = {"too_long", "nothing_to_score", "not_finite"}
    # Questions to chat models (tests/scores/choice); the example has none.
    of_models |= {code for code in REASONS if code.startswith("answer_")}
    # And these are for CATs that another harness misreads (tests/release/test_lm_eval.py).
    of_exports = {"filler_cut", "filler_misread", "filler_punctuation", "no_labels"}
    of_exports |= {"other_domain", "target_in_two_domains"}
    assert found == set(REASONS) - of_platforms - of_models - of_exports


def test_the_example_is_as_large_as_it_should_be(example: Path) -> None:
    cats = read_records(example / "3-decisions/cats.jsonl", Cat)
    assert {cat.domain for cat in cats} == {"gender", "profession", "race", "religion"}
    assert {cat.kind for cat in cats} == {"intrasentence", "intersentence"}
    assert len({cat.term for cat in cats}) >= 24
    assert len(lines(example / "2-rounds/main/items.jsonl")) >= 160


def test_the_readme_warns_and_counts_right(example: Path, release: Path) -> None:
    text = (release / "README.md").read_text("utf-8")
    cats = read_records(example / "3-decisions/cats.jsonl", Cat)
    assert "Content warning" in text
    assert f"{len(cats)} CATs on {len({c.term for c in cats})} target terms" in text
