"""A built version is never rewritten; who is lost, is named with the versions that hold them."""

import json
import shutil
from pathlib import Path

import pytest

from curation.steps.rounds import licences
from curation.steps.step import QUIET
from support.labelled import Desk
from support.strike import half_written
from support.written import fails, has, read, shas


@pytest.fixture
def desk(released: Desk, tmp_path: Path) -> Desk:
    return released.copy(tmp_path / "c")


# --- never rewritten ------------------------------------------------------------------------------


def test_a_version_whose_content_would_change_is_an_error_and_stays(desk: Desk) -> None:
    before = shas(desk.first)
    desk.set(name="Other")
    desk.not_built(
        "7-release/0.1.0 is built already, and its content would change: ",
        "raise version in [release] and build again; or, if nobody has this version",
    )
    assert shas(desk.first) == before
    state = desk.say("status")
    assert [s["state"] for s in state["steps"] if s["step"] == "release"] == ["of older data"]
    (warning,) = state["warnings"]
    assert "7-release/0.1.0 is as of older data or settings; raise version" in warning
    assert state["next"] != "curation run"
    # The next version stands beside it, and going back is an error again.
    desk.set(version="0.2.0")
    desk.build()
    assert "\n# Other 0.2.0\n" in desk.card("0.2.0")
    desk.set(version="0.1.0")
    desk.not_built("is built already")
    desk.set(name="My benchmark")
    desk.build()
    assert shas(desk.first) == before


def test_what_was_edited_by_hand_is_not_overwritten(desk: Desk) -> None:
    before = shas(desk.first)
    path = desk.first / "test.json"
    path.write_bytes(path.read_bytes() + b"\n")
    desk.not_built("7-release/0.1.0: changed after it was built: test.json")
    assert path.read_bytes().endswith(b"\n\n")
    path.unlink()
    desk.build()
    assert shas(desk.first) == before


GONE = {
    "the manifest": ("manifest.json",),
    "most files": ("0.1.0/SHA256SUMS", "0.1.0/test.json", "0.1.0/dev.json"),
    "its line of built.jsonl": ("built.jsonl", "0.1.0/test.json"),
    "everything": ("0.1.0", "manifest.json"),
    "a killed build": ("0.1.0/test.json", "manifest.json"),  # before the folder got its name
}


@pytest.mark.parametrize("gone", GONE)
def test_what_is_missing_of_a_version_is_written_again(desk: Desk, gone: str) -> None:
    before = shas(desk.releases)
    for name in GONE[gone]:
        path = desk.releases / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if gone == "a killed build":
        shutil.move(desk.first, half_written(desk.first))
    desk.build()
    after = shas(desk.releases)
    assert after.pop("manifest.json") != before.pop("manifest.json")  # it has the time
    assert after == before
    assert list(desk.root.rglob(".*.tmp")) == []


def test_a_file_that_is_missing_is_not_written_with_other_content(desk: Desk) -> None:
    (desk.first / "README.md").unlink()
    (desk.first / "SHA256SUMS").unlink()
    desk.set(name="Other")
    desk.not_built("is built already, and its content would change: ")
    assert not (desk.first / "README.md").exists()


@pytest.mark.parametrize("link", ["7-release", "7-release/0.1.0", "7-release/0.1.0/test.json"])
@pytest.mark.parametrize("there", [True, False])
def test_a_release_is_never_written_through_a_link(desk: Desk, link: str, there: bool) -> None:
    place, other = desk.root / link, desk.root.parent / "other"
    shutil.move(place, other)
    before = shas(other) if other.is_dir() else other.read_bytes()
    if not there:
        other.rename(other.with_name("away"))
    place.symlink_to(other)
    desk.set(name="Other")
    desk.not_built(f"{place}: is a link, and nothing is written through links")
    now = other if there else other.with_name("away")
    assert (shas(now) if now.is_dir() else now.read_bytes()) == before
    desk.done("status")


# --- what is lost ---------------------------------------------------------------------------------


def test_an_exclusion_names_the_version_and_leaves_it(desk: Desk) -> None:
    before = shas(desk.releases)
    done = desk.run("rounds", "exclude", "ben", "--reason", "copied")
    assert "7-release/0.1.0 still holds what is lost (3 CATs): raise version" in done.err
    assert shas(desk.releases) == before
    assert desk.say("rounds", "exclude", "ben", "--undo")["released_in"] == []
    said = desk.say("rounds", "exclude", "val-0", "--reason", "asleep")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])
    assert shas(desk.releases) == before


def test_every_version_is_named_also_when_it_is_decided_again(desk: Desk) -> None:
    desk.set(version="0.2.0")
    desk.build()
    both = ["0.1.0", "0.2.0"]
    assert desk.say("rounds", "exclude", "ben", "--reason", "copied")["released_in"] == both
    desk.set(version="0.3.0")
    desk.build()
    # The campaign has forgotten the items by now, and 0.3.0 is without them.
    said = desk.say("rounds", "withdraw", "ben", "--erase")
    assert (said["released_in"], said["releases_deleted"]) == (both, [])
    assert said["releases_to_delete"] == both
    shutil.rmtree(desk.first)
    said = desk.say("rounds", "withdraw", "ben", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.2.0"], ["0.2.0"])
    assert [p.name for p in desk.releases.iterdir() if p.is_dir()] == ["0.3.0"]
    # What was published under that version must not come to mean something else.
    desk.set(version="0.2.0")
    desk.not_built("version 0.2.0 was deleted because a person")
    assert desk.say("status")["next"] != "curation run"


def test_versions_are_deleted_only_with_an_erasure(desk: Desk) -> None:
    assert "--releases needs --erase" in desk.refused("rounds", "withdraw", "ben", "--releases")
    other = desk.root.parent / "other"
    shutil.move(desk.first, other)
    desk.first.symlink_to(other)
    said = desk.say("rounds", "withdraw", "val-0", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])  # only a link
    assert (other / "test.json").exists()


