"""A built version is never rewritten; who is lost, is named with the versions that hold them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import open_campaign
from curation.files import CurationError, read_json
from curation.steps.rounds import licences
from curation.steps.step import QUIET
from support.desk import Desk
from support.labelled import answer, set_to, shas
from support.strike import half_written

VERSION = Path("7-release/0.1.0")


@pytest.fixture(scope="module")
def whole(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small campaign with rounds that were opened here, and its release."""
    root = tmp_path_factory.mktemp("whole") / "c"
    desk = Desk.make(forked, root, ["baker", "potter", "fiddler"], items=2, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    answer(desk, desk.export("v"))
    assert desk.run("release", "build").code == 0
    return root


@pytest.fixture
def desk(forked: Any, whole: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(whole, tmp_path / "c")))


# --- never rewritten ------------------------------------------------------------------------------


def test_a_version_whose_content_would_change_is_an_error_and_stays(desk: Desk) -> None:
    before = shas(desk.root / VERSION)
    set_to(desk, 'name = "My benchmark"', 'name = "Other"')
    said = desk.refused("release", "build")
    assert "7-release/0.1.0 is built already, and its content would change: " in said
    assert "raise version in [release] and build again; or, if nobody has this version" in said
    assert shas(desk.root / VERSION) == before
    state = desk.say("status")
    assert [s["state"] for s in state["steps"] if s["step"] == "release"] == ["of older data"]
    (warning,) = state["warnings"]
    assert "7-release/0.1.0 is as of older data or settings; raise version" in warning
    assert state["next"] != "curation run"
    # The next version stands beside it, and going back is an error again.
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.run("release", "build").code == 0
    readme = (desk.root / "7-release/0.2.0/README.md").read_text("utf-8")
    assert "\n# Other 0.2.0\n" in f"\n{readme}"
    set_to(desk, 'version = "0.2.0"', 'version = "0.1.0"')
    assert "is built already" in desk.refused("release", "build")
    set_to(desk, 'name = "Other"', 'name = "My benchmark"')
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before


def test_what_was_edited_by_hand_is_not_overwritten(desk: Desk) -> None:
    before = shas(desk.root / VERSION)
    path = desk.root / VERSION / "test.json"
    path.write_bytes(path.read_bytes() + b"\n")
    said = desk.refused("release", "build")
    assert "7-release/0.1.0: changed after it was built: test.json" in said
    assert path.read_bytes().endswith(b"\n\n")
    path.unlink()
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before


@pytest.mark.parametrize("gone", ["the manifest", "most files", "a killed build"])
def test_what_is_missing_of_a_version_is_written_again(desk: Desk, gone: str) -> None:
    before = shas(desk.root / VERSION)
    if gone == "the manifest":
        (desk.root / "7-release/manifest.json").unlink()
    elif gone == "most files":
        for name in ("SHA256SUMS", "test.json", "dev.json"):
            (desk.root / VERSION / name).unlink()
    else:  # killed before the folder got its name
        left = half_written(desk.root / VERSION)
        shutil.move(desk.root / VERSION, left)
        (left / "test.json").unlink()
        (desk.root / "7-release/manifest.json").unlink()
    assert desk.run("release", "build").code == 0
    assert shas(desk.root / VERSION) == before
    assert list(desk.root.rglob(".*.tmp")) == []


def test_a_file_that_is_missing_is_not_written_with_other_content(desk: Desk) -> None:
    (desk.root / VERSION / "README.md").unlink()
    (desk.root / VERSION / "SHA256SUMS").unlink()
    set_to(desk, 'name = "My benchmark"', 'name = "Other"')
    said = desk.refused("release", "build")
    assert "is built already, and its content would change: " in said
    assert not (desk.root / VERSION / "README.md").exists()


