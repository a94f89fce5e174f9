"""The facts of the example's release, counted again from the campaign's files alone."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from curation.released.facts import Facts
from support.desk import read_csv
from support.labelled import Desk
from support.written import lines, read

KINDS = ("intrasentence", "intersentence")
SPLITS = ("dev", "test")
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def facts(example: Path) -> dict[str, Any]:
    """``release.json``; it can be read back as ``Facts``."""
    content = read(example / "7-release/0.1.0/release.json")
    Facts.model_validate({**content, "licence": {**content["licence"], "text": ""}})
    return dict(content)


@pytest.fixture(scope="module")
def cats(example: Path) -> Rows:
    return lines(example / "3-decisions/cats.jsonl")


def labels_of(example: Path) -> Rows:
    return [row for path in example.glob("2-rounds/*/labels.jsonl") for row in lines(path)]


def test_name_version_date_and_canary(example: Path, facts: dict[str, Any]) -> None:
    (first,) = lines(example / "7-release/built.jsonl")
    assert (first["version"], first["anonymous"]) == ("0.1.0", False)
    expected = {
        "name": "Mild example", "version": "0.1.0", "language": "en", "date": first["date"],
        "canary": first["canary"], "other_licences": {}, "seed": 1, "dev": 0.25, "changes": None,
        "hidden": None,
    }  # fmt: skip
    assert {name: facts[name] for name in expected} == expected
    assert facts["warning"].startswith("Content warning: ")
    assert facts["licence"]["spdx"] == "CC-BY-SA-4.0"
    assert not any(near["cats"] for near in facts["near"])


def test_two_questions_are_left_open(facts: dict[str, Any]) -> None:
    assert facts["open"] == ["groups", "maintenance"]
    statement = facts["statement"]
    assert [author["name"] for author in statement["authors"]] == ["Ada Example", "Ben Sample"]
    assert statement["contact"] == "study@example.invalid"  # from rounds/text.toml
    assert all("made up" in answer.casefold() for answer in statement["answers"].values())
    assert "Made up." in statement["description"]


def test_sizes_terms_and_tiers(facts: dict[str, Any], cats: Rows) -> None:
    tally = Counter((c["domain"], c["kind"], c["split"]) for c in cats)
    sizes = {(s["domain"], s["kind"], s["split"]): s["cats"] for s in facts["sizes"]}
    assert sizes == tally
    for size in facts["sizes"]:
        key = size["domain"], size["kind"], size["split"]
        own = {c["term"] for c in cats if (c["domain"], c["kind"], c["split"]) == key}
        assert size["terms"] == len(own)
    by_split = Counter((d, s) for d, s, _ in {(c["domain"], c["split"], c["term"]) for c in cats})
    assert {(t["domain"], t["split"]): t["terms"] for t in facts["terms"]} == by_split
    tiers = Counter(str(c["tier"] or "unknown") for c in cats)
    assert facts["tiers"] == {tier: tiers[tier] for tier in ("3", "4", "5", "unknown")}
    assert sum(facts["tiers"].values()) == len(cats)
    assert (facts["without_votes"], facts["translated"], facts["originals_in_both"]) == (0, 0, 0)


def test_annotations(example: Path, facts: dict[str, Any], cats: Rows) -> None:
    rows = read_csv(example / "7-release/0.1.0/annotations.csv")
    ids = {c["id"] for c in cats}
    on_cats = [row for row in labels_of(example) if row["item"] in ids]
    assert facts["annotations"] == len(rows) == len(on_cats)
    assert facts["annotators"] == len({row["annotator"] for row in rows})
    assert facts["counted"] == sum(row["counted"] == "True" for row in rows)


def test_rounds_and_people(example: Path, facts: dict[str, Any]) -> None:
    rounds = {row["name"]: row for row in facts["rounds"]}
    assert [*rounds] == ["write-2", "validate-2", "main", "pilot", "published"]
    people: dict[str, set[str]] = defaultdict(set)
    for name, row in rounds.items():
        folder = example / "2-rounds" / name
        if (folder / "round.json").exists():
            answers = lines(folder / "answers.jsonl")
            kind = read(folder / "round.json")["kind"]
            accepted = [(a["annotator"], kind, a["submitted_at"]) for a in answers if not a["code"]]
            refused = [a for a in answers if a["code"] not in (None, "", "skipped", "superseded")]
            assert row["refused"] == len(refused)
        else:
            kind = "import"
            accepted = imported(folder)
        for person, did, _ in accepted:
            people[did].add(person)
        times = sorted(time[:10] for *_, time in accepted if time)
        first, last = (times[0], times[-1]) if times else (None, None)
        people_here = len({person for person, *_ in accepted})
        expected = (kind, len(accepted), people_here, first, last)
        assert tuple(row[n] for n in ("kind", "answers", "people", "first", "last")) == expected
    assert facts["people"] == {did: len(those) for did, those in people.items()}


def imported(folder: Path) -> list[tuple[str, str, str | None]]:
    """Items with a known writer; and a person's labels on one item, which are one answer."""
    written = [item for item in lines(folder / "items.jsonl") if item["writer"]]
    found = [(item["writer"], item["kind"], item["submitted_at"]) for item in written]
    by_answer: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in lines(folder / "labels.jsonl"):
        by_answer[row["item"], row["annotator"]] += filter(None, [row["submitted_at"]])
    return found + [(who, "validation", min(t, default=None)) for (_, who), t in by_answer.items()]


