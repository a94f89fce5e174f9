"""``release diff``: versions in files, and what their differences do to scores."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign
from curation.catsets.stereoset import dataset
from curation.records import Cat
from curation.release.contents import split_of
from support import scored
from support.cats import cat as make_cat
from support.scored import command, hates, likes, put, write_gold

WORDS = ("Early", "Late", "Blue")


def cats(target: str, *names: str, **fields: Any) -> list[Cat]:
    """CATs with associations NAME0, NAME1 and NAME2, in the order of GOLDS."""
    return [
        make_cat(
            f"The {target} {name}.",
            *(f"{word} {name}." for word in WORDS),
            name=name,
            target=target,
        ).model_copy(update=fields)
        for name in names
    ]


def relabelled(cat: Cat) -> Cat:
    """The CAT with its stereotype and its anti-stereotype exchanged."""
    a, b, c = cat.associations
    swapped = (a.model_copy(update={"gold": b.gold}), b.model_copy(update={"gold": a.gold}), c)
    return cat.model_copy(update={"associations": swapped})


def write(folder: Path, dev: Sequence[Cat] = (), test: Sequence[Cat] = ()) -> Path:
    """A release as version 0.1.0 of curation wrote it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("dev", dev), ("test", test)):
        content = dataset(part, {}, version="1")
        (folder / f"{name}.json").write_text(json.dumps(content | {"curation": {"language": "en"}}))
    (folder / "annotations.csv").write_text("cat_id,association_id\n")
    return folder


def said(*args: object) -> Any:
    code, out, err = command("release", "diff", *args, "--json")
    assert code == 0, err
    return json.loads(out)


def refused(*args: object) -> str:
    code, out, err = command("release", "diff", *args)
    assert (code, out) == (1, ""), out
    return err


# --- what is read ---------------------------------------------------------------------------------


