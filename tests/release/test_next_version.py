"""The next version of a campaign's release: what the build compares, refuses and writes."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from curation.campaign.store import Campaign
from curation.campaign.versions import EARLIER, earlier
from curation.catsets.stereoset import FileSettings
from curation.files import CurationError
from curation.kinds import CAT_KINDS
from curation.records import Cat, Task, Term
from curation.release import quality, versions
from curation.released.contents import Contents, PublishedTerm, SealedCat, published
from support.desk import read_csv
from support.expected import fails
from support.labelled import Desk, answer, written
from support.scored import CATS, write_gold
from support.written import files, lines

TERMS = ("baker", "potter", "fiddler", "thatcher", "cook", "smith", "dyer", "hatter")
DEV, TEST = ([cat for cat in CATS if cat.split == split] for split in ("dev", "test"))


@pytest.fixture(scope="module")
def built(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A small campaign with version 0.1.0: eight terms with a CAT each, two of them in dev."""
    desk = written(forked, tmp_path_factory.mktemp("built") / "c", *TERMS, items=1)
    answer(desk, desk.export("v"))
    desk.build()
    return desk


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
def desk(built: Desk, tmp_path: Path) -> Desk:
    """A copy whose next version is 0.2.0."""
    desk = built.copy(tmp_path / "c")
    desk.set(version="0.2.0")
    return desk


def errata(desk: Desk) -> list[dict[str, Any]]:
    return lines(desk.second / "errata.jsonl")


# --- what the build writes ------------------------------------------------------------------------


def test_the_first_version_has_no_errata(built: Desk) -> None:
    assert not (built.first / "errata.jsonl").exists()
    assert earlier(built.campaign) == []
    assert EARLIER.files(built.campaign) == []


def test_an_item_that_is_left_out_is_removed_in_the_errata(desk: Desk) -> None:
    gone = desk.cats("test")[0].id
    desk.set(leave_out=[gone])
    desk.build()
    assert ("removed", gone) in {(row["what"], row["id"]) for row in errata(desk)}
    report = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert sum(count["removed"] for count in report["counts"]) == 1
    names = ("dev.json", "test.json", "terms.jsonl")
    assert set(EARLIER.files(desk.campaign)) == {desk.first / name for name in names}


def test_a_corrected_label_and_a_renamed_term_are_in_the_errata(desk: Desk, built: Desk) -> None:
    first, other = desk.cats("test")[:2]
    correct(desk, built.out / "v.csv", first.target)
    (desk.root / "1-terms/edits.csv").write_text(
        "domain,term,action,into,family,note\n"
        f"profession,{other.target},rename,master {other.target},,\n"
    )
    desk.build()
    rows = errata(desk)
    assert sorted(row["what"] for row in rows) == ["changed", "relabelled", "relabelled"]
    stated = desk.statement("0.2.0")
    assert "- 1 CAT has another text or field.\n" in stated
    assert "- CATs by the field that differs: `target` 1.\n" in stated
    (renamed,) = [row for row in rows if row["what"] == "changed"]
    assert (renamed["field"], renamed["after"]) == ("target", f"master {other.target}")
    report = desk.say("release", "diff", "0.1.0", "0.2.0")
    assert [r["after"]["text"] for r in report["terms"]["renamed"]] == [f"master {other.target}"]


def test_a_term_that_moves_from_dev_to_test_is_an_error_unless_accepted(desk: Desk) -> None:
    dev = {cat.target for cat in desk.cats("dev")}
    desk.set(seed=4)
    said = desk.refused("release", "build")
    moved = sorted(dev - {cat.target for cat in desk.cats("dev")})
    assert moved
    named = ", ".join(f"{term} (profession)" for term in moved)
    assert "moved_to_test: since version 0.1.0, " in said
    assert f"in dev and would be in test now: {named}." in said
    assert 'add "moved_to_test" to accept in [release]' in said
    assert not desk.second.exists()
    desk.set(accept=["moved_to_test"])
    desk.build()
    assert {row["what"] for row in errata(desk)} == {"moved"}
    assert desk.run("release", "diff", "0.1.0", "0.2.0", "--strict").code == 1


def test_a_version_is_built_again_with_the_same_bytes(desk: Desk) -> None:
    desk.build()
    assert not (desk.second / "errata.jsonl").exists(), "nothing changed"
    before = files(desk.second)
    shutil.rmtree(desk.second)
    (desk.releases / "manifest.json").unlink()
    desk.build()
    assert files(desk.second) == before


