"""A sealed test set: its texts are in no file of the release, and everything else works on it."""

import json
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyarrow.parquet import read_table
from rapidfuzz import fuzz, process

from curation.catsets.stereoset import FileSettings
from curation.records import Cat
from curation.release import hiding, versions
from curation.release.checking import check_release
from curation.release.hub import check_before
from curation.released import commitments as scheme
from curation.released.commitments import HiddenGold
from curation.released.contents import Contents
from curation.released.versions import read_commitments, read_version
from curation.text.item_form import filler
from curation.text.rules import same_text
from support import releases
from support.expected import fails, has
from support.labelled import Desk
from support.written import lines, read, shas


@pytest.fixture
def desk(sealed: Desk, tmp_path: Path) -> Desk:
    return sealed.copy(tmp_path / "c")


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
    every = {name: "\n".join(own) for name, own in cells(folder).items()}
    found = {name: {text for text in searched if text in own} for name, own in every.items()}
    return {name: own for name, own in found.items() if own}


def nearly(folder: Path, searched: set[str]) -> set[str]:
    """The texts that a line or cell of about this length or more nearly has: 90 % of a part."""
    every = sorted(set().union(*cells(folder).values()), key=len)
    found = set()
    for text in searched:
        near = [cell for cell in every if len(cell) >= 0.8 * len(text)]
        if process.extractOne(text, near, scorer=fuzz.partial_ratio, score_cutoff=90):
            found.add(text)
    return found


def test_no_file_has_nearly_a_text_of_the_test_set(
    sealed: Desk, hidden: Desk, tmp_path: Path
) -> None:
    cats = sealed.cats("test")
    searched, targets = texts(cats), {cat.target for cat in cats}
    assert len(searched) >= 7 * 8  # a context, three sentences, three fillers
    assert quoting(sealed.first, searched | targets) == {}
    assert nearly(sealed.first, searched) == set()
    # The same search finds them where they are, and where they should not be.
    assert quoting(hidden.first, searched | targets)["test.json"] == searched | targets
    assert nearly(hidden.first, searched) == searched
    folder = Path(shutil.copytree(sealed.first, tmp_path / "1"))
    context = cats[0].context
    with (folder / "STATEMENT.md").open("a", encoding="utf-8") as file:
        file.write(f"For example: «{context.upper()}»")
    assert quoting(folder, searched) == {"STATEMENT.md": {same_text(context)}}
    changed = same_text(context).replace("blank", "blenk")
    (folder / "STATEMENT.md").write_text(f"For example: {changed}", "utf-8")
    assert quoting(folder, searched) == {}
    assert nearly(folder, searched) == {same_text(context)}


def test_the_release_of_the_example_has_no_text_of_its_test_set(
    forked: Any, example_sealed: Path, example_release: Path
) -> None:
    campaign = Desk(forked, example_sealed.parents[1])
    # A text that a dev CAT has, too, is public with that CAT.
    whole = {
        same_text(text)
        for cat in campaign.cats("test")
        for text in (cat.context, *(a.sentence for a in cat.associations))
    } - texts(campaign.cats("dev"))
    assert len(whole) > 300
    assert quoting(example_sealed, whole) == {}
    assert quoting(example_release, whole)["test.json"] == whole
    names = shas(example_sealed)
    assert not [name for name in names if "test" in name or name.startswith("hidden")]


def test_numbers_are_public_in_full(example_sealed: Path, example_release: Path) -> None:
    ours, theirs = (read(f / "release.json") for f in (example_sealed, example_release))
    other = {name for name in ours if ours[name] != theirs[name]}
    about_files = {"annotations", "annotators", "counted", "tiers", "hidden", "canonical"}
    about_files |= {"statement", "open"}  # the example is built again without its answers
    assert other - {"canary", "date"} <= about_files
    tests = [row for row in ours["scores"] if row["split"] == "test"]
    assert {row["kind"] for row in tests} == {"intrasentence", "intersentence", "both"}
    assert any(row["lms"] != round(row["lms"], 1) for row in tests)
    rows = lines(example_sealed / "sealed.jsonl")
    assert ours["hidden"]["cats"] == len(rows)
    assert sum(size["cats"] for size in ours["sizes"] if size["split"] == "test") == len(rows)
    assert {row.keys() == {"id", "kind", "domain", "commitment"} for row in rows} == {True}
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    assert ours["hidden"]["sealed"] == shas(example_sealed)["sealed.jsonl"]
    names = ("README.md", "STATEMENT.md")
    texts = [(example_sealed / name).read_text("utf-8") for name in names]
    assert ours["hidden"]["sealed"] in texts[0]
    for text in texts:
        assert "would say too much" not in text
        assert "test.json" not in text


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
    before = shas(desk.releases)
    desk.set(hide="")  # what is built stays sealed
    shutil.rmtree(desk.first / "cats")
    (desk.first / "sealed.jsonl").touch()
    said = desk.say("release", "build")
    after = shas(desk.releases)
    assert {name for name in before if before[name] != after[name]} <= {"manifest.json"}
    assert said["hidden"] == len(lines(desk.gold)) > 0
    has(desk.build().out, "the texts and gold labels of")
    desk.free("scores", "baselines", "--gold", desk.gold)
    done = desk.run("release", "export", "lm-eval", "--to", desk.out / "exported")
    has(done.err, "the texts and gold labels of")
    ids = [cat.id for cat in desk.cats("test")]
    assert versions.holding(desk.campaign, ids)["0.1.0"].cats == len(ids)