def test_a_version_and_itself_do_not_differ(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", cats("baker", "x"), cats("potter", "y"))
    report = said(folder, folder)
    assert report["equal"]
    assert report["fields"] == {}
    assert [(c["split"], c["before"], c["after"]) for c in report["counts"]] == [
        ("dev", 1, 1), ("test", 1, 1),
    ]  # fmt: skip
    code, out, _ = command("release", "diff", folder, folder, "--strict")
    assert code == 0
    assert "The versions do not differ." in out


def test_folders_of_two_versions(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"), [*cats("potter", "y"), *cats("cook", "z")])
    b = write(
        tmp_path / "b",
        cats("potter", "y"),
        [
            *(*cats("baker", "x"), *cats("cook", "z", context="Cooks.")),
            *cats("smith", "new", domain="trade"),
        ],
    )  # fmt: skip
    report = said(a, b)
    assert report["terms"] == {
        "to_test": [{"domain": "profession", "text": "baker"}],
        "to_dev": [{"domain": "profession", "text": "potter"}],
        "renamed": [],
    }
    assert report["seen_in_dev"] == ["x"]
    assert report["fields"] == {"context": 1, "split": 2}
    assert report["domains"] == {"removed": [], "added": ["trade"]}
    assert not report["equal"]
    code, out, err = command("release", "diff", a, b, "--strict")
    assert code == 1
    assert "1 term moved from dev to test: baker (profession)" in err
    assert "1 CAT in test was in dev, so models may be tuned on them: x" in err
    assert "1 term moved from test to dev: potter (profession)" in out
    assert "domains only in" in out
    assert command("release", "diff", a, b)[0] == 0


def test_stereosets_files_and_the_layout_of_the_hub_are_the_same_version(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq

    dev, test = cats("baker", "x"), cats("potter", "y")
    write(tmp_path / "a", dev, test)
    for name, part in (("validation", dev), ("test", test)):
        rows = dataset(part, {}, version="1")["data"]["intersentence"]
        for row in rows:
            del row["tier"]
            row["sentences"] = {
                "sentence": [s["sentence"] for s in row["sentences"]],
                "id": [s["id"] for s in row["sentences"]],
                "gold_label": [s["gold_label"] for s in row["sentences"]],
            }
        folder = tmp_path / "hub" / "intersentence"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}-00000-of-00001.parquet")
    (tmp_path / "hub" / "README.md").write_text("# A dataset\n")
    assert said(tmp_path / "a", tmp_path / "hub")["equal"]
    one = write_gold(tmp_path / "my_test.json", test)
    report = said(one, tmp_path / "hub/intersentence/test-00000-of-00001.parquet")
    assert report["equal"]
    assert report["splits_compared"]


def test_a_file_whose_name_does_not_say_the_split(tmp_path: Path) -> None:
    a = write_gold(tmp_path / "cats.json", cats("baker", "x"))
    b = write_gold(tmp_path / "dev.json", cats("baker", "x"))
    report = said(a, b)
    assert report["equal"]
    assert not report["splits_compared"]
    assert "splits are not compared" in command("release", "diff", a, b)[1]


def test_ids_that_a_file_does_not_have_are_not_compared(tmp_path: Path) -> None:
    a = write_gold(tmp_path / "dev.json", cats("baker", "x"))
    row = {"target": "baker", "bias_type": "profession", "context": "The baker x."}
    options = zip(("stereotype", "anti-stereotype", "unrelated"), WORDS, strict=True)
    row |= {label: f"{word} x." for label, word in options}
    (tmp_path / "flat_dev.jsonl").write_text(
        f"{json.dumps(row)}\n{json.dumps(row | {'context': 'New.'})}\n"
    )
    report = said(a, tmp_path / "flat_dev.jsonl")
    assert not report["ids_compared"]
    assert [(c["added"], c["renumbered"], c["changed"]) for c in report["counts"]] == [(1, 0, 0)]
    assert "made from its texts" in command("release", "diff", a, tmp_path / "flat_dev.jsonl")[1]


def test_the_table_of_terms_says_that_a_term_was_renamed(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"))
    b = write(tmp_path / "b", [], cats("bread baker", "y", context="Other."))
    for folder, text in ((a, "baker"), (b, "bread baker")):
        line = {"id": "t1", "text": text, "domain": "profession"}
        (folder / "terms.jsonl").write_text(json.dumps(line) + "\n")
    (renamed,) = said(a, b)["terms"]["renamed"]
    assert (renamed["before"]["text"], renamed["after"]["text"]) == ("baker", "bread baker")
    assert said(a, b)["terms"]["to_test"] == [{"domain": "profession", "text": "bread baker"}]


def hide(path: Path, names: Mapping[str, str]) -> None:
    """Hide the gold labels of a file, under these ids."""
    content = json.loads(path.read_text())
    for item in content["data"]["intersentence"]:
        item["id"] = names[item["id"]]
        del item["tier"]
        item["sentences"].reverse()
        for n, sentence in enumerate(item["sentences"]):
            sentence |= {"id": f"{item['id']}{n}", "gold_label": "hidden", "labels": []}
    path.write_text(json.dumps(content))


def test_hidden_gold_labels_are_not_compared_and_said_so(tmp_path: Path) -> None:
    dev, test = cats("baker", "x"), cats("potter", "y", "z")
    a = write(tmp_path / "a", dev, test)
    b = write(tmp_path / "b", dev, test[:1])
    hide(b / "test.json", {"y": "random"})
    report = said(a, b)
    assert report["hidden"] == 1
    assert [(c["split"], c["renumbered"], c["removed"]) for c in report["counts"]] == [
        ("dev", 0, 0), ("test", 1, 1),
    ]  # fmt: skip
    _, out, _ = command("release", "diff", a, b, "--errata", tmp_path / "e.jsonl")
    assert "gold labels and tiers of 1 CAT are hidden in one of the versions" in out
    assert [json.loads(line)["id"] for line in (tmp_path / "e.jsonl").open()] == ["z"]
    assert said(b, b)["equal"]


BAD: dict[str, tuple[Any, str]] = {
    "nothing": (None, "there is no such file or folder"),
    "an empty folder": (lambda f: f.mkdir(), "is not a release: it has no dev.json or test.json"),
    "cut off": (lambda f: _cut(write(f, cats("baker", "x"))), "dev.json line"),
    "not CATs": (lambda f: _one_label(write(f, cats("baker", "x"))), "the gold labels are not one"),
    "twice": (lambda f: write(f, cats("a", "x"), cats("b", "x")), "the id x of CAT x is already"),
    "a sentence twice": (
        lambda f: _same_sentence(write(f, cats("a", "x"), cats("b", "y"))),
        "the id x0 of CAT y is already used in",
    ),
    "terms": (lambda f: (write(f, cats("a", "x")) / "terms.jsonl").write_text('{"id": 1}\n'),
              "terms.jsonl line 1, field 'id': is not a text"),
    "half hidden": (lambda f: _half_hidden(write(f, cats("a", "x"))), "must be hidden, or one of"),
    "device": (lambda f: (write(f, cats("a", "x"), cats("b", "y")) / "dev.json").unlink()
               or (f / "dev.json").symlink_to("/dev/null"), "dev.json: is a device"),
    "terms of a device": (
        lambda f: (write(f, cats("a", "x")) / "terms.jsonl").symlink_to("/dev/zero"),
        "terms.jsonl: is a device",
    ),
    "no texts": (lambda f: (write(f, cats("a", "x")) / "dev.json").write_bytes(b"\xff\xfa"),
                 "dev.json"),
}  # fmt: skip


def _cut(folder: Path) -> None:
    path = folder / "dev.json"
    path.write_bytes(path.read_bytes()[:-40])


def _one_label(folder: Path) -> None:
    path = folder / "dev.json"
    path.write_text(path.read_text().replace('"unrelated"', '"stereotype"'))


def _same_sentence(folder: Path) -> None:
    path = folder / "test.json"
    path.write_text(path.read_text().replace('"y0"', '"x0"'))


def _half_hidden(folder: Path) -> None:
    path = folder / "dev.json"
    path.write_text(path.read_text().replace('"unrelated"', '"hidden"'))


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_a_version_is_an_error_with_its_place(tmp_path: Path, name: str) -> None:
    make, message = BAD[name]
    good = write(tmp_path / "good", cats("baker", "x"))
    if make:
        make(tmp_path / "bad")
    err = refused(good, tmp_path / "bad", "-c", tmp_path)
    assert message in err
    assert str(tmp_path / "bad") in err


def test_the_names_of_files_say_the_split() -> None:
    names = {"dev.json": "dev", "validation-00000-of-00001.parquet": "dev", "cats.json": None,
             "intersentence-test.jsonl": "test", "stereoset_dev.json.gz": "dev",
             "devices.json": None, "my-dev-and-test.csv": None}  # fmt: skip
    assert {name: split_of(Path(name)) for name in names} == names


def test_errata_are_written_for_programs_and_for_people(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"))
    b = write(tmp_path / "b", [relabelled(c) for c in cats("baker", "x")])
    said(a, b, "--errata", tmp_path / "errata.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "errata.jsonl").open()]
    assert [(r["what"], r["sentence"], r["after"]) for r in rows] == [
        ("relabelled", "x0", "anti-stereotype"), ("relabelled", "x1", "stereotype"),
    ]  # fmt: skip
    said(a, b, "--errata", tmp_path / "errata.md")
    assert "## 1 CAT: other gold labels" in (tmp_path / "errata.md").read_text()
    assert "is neither .jsonl nor .md" in refused(a, b, "--errata", tmp_path / "errata.txt")


# --- scores ---------------------------------------------------------------------------------------


def rows_of(report: Any, run: str, split: str = "test") -> Any:
    (result,) = [r for r in report["scores"] if r["run"] == run]
    (row,) = [r for r in result["rows"] if r["split"] == split]
    return result, row


def test_scores_on_both_versions_and_what_the_difference_comes_from(tmp_path: Path) -> None:
    """«likes» always prefers association 0, so ss is the share of CATs whose stereotype that is.

    By term, the mean over terms: A: baker 2 of 2, potter 1 of 1: ss 100. Then baker's x is
    relabelled: (50 + 100) / 2 = 75. The cook is added, relabelled: (50 + 100 + 0) / 3 = 50. The
    potter moves to dev: (50 + 0) / 2 = 25, and dev, which had no CAT, has ss 100.
    """
    baker, potter, cook = cats("baker", "x", "y"), cats("potter", "p"), cats("cook", "c")
    turned = [relabelled(cat) for cat in cook]
    a = write(tmp_path / "a", [], [*baker, *potter])
    b = write(tmp_path / "b", potter, [relabelled(baker[0]), baker[1], *turned])
    put(tmp_path / "runs", "m", "default", likes, [*baker, *potter, *cook])
    report = said(a, b, "--scores", tmp_path / "runs")
    result, row = rows_of(report, "m/default")
    assert row["kind"] == "intersentence"
    assert (row["before"]["ss"], row["after"]["ss"]) == (100.0, 25.0)
    assert (row["before"]["cats"], row["after"]["cats"]) == (3, 3)
    parts = {name: part["ss"] for name, part in row["parts"].items()}
    assert parts == {"relabelled": -25.0, "changed": 0.0, "added_removed": -25.0, "moved": -25.0}
    assert row["difference"] == {"lms": 0.0, "ss": -75.0, "icat": 50.0}
    assert result["before"] == {"missing": 0, "of": 3}
    assert result["after"] == {"missing": 0, "of": 4}
    _, dev = rows_of(report, "m/default", "dev")
    assert (dev["before"], dev["after"]["ss"], dev["parts"]) == (None, 100.0, None)
    _, out, _ = command("release", "diff", a, b, "--scores", tmp_path / "runs")
    assert "The last four columns say what B - A comes from" in out


def test_a_renamed_target_splits_a_term(tmp_path: Path) -> None:
    """ss of one term with 1 of 2 CATs is 50; as two terms it is the mean of 100 and 0."""
    x, y = cats("baker", "x", "y")
    turned = relabelled(y)
    other = cats("cook", "z")
    a = write(tmp_path / "a", [], [x, turned, *other])
    b = write(tmp_path / "b", [], [x, turned.model_copy(update={"target": "miller"}), *other])
    put(tmp_path / "runs", "m", "default", likes, [x, y, *other])
    _, row = rows_of(said(a, b, "--scores", tmp_path / "runs"), "m/default")
    assert row["before"]["ss"] == pytest.approx((50 + 100) / 2)
    assert row["after"]["ss"] == pytest.approx((100 + 0 + 100) / 3)
    assert row["parts"]["changed"]["ss"] == pytest.approx(row["difference"]["ss"])
    assert row["parts"]["moved"]["ss"] == row["parts"]["relabelled"]["ss"] == 0.0


def test_a_run_that_lacks_cats_of_the_later_version_is_marked(tmp_path: Path) -> None:
    old, new = cats("baker", "x", "y"), cats("cook", "z")
    a, b = write(tmp_path / "a", [], old), write(tmp_path / "b", [], [*old, *new])
    put(tmp_path / "runs", "m", "default", hates, old)
    result, row = rows_of(said(a, b, "--scores", tmp_path / "runs"), "m/default")
    assert result["after"] == {"missing": 1, "of": 3}
    assert row["after"]["cats"] == 2
    _, out, _ = command("release", "diff", a, b, "--scores", tmp_path / "runs")
    assert "m/default has no scores of 1 of 3 CATs of" in out


def test_scores_of_changed_texts_are_not_used(tmp_path: Path) -> None:
    from curation.scores.runs import digests

    x, y = cats("baker", "x", "y")
    changed = y.model_copy(update={"context": "Another."})
    a, b = write(tmp_path / "a", [], [x, y]), write(tmp_path / "b", [], [x, changed])
    folder = put(tmp_path / "runs", "m", "default", likes, [x, y])
    asked = digests([x, y])
    rows = [json.loads(line) for line in (folder / "scores.jsonl").open()]
    (folder / "scores.jsonl").write_text(
        "".join(json.dumps(r | {"asked": asked[r["association"]]}) + "\n" for r in rows)
    )
    result, row = rows_of(said(a, b, "--scores", tmp_path / "runs"), "m/default")
    assert (row["before"]["cats"], row["after"]["cats"]) == (2, 1)
    assert result["after"]["missing"] == 1


def test_scores_count_under_new_ids_if_the_texts_are_the_same(tmp_path: Path) -> None:
    old = cats("baker", "x", "y")
    new = [
        cat.model_copy(update={"id": f"n{cat.id}", "associations": tuple(
            o.model_copy(update={"id": f"n{o.id}"}) for o in cat.associations)})
        for cat in old
    ]  # fmt: skip
    a, b = write(tmp_path / "a", [], old), write(tmp_path / "b", [], new)
    put(tmp_path / "runs", "m", "default", likes, old)
    result, row = rows_of(said(a, b, "--scores", tmp_path / "runs"), "m/default")
    assert row["difference"] == {"lms": 0.0, "ss": 0.0, "icat": 0.0}
    assert result["after"]["missing"] == 0


def test_hidden_cats_have_no_scores(tmp_path: Path) -> None:
    test = cats("baker", "x", "y")
    a, b = (
        write(tmp_path / "a", cats("cook", "d"), test),
        write(tmp_path / "b", cats("cook", "d"), test),
    )
    hide(b / "test.json", {"x": "r1", "y": "r2"})
    put(tmp_path / "runs", "m", "default", likes, [*test, *cats("cook", "d")])
    _, row = rows_of(said(a, b, "--scores", tmp_path / "runs"), "m/default")
    assert (row["before"]["cats"], row["after"], row["parts"]) == (2, None, None)


def test_predictions_and_runs_of_other_cats(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [], cats("baker", "x", "y"))
    rows = [{"id": f"{n}{i}", "score": 3.0 - i} for n in "xy" for i in range(3)]
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"intersentence": rows}))
    report = said(a, a, "--predictions", f"mine={file}")
    assert [r["run"] for r in report["scores"]] == ["mine/predictions"]
    put(tmp_path / "runs", "other", "default", likes, cats("cook", "q"))
    err = refused(a, a, "--scores", tmp_path / "runs")
    assert "no run has scores of the CATs of" in err
    assert "other/default" in err


def test_versions_and_scores_of_a_campaign_are_found_by_name(campaign: Campaign) -> None:
    root = scored.scored_campaign(campaign)
    dev = [cat for cat in scored.CATS if cat.split == "dev"]
    test = [cat for cat in scored.CATS if cat.split == "test"]
    write(root / "7-release/0.1.0", dev, test)
    write(root / "7-release/0.2.0", dev, test[1:])
    code, out, err = command("release", "diff", "0.1.0", "0.2.0", "-c", root, "--json")
    assert code == 0, err
    report = json.loads(out)
    assert (report["before"], report["after"]) == ("0.1.0", "0.2.0")
    assert {r["run"] for r in report["scores"]} == {
        "bakery/likes/default", "hates/default", "mixed/default",
    }  # fmt: skip
    kinds = [(r["split"], r["kind"]) for r in report["scores"][0]["rows"]]
    assert kinds == [
        (s, k) for s in ("dev", "test") for k in ("intrasentence", "intersentence", "both")
    ]
    code, _, err = command("release", "diff", "0.1.0", "0.3.0", "-c", root)
    assert code == 1
    assert "0.3.0: there is no such file or folder, and the campaign" in err
    assert "its versions are 0.1.0, 0.2.0" in err