@pytest.mark.parametrize("link", ["7-release", "7-release/0.1.0", "7-release/0.1.0/test.json"])
@pytest.mark.parametrize("there", [True, False])
def test_a_release_is_never_written_through_a_link(desk: Desk, link: str, there: bool) -> None:
    place, other = desk.root / link, desk.root.parent / "other"
    shutil.move(place, other)
    before = shas(other) if other.is_dir() else other.read_bytes()
    if not there:
        other.rename(other.with_name("away"))
    place.symlink_to(other)
    set_to(desk, 'name = "My benchmark"', 'name = "Other"')
    said = desk.refused("release", "build")
    assert f"{place}: is a link, and nothing is written through links" in said
    now = other if there else other.with_name("away")
    assert (shas(now) if now.is_dir() else now.read_bytes()) == before
    assert desk.run("status").code == 0


# --- what is lost ---------------------------------------------------------------------------------


def test_an_exclusion_names_the_version_and_leaves_it(desk: Desk) -> None:
    before = shas(desk.root / "7-release")
    done = desk.run("rounds", "exclude", "ben", "--reason", "copied")
    assert "7-release/0.1.0 still holds what is lost (3 CATs): raise version" in done.err
    assert shas(desk.root / "7-release") == before
    assert desk.say("rounds", "exclude", "ben", "--undo")["released_in"] == []
    said = desk.say("rounds", "exclude", "val-0", "--reason", "asleep")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])
    assert shas(desk.root / "7-release") == before


def test_every_version_is_named_also_when_it_is_decided_again(desk: Desk) -> None:
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.run("release", "build").code == 0
    both = ["0.1.0", "0.2.0"]
    assert desk.say("rounds", "exclude", "ben", "--reason", "copied")["released_in"] == both
    set_to(desk, 'version = "0.2.0"', 'version = "0.3.0"')
    assert desk.run("release", "build").code == 0
    # The campaign has forgotten the items by now, and 0.3.0 is without them.
    said = desk.say("rounds", "withdraw", "ben", "--erase")
    assert (said["released_in"], said["releases_deleted"]) == (both, [])
    assert said["releases_to_delete"] == both
    shutil.rmtree(desk.root / VERSION)
    said = desk.say("rounds", "withdraw", "ben", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.2.0"], ["0.2.0"])
    assert [p.name for p in (desk.root / "7-release").iterdir() if p.is_dir()] == ["0.3.0"]
    # What was published under that version must not come to mean something else.
    set_to(desk, 'version = "0.3.0"', 'version = "0.2.0"')
    assert "version 0.2.0 was deleted because a person" in desk.refused("release", "build")
    assert desk.say("status")["next"] != "curation run"


def test_versions_are_deleted_only_with_an_erasure(desk: Desk) -> None:
    assert "--releases needs --erase" in desk.refused("rounds", "withdraw", "ben", "--releases")
    other = desk.root.parent / "other"
    shutil.move(desk.root / VERSION, other)
    (desk.root / VERSION).symlink_to(other)
    said = desk.say("rounds", "withdraw", "val-0", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])  # only a link
    assert (other / "test.json").exists()


# --- licences -------------------------------------------------------------------------------------

LICENCE = 'licence = "CC BY-SA 4.0"'


def test_a_licence_that_nobody_agreed_to_blocks_until_it_is_accepted(desk: Desk) -> None:
    set_to(desk, LICENCE, 'licence = "CC0 1.0"')
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    said = " ".join(desk.refused("release", "build").split())
    # Six validators and two writers.
    assert (
        "licence_differs: the licence of the release is 'CC0 1.0', but annotators agreed to "
        "'CC BY-SA 4.0' (8 people, rounds v, w)" in said
    )
    set_to(desk, "accept = []", 'accept = ["licence_differs"]')
    assert desk.run("release", "build").code == 0
    text = (desk.root / "7-release/0.2.0/README.md").read_text("utf-8")
    assert "Licence of the data: " in text
    assert "CC0 1.0" in text
    assert "Annotators who agreed to another licence, CC BY-SA 4.0: 8.\n" in text
    facts = read_json(desk.root / "7-release/0.2.0/release.json")
    assert (facts["licence"]["spdx"], facts["other_licences"]) == ("CC0-1.0", {"CC BY-SA 4.0": 8})