def test_what_the_filter_leaves_out_is_counted(example: Path, facts: dict[str, Any]) -> None:
    reasons = Counter(row["code"] for row in lines(example / "3-decisions/rejected.jsonl"))
    assert {**facts["not_counted"], **facts["not_kept"]} == reasons
    counted = len(labels_of(example)) - sum(facts["not_counted"].values())
    assert counted >= facts["counted"] > 0  # the rest is on items that are no CATs
    assert [row["name"] for row in facts["rounds"] if row["published"]] == ["published"]


def test_refused_answers_of_an_import_by_hand(example: Path, facts: dict[str, Any]) -> None:
    # pilot: two rows of pilot.jsonl are refused, one as a label of three that has no other label.
    rejected = lines(example / "2-rounds/pilot/rejected.jsonl")
    assert len(rejected) == 2
    (pilot,) = [row for row in facts["rounds"] if row["name"] == "pilot"]
    assert pilot["refused"] == 2


def test_what_people_read_and_were_paid(example: Path, facts: dict[str, Any]) -> None:
    rounds = {row["name"]: row for row in facts["rounds"]}
    write, main = rounds["write-2"], rounds["main"]
    assert (write["pay"], write["currency"], write["platform"]) == (0.4, "USD", "files")
    assert (main["pay"], main["currency"], main["consent"]) == (None, "", None)
    assert (main["read"], main["consent_text"]) == ([], [])
    texts = read(example / "2-rounds/write-2/texts.json")
    assert write["consent"] == read(example / "2-rounds/write-2/round.json")["consent"]
    consent = (example / f"2-rounds/write-2/consent-{write['consent']}.md").read_text("utf-8")
    for line in write["consent_text"]:
        assert line in consent.replace("**", "").replace("*", "")
    assert write["consent_text"][-1] == texts["consent"]["box"]
    heads = [part["heading"] for part in write["read"]]
    assert heads[0] == ""
    assert texts["instruction"]["rules_title"] in heads
    assert texts["consent"]["title"] not in heads
    assert all("*" not in line for part in write["read"] for line in part["lines"])


def test_agreement_and_retention(example: Path, facts: dict[str, Any]) -> None:
    report = read(example / "3-decisions/agreement.json")
    rows = [row for row in report["measures"] if row["by"] == "overall"]
    assert len(facts["agreement"]) == len(rows) == 2 * 2 * 3  # scopes, classes, measures
    names = ("scope", "classes", "measure", "value", "ci", "cats", "labels")
    for mine, row in zip(facts["agreement"], rows, strict=True):
        assert [mine[name] for name in names] == [row[name] for name in names]
        assert (mine["few"], mine["confidence"]) == (row["few_cats"], 0.95)
    items = {i["id"]: i for p in example.glob("2-rounds/*/items.jsonl") for i in lines(p)}
    decisions = lines(example / "3-decisions/decisions.jsonl")
    decided = [d for d in decisions if d["reason"] != "too_few_labels"]
    for kind in KINDS:
        own = [d for d in decided if items[d["item"]]["kind"] == kind]
        kept = sum(d["kept"] for d in own)
        (row,) = [r for r in facts["retention"] if (r["domain"], r["kind"]) == ("all", kind)]
        assert (row["items"], row["kept"]) == (len(own), kept)
        every = [d for d in decisions if items[d["item"]]["kind"] == kind]
        assert row["open"] == len(every) - len(own)
        assert row["share"] == pytest.approx(100 * kept / len(own))
    assert facts["decisions"]["needed"] == 3
    assert facts["decisions"]["left_out"] == 1
    assert "leave_out" not in facts["decisions"]


