"""The next version of a campaign's release: what the build compares, refuses and writes."""

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import Campaign, open_campaign
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError, read_records
from curation.records import Cat, Task, Term
from curation.release.contents import Contents, PublishedTerm, SealedCat, published
from curation.steps.release import versions
from support.desk import Desk, label_row, read_csv
from support.scored import CATS, write_gold

PEOPLE = [f"val-{n}" for n in range(6)]
TERMS = ["baker", "potter", "fiddler", "thatcher", "cook", "smith", "dyer", "hatter"]


@pytest.fixture(scope="module")
def built(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small campaign with version 0.1.0: eight terms with a CAT each, two of them in dev."""
    root = tmp_path_factory.mktemp("built") / "c"
    desk = Desk.make(forked, root, TERMS, items=1, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    label(desk)
    assert desk.run("release", "build").code == 0
    return root


def label(desk: Desk) -> None:
    """Five people label each task as its writer meant it."""
    golds = desk.golds()
    rows = [
        label_row(task, PEOPLE[(n + k) % 6], golds, n) | {"answer_id": f"answer-{n}-{k}"}
        for n, task in enumerate(desk.export("v"))
        for k in range(5)
    ]
    desk.bring("v", rows, "labels.csv")


def correct(desk: Desk, labels: Path, target: str) -> None:
    """The people turn their labels of the stereotypes of a target round, a day later."""
    turned = {"stereotype": "anti-stereotype", "anti-stereotype": "stereotype"}
    tasks = {task.id for task in desk.records("v/tasks.jsonl", Task) if task.target == target}
    rows = [row for row in read_csv(labels) if row["task_id"] in tasks]
    for row in rows:
        row["submitted_at"] = row["submitted_at"].replace("2026-05-02", "2026-05-03")
        for n in (1, 2, 3):
            row[f"label_{n}"] = turned.get(row[f"label_{n}"], row[f"label_{n}"])
    desk.bring("v", rows, "corrected.csv")


@pytest.fixture
def desk(forked: Any, built: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(built, tmp_path / "c")))


def next_version(desk: Desk, replaced: Mapping[str, str] | None = None) -> Path:
    """Raise the version and change other settings; gives the folder of the version."""
    path = desk.root / "campaign.toml"
    text = path.read_text("utf-8")
    for old, new in {'version = "0.1.0"': 'version = "0.2.0"', **(replaced or {})}.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    return desk.root / "7-release/0.2.0"


def errata(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "errata.jsonl").read_text("utf-8").splitlines()]


def cats_of(desk: Desk, split: str = "test") -> list[Cat]:
    return [c for c in read_records(desk.root / "3-decisions/cats.jsonl", Cat) if c.split == split]


# --- what the build writes ------------------------------------------------------------------------


def test_the_first_version_has_no_errata(built: Path) -> None:
    assert not (built / "7-release/0.1.0/errata.jsonl").exists()
    assert versions.previous(open_campaign(built)) is None
    assert versions.change_inputs(open_campaign(built)) == []


def test_an_item_that_is_left_out_is_removed_in_the_errata(desk: Desk) -> None:
    gone = cats_of(desk)[0].id
    folder = next_version(desk, {"leave_out = []": f'leave_out = ["{gone}"]'})
    assert desk.run("release", "build").code == 0
    assert ("removed", gone) in {(row["what"], row["id"]) for row in errata(folder)}
    report = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert sum(count["removed"] for count in report["counts"]) == 1
    inputs = {
        path.relative_to(desk.root).as_posix()
        for path in versions.change_inputs(open_campaign(desk.root))
    }
    names = ("dev.json", "test.json", "terms.jsonl")
    assert inputs == {f"7-release/0.1.0/{name}" for name in names}


def test_an_excluded_persons_items_are_removed_in_the_errata(desk: Desk) -> None:
    next_version(desk, {"accept = []": 'accept = ["moved_to_test"]'})
    assert desk.run("rounds", "exclude", "ben", "--reason", "copied").code == 0
    assert desk.run("release", "build").code == 0
    report = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert sum(count["removed"] for count in report["counts"]) == 4


def test_a_corrected_label_and_a_renamed_term_are_in_the_errata(desk: Desk, built: Path) -> None:
    first, other = cats_of(desk)[:2]
    correct(desk, built.parent / "c-out/labels.csv", first.target)
    (desk.root / "1-terms/edits.csv").write_text(
        "domain,term,action,into,family,note\n"
        f"profession,{other.target},rename,master {other.target},,\n"
    )
    folder = next_version(desk)
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    rows = errata(folder)
    assert {row["what"] for row in rows} == {"relabelled", "changed"}
    assert len([row for row in rows if row["what"] == "relabelled"]) == 2
    text = (folder / "README.md").read_text("utf-8")
    assert "- 1 CAT has another text or field.\n" in text
    assert "- CATs by the field that differs: `target` 1.\n" in text
    (renamed,) = [row for row in rows if row["what"] == "changed"]
    assert (renamed["field"], renamed["after"]) == ("target", f"master {other.target}")
    report = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert [r["after"]["text"] for r in report["terms"]["renamed"]] == [f"master {other.target}"]


def test_a_term_that_moves_from_dev_to_test_is_an_error_unless_accepted(desk: Desk) -> None:
    dev = {cat.target for cat in cats_of(desk, "dev")}
    folder = next_version(desk, {"seed = 1": "seed = 4"})
    said = desk.refused("release", "build")
    moved = sorted(dev - {cat.target for cat in cats_of(desk, "dev")})
    assert moved
    assert "moved_to_test: since version 0.1.0, " in said
    assert (
        f"in dev and would be in test now: {', '.join(f'{t} (profession)' for t in moved)}." in said
    )
    assert 'add "moved_to_test" to accept in [release]' in said
    assert not folder.exists()
    path = desk.root / "campaign.toml"
    path.write_text(path.read_text().replace("accept = []", 'accept = ["moved_to_test"]'))
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    assert {row["what"] for row in errata(folder)} == {"moved"}
    assert desk.run("release", "diff", "0.1.0", "0.2.0", "--strict").code == 1


def test_a_version_is_built_again_with_the_same_bytes(desk: Desk) -> None:
    folder = next_version(desk)
    assert desk.run("release", "build").code == 0
    assert not (folder / "errata.jsonl").exists(), "nothing changed"
    before = {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    shutil.rmtree(folder)
    (desk.root / "7-release/manifest.json").unlink()
    assert desk.run("release", "build").code == 0
    assert {p.name: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_damaged_version_before_is_an_error(desk: Desk) -> None:
    next_version(desk)
    path = desk.root / "7-release/0.1.0/test.json"
    path.write_bytes(path.read_bytes()[:-30])
    said = desk.refused("release", "build")
    assert "an earlier version cannot be read" in said
    assert str(path) in said
    assert "restore 7-release/0.1.0" in said


# --- which version is before, and what is refused -------------------------------------------------


def with_version(campaign: Campaign, version: str, accept: tuple[str, ...] = ()) -> Campaign:
    release = campaign.settings.release.model_copy(update={"version": version, "accept": accept})
    return Campaign(campaign.root, campaign.settings.model_copy(update={"release": release}))


def lines(campaign: Campaign, *rows: dict[str, Any]) -> None:
    text = "".join(json.dumps({"date": "2026-05-01", **row}) + "\n" for row in rows)
    (campaign.releases / "built.jsonl").write_text(text)


def folders(campaign: Campaign, *names: str) -> None:
    for name in names:
        (campaign.releases / name).mkdir(parents=True)


def before(campaign: Campaign, version: str) -> str | None:
    folder = versions.previous(with_version(campaign, version))
    return folder and folder.name


def test_without_a_list_the_version_before_is_the_greatest_name_below(campaign: Campaign) -> None:
    folders(
        campaign, "0.9.0", "0.10.0-rc1", "0.10.0", "0.11.0-anonymous", "0.10.0-revealed", ".x.tmp"
    )
    order = ["0.9.0", "0.10.0-rc1", "0.10.0", "0.11.0", "1.0.0"]
    assert [before(campaign, name) for name in order] == [
        None, "0.9.0", "0.10.0-rc1", "0.10.0", "0.10.0",
    ]  # fmt: skip


def test_with_a_list_it_is_the_last_line_before_whose_folder_exists(campaign: Campaign) -> None:
    folders(campaign, "0.1.0", "2026-spring", "0.2.0", "0.2.5-anonymous", "0.0.9")
    lines(
        campaign,
        {"version": "0.1.0"},
        {"version": "gone"},
        {"version": "2026-spring"},
        {"version": "0.2.0"},
        {"version": "0.2.5", "anonymous": True},
    )
    assert before(campaign, "0.3.0") == "0.2.0"
    assert before(campaign, "0.2.0") == "2026-spring"
    assert before(campaign, "2026-spring") == "0.1.0"
    assert before(campaign, "0.1.0") == "0.0.9"  # the list does not have it
    with (campaign.releases / "built.jsonl").open("a") as file:
        file.write('{"version": "0.')  # a build was killed
    assert before(campaign, "0.3.0") == "0.2.0"


def contents(cats: list[Cat], **fields: Any) -> Contents:
    import pandas as pd

    terms = {
        cat.term: PublishedTerm(
            Term(id=cat.term, text=cat.target, domain=cat.domain), cat.split, 1, 1
        )
        for cat in cats
    }
    return Contents(
        "0.2.0", tuple(map(published, cats)), pd.DataFrame(), tuple(terms.values()), FileSettings()
    )


def old_release(campaign: Campaign) -> None:
    """Version 0.1.0, with nothing but its CATs."""
    folders(campaign, "0.1.0")
    for split in ("dev", "test"):
        path = campaign.releases / f"0.1.0/{split}.json"
        write_gold(path, [cat for cat in CATS if cat.split == split])


def test_a_release_with_nothing_but_cats_is_compared(campaign: Campaign) -> None:
    old_release(campaign)
    new = with_version(campaign, "0.2.0")
    facts, rows = versions.changes(new, contents(CATS[1:])) or (None, None)
    assert facts is not None
    assert (facts.previous, facts.removed, facts.changed) == ("0.1.0", 1, 0)
    assert [(row.what, row.id) for row in rows or ()] == [("removed", "c0")]


def test_a_dev_text_under_another_term_in_test_is_an_error(campaign: Campaign) -> None:
    old_release(campaign)
    dev = next(cat for cat in CATS if cat.split == "dev")
    copy = dev.model_copy(update={"id": "new", "split": "test", "target": "other", "term": "other"})
    renamed = [a.model_copy(update={"id": f"new-{n}"}) for n, a in enumerate(copy.associations)]
    copy = copy.model_copy(update={"associations": tuple(renamed)})
    with pytest.raises(CurationError) as error:
        versions.changes(with_version(campaign, "0.2.0"), contents([*CATS, copy]))
    assert error.value.what == (
        "moved_to_test: since version 0.1.0, 1 CAT in test has texts that were in dev: new. "
        "Published dev data may have been used to tune models"
    )
    accepted = with_version(campaign, "0.2.0", ("moved_to_test",))
    facts, _ = versions.changes(accepted, contents([*CATS, copy])) or (None, None)
    assert facts is not None
    assert facts.added == 1


def test_public_dev_data_are_not_sealed(campaign: Campaign) -> None:
    old_release(campaign)
    back = contents([cat.model_copy(update={"split": "test"}) for cat in CATS])
    sealed = SealedCat("1" * 32, "intrasentence", "craft", "2" * 64)
    public = replace(back, cats=(), sealed=(sealed,) * len(CATS))
    with pytest.raises(CurationError, match=r"since version 0\.1\.0, 2 terms were in dev"):
        versions.changes(with_version(campaign, "0.2.0"), public, back)
    accepted = with_version(campaign, "0.2.0", ("moved_to_test",))
    facts, rows = versions.changes(accepted, public, back) or (None, None)
    assert facts is not None
    # What is in dev no longer is named; which term it went to, or that it moved, is not.
    dev = {cat.id for cat in CATS if cat.split == "dev"}
    assert (facts.sealed, facts.removed, facts.moved) == (True, len(dev), 0)
    assert facts.terms_to_test == ()
    assert {(row.what, row.id) for row in rows or ()} == {("removed", id) for id in dev}


def test_dev_data_of_any_earlier_version_must_not_be_in_test(campaign: Campaign) -> None:
    old_release(campaign)
    folders(campaign, "0.2.0")
    test = [cat for cat in CATS if cat.split == "test"]
    write_gold(campaign.releases / "0.2.0/test.json", test)
    back = [cat.model_copy(update={"split": "test"}) for cat in CATS]
    with pytest.raises(CurationError, match=r"since version 0\.1\.0, 2 terms were in dev"):
        versions.changes(with_version(campaign, "0.3.0"), contents(back))
    accepted = with_version(campaign, "0.3.0", ("moved_to_test",))
    facts, _ = versions.changes(accepted, contents(back)) or (None, None)
    assert facts is not None
    assert (facts.previous, facts.added) == ("0.2.0", 8)
    names = [p.relative_to(campaign.releases).as_posix() for p in versions.change_inputs(accepted)]
    assert names == ["0.1.0/dev.json", "0.1.0/test.json", "0.2.0/test.json"]


def test_a_term_that_moves_from_test_to_dev_is_only_named(campaign: Campaign) -> None:
    old_release(campaign)
    moved = [c.model_copy(update={"split": "dev"}) if c.target == "term 0" else c for c in CATS]
    facts, rows = versions.changes(with_version(campaign, "0.2.0"), contents(moved)) or (None, None)
    assert facts is not None
    assert (facts.terms_to_dev, facts.terms_to_test, facts.moved) == (("term 0 (craft)",), (), 4)
    assert {row.what for row in rows or ()} == {"moved"}


def test_hidden_cats_are_counted_and_not_named(campaign: Campaign) -> None:
    old_release(campaign)
    whole = contents([cat for cat in CATS if cat.id != "c1"])
    hidden = tuple(
        cat._replace(
            id=f"r{n}",
            tier=None,
            commitment="c",
            options=tuple(o._replace(id=f"r{n}-{k}", gold=None) for k, o in enumerate(cat.options)),
        )
        if cat.split == "test"
        else cat
        for n, cat in enumerate(whole.cats)
    )
    public = Contents(whole.version, hidden, whole.annotations, whole.terms, whole.settings)
    facts, rows = versions.changes(with_version(campaign, "0.2.0"), public) or (None, None)
    assert facts is not None
    assert (facts.removed, facts.changed, facts.relabelled) == (1, 0, 0)
    assert [(row.what, row.id) for row in rows or ()] == [("removed", "c1")]


# --- terms stay in their split --------------------------------------------------------------------


def test_with_keep_terms_stay_in_their_split(desk: Desk) -> None:
    before = {cat.term: cat.split for split in ("dev", "test") for cat in cats_of(desk, split)}
    gone = [cat.id for cat in cats_of(desk, "test")[:2]]
    replaced = {"seed = 1": "seed = 4", "leave_out = []": f"leave_out = {json.dumps(gone)}"}
    folder = next_version(desk, replaced)
    assert 'set keep = "0.1.0" in [split]' in desk.refused("release", "build")
    path = desk.root / "campaign.toml"
    path.write_text(path.read_text("utf-8").replace('keep = ""', 'keep = "0.1.0"'), "utf-8")
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    after = {cat.term: cat.split for split in ("dev", "test") for cat in cats_of(desk, split)}
    assert after == {term: split for term, split in before.items() if term in after}
    assert len(after) == len(before) - 2
    assert {row["what"] for row in errata(folder)} == {"removed"}
    text = (folder / "README.md").read_text("utf-8")
    assert "Terms of version 0.1.0 stayed in their split." in text
    assert desk.run("release", "check", folder).code == 0


def test_a_term_that_comes_back_is_in_its_old_split(desk: Desk) -> None:
    before = {cat.id: cat.split for split in ("dev", "test") for cat in cats_of(desk, split)}
    gone = cats_of(desk, "dev")[0].id
    changes = {'keep = ""': 'keep = "0.1.0"', "leave_out = []": f'leave_out = ["{gone}"]'}
    next_version(desk, changes)
    assert desk.run("release", "build").code == 0
    path = desk.root / "campaign.toml"
    text = path.read_text("utf-8").replace('keep = "0.1.0"', 'keep = "0.2.0"')
    text = text.replace('version = "0.2.0"', 'version = "0.3.0"').replace(f'"{gone}"', "")
    path.write_text(text, "utf-8")
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    cats = [cat for split in ("dev", "test") for cat in cats_of(desk, split)]
    assert {cat.id: cat.split for cat in cats} == before


def test_keep_names_a_version_that_is_not_there(desk: Desk) -> None:
    next_version(desk, {'keep = ""': 'keep = "0.0.9"'})
    assert "[split] keep names version 0.0.9, which is not in" in desk.refused("release", "build")