def test_a_damaged_version_before_is_an_error(desk: Desk) -> None:
    path = desk.first / "test.json"
    path.write_bytes(path.read_bytes()[:-30])
    desk.not_built("an earlier version cannot be read", str(path), "restore 7-release/0.1.0")


# --- which version is before, and what is refused -------------------------------------------------


def with_version(campaign: Campaign, version: str, accept: tuple[str, ...] = ()) -> Campaign:
    release = campaign.settings.release.model_copy(update={"version": version, "accept": accept})
    return Campaign(campaign.root, campaign.settings.model_copy(update={"release": release}))


def folders(campaign: Campaign, *names: str) -> None:
    for name in names:
        (campaign.folder("release") / name).mkdir(parents=True)


def before(campaign: Campaign, version: str) -> str | None:
    folder = next(reversed(earlier(with_version(campaign, version))), None)
    return folder and folder.name


def test_without_a_list_the_version_before_is_the_greatest_name_below(campaign: Campaign) -> None:
    folders(campaign, "0.9.0", "0.10.0-rc1", "0.10.0", "0.11.0-anonymous", "0.10.0-revealed")
    folders(campaign, ".x.tmp")
    order = ["0.9.0", "0.10.0-rc1", "0.10.0", "0.11.0", "1.0.0"]
    assert [before(campaign, name) for name in order] == [None, *order[:3], "0.10.0"]


def test_with_a_list_it_is_the_last_line_before_whose_folder_exists(campaign: Campaign) -> None:
    folders(campaign, "0.1.0", "2026-spring", "0.2.0", "0.2.5-anonymous", "0.0.9")
    with (campaign.folder("release") / "built.jsonl").open("w") as file:
        for version in ("0.1.0", "gone", "2026-spring", "0.2.0", "0.2.5"):
            row = {"date": "2026-05-01", "version": version, "anonymous": version == "0.2.5"}
            file.write(json.dumps(row) + "\n")
    assert before(campaign, "0.3.0") == "0.2.0"
    assert before(campaign, "0.2.0") == "2026-spring"
    assert before(campaign, "2026-spring") == "0.1.0"
    assert before(campaign, "0.1.0") == "0.0.9"  # the list does not have it
    with (campaign.folder("release") / "built.jsonl").open("a") as file:
        file.write('{"version": "0.')  # a build was killed
    assert before(campaign, "0.3.0") == "0.2.0"


def contents(cats: list[Cat]) -> Contents:
    terms = {}
    for cat in cats:
        term = Term(id=cat.term, text=cat.target, domain=cat.domain)
        terms[cat.term] = PublishedTerm(term, cat.split, dict.fromkeys(CAT_KINDS, 1))
    own = (tuple(map(published, cats)), pd.DataFrame(), tuple(terms.values()))
    return Contents("0.2.0", *own, FileSettings())


@pytest.fixture
def old(campaign: Campaign) -> Campaign:
    """A campaign with version 0.1.0, which has nothing but its CATs."""
    folders(campaign, "0.1.0")
    write_gold(campaign.folder("release") / "0.1.0/dev.json", DEV)
    write_gold(campaign.folder("release") / "0.1.0/test.json", TEST)
    return campaign


def changes(campaign: Campaign, *given: Contents, accept: str = "", of: str = "0.2.0") -> Any:
    """The facts of the next version's changes, and what and which CAT is in the errata."""
    new = with_version(campaign, of, (accept,) * bool(accept))
    facts, rows = versions.changes(new, *given)  # type: ignore[misc]
    return facts, {(row.what, row.id) for row in rows}


def test_a_release_with_nothing_but_cats_is_compared(old: Campaign) -> None:
    facts, rows = changes(old, contents(CATS[1:]))
    assert (facts.previous, facts.removed, facts.changed) == ("0.1.0", 1, 0)
    assert rows == {("removed", "c0")}


def test_a_dev_text_under_another_term_in_test_is_an_error(old: Campaign) -> None:
    renamed = [a.model_copy(update={"id": f"new-{n}"}) for n, a in enumerate(DEV[0].associations)]
    about = {"id": "new", "split": "test", "target": "other", "term": "other"}
    copy = DEV[0].model_copy(update={**about, "associations": tuple(renamed)})
    with fails(
        "moved_to_test: since version 0.1.0, 1 CAT in test has texts that were in dev: new. "
        "Published dev data may have been used to tune models"
    ):
        changes(old, contents([*CATS, copy]))
    assert changes(old, contents([*CATS, copy]), accept="moved_to_test")[0].added == 1