def test_an_anonymous_release_is_sealed_too_and_a_sealed_one_may_be_uploaded(desk: Desk) -> None:
    desk.build("--anonymous")
    folder = desk.releases / "0.1.0-anonymous"
    assert quoting(folder, texts(desk.cats("test"))) == {}
    for name in ("sealed.jsonl", "dev.json", "terms.jsonl"):
        assert (folder / name).read_bytes() == (desk.first / name).read_bytes()
    assert [f for f in check_release(folder) if f.severity == "block"] == []
    with pytest.warns(UserWarning, match="warnings about 0.1.0"):
        assert check_before(desk.campaign, "0.1.0") == desk.first
    assert desk.say("release", "near")["counts"] == {"dev": 0}


def test_a_message_proves_id_kind_and_domain_of_a_sealed_cat() -> None:
    draw = random.Random(1).randbytes
    golds = scheme.assign(releases.contents().part("test"), draw, sealed=True)
    sealed = scheme.seal(releases.contents(), golds, hide_terms=True).sealed
    rows = scheme.reveal_rows(golds)
    assert scheme.verify([cat._asdict() for cat in sealed], rows) == []
    differs = f"CAT {sealed[0].id}: the message is about other texts"
    for name, other in (("kind", "intersentence"), ("domain", "age")):
        first, *others = (cat._asdict() for cat in sealed)
        assert scheme.verify([{**first, name: other}, *others], rows) == [differs]

    def said(content: Any) -> list[str]:
        message = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
        own = scheme.commitment(message, golds[0].nonce)
        row = {"id": golds[0].id, "message": message, "nonce": golds[0].nonce}
        return scheme.verify([sealed[0]._replace(commitment=own)._asdict()], [row])

    content = json.loads(scheme.message(golds[0]))
    assert said(content) == []
    del content["options"][0]["sentence"]
    assert said(content) == [differs]


# --- other levels, other versions -----------------------------------------------------------------


def test_a_version_has_one_level(desk: Desk) -> None:
    before = shas(desk.first)
    for words in ((), ("--anonymous",)):
        said = desk.run("release", "build", "--hide", "labels", *words).err
        level = 'is of a version with hide = "all" in [release], which is "labels" now'
        has(said, level, "raise version")
    assert not (desk.releases / "0.1.0-anonymous").exists()
    assert shas(desk.first) == before
    desk.set(hide="test")
    desk.not_built("hide", "'labels'", "'all'")


@pytest.mark.parametrize(("first", "second"), [("all", "labels"), ("labels", "all"), ("all", "")])
def test_a_sealed_cat_has_no_texts_in_another_version(
    sealed: Desk, hidden: Desk, tmp_path: Path, first: str, second: str
) -> None:
    desk = (sealed if first == "all" else hidden).copy(tmp_path / "c")
    desk.set(version="0.2.0", hide=second)
    desk.not_built(
        f"publishes_hidden: the gold labels of {len(desk.cats('test'))} CATs would be",
        f"release build --hide {first}",
        *["texts and scores tell them"] * bool(second),
    )
    assert not desk.second.exists()
    desk.set(accept=["publishes_hidden"])
    desk.build()
    desk.set(accept=[])
    if second != "all":  # texts that version 0.1.0 seals
        with fails("publishes_hidden: 0.2.0 has the gold labels of"):
            hiding.check_upload(desk.campaign, desk.second)


def test_without_the_gold_file_nothing_else_is_published(desk: Desk) -> None:
    desk.gold.unlink()
    desk.not_built("is lost, but 7-release/0.1.0 was built with it")
    desk.set(version="0.2.0", hide="")
    desk.not_built("gold-0.1.0.jsonl: is lost, so nobody knows which CATs 0.1.0 seals")
    desk.set(accept=["publishes_hidden"])
    desk.build()


def test_the_next_sealed_version_compares_dev_only(desk: Desk) -> None:
    gone, count = desk.cats("dev")[0].id, len(desk.cats("test"))
    desk.set(version="0.2.0", seed=4)
    desk.not_built("publishes_hidden")  # another term would be in dev
    desk.set(keep="0.1.0", leave_out=[gone])  # the test terms are in the gold file only
    desk.build()
    facts = desk.facts("0.2.0")
    names = ("sealed", "removed", "listed", "added", "moved", "hidden")
    assert [facts["changes"][name] for name in names] == [True, 1, 1, 0, 0, 0]
    assert [row["cats"] for row in facts["near"]] == [0, 0]
    assert "Test CATs are not compared" in desk.statement("0.2.0")
    before, after = ({c.id for c in read_version(f).sealed} for f in (desk.first, desk.second))
    assert not before & after
    said = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert said["sealed"]
    rows = {(row["split"], row["before"], row["after"]) for row in said["counts"]}
    assert ("test", count, count) in rows