def test_sentiment_lengths_and_pitfalls(example: Path, facts: dict[str, Any], cats: Rows) -> None:
    scores = read(example / "4-measures/sentiment_scores.json")
    values = {row["id"]: row["score"] for kind in KINDS for row in scores[kind]}
    assert (facts["sentiment_by"], facts["sentiment_why"]) == ("VADER", "")
    assert len(facts["sentiment"]) == 3 * 3  # both kinds, each kind; labels
    for row in facts["sentiment"]:
        own = [c for c in cats if row["kind"] in ("both", c["kind"])]
        ids = [a["id"] for c in own for a in c["associations"] if a["gold"] == row["label"]]
        negative = sum(values[id] <= -0.05 for id in ids)
        assert row["cats"] == len(own) == len(ids)
        assert row["share"] == pytest.approx(100 * negative / len(ids))
        assert row["ci"][0] < row["share"] < row["ci"][1]
    intra = [c for c in cats if c["kind"] == KINDS[0]]
    characters = [len(a["sentence"]) for c in intra for a in c["associations"]]
    length = {row["kind"]: row for row in facts["lengths"]}
    assert length[KINDS[0]]["characters"] == pytest.approx(sum(characters) / len(characters))
    found = lines(example / "4-measures/pitfalls.jsonl")
    by_code = {row["code"]: row for row in facts["pitfalls"]}
    renamed = {hit["item"] for hit in found if hit["code"] == "target_renamed"}
    assert by_code["target_renamed"]["count"] == len(renamed) == 5
    assert not any(row["accepted"] for row in facts["pitfalls"])
    assert all(row["says"] for row in facts["pitfalls"])
    assert {by_code[c]["unit"] for c in ("rare_target", "shortest_leak")} == {"target", "dataset"}


def rows_of(rows: Iterable[dict[str, Any]], **wanted: str) -> Rows:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def test_scores_are_those_of_the_runs(example: Path, facts: dict[str, Any], cats: Rows) -> None:
    runs = sorted(path.parent for path in example.glob("5-scores/*/*/run.json"))
    assert len(runs) == 2
    assert len(facts["scores"]) == 2 * 2 * 3  # runs, splits, kinds and both
    for folder in runs:
        report = read(folder / "results.json")
        values = {row["association"]: row["value"] for row in lines(folder / "scores.jsonl")}
        for split in SPLITS:
            cells = {kind: report["splits"][split]["kinds"][kind]["overall"] for kind in KINDS}
            cells["both"] = report["splits"][split]["overall"]
            for kind, cell in cells.items():
                (row,) = rows_of(facts["scores"], model=folder.parent.name, split=split, kind=kind)
                assert row["rules"] == folder.name
                for name in ("lms", "ss", "icat", "lms_ci", "ss_ci", "icat_ci", "cats", "terms"):
                    assert row[name] == cell[name]
                assert row["few"] == cell["few_terms"]
                assert row["ss"] == pytest.approx(slow_ss(cats, values, split, kind))
    assert facts["versions"]["curation"]
    assert facts["versions"]["vaderSentiment"]


def slow_ss(cats: Rows, values: dict[str, float], split: str, kind: str) -> float:
    """The share of CATs with the stereotype preferred, as a mean over terms; half for a tie."""
    won: dict[str, list[float]] = defaultdict(list)
    for cat in cats:
        if cat["split"] == split and kind in ("both", cat["kind"]):
            value = {a["gold"]: values[a["id"]] for a in cat["associations"]}
            mine, other = value["stereotype"], value["anti-stereotype"]
            won[cat["term"]].append(1.0 if mine > other else 0.5 if mine == other else 0.0)
    return 100 * sum(sum(w) / len(w) for w in won.values()) / len(won)


def test_baselines_are_those_of_the_command(forked: Any, example: Path, facts: Any) -> None:
    names = ["IdealLM", "StereotypedLM", "RandomLM", "UnigramLM", "LongestLM", "ShortestLM"]
    assert [b["model"] for b in facts["baselines"]][:6] == names
    ideal = facts["baselines"][0]["rows"]
    parts = {(split, kind) for split in SPLITS for kind in (*KINDS, "both")}
    assert {(r["split"], r["kind"]) for r in ideal} == parts
    assert {(r["lms"], r["ss"], r["icat"], r["lms_ci"]) for r in ideal} == {(100, 50, 100, None)}
    path = example.parent / "baselines.json"
    for split in SPLITS:
        Desk(forked, example).done("scores", "baselines", "--split", split, "--json", path)
        for result in read(path):
            (mine,) = [b for b in facts["baselines"] if b["model"] == result["model"]]
            for kind in result["kinds"]:
                (row,) = rows_of(mine["rows"], split=split, kind=kind)
                cell = result["kinds"][kind]["overall"]
                for name in ("lms", "ss", "icat"):
                    assert row[name] == cell[name]
            beyond = [text for text in mine["beyond"] if text.endswith(split)]
            assert len(beyond) == len(result.get("beyond_chance", ()))
            for text, row in zip(beyond, result.get("beyond_chance", ()), strict=True):
                assert text.startswith(f"{row['figure']} {row['value']:.1f} (")


def test_no_name_and_no_single_cat_of_the_test_set_is_in_the_facts(
    example: Path, facts: dict[str, Any], cats: Rows
) -> None:
    text = json.dumps(facts, ensure_ascii=False)
    ids = {c["id"] for c in cats} | {a["id"] for c in cats for a in c["associations"]}
    assert not [id for id in ids if f'"{id}"' in text]
    assert not [c["context"] for c in cats if c["context"] in text]
    people = {row["id"] for row in lines(example / "2-rounds/people.jsonl")}
    assert not [person for person in people if person in text]
