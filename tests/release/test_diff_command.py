"""``release diff``: versions in files, and what their differences do to scores and choices."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.campaign import Campaign
from curation.catsets.stereoset import dataset
from curation.records import Cat
from curation.release.contents import split_of
from curation.scores.runs import digests
from support import scored
from support.cats import cat as make_cat
from support.catsets import as_struct, option_row, write_lines, write_parquet
from support.chosen import as_scores_say, choice_run
from support.scored import command, hates, likes, put, write_gold
from support.written import has, items, lines, read

WORDS = ("Early", "Late", "Blue")


def cats(target: str, *names: str, **fields: Any) -> list[Cat]:
    """CATs with associations NAME0, NAME1 and NAME2, in the order of GOLDS."""
    found = []
    for name in names:
        texts = (f"The {target} {name}.", *(f"{word} {name}." for word in WORDS))
        found.append(make_cat(*texts, name=name, target=target).model_copy(update=fields))
    return found


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


def renamed(cat: Cat) -> Cat:
    """The CAT and its associations under other ids."""
    three = tuple(o.model_copy(update={"id": f"n{o.id}"}) for o in cat.associations)
    return cat.model_copy(update={"id": f"n{cat.id}", "associations": three})


def said(*args: object) -> Any:
    code, out, err = command("release", "diff", *args, "--json")
    assert code == 0, err
    return json.loads(out)


def shown(*args: object) -> str:
    return command("release", "diff", *args)[1]


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
    baker, potter = ([{"domain": "profession", "text": text}] for text in ("baker", "potter"))
    assert report["terms"] == {"to_test": baker, "to_dev": potter, "renamed": []}
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
    dev, test = cats("baker", "x"), cats("potter", "y")
    a, hub = write(tmp_path / "a", dev, test), tmp_path / "hub"
    (hub / "intersentence").mkdir(parents=True)
    for name, split in (("validation", "dev"), ("test", "test")):
        rows = [as_struct(item, integers=False) for item in items(a / f"{split}.json")]
        for row in rows:
            del row["tier"], row["sentences"]["labels"]
        write_parquet(hub / f"intersentence/{name}-00000-of-00001.parquet", rows)
    (hub / "README.md").write_text("# A dataset\n")
    assert said(a, hub)["equal"]
    one = write_gold(tmp_path / "my_test.json", test)
    report = said(one, hub / "intersentence/test-00000-of-00001.parquet")
    assert report["equal"]
    assert report["splits_compared"]


def test_a_file_whose_name_does_not_say_the_split(tmp_path: Path) -> None:
    a = write_gold(tmp_path / "cats.json", cats("baker", "x"))
    b = write_gold(tmp_path / "dev.json", cats("baker", "x"))
    report = said(a, b)
    assert report["equal"]
    assert not report["splits_compared"]
    assert "splits are not compared" in shown(a, b)


def test_ids_that_a_file_does_not_have_are_not_compared(tmp_path: Path) -> None:
    a = write_gold(tmp_path / "dev.json", cats("baker", "x"))
    row = option_row(items(a)[0])
    b = write_lines(tmp_path / "flat_dev.jsonl", [row, row | {"Context": "New."}])
    report = said(a, b)
    assert not report["ids_compared"]
    assert [(c["added"], c["renumbered"], c["changed"]) for c in report["counts"]] == [(1, 0, 0)]
    assert "made from its texts" in shown(a, b)


def test_the_table_of_terms_says_that_a_term_was_renamed(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"))
    b = write(tmp_path / "b", [], cats("bread baker", "y", context="Other."))
    for folder, text in ((a, "baker"), (b, "bread baker")):
        row = {"id": "t1", "text": text, "domain": "profession"}
        write_lines(folder / "terms.jsonl", [row])
    terms = said(a, b)["terms"]
    (changed,) = terms["renamed"]
    assert (changed["before"]["text"], changed["after"]["text"]) == ("baker", "bread baker")
    assert terms["to_test"] == [{"domain": "profession", "text": "bread baker"}]


def hide(path: Path, names: Mapping[str, str]) -> None:
    """Hide the gold labels of a file, under these ids."""
    content = read(path)
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
    out = shown(a, b, "--errata", tmp_path / "e.jsonl")
    assert "gold labels and tiers of 1 CAT are hidden in one of the versions" in out
    assert [row["id"] for row in lines(tmp_path / "e.jsonl")] == ["z"]
    assert said(b, b)["equal"]


def bad(*terms: str, replace: tuple[str, str] | None = None, name: str = "dev.json") -> Any:
    """Makes a version with a CAT of each term, in dev and in test, and changes a file of it."""
    sets = [cats(term, name) for term, name in zip(terms, "xy", strict=False)]

    def make(folder: Path) -> None:
        path = write(folder, *sets) / name
        if replace:
            path.write_text(path.read_text().replace(*replace))

    return make


def device(folder: Path, name: str, to: str) -> None:
    (write(folder, cats("a", "x"), cats("b", "y")) / name).unlink(missing_ok=True)
    (folder / name).symlink_to(to)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda folder: None, "there is no such file or folder"),
    "an empty folder": (Path.mkdir, "is not a release: it has no dev.json or test.json"),
    "cut off": (bad("baker", replace=('"en"}}', "")), "dev.json line"),
    "not CATs": (
        bad("baker", replace=('"unrelated"', '"stereotype"')), "the gold labels are not one"),
    "half hidden": (
        bad("a", replace=('"unrelated"', '"hidden"')), "must be hidden, or one of"),
    "twice": (
        bad("a", "b", replace=('"id": "y"', '"id": "x"'), name="test.json"),
        "the id x of CAT x is already"),
    "a sentence twice": (
        bad("a", "b", replace=('"y0"', '"x0"'), name="test.json"),
        "the id x0 of CAT y is already used in"),
    "terms": (
        lambda folder: (write(folder, cats("a", "x")) / "terms.jsonl").write_text('{"id": 1}\n'),
        "terms.jsonl line 1, field 'id': is not a text"),
    "device": (lambda folder: device(folder, "dev.json", "/dev/null"), "dev.json: is a device"),
    "terms of a device": (
        lambda folder: device(folder, "terms.jsonl", "/dev/zero"), "terms.jsonl: is a device"),
    "no texts": (
        lambda folder: (write(folder, cats("a", "x")) / "dev.json").write_bytes(b"\xff\xfa"),
        "dev.json"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_a_version_is_an_error_with_its_place(tmp_path: Path, name: str) -> None:
    make, message = BAD[name]
    make(tmp_path / "bad")
    good = write(tmp_path / "good", cats("baker", "x"))
    has(refused(good, tmp_path / "bad", "-c", tmp_path), message, str(tmp_path / "bad"))


def test_the_names_of_files_say_the_split() -> None:
    names = {"dev.json": "dev", "validation-00000-of-00001.parquet": "dev", "cats.json": None,
             "intersentence-test.jsonl": "test", "stereoset_dev.json.gz": "dev",
             "devices.json": None, "my-dev-and-test.csv": None}  # fmt: skip
    assert {name: split_of(Path(name)) for name in names} == names


def test_errata_are_written_for_programs_and_for_people(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"))
    b = write(tmp_path / "b", [relabelled(c) for c in cats("baker", "x")])
    said(a, b, "--errata", tmp_path / "errata.jsonl")
    rows = lines(tmp_path / "errata.jsonl")
    assert [(r["what"], r["sentence"], r["after"]) for r in rows] == [
        ("relabelled", "x0", "anti-stereotype"), ("relabelled", "x1", "stereotype"),
    ]  # fmt: skip
    said(a, b, "--errata", tmp_path / "errata.md")
    assert "## 1 CAT: other gold labels" in (tmp_path / "errata.md").read_text()
    assert "is neither .jsonl nor .md" in refused(a, b, "--errata", tmp_path / "errata.txt")


# --- scores ---------------------------------------------------------------------------------------


def rows_of(report: Any, split: str = "test") -> Any:
    """What is said of the run «m/default», and its row of a split."""
    (result,) = [r for r in report["scores"] if r["run"] == "m/default"]
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
    scores = ("--scores", tmp_path / "runs")
    report = said(a, b, *scores)
    result, row = rows_of(report)
    assert row["kind"] == "intersentence"
    assert (row["before"]["ss"], row["after"]["ss"]) == (100.0, 25.0)
    assert (row["before"]["cats"], row["after"]["cats"]) == (3, 3)
    parts = {name: part["ss"] for name, part in row["parts"].items()}
    assert parts == {"relabelled": -25.0, "changed": 0.0, "added_removed": -25.0, "moved": -25.0}
    assert row["difference"] == {"lms": 0.0, "ss": -75.0, "icat": 50.0}
    assert result["before"] == {"missing": 0, "of": 3}
    assert result["after"] == {"missing": 0, "of": 4}
    _, dev = rows_of(report, "dev")
    assert (dev["before"], dev["after"]["ss"], dev["parts"]) == (None, 100.0, None)
    assert "The last four columns say what B - A comes from" in shown(a, b, *scores)


def test_a_renamed_target_splits_a_term(tmp_path: Path) -> None:
    """ss of one term with 1 of 2 CATs is 50; as two terms it is the mean of 100 and 0."""
    x, y = cats("baker", "x", "y")
    turned = relabelled(y)
    other = cats("cook", "z")
    a = write(tmp_path / "a", [], [x, turned, *other])
    b = write(tmp_path / "b", [], [x, turned.model_copy(update={"target": "miller"}), *other])
    put(tmp_path / "runs", "m", "default", likes, [x, y, *other])
    _, row = rows_of(said(a, b, "--scores", tmp_path / "runs"))
    assert row["before"]["ss"] == pytest.approx((50 + 100) / 2)
    assert row["after"]["ss"] == pytest.approx((100 + 0 + 100) / 3)
    assert row["parts"]["changed"]["ss"] == pytest.approx(row["difference"]["ss"])
    assert row["parts"]["moved"]["ss"] == row["parts"]["relabelled"]["ss"] == 0.0


def test_a_run_that_lacks_cats_of_the_later_version_is_marked(tmp_path: Path) -> None:
    old, new = cats("baker", "x", "y"), cats("cook", "z")
    a, b = write(tmp_path / "a", [], old), write(tmp_path / "b", [], [*old, *new])
    put(tmp_path / "runs", "m", "default", hates, old)
    scores = ("--scores", tmp_path / "runs")
    result, row = rows_of(said(a, b, *scores))
    assert result["after"] == {"missing": 1, "of": 3}
    assert row["after"]["cats"] == 2
    assert "m/default has no scores of 1 of 3 CATs of" in shown(a, b, *scores)


def note_texts(folder: Path, cats: list[Cat]) -> None:
    """Scores say of which texts they are."""
    asked = digests(cats)
    rows = [row | {"asked": asked[row["association"]]} for row in lines(folder / "scores.jsonl")]
    write_lines(folder / "scores.jsonl", rows)


def test_scores_of_changed_texts_are_not_used(tmp_path: Path) -> None:
    x, y = cats("baker", "x", "y")
    changed = y.model_copy(update={"context": "Another."})
    a, b = write(tmp_path / "a", [], [x, y]), write(tmp_path / "b", [], [x, changed])
    note_texts(put(tmp_path / "runs", "m", "default", likes, [x, y]), [x, y])
    result, row = rows_of(said(a, b, "--scores", tmp_path / "runs"))
    assert (row["before"]["cats"], row["after"]["cats"]) == (2, 1)
    assert result["after"]["missing"] == 1


def test_scores_count_under_new_ids_if_the_texts_are_the_same(tmp_path: Path) -> None:
    old = cats("baker", "x", "y")
    a, b = write(tmp_path / "a", [], old), write(tmp_path / "b", [], [*map(renamed, old)])
    put(tmp_path / "runs", "m", "default", likes, old)
    result, row = rows_of(said(a, b, "--scores", tmp_path / "runs"))
    assert row["difference"] == {"lms": 0.0, "ss": 0.0, "icat": 0.0}
    assert result["after"]["missing"] == 0


def test_hidden_cats_have_no_scores(tmp_path: Path) -> None:
    test = cats("baker", "x", "y")
    a, b = (write(tmp_path / name, cats("cook", "d"), test) for name in "ab")
    hide(b / "test.json", {"x": "r1", "y": "r2"})
    put(tmp_path / "runs", "m", "default", likes, [*test, *cats("cook", "d")])
    _, row = rows_of(said(a, b, "--scores", tmp_path / "runs"))
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
    dev, test = ([c for c in scored.CATS if c.split == split] for split in ("dev", "test"))
    write(root / "7-release/0.1.0", dev, test)
    write(root / "7-release/0.2.0", dev, test[1:])
    report = said("0.1.0", "0.2.0", "-c", root)
    assert (report["before"], report["after"]) == ("0.1.0", "0.2.0")
    assert {r["run"] for r in report["scores"]} == {
        "bakery/likes/default", "hates/default", "mixed/default",
    }  # fmt: skip
    kinds = [(r["split"], r["kind"]) for r in report["scores"][0]["rows"]]
    every = ("intrasentence", "intersentence", "both")
    assert kinds == [(split, kind) for split in ("dev", "test") for kind in every]
    err = refused("0.1.0", "0.3.0", "-c", root)
    assert "0.3.0: there is no such file or folder, and the campaign" in err
    assert "its versions are 0.1.0, 0.2.0" in err


# --- chat models ----------------------------------------------------------------------------------


CHANGES: dict[str, Callable[[list[Cat]], list[Cat]]] = {
    "nothing": lambda found: found,
    "labels": lambda found: [turned(found[0]), *found[1:]],
    "ids": lambda found: [*map(renamed, found)],
    "a text": lambda found: [found[0].model_copy(update={"context": "Another."}), *found[1:]],
    "removed": lambda found: found[2:],
    "added": lambda found: [*found, *cats("cook", "q")],
}


def turned(one: Cat) -> Cat:
    """The CAT with each gold label moved to the next association."""
    golds = (o.gold for o in (*one.associations[1:], one.associations[0]))
    three = (o.model_copy(update={"gold": g}) for o, g in zip(one.associations, golds, strict=True))
    return one.model_copy(update={"associations": tuple(three)})


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("asked_of", ["before", "after"])
def test_versions_change_a_chat_models_results_as_they_change_those_of_scores(
    tmp_path: Path, change: str, asked_of: str
) -> None:
    before = [*cats("baker", "x", "y"), *cats("potter", "p", "r")]
    after = CHANGES[change](before)
    a, b = (write(tmp_path / n, [], found) for n, found in (("a", before), ("b", after)))
    own, runs = before if asked_of == "before" else after, tmp_path / "runs"
    ids = [o.id for each in own for o in each.associations]
    draw = np.random.default_rng(7).integers(0, 3, len(ids)).tolist()
    scores = dict(zip(ids, map(float, draw), strict=True))
    choice_run(runs, "m", as_scores_say(scores), own)
    by_gold = {(each.id, o.gold): scores[o.id] for each in own for o in each.associations}
    note_texts(put(runs, "m", "default", lambda one, gold: by_gold[one.id, gold], own), own)
    found = said(a, b, "--scores", runs)["scores"]
    by_run: dict[str, Any] = {result.pop("run"): result for result in found}
    assert by_run["m/choice"] == by_run["m/default"]
    assert any(row["before"] for row in by_run["m/choice"]["rows"])


def test_a_chat_model_that_was_asked_about_other_cats_is_left_out(tmp_path: Path) -> None:
    a = write(tmp_path / "a", [], cats("baker", "x", "y"))
    choice_run(tmp_path / "runs", "m", lambda _: [1, 1, 1], cats("cook", "q"))
    err = refused(a, a, "--scores", tmp_path / "runs")
    has(err, "no run has scores of the CATs of", "m/choice")