def test_what_was_public_is_sealed_in_vain_and_counted(ready: Desk, tmp_path: Path) -> None:
    desk = ready.copy(tmp_path / "c")
    desk.build()
    desk.set(version="0.2.0")
    assert "hidden_in_vain" in desk.run("release", "build", "--hide", "all").err
    desk.set(accept=["hidden_in_vain"], hide_terms=False)
    count = len(desk.cats("test"))
    said = desk.run("release", "build", "--hide", "all").err
    has(said, f"{count} sealed CATs nearly repeat public CATs of 0.1.0")
    facts, errata = desk.facts("0.2.0"), desk.second / "errata.jsonl"
    assert {row["place"]: row["cats"] for row in facts["near"]} == {"dev": 0, "0.1.0": count}
    assert facts["changes"]["sealed"]
    assert not errata.exists() or not errata.read_bytes()
    said = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert {row["removed"] for row in said["counts"]} == {0}
    assert {row["split"] for row in lines(desk.second / "terms.jsonl")} == {"dev", "test"}
    assert [f for f in check_release(desk.second) if f.severity == "block"] == []


# --- check ----------------------------------------------------------------------------------------


def test_what_tells_of_a_sealed_test_set_is_found(desk: Desk, hidden: Desk) -> None:
    folder = desk.first

    def blocks() -> set[tuple[str, str]]:
        """Code and place of what blocks, but for the checksums."""
        found = {(f.code, f.where) for f in check_release(folder) if f.severity == "block"}
        return {(code, where) for code, where in found if not code.startswith("file_")}

    assert blocks() == set()
    rows = (folder / "sealed.jsonl").read_text("utf-8").splitlines(keepends=True)
    first, rest = json.loads(rows[0]), "".join(rows[1:])
    card, leak = (folder / "README.md").read_text("utf-8"), ("hidden_leak", "README.md")
    quoted = card + desk.cats("test")[0].context
    edits: list[tuple[str, str, set[tuple[str, str]]]] = [
        ("sealed.jsonl", rest,
         {("sizes_differ", "release.json"), ("canonical_hash", "release.json")}),
        ("sealed.jsonl", json.dumps({**first, "context": "x"}) + "\n" + rest,
         {("unreadable", "sealed.jsonl line 1")}),
        ("sealed.jsonl", json.dumps({**first, "id": "i-1"}) + "\n" + rest,
         {("commitment", "sealed.jsonl")}),
        ("sealed.jsonl", rows[1] + rest, {("commitment", "sealed.jsonl")}),
        ("test.json", (hidden.first / "test.json").read_text("utf-8"),
         {("hidden_leak", "StereoSet")}),
        ("README.md", card + first["id"], {leak}),
        ("README.md", quoted, {leak}),
    ]  # fmt: skip
    for name, content, expected in edits:
        path = folder / name
        before = path.read_bytes() if path.exists() else None
        path.write_text(content, "utf-8")
        assert expected <= blocks(), name
        if before is None:
            path.unlink()
        else:
            path.write_bytes(before)
    # Without the private gold file nobody knows the texts.
    desk.gold.unlink()
    (folder / "README.md").write_text(quoted, "utf-8")
    assert "hidden_leak" not in dict(blocks())


def test_a_sealed_copy_of_a_dev_cat_is_found_with_the_gold_file(desk: Desk) -> None:
    dev = lines(desk.first / "cats/intrasentence-dev.jsonl")[0]
    first, *others = map(HiddenGold.model_validate_json, desk.gold.read_bytes().splitlines())
    names = ("stereotype", "anti_stereotype", "unrelated")
    options = [
        option.model_copy(update={"sentence": dev[name]})
        for option, name in zip(first.sentences, names, strict=True)
    ]
    near = first.model_copy(update={"context": dev["context"], "sentences": tuple(options)})
    own = scheme.commitment(scheme.message(near), near.nonce)
    near = near.model_copy(update={"commitment": own})
    desk.gold.write_text("".join(gold.model_dump_json() + "\n" for gold in (near, *others)))
    (finding,) = [f for f in check_release(desk.first) if f.code == "near_repeat"]
    assert near.id in finding.detail
    assert dev["id"] in finding.detail


def test_commitments_are_read_from_the_folder(sealed: Desk, hidden: Desk, tmp_path: Path) -> None:
    for desk in (sealed, hidden):
        assert len(read_commitments(desk.first)) == len(desk.cats("test"))
    with fails("test.json: no such file"):
        read_commitments(tmp_path)
    (tmp_path / "sealed.jsonl").write_text('{"id": "x", "kind": 5}\n')
    with fails("sealed.jsonl line 1: is not a sealed CAT"):
        read_commitments(tmp_path)