def test_public_dev_data_are_not_sealed(old: Campaign) -> None:
    back = contents([cat.model_copy(update={"split": "test"}) for cat in CATS])
    sealed = SealedCat("1" * 32, "intrasentence", "craft", "2" * 64)
    public = replace(back, cats=(), sealed=(sealed,) * len(CATS))
    with fails("since version 0.1.0, 2 terms were in dev"):
        changes(old, public, back)
    facts, rows = changes(old, public, back, accept="moved_to_test")
    # What is in dev no longer is named; which term it went to, or that it moved, is not.
    assert (facts.sealed, facts.removed, facts.moved) == (True, len(DEV), 0)
    assert facts.terms_to_test == ()
    assert rows == {("removed", cat.id) for cat in DEV}


def test_dev_data_of_any_earlier_version_must_not_be_in_test(old: Campaign) -> None:
    folders(old, "0.2.0")
    write_gold(old.folder("release") / "0.2.0/test.json", TEST)
    back = contents([cat.model_copy(update={"split": "test"}) for cat in CATS])
    with fails("since version 0.1.0, 2 terms were in dev"):
        changes(old, back, of="0.3.0")
    facts, _ = changes(old, back, of="0.3.0", accept="moved_to_test")
    assert (facts.previous, facts.added) == ("0.2.0", 8)
    paths = EARLIER.files(with_version(old, "0.3.0"))
    names = ["0.1.0/dev.json", "0.1.0/test.json", "0.2.0/test.json"]
    assert paths == [old.folder("release") / name for name in names]


def test_a_term_that_moves_from_test_to_dev_is_only_named(old: Campaign) -> None:
    moved = [c.model_copy(update={"split": "dev"}) if c.target == "term 0" else c for c in CATS]
    facts, rows = changes(old, contents(moved))
    assert (facts.terms_to_dev, facts.terms_to_test, facts.moved) == (("term 0 (craft)",), (), 4)
    assert {what for what, _ in rows} == {"moved"}


def test_hidden_cats_are_counted_and_not_named(old: Campaign) -> None:
    whole = contents([cat for cat in CATS if cat.id != "c1"])
    hidden = [
        cat._replace(
            id=f"r{n}",
            tier=None,
            commitment="c",
            options=tuple(o._replace(id=f"r{n}-{k}", gold=None) for k, o in enumerate(cat.options)),
        )
        for n, cat in enumerate(whole.part("test"))
    ]
    facts, rows = changes(old, replace(whole, cats=(*whole.part("dev"), *hidden)))
    assert (facts.removed, facts.changed, facts.relabelled) == (1, 0, 0)
    assert rows == {("removed", "c1")}


def test_a_release_is_refused_before_its_scores_are_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*given: object) -> None:
        raise CurationError("scores are read", "this is a test")

    monkeypatch.setattr(quality, "read_scores", read)
    desk.not_built("scores are read")
    desk.set(hide="labels")
    desk.not_built("hidden_in_vain")
    desk.set(hide="", seed=4, leave_out=[cat.id for cat in desk.cats("test")[:2]])
    desk.not_built("moved_to_test")


# --- terms stay in their split --------------------------------------------------------------------


def test_with_keep_terms_stay_in_their_split(desk: Desk) -> None:
    before = {cat.term: cat.split for cat in desk.cats()}
    desk.set(seed=4, leave_out=[cat.id for cat in desk.cats("test")[:2]])
    desk.not_built('set keep = "0.1.0" in [split]')
    desk.set(keep="0.1.0")
    desk.build()
    after = {cat.term: cat.split for cat in desk.cats()}
    assert after == {term: split for term, split in before.items() if term in after}
    assert len(after) == len(before) - 2
    assert {row["what"] for row in errata(desk)} == {"removed"}
    assert "Terms of version 0.1.0 stayed in their split." in desk.card("0.2.0")
    desk.done("release", "check", desk.second)


def test_a_term_that_comes_back_is_in_its_old_split(desk: Desk) -> None:
    before = {cat.id: cat.split for cat in desk.cats()}
    desk.set(keep="0.1.0", leave_out=[desk.cats("dev")[0].id])
    desk.build()
    desk.set(keep="0.2.0", version="0.3.0", leave_out=[])
    desk.build()
    assert {cat.id: cat.split for cat in desk.cats()} == before


def test_keep_names_a_version_that_is_not_there(desk: Desk) -> None:
    desk.set(keep="0.0.9")
    desk.not_built("[split] keep names version 0.0.9, which is not in")
