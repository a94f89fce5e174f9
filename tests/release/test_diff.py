"""What differs between two versions: hand-made cases, and properties that hold for any two."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.campaign.store import Campaign
from curation.catsets.stereoset import dataset
from curation.kinds import CAT_KINDS, GOLDS, Gold
from curation.records import Cat, SplitName
from curation.release import differences
from curation.release.differences import Change, Difference, difference
from curation.released.contents import PublishedCat, PublishedOption, Version, split_of
from curation.scores.runs import digests
from support import commands, scored
from support.cats import cat as make_cat
from support.catsets import as_struct, option_row, write_lines, write_parquet
from support.chosen import as_scores_say, choice_run
from support.expected import has
from support.scored import hates, likes, put, write_gold
from support.written import items, lines, read

TEXTS = ("Early.", "Late.", "Magnetic.")
Cats = Sequence[PublishedCat]


def cat(name: str, *, golds: Sequence[Gold | None] = GOLDS, **fields: Any) -> PublishedCat:
    """A CAT whose associations are NAME-0, NAME-1 and NAME-2."""
    sentences = fields.pop("sentences", TEXTS)
    pairs = enumerate(zip(sentences, golds, strict=True))
    a, b, c = (PublishedOption(f"{name}-{n}", sentence, gold) for n, (sentence, gold) in pairs)
    about = (name, "intersentence", "craft", "baker", None, "test", f"A baker {name}.", 4)
    return PublishedCat(*about, (a, b, c))._replace(**fields)


def diff(before: Cats, after: Cats, **tables: Any) -> Difference:
    a = Version("A", tuple(before), tables.get("terms_before"))
    return difference(a, Version("B", tuple(after), tables.get("terms_after")))


def test_each_sort_of_change_is_named_with_field_before_and_after() -> None:
    before = [
        *(cat("same"), cat("gone"), cat("context"), cat("sentence"), cat("target"), cat("domain")),
        *(cat("tier"), cat("label"), cat("split", target="potter"), cat("kind")),
    ]
    after = [
        cat("new", target="fiddler"),
        cat("same"),
        cat("context", context="Another baker."),
        cat("sentence", sentences=("Early.", "Tardy.", "Magnetic.")),
        cat("target", target="cook"),
        cat("domain", domain="trade"),
        cat("tier", tier=None),
        cat("label", golds=("anti-stereotype", "stereotype", "unrelated")),
        cat("split", target="potter", split="dev"),
        cat("kind", kind="intrasentence"),
    ]
    changed = diff(before, after)
    assert list(changed.changes) == [
        Change("new", "added"),
        Change("context", "changed", "context", None, "A baker context.", "Another baker."),
        Change("sentence", "changed", "sentence", "sentence-1", "Late.", "Tardy."),
        Change("target", "changed", "target", None, "baker", "cook"),
        Change("domain", "changed", "domain", None, "craft", "trade"),
        Change("tier", "changed", "tier", None, 4, None),
        Change("label", "relabelled", "gold_label", "label-0", "stereotype", "anti-stereotype"),
        Change("label", "relabelled", "gold_label", "label-1", "anti-stereotype", "stereotype"),
        Change("split", "moved", "split", None, "test", "dev"),
        Change("kind", "changed", "kind", None, "intersentence", "intrasentence"),
        Change("gone", "removed"),
    ]
    assert changed.to_dev == (("craft", "potter"),)
    assert changed.to_test == changed.seen == changed.renamed == ()
    facts = differences.difference_facts(changed)
    assert facts.model_dump() == {
        "previous": "A", "added": 1, "removed": 1, "changed": 6, "relabelled": 1, "moved": 1,
        "renumbered": 0, "hidden": 0, "listed": 10, "sealed": False,
        "fields": {"context": 1, "domain": 1, "kind": 1, "sentence": 1, "target": 1, "tier": 1},
        "terms_to_dev": ("potter (craft)",), "terms_to_test": (),
    }  # fmt: skip
    rows = {(row.split, row.kind): row for row in differences.difference_counts(changed)}
    assert rows["test", "intersentence"][2:] == (10, 8, 1, 1, 5, 1, 0, 0)
    assert rows["dev", "intersentence"][2:] == (0, 1, 0, 0, 0, 0, 1, 0)
    assert rows["test", "intrasentence"][2:] == (0, 1, 0, 0, 1, 0, 0, 0)
    assert differences.fields_changed(changed) == {
        "context": 1, "domain": 1, "gold_label": 1, "kind": 1, "sentence": 1, "split": 1,
        "target": 1, "tier": 1,
    }  # fmt: skip
    assert differences.domains(changed) == ([], ["trade"])


def test_cats_with_new_ids_and_the_same_texts_are_recognised() -> None:
    old = cat("old", context="A baker.")
    new = cat("new", context="a  Baker.", sentences=("Magnetic.", "Early.", "Late."),
              golds=("unrelated", "anti-stereotype", "stereotype"))  # fmt: skip
    changed = diff([old, cat("x", context="Other.")], [cat("y", context="Third."), new])
    assert list(changed.changes) == [
        Change("y", "added"),
        Change("new", "renumbered", "id", None, "old", "new"),
        Change("new", "renumbered", "id", "new-0", "old-2", "new-0"),
        Change("new", "renumbered", "id", "new-1", "old-0", "new-1"),
        Change("new", "renumbered", "id", "new-2", "old-1", "new-2"),
        Change("new", "changed", "context", None, "A baker.", "a  Baker."),
        Change("new", "relabelled", "gold_label", "new-1", "stereotype", "anti-stereotype"),
        Change("new", "relabelled", "gold_label", "new-2", "anti-stereotype", "stereotype"),
        Change("x", "removed"),
    ]


def test_gold_labels_and_tiers_of_hidden_cats_are_not_compared_and_not_in_the_errata() -> None:
    old = [cat("old", context="A baker."), cat("gone"), cat("open")]
    hidden: dict[str, Any] = {"golds": (None,) * 3, "tier": None}
    new = [cat("r1", context="A baker.", **hidden), cat("r2", **hidden), cat("open", tier=5)]
    changed = diff(old, new)
    assert changed.not_compared == 1
    assert changed.ids("relabelled") == set()
    assert [c.field for c in changed.changes if c.what == "changed"] == ["tier"]
    assert [(c.id, c.what) for c in changed.open_changes()] == [
        ("open", "changed"), ("gone", "removed"),
    ]  # fmt: skip
    assert differences.cats_changed(changed) == {  # r1 is the old one, r2 is new and hidden
        "added": (1, []), "removed": (1, ["gone"]), "changed": (1, ["open"]), "renumbered": (1, []),
    }  # fmt: skip
    back = diff(new, old)
    assert [(c.id, c.what) for c in back.open_changes()] == [
        ("gone", "added"), ("open", "changed"),
    ]  # fmt: skip


def test_an_association_that_was_exchanged_is_a_changed_sentence() -> None:
    before = cat("c")
    first, _, third = before.options
    other = PublishedOption("c-9", "Sleepy.", "anti-stereotype")
    changed = diff([before], [before._replace(options=(third, other, first))])
    ids = Change("c", "renumbered", "id", "c-9", "c-1", "c-9")
    texts = Change("c", "changed", "sentence", "c-9", "Late.", "Sleepy.")
    assert list(changed.changes) == [ids, texts]


# --- terms ----------------------------------------------------------------------------------------


def test_terms_that_move_are_named_as_they_are_called_now() -> None:
    same = cat("c", target="cook", split="dev")
    changed = diff(
        [cat("a", split="dev"), cat("b", target="potter"), same],
        [cat("a", target="bread baker"), cat("b", target="potter", split="dev"), same],
    )
    assert changed.renamed == ((("craft", "baker"), ("craft", "bread baker")),)
    assert changed.to_test == (("craft", "bread baker"),)
    assert changed.to_dev == (("craft", "potter"),)
    assert changed.seen == ("a",)


def test_a_term_whose_cats_are_all_new_is_known_by_the_table_of_terms() -> None:
    before, after = [cat("a", split="dev")], [cat("b", target="bread baker", context="New.")]
    assert diff(before, after).to_test == ()
    tables = ({("craft", "baker"): "t1"}, {("craft", "bread baker"): "t1"})
    changed = diff(before, after, terms_before=tables[0], terms_after=tables[1])
    assert changed.to_test == (("craft", "bread baker"),)
    assert changed.seen == ()


def test_a_merged_term_is_not_a_renamed_one_but_its_dev_cats_in_test_are_seen() -> None:
    before = [cat("a", split="dev"), cat("b", target="cook")]
    after = [cat("a", target="cook"), cat("b", target="cook")]
    changed = diff(before, after)
    assert changed.renamed == changed.to_test == ()
    assert changed.seen == ("a",)


def test_a_dev_text_in_test_under_another_id_is_seen_although_the_old_one_stays() -> None:
    old = cat("a", split="dev", context="A baker.")
    copy = cat("z", target="cook", context="A  BAKER.")
    changed = diff([old], [old, copy])
    assert changed.seen == ("z",)
    assert changed.ids("added") == {"z"}


def test_a_text_that_was_in_both_splits_is_not_news() -> None:
    cats = [cat("a", split="dev", context="A baker."), cat("b", context="A baker.")]
    assert diff(cats, cats).seen == ()
    assert diff(cats, [cats[0]._replace(split="test"), cats[1]]).seen == ("a",)


def test_versions_without_splits_are_not_compared_by_split() -> None:
    before = Version("A", (cat("a", split="dev"),), None, has_splits=False)
    changed = difference(before, Version("B", (cat("a"),)))
    assert changed.empty
    assert changed.seen == ()


# --- properties -----------------------------------------------------------------------------------

A_NAME = st.sampled_from(["a", "b", "c", "d", "e"])
A_WORD = st.sampled_from(["one", "two", "three"])


@st.composite
def a_cat(draw: st.DrawFn, name: str) -> PublishedCat:
    ids = draw(st.lists(st.integers(0, 4), min_size=3, max_size=3, unique=True))
    golds = draw(st.permutations(GOLDS))
    pairs = zip(ids, golds, strict=True)
    options = [PublishedOption(f"{name}-{n}", draw(A_WORD), gold) for n, gold in pairs]
    split: SplitName = draw(st.sampled_from(["dev", "test"]))
    about = (name, draw(st.sampled_from(CAT_KINDS)), draw(A_WORD), draw(A_WORD), None, split)
    tier = draw(st.sampled_from([3, 4, 5]))
    return PublishedCat(*about, draw(A_WORD), tier, tuple(options))  # type: ignore[arg-type]


@st.composite
def versions(draw: st.DrawFn) -> list[PublishedCat]:
    return [draw(a_cat(name)) for name in draw(st.lists(A_NAME, unique=True, max_size=4))]


@given(versions())
@settings(max_examples=20, deadline=None)
def test_a_version_does_not_differ_from_itself(cats: list[PublishedCat]) -> None:
    changed = diff(cats, cats)
    assert changed.empty
    assert changed.changes == changed.seen == changed.renamed == ()
    assert diff(cats, cats[::-1]).empty


def _in_both(cats: list[PublishedCat]) -> set[tuple[str, str]]:
    """The terms that are in both splits."""
    dev = {c[2:4] for c in cats if c.split == "dev"}
    return dev & {c[2:4] for c in cats if c.split == "test"}


@given(versions(), versions())
@settings(max_examples=40, deadline=None)
def test_the_other_way_round_is_the_mirror(a: Cats, b: Cats) -> None:
    there, back = diff(a, b), diff(b, a)
    ids = {pair.after.id: pair.before.id for pair in there.pairs}
    options = {now.id: was.id for pair in there.pairs for was, now in pair.options}
    turn = {"added": "removed", "removed": "added"}
    mirrored = {
        (ids.get(c.id, c.id), turn.get(c.what, c.what), c.field,
         options[c.sentence] if c.sentence else None, c.after, c.before)
        for c in there.changes
    }  # fmt: skip
    assert mirrored == set(map(tuple, back.changes))
    if not there.renamed:
        # A term that is in both splits of a version moved only in one direction.
        once = {c[2:4] for c in (*a, *b)} - _in_both(a) - _in_both(b)
        assert set(there.to_test) & once == set(back.to_dev) & once
        assert set(there.to_dev) & once == set(back.to_test) & once
    assert {(r.after, r.before) for r in there.renamed} == set(map(tuple, back.renamed))


def labels_after(
    before: Iterable[PublishedCat], changes: Iterable[Change]
) -> dict[str, dict[str, Gold]]:
    """The gold labels of the later version, from those of the earlier one and the errata.

    Args:
        before: the CATs of the earlier version.
        changes: all changes, as in ``Difference.changes``.

    Returns:
        Gold labels by id of the CAT and of the association, without CATs that were added.
    """
    labels = {c.id: {o.id: o.gold for o in c.options if o.gold is not None} for c in before}
    for change in changes:
        if change.what == "removed":
            labels.pop(change.id, None)
        elif change.what == "renumbered" and change.sentence is None:
            labels[change.id] = labels.pop(change.before)
        elif change.what == "renumbered" and change.before in labels[change.id]:
            labels[change.id][change.after] = labels[change.id].pop(change.before)
        elif change.what == "relabelled":
            labels[change.id][str(change.sentence)] = change.after
    return labels


@given(versions(), versions())
@settings(max_examples=40, deadline=None)
def test_errata_give_the_labels_of_the_later_version(a: Cats, b: Cats) -> None:
    changed = diff(a, b)
    added = changed.ids("added")
    assert labels_after(a, changed.changes) == {
        c.id: {o.id: o.gold for o in c.options} for c in b if c.id not in added
    }


# --- files ----------------------------------------------------------------------------------------


def test_errata_as_text_for_programs_and_for_people() -> None:
    changed = diff(
        [cat("a", split="dev"), cat("b*", context="One | two")],
        [cat("a", golds=("unrelated", "anti-stereotype", "stereotype"))],
    )
    lines = differences.errata_text(changed.open_changes()).splitlines()
    assert lines[0] == (
        '{"id":"a","what":"relabelled","field":"gold_label","sentence":"a-0",'
        '"before":"stereotype","after":"unrelated"}'
    )
    nothing = '"field":null,"sentence":null,"before":null,"after":null'
    assert lines[-1] == f'{{"id":"b*","what":"removed",{nothing}}}'
    page = differences.errata_markdown(changed, changed.open_changes())
    assert page.startswith("# Errata: from A to B\n")
    listed = "- a, association a-0: gold_label was «stereotype», is "
    assert f"## 1 CAT: other gold labels\n\n{listed}" in page
    assert "- b\\*\n" in page
    assert differences.errata_text([]) == ""
    assert "No CAT differs." in differences.errata_markdown(diff([], []), [])


# --- the command: versions in files, and what their differences do to scores ----------------------

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


said, refused = (partial(how, "release", "diff") for how in (commands.told, commands.refused))


def shown(*args: object) -> str:
    return commands.well("release", "diff", *args).out


# --- what is read ---------------------------------------------------------------------------------


def test_a_version_and_itself_do_not_differ(tmp_path: Path) -> None:
    folder = write(tmp_path / "a", cats("baker", "x"), cats("potter", "y"))
    report = said(folder, folder)
    assert report["equal"]
    assert report["fields"] == {}
    assert [(c["split"], c["before"], c["after"]) for c in report["counts"]] == [
        ("dev", 1, 1), ("test", 1, 1),
    ]  # fmt: skip
    code, out, _ = commands.run("release", "diff", folder, folder, "--strict")
    assert (code, out) == (0, "The versions do not differ.\n")


def test_what_changed_comes_first_and_zeros_are_left_out(tmp_path: Path) -> None:
    gone = cats("smith", *(f"g{n:02}" for n in range(12)))
    a = write(tmp_path / "a", cats("baker", "x"), [*cats("potter", "y", "z"), *gone])
    b = write(
        tmp_path / "b", cats("baker", "x"), [*cats("potter", "y", context="P."), *cats("cook", "n")]
    )
    assert said(a, b)["cats"] == {
        "added": ["n"], "removed": ["z", *(cat.id for cat in gone)], "changed": ["y"],
    }  # fmt: skip
    lines = shown(a, b).splitlines()
    assert lines[:5] == [
        "What changed from a (A) to b (B)",
        "added: 1 CAT: n",
        "removed: 13 CATs: z, g00, g01, g02, g03, g04, g05, g06, g07, g08 and 3 more",
        "changed texts or fields: 1 CAT: y",
        "«--errata FILE» writes every change of every CAT",
    ]
    # dev does not change; no CAT is relabelled, moved or renumbered
    assert [" ".join(line.split()) for line in lines[5:10] if line and "─" not in line] == [
        *("CATs", "split kind CATs in A CATs in B added removed changed"),
        "test intersentence 14 2 1 13 1",
    ]


def test_folders_of_two_versions(tmp_path: Path) -> None:
    a = write(tmp_path / "a", cats("baker", "x"), [*cats("potter", "y"), *cats("cook", "z")])
    cooks, smiths = cats("cook", "z", context="Cooks."), cats("smith", "new", domain="trade")
    b = write(tmp_path / "b", cats("potter", "y"), [*cats("baker", "x"), *cooks, *smiths])
    report = said(a, b)
    baker, potter = ([{"domain": "profession", "text": text}] for text in ("baker", "potter"))
    assert report["terms"] == {"to_test": baker, "to_dev": potter, "renamed": []}
    assert report["seen_in_dev"] == ["x"]
    assert report["fields"] == {"context": 1, "split": 2}
    assert report["domains"] == {"removed": [], "added": ["trade"]}
    assert not report["equal"]
    code, out, err = commands.run("release", "diff", a, b, "--strict")
    assert code == 1
    assert "1 term moved from dev to test: baker (profession)" in err
    assert "1 CAT in test was in dev, so models may be tuned on them: x" in err
    assert "1 term moved from test to dev: potter (profession)" in out
    assert "domains only in" in out
    assert commands.run("release", "diff", a, b)[0] == 0


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


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda folder: None, "there is no such file or folder"),
    "an empty folder": (Path.mkdir, "is not a release: it has no dev.json or test.json"),
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
    assert [row["sentence"] for row in lines(tmp_path / "errata.jsonl")] == ["x0", "x1"]
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
    out = shown(a, b, *scores)
    assert "The columns after B - A say what it comes from" in out
    # No text changed, so that column is left out; dev has no value in A, so it has no parts.
    (heads,) = {" ".join(line.split()) for line in out.splitlines() if line.startswith("split kind")
                and "B - A" in line}  # fmt: skip
    assert heads == (
        "split kind CATs in A, B score A 95 % B 95 % B - A relabelled added, removed moved"
    )
    same = shown(a, write(tmp_path / "c", [], [*baker, *potter, *cats("cook", "z")]), *scores)
    assert "m/default has the same scores on both" in same


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
    choice_run(tmp_path / "runs", "m", lambda _: [1, 1, 1], cats("cook", "q"))
    err = refused(a, a, "--scores", tmp_path / "runs")
    has(err, "no run has scores of the CATs of", "other/default", "m/choice")


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