def test_each_licence_is_named_with_its_rounds(desk: Desk) -> None:
    for path in (desk.rounds / "v").glob("texts.json"):  # as if v had been opened under CC0
        texts = read_json(path)
        lines = json.dumps(texts).replace("CC BY-SA 4.0", "CC0")
        path.write_text(lines, "utf-8")
    people = desk.rounds / "people.jsonl"
    people.write_text(people.read_text("utf-8").replace('"consent":"', '"consent":"of-paper-'))
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    campaign = open_campaign(desk.root)
    answered = [("p-1", "v"), ("p-2", "v"), ("p-3", "w"), ("published", "main")]
    found = licences.agreed(campaign, answered)
    assert [(one.licence, len(one.people), one.rounds) for one in found] == [
        ("CC0", 2, {"v"}),
        ("CC BY-SA 4.0", 1, {"w"}),
    ]


def test_another_licence_is_said_before_people_agree_to_it(desk: Desk) -> None:
    path = desk.rounds / "text.toml"
    path.write_text(path.read_text("utf-8") + 'licence = "CC0"\n', "utf-8")
    done = desk.run("rounds", "open", "intrasentence", "--name", "w2", "--platform", "files")
    assert done.code == 0, done.err
    said = " ".join(done.err.split())
    assert "the texts for annotators name the licence 'CC0', and [release] names 'CC BY-SA" in said


@pytest.mark.parametrize("name", ["cc-by-sa-4.0", "CC  BY–SA 4.0 ", "Cc by sa 4.0"])
def test_spaces_hyphens_and_case_make_no_other_licence(desk: Desk, name: str) -> None:
    set_to(desk, LICENCE, f'licence = "{name}"')
    assert licences.others(open_campaign(desk.root), [("p-1", "v")], QUIET) == {}


def test_a_consent_without_a_licence_is_not_compared(desk: Desk) -> None:
    path = desk.rounds / "v" / "texts.json"
    texts = read_json(path)
    texts["consent"]["lines"] = ["You take part."]
    path.write_text(json.dumps(texts), "utf-8")
    campaign = open_campaign(desk.root)
    with pytest.warns(UserWarning, match="round v: the consent text does not name the licence"):
        assert licences.others(campaign, [("p-1", "v")], QUIET) == {}
    path.write_text("[1]", "utf-8")
    with pytest.raises(CurationError, match="not the texts of a round"):
        licences.agreed(campaign, [])


# --- a renamed term -------------------------------------------------------------------------------


def test_a_rename_is_said_before_the_build_and_a_release_knows_it(desk: Desk) -> None:
    (desk.root / "1-terms/edits.csv").write_text(
        "domain,term,action,into\nprofession,baker,rename,bread artist\n", "utf-8"
    )
    done = desk.run("terms", "select")
    assert "items of 'bread artist' that use an old name or a second spelling: 2" in done.err
    assert "take the rename back" in done.err
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    done = desk.run("release", "build")
    assert done.code == 0
    assert "only by an old name or another spelling: 2;" in done.err
    (warning,) = desk.say("status")["warnings"]
    assert "2 (target_renamed). Before a release: take the rename back" in warning
    files = [desk.root / "7-release/0.2.0" / f"{name}.json" for name in ("dev", "test")]
    gold = [word for file in files for word in ("--gold", file)]
    for source in (["-c", desk.root], gold):
        found = json.loads(desk.forked("measures", "pitfalls", *source, "--json").out)
        counts = {row["code"]: row["count"] for row in found["table"] if row["count"]}
        assert counts["target_renamed"] == 2
        assert "target_missing" not in counts


def test_a_release_is_measured_with_the_settings_it_was_built_with(desk: Desk) -> None:
    set_to(desk, "blank_alone = true", "blank_alone = false")
    set_to(desk, 'language = "en"', 'language = "en-GB"')
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.run("release", "build").code == 0
    path = desk.root / "7-release/0.2.0/test.json"
    assert read_json(path)["curation"] == {
        "language": "en-GB",
        "blank_alone": False,
        "name_target": True,
        "names": {},
    }
    found = json.loads(desk.forked("measures", "pitfalls", "--gold", path, "--json").out)
    (row,) = [row for row in found["table"] if row["code"] == "blank_glued"]
    assert (found["language"], row["why"]) == ("en-GB", "blank_alone = false in test.json")