# --- licences -------------------------------------------------------------------------------------


def test_a_licence_that_nobody_agreed_to_blocks_until_it_is_accepted(desk: Desk) -> None:
    desk.set(licence="CC0 1.0", version="0.2.0")
    # Six validators and two writers.
    desk.not_built(
        "licence_differs: the licence of the release is 'CC0 1.0', but annotators agreed to "
        "'CC BY-SA 4.0' (8 people, rounds v, w)"
    )
    desk.set(accept=["licence_differs"])
    desk.build()
    card = desk.card("0.2.0")
    assert "Licence of the data: " in card
    assert "CC0 1.0" in card
    assert "Annotators who agreed to another licence, CC BY-SA 4.0: 8.\n" in card
    facts = desk.facts("0.2.0")
    assert (facts["licence"]["spdx"], facts["other_licences"]) == ("CC0-1.0", {"CC BY-SA 4.0": 8})


def test_each_licence_is_named_with_its_rounds(desk: Desk) -> None:
    # As if v had been opened under CC0.
    for name, old, new in (
        ("v/texts.json", "CC BY-SA 4.0", "CC0"),
        ("people.jsonl", '"consent":"', '"consent":"of-paper-'),
    ):
        path = desk.rounds / name
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
    desk.set(version="0.2.0")
    answered = [("p-1", "v"), ("p-2", "v"), ("p-3", "w"), ("published", "main")]
    found = licences.agreed(desk.campaign, answered)
    assert [(one.licence, len(one.people), one.rounds) for one in found] == [
        ("CC0", 2, {"v"}),
        ("CC BY-SA 4.0", 1, {"w"}),
    ]


def test_another_licence_is_said_before_people_agree_to_it(desk: Desk) -> None:
    path = desk.rounds / "text.toml"
    path.write_text(path.read_text("utf-8") + 'licence = "CC0"\n', "utf-8")
    done = desk.done("rounds", "open", "intrasentence", "--name", "w2", "--platform", "files")
    has(done.err, "the texts for annotators name the licence 'CC0', and [release] names 'CC BY-SA")


@pytest.mark.parametrize("name", ["cc-by-sa-4.0", "CC  BY–SA 4.0 ", "Cc by sa 4.0"])
def test_spaces_hyphens_and_case_make_no_other_licence(desk: Desk, name: str) -> None:
    desk.set(licence=name)
    assert licences.others(desk.campaign, [("p-1", "v")], QUIET) == {}


def test_a_consent_without_a_licence_is_not_compared(desk: Desk) -> None:
    path = desk.rounds / "v" / "texts.json"
    texts = read(path)
    texts["consent"]["lines"] = ["You take part."]
    path.write_text(json.dumps(texts), "utf-8")
    with pytest.warns(UserWarning, match="round v: the consent text does not name the licence"):
        assert licences.others(desk.campaign, [("p-1", "v")], QUIET) == {}
    path.write_text("[1]", "utf-8")
    with fails("not the texts of a round"):
        licences.agreed(desk.campaign, [])


# --- a renamed term -------------------------------------------------------------------------------


def test_a_rename_is_said_before_the_build_and_a_release_knows_it(desk: Desk) -> None:
    (desk.root / "1-terms/edits.csv").write_text(
        "domain,term,action,into\nprofession,baker,rename,bread artist\n", "utf-8"
    )
    done = desk.run("terms", "select")
    assert "items of 'bread artist' that use an old name or a second spelling: 2" in done.err
    assert "take the rename back" in done.err
    desk.set(version="0.2.0")
    assert "only by an old name or another spelling: 2;" in desk.build().err
    (warning,) = desk.say("status")["warnings"]
    assert "2 (target_renamed). Before a release: take the rename back" in warning
    gold = [word for name in ("dev", "test") for word in ("--gold", desk.second / f"{name}.json")]
    for source in (["-c", desk.root], gold):
        found = json.loads(desk.forked("measures", "pitfalls", *source, "--json").out)
        counts = {row["code"]: row["count"] for row in found["table"] if row["count"]}
        assert counts["target_renamed"] == 2
        assert "target_missing" not in counts


def test_a_release_is_measured_with_the_settings_it_was_built_with(desk: Desk) -> None:
    desk.set(blank_alone=False, language="en-GB", version="0.2.0")
    desk.build()
    path = desk.second / "test.json"
    assert read(path)["curation"] == {
        "language": "en-GB",
        "blank_alone": False,
        "name_target": True,
        "names": {},
    }
    found = json.loads(desk.forked("measures", "pitfalls", "--gold", path, "--json").out)
    (row,) = [row for row in found["table"] if row["code"] == "blank_glued"]
    assert (found["language"], row["why"]) == ("en-GB", "blank_alone = false in test.json")
