"""A sealed test set: its texts are in no file of the release, and everything else works on it."""

import json
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table
from rapidfuzz import fuzz, process

from curation.campaign import open_campaign
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, read_records
from curation.records import Cat
from curation.release.contents import Contents
from curation.release.differences import committed, read_version
from curation.release.hidden import commitments as scheme
from curation.release.hidden.commitments import HiddenGold
from curation.steps.release import hidden as hiding
from curation.steps.release import versions
from curation.steps.release.checking import check_before, check_release
from curation.text.item_form import filler
from curation.text.rules import same_text
from support import releases
from support.desk import Desk
from support.labelled import set_to, shas

VERSION, GOLD = Path("7-release/0.1.0"), Path("7-release/gold-0.1.0.jsonl")
REVEALED = Path("7-release/0.1.0-revealed")


@pytest.fixture
def desk(forked: Any, sealed: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(sealed, tmp_path / "c")))


def in_test(campaign: Path) -> list[Cat]:
    return [c for c in read_records(campaign / "3-decisions/cats.jsonl", Cat) if c.split == "test"]


# --- what is public -------------------------------------------------------------------------------


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from strings(part)


def cells(folder: Path) -> dict[str, set[str]]:
    """Every line of every file, every text in its JSON, and every value in Parquet, normalised."""
    found: dict[str, set[str]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix == ".parquet":
            own = [*strings(read_table(path).to_pylist()), str(read_table(path).schema.metadata)]
        else:
            own = path.read_text("utf-8").splitlines()
            if path.suffix == ".json":
                own += strings(json.loads(path.read_text("utf-8")))
            elif path.suffix == ".jsonl":
                own += [text for line in own for text in strings(json.loads(line))]
        found[path.relative_to(folder).as_posix()] = set(map(same_text, own))
    return found


def texts(cats: Sequence[Cat]) -> set[str]:
    """Contexts, sentences, and the words that fill a BLANK."""
    own = [c.context for c in cats]
    own += [a.sentence for c in cats for a in c.associations]
    own += [filler(c.context, a.sentence) or "" for c in cats for a in c.associations]
    return set(map(same_text, own)) - {""}


def quoting(folder: Path, searched: set[str]) -> dict[str, set[str]]:
    """The texts that each file has, as a part of a line or cell."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, own in cells(folder).items():
        everything = "\n".join(own)
        found[name] |= {text for text in searched if text in everything}
    return {name: own for name, own in found.items() if own}


def nearly(folder: Path, searched: set[str]) -> set[str]:
    """The texts that a line or cell of about this length or more nearly has: 90 % of a part."""
    every = sorted(set().union(*cells(folder).values()), key=len)
    return {
        text
        for text in searched
        if process.extractOne(
            text,
            [cell for cell in every if len(cell) >= 0.8 * len(text)],
            scorer=fuzz.partial_ratio,
            score_cutoff=90,
        )
    }


def test_no_file_has_a_text_of_the_test_set_or_nearly_one(
    sealed: Path, hidden: Path, tmp_path: Path
) -> None:
    searched = texts(in_test(sealed))
    assert len(searched) >= 7 * 8  # a context, three sentences, three fillers
    assert quoting(sealed / VERSION, searched) == {}
    assert nearly(sealed / VERSION, searched) == set()
    targets = {cat.target for cat in in_test(sealed)}
    assert quoting(sealed / VERSION, targets) == {}
    # The same search finds them where they are, and where they should not be.
    shown = quoting(hidden / VERSION, searched | targets)
    assert shown["test.json"] == searched | targets
    assert nearly(hidden / VERSION, searched) == searched
    folder = Path(shutil.copytree(sealed / VERSION, tmp_path / "1"))
    (context, *_) = (cat.context for cat in in_test(sealed))
    with (folder / "STATEMENT.md").open("a", encoding="utf-8") as file:
        file.write(f"For example: «{context.upper()}»")
    assert quoting(folder, searched) == {"STATEMENT.md": {same_text(context)}}
    changed = same_text(context).replace("blank", "blenk")
    (folder / "STATEMENT.md").write_text(f"For example: {changed}", "utf-8")
    assert quoting(folder, searched) == {}
    assert nearly(folder, searched) == {same_text(context)}


def test_the_release_of_the_example_has_no_text_of_its_test_set(
    demo: object, example_sealed: Path, example_release: Path
) -> None:
    campaign = example_sealed.parents[1]
    cats = read_records(campaign / "3-decisions/cats.jsonl", Cat)
    whole = {
        same_text(text)
        for cat in cats
        if cat.split == "test"
        for text in (cat.context, *(a.sentence for a in cat.associations))
    }
    # A text that a dev CAT has, too, is public with that CAT.
    dev = texts([cat for cat in cats if cat.split == "dev"])
    assert len(whole - dev) > 300
    assert quoting(example_sealed, whole - dev) == {}
    assert quoting(example_release, whole - dev)["test.json"] == whole - dev
    names = {path.relative_to(example_sealed).as_posix() for path in example_sealed.rglob("*")}
    assert not [name for name in names if "test" in name]
    assert "hidden" not in names


def test_numbers_are_public_in_full(
    demo: object, example_sealed: Path, example_release: Path
) -> None:
    ours, theirs = (
        json.loads((folder / "release.json").read_text("utf-8"))
        for folder in (example_sealed, example_release)
    )
    other = {name for name in ours if ours[name] != theirs[name]}
    about_files = {"annotations", "annotators", "counted", "tiers", "hidden", "canonical"}
    about_files |= {"statement", "open"}  # the example is built again without its answers
    assert other - {"canary", "date"} <= about_files
    tests = [row for row in ours["scores"] if row["split"] == "test"]
    assert {row["kind"] for row in tests} == {"intrasentence", "intersentence", "both"}
    assert any(row["lms"] != round(row["lms"], 1) for row in tests)
    rows = [json.loads(line) for line in (example_sealed / "sealed.jsonl").read_text().splitlines()]
    assert ours["hidden"]["cats"] == len(rows)
    assert sum(size["cats"] for size in ours["sizes"] if size["split"] == "test") == len(rows)
    assert {row.keys() == {"id", "kind", "domain", "commitment"} for row in rows} == {True}
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert ours["hidden"]["sealed"] == shas(example_sealed)["sealed.jsonl"]
    card = (example_sealed / "README.md").read_text("utf-8")
    assert ours["hidden"]["sealed"] in card
    assert "would say too much" not in card
    assert "test.json" not in card
    assert "test.json" not in (example_sealed / "STATEMENT.md").read_text("utf-8")


def test_other_names_and_terms_of_the_test_set_are_left_out() -> None:
    made = releases.contents()
    names = {"race": {"Quillon": ["Q"], "江戸の人": ["E"]}, "profession": {"pilot": ["flyer"]}}
    contents = replace(made, settings=FileSettings(names=names))
    golds = scheme.assign(contents.part("test"), bytes, sealed=True)

    def public(*, hide_terms: bool) -> Contents:
        return scheme.seal(contents, golds, hide_terms=hide_terms)

    left = public(hide_terms=True)
    assert left.settings.names == {"race": {"Quillon": ["Q"]}, "profession": {}}
    assert {term.split for term in left.terms} == {"dev"}
    assert public(hide_terms=False).terms == made.terms
    assert left.cats == tuple(made.part("dev"))
    assert set(left.annotations["cat_id"]) <= {cat.id for cat in left.cats}
    assert [cat.commitment for cat in left.sealed] == [gold.commitment for gold in golds]


# --- built again, scored, revealed ----------------------------------------------------------------


def test_the_same_bytes_again_and_the_gold_file_scores(desk: Desk) -> None:
    before = shas(desk.root / "7-release")
    set_to(desk, 'hide = "all"', 'hide = ""')  # what is built stays sealed
    shutil.rmtree(desk.root / VERSION / "cats")
    (desk.root / VERSION / "sealed.jsonl").touch()
    said = desk.say("release", "build")
    after = shas(desk.root / "7-release")
    assert {name for name in before if before[name] != after[name]} <= {"manifest.json"}
    assert said["hidden"] == len((desk.root / GOLD).read_bytes().splitlines()) > 0
    assert "the texts and gold labels of" in " ".join(desk.run("release", "build").out.split())
    done = desk.forked("scores", "baselines", "--gold", desk.root / GOLD)
    assert done.code == 0, done.err
    said = desk.run("release", "export", "lm-eval", "--to", desk.out / "exported").err
    assert "the texts and gold labels of" in " ".join(said.split())
    ids = [cat.id for cat in in_test(desk.root)]
    assert versions.holding(open_campaign(desk.root), ids)["0.1.0"].cats == len(ids)


def test_an_anonymous_release_is_sealed_too_and_a_sealed_one_may_be_uploaded(desk: Desk) -> None:
    assert desk.run("release", "build", "--anonymous").code == 0
    folder = desk.root / "7-release/0.1.0-anonymous"
    searched = texts(in_test(desk.root))
    assert quoting(folder, searched) == {}
    for name in ("sealed.jsonl", "dev.json", "terms.jsonl"):
        assert (folder / name).read_bytes() == (desk.root / VERSION / name).read_bytes()
    assert [f for f in check_release(folder) if f.severity == "block"] == []
    with pytest.warns(UserWarning, match="warnings about 0.1.0"):
        assert check_before(open_campaign(desk.root), "0.1.0") == desk.root / VERSION
    said = desk.say("release", "near")
    assert said["counts"] == {"dev": 0}


def test_a_revealed_version_proves_texts_and_labels(desk: Desk, tmp_path: Path) -> None:
    said = desk.say("release", "reveal", "0.1.0")
    assert said["cats"] == said["unchanged"] == len(in_test(desk.root))
    items = json.loads((desk.root / REVEALED / "test.json").read_text("utf-8"))["data"]
    shown = {item["context"] for kind in items.values() for item in kind}
    assert shown == {cat.context for cat in in_test(desk.root)}
    readme = (desk.root / REVEALED / "README.md").read_text("utf-8")
    (tmp_path / "check.py").write_text(readme.split("```python\n")[1].split("```")[0], "utf-8")

    def proof() -> str:
        """What the program in the README says, with the two public folders and nothing else."""
        done = subprocess.run(
            [sys.executable, "-I", tmp_path / "check.py", VERSION, REVEALED],
            cwd=desk.root, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout or done.stderr.splitlines()[-1]

    def found() -> list[str]:
        findings = check_release(desk.root / REVEALED, public=desk.root / VERSION)
        return [f.detail for f in findings if f.code == "not_as_committed"]

    assert (proof(), found()) == ("all commitments hold\n", [])
    path = desk.root / REVEALED / "test.json"
    before = path.read_text("utf-8")
    changes = {
        sorted(shown)[0]: "Something BLANK.",
        'gold_label": "stereotype': 'gold_label": "unrelated',
        'bias_type": "profession': 'bias_type": "age',
    }
    for old, new in changes.items():
        assert old in before
        path.write_text(before.replace(old, new, 1), "utf-8")
        assert proof().startswith("AssertionError")
        (detail,) = found()
        assert "test.json has other texts or gold labels than the proof" in detail
    path.write_text(before, "utf-8")
    proofs = desk.root / REVEALED / "reveal.jsonl"
    proofs.write_text(proofs.read_text("utf-8").replace("the ", "a ", 1), "utf-8")
    assert proof().startswith("AssertionError")
    assert "message and nonce do not give its commitment" in found()[0]


def test_a_message_proves_id_kind_and_domain_of_a_sealed_cat() -> None:
    golds = scheme.assign(releases.contents().part("test"), bytes_of(), sealed=True)
    sealed = scheme.seal(releases.contents(), golds, hide_terms=True).sealed
    rows = scheme.reveal_rows(golds)
    assert scheme.verify([cat._asdict() for cat in sealed], rows) == []
    for name, other in (("kind", "intersentence"), ("domain", "age")):
        first, *others = (cat._asdict() for cat in sealed)
        (problem,) = scheme.verify([{**first, name: other}, *others], rows)
        assert problem == f"CAT {sealed[0].id}: the message is about other texts"

    def said(message: str) -> list[str]:
        gold = golds[0]
        own = scheme.commitment(message, gold.nonce)
        row = {"id": gold.id, "message": message, "nonce": gold.nonce}
        return scheme.verify([sealed[0]._replace(commitment=own)._asdict()], [row])

    content = json.loads(scheme.message(golds[0]))
    assert said(json.dumps(content, ensure_ascii=False, separators=(",", ":"))) == []
    del content["options"][0]["sentence"]
    (problem,) = said(json.dumps(content, ensure_ascii=False, separators=(",", ":")))
    assert "the message is about other texts" in problem


def bytes_of() -> scheme.Draw:
    """Different bytes for each draw."""
    numbers = iter(range(10_000))
    return lambda count: next(numbers).to_bytes(count)


# --- other levels, other versions -----------------------------------------------------------------


def test_a_version_has_one_level(desk: Desk) -> None:
    before = shas(desk.root / VERSION)
    for words in ((), ("--anonymous",)):
        said = " ".join(desk.run("release", "build", "--hide", "labels", *words).err.split())
        assert 'is of a version with hide = "all" in [release], which is "labels" now' in said
        assert "raise version" in said
    assert not (desk.root / "7-release/0.1.0-anonymous").exists()
    assert shas(desk.root / VERSION) == before
    set_to(desk, 'hide = "labels"', 'hide = "test"')
    said = desk.refused("release", "build")
    assert "hide" in said
    assert "'labels'" in said
    assert "'all'" in said


@pytest.mark.parametrize(("first", "second"), [("all", "labels"), ("labels", "all"), ("all", "")])
def test_a_sealed_cat_has_no_texts_in_another_version(
    forked: Any, sealed: Path, hidden: Path, tmp_path: Path, first: str, second: str
) -> None:
    root = sealed if first == "all" else hidden
    desk = Desk(forked, Path(shutil.copytree(root, tmp_path / "c")))
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    set_to(desk, f'hide = "{first}"', f'hide = "{second}"')
    said = " ".join(desk.refused("release", "build").split())
    assert f"publishes_hidden: the gold labels of {len(in_test(root))} CATs would be" in said
    assert f"release build --hide {first}" in said
    assert "texts and scores tell them" in said or not second
    assert not (desk.root / "7-release/0.2.0").exists()
    set_to(desk, "accept = []", 'accept = ["publishes_hidden"]')
    assert desk.run("release", "build").code == 0
    set_to(desk, 'accept = ["publishes_hidden"]', "accept = []")
    if second != "all":  # texts that version 0.1.0 seals
        with pytest.raises(
            CurationError, match=r"publishes_hidden: 0\.2\.0 has the gold labels of"
        ):
            hiding.check_upload(open_campaign(desk.root), desk.root / "7-release/0.2.0")


def test_without_the_gold_file_nothing_else_is_published(desk: Desk) -> None:
    (desk.root / GOLD).unlink()
    assert "is lost, but 7-release/0.1.0 was built with it" in desk.refused("release", "build")
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    set_to(desk, 'hide = "all"', 'hide = ""')
    said = " ".join(desk.refused("release", "build").split())
    assert "gold-0.1.0.jsonl: is lost, so nobody knows which CATs 0.1.0 seals" in said
    set_to(desk, "accept = []", 'accept = ["publishes_hidden"]')
    assert desk.run("release", "build").code == 0


def test_the_next_sealed_version_compares_dev_only(desk: Desk) -> None:
    shown = desk.root / "7-release/0.2.0"
    gone = next(
        cat for cat in read_records(desk.root / "3-decisions/cats.jsonl", Cat) if cat.split == "dev"
    )
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    set_to(desk, "seed = 1", "seed = 4")
    assert "publishes_hidden" in desk.refused("release", "build")  # another term would be in dev
    set_to(desk, 'keep = ""', 'keep = "0.1.0"')  # the test terms are in the gold file only
    set_to(desk, "leave_out = []", f'leave_out = ["{gone.id}"]')
    assert desk.run("release", "build").code == 0
    about = json.loads((shown / "release.json").read_text("utf-8"))
    changes = about["changes"]
    assert (changes["sealed"], changes["removed"], changes["listed"]) == (True, 1, 1)
    assert (changes["added"], changes["moved"], changes["hidden"]) == (0, 0, 0)
    assert [row["cats"] for row in about["near"]] == [0, 0]
    assert "Test CATs are not compared" in (shown / "README.md").read_text("utf-8")
    ids = [{cat.id for cat in read_version(desk.root / VERSION).sealed} for _ in (1,)]
    assert not ids[0] & {cat.id for cat in read_version(shown).sealed}
    said = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert said["sealed"]
    count = len(in_test(desk.root))
    assert {(row["split"], row["before"], row["after"]) for row in said["counts"]} >= {
        ("test", count, count)
    }


def test_what_was_public_is_sealed_in_vain_and_counted(
    forked: Any, labelled: Path, tmp_path: Path
) -> None:
    desk = Desk(forked, Path(shutil.copytree(labelled, tmp_path / "c")))
    assert desk.run("release", "build").code == 0
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert "hidden_in_vain" in desk.run("release", "build", "--hide", "all").err
    set_to(desk, "accept = []", 'accept = ["hidden_in_vain"]')
    set_to(desk, "hide_terms = true", "hide_terms = false")
    done = desk.run("release", "build", "--hide", "all")
    count = len(in_test(desk.root))
    assert f"{count} sealed CATs nearly repeat public CATs of 0.1.0" in " ".join(done.err.split())
    folder = desk.root / "7-release/0.2.0"
    about = json.loads((folder / "release.json").read_text("utf-8"))
    assert {row["place"]: row["cats"] for row in about["near"]} == {"dev": 0, "0.1.0": count}
    assert about["changes"]["sealed"]
    assert not (folder / "errata.jsonl").exists() or not (folder / "errata.jsonl").read_bytes()
    said = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert {row["removed"] for row in said["counts"]} == {0}
    splits = [
        json.loads(line)["split"] for line in (folder / "terms.jsonl").read_text().splitlines()
    ]
    assert set(splits) == {"dev", "test"}
    assert [f for f in check_release(folder) if f.severity == "block"] == []


# --- check ----------------------------------------------------------------------------------------


def test_what_tells_of_a_sealed_test_set_is_found(
    sealed: Path, hidden: Path, tmp_path: Path
) -> None:
    root = tmp_path / "7-release"
    shutil.copytree(sealed / VERSION, root / "0.1.0")
    shutil.copy(sealed / GOLD, root)
    folder = root / "0.1.0"

    def codes() -> set[tuple[str, str]]:
        found = check_release(folder)
        return {
            (f.code, f.where)
            for f in found
            if f.severity == "block" and f.code not in ("file_changed", "file_unlisted")
        }

    assert codes() == set()
    rows = (folder / "sealed.jsonl").read_text("utf-8").splitlines(keepends=True)
    first = json.loads(rows[0])
    edits: list[tuple[str, str, set[tuple[str, str]]]] = [
        ("sealed.jsonl", "".join(rows[1:]),
         {("sizes_differ", "release.json"), ("canonical_hash", "release.json")}),
        ("sealed.jsonl", json.dumps({**first, "context": "x"}) + "\n" + "".join(rows[1:]),
         {("unreadable", "sealed.jsonl line 1")}),
        ("sealed.jsonl", json.dumps({**first, "id": "i-1"}) + "\n" + "".join(rows[1:]),
         {("commitment", "sealed.jsonl")}),
        ("sealed.jsonl", "".join([rows[1], *rows[1:]]), {("commitment", "sealed.jsonl")}),
        ("test.json", (hidden / VERSION / "test.json").read_text("utf-8"),
         {("hidden_leak", "StereoSet")}),
        ("README.md", (folder / "README.md").read_text("utf-8") + first["id"],
         {("hidden_leak", "README.md")}),
        ("README.md", (folder / "README.md").read_text("utf-8") + in_test(sealed)[0].context,
         {("hidden_leak", "README.md")}),
    ]  # fmt: skip
    for name, content, expected in edits:
        path = folder / name
        before = path.read_bytes() if path.exists() else None
        path.write_text(content, "utf-8")
        assert expected <= codes(), name
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
    # Without the private gold file nobody knows the texts.
    (root / GOLD.name).unlink()
    (folder / "README.md").write_text(edits[-1][1], "utf-8")
    assert not [code for code, _ in codes() if code == "hidden_leak"]


def test_a_sealed_copy_of_a_dev_cat_is_found_with_the_gold_file(
    sealed: Path, tmp_path: Path
) -> None:
    root = tmp_path / "7-release"
    folder = Path(shutil.copytree(sealed / VERSION, root / "0.1.0"))
    dev = json.loads((folder / "cats/intrasentence-dev.jsonl").read_text("utf-8").splitlines()[0])
    lines = [
        HiddenGold.model_validate_json(line) for line in (sealed / GOLD).read_bytes().splitlines()
    ]
    names = ("stereotype", "anti_stereotype", "unrelated")
    options = [
        option.model_copy(update={"sentence": dev[name]})
        for option, name in zip(lines[0].sentences, names, strict=True)
    ]
    near = lines[0].model_copy(update={"context": dev["context"], "sentences": tuple(options)})
    near = near.model_copy(
        update={"commitment": scheme.commitment(scheme.message(near), near.nonce)}
    )
    content = "".join(gold.model_dump_json() + "\n" for gold in (near, *lines[1:]))
    (root / GOLD.name).write_text(content, "utf-8")
    (finding,) = [f for f in check_release(folder) if f.code == "near_repeat"]
    assert near.id in finding.detail
    assert dev["id"] in finding.detail


def test_commitments_are_read_from_the_folder(sealed: Path, hidden: Path, tmp_path: Path) -> None:
    for root in (sealed, hidden):
        rows = committed(root / VERSION)
        assert len(rows) == len(in_test(root))
    with pytest.raises(CurationError, match=r"test\.json: no such file"):
        committed(tmp_path)
    (tmp_path / "sealed.jsonl").write_text('{"id": "x", "kind": 5}\n')
    with pytest.raises(CurationError, match=r"sealed\.jsonl line 1: is not a sealed CAT"):
        committed(tmp_path)
