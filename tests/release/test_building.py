"""Building a release: clear errors before anything is written, and always the same bytes."""

import json
import shutil
from pathlib import Path
from typing import Any
from unittest import mock

import pandas as pd
import pytest

from curation.campaign.versions import BUILT
from curation.pipeline import bring_up_to_date
from curation.records import Cat
from curation.release import quality, statement, versions
from curation.release.steps import build_release
from curation.rounds.platforms.texts import agreed, other_licences
from curation.scores.flags import FLAGS
from curation.scores.runs import Run, find_runs
from curation.work.reporter import QUIET
from support.chosen import choice_run
from support.expected import fails, has
from support.heard import Heard
from support.labelled import Desk
from support.scored import put
from support.strike import half_written
from support.written import files, lines, read, shas


@pytest.fixture
def desk(decided: Desk, tmp_path: Path) -> Desk:
    return decided.copy(tmp_path / "c")


@pytest.fixture
def built(released: Desk, tmp_path: Path) -> Desk:
    return released.copy(tmp_path / "c")


def test_the_command_says_what_it_wrote_and_what_is_next(built: Desk) -> None:
    done = built.build()
    assert "6 CATs, 90 annotations in" in done.out  # six items, five people, three associations
    listed = done.out.split("files: ")[1].split("\n")[0].split(", ")
    assert {"LICENSE", "README.md", "SHA256SUMS", "annotations.csv", "cats/"} <= set(listed)
    then = done.out.split("next: ")[1]
    parts = ("scores models", "release statement", "delete", "release build", "release check")
    assert [part for part in parts if part in then] == list(parts)
    said = built.say("release", "build")
    assert (said["cats"], said["annotations"], said["models"]) == (6, 90, 0)
    assert set(said["files"]) == set(shas(built.first))
    assert "cats/intersentence-dev.jsonl" not in said["files"]  # there are no such CATs


def test_a_release_of_one_kind_says_nothing_of_the_other(released: Desk) -> None:
    facts = released.facts()
    rows = [row for baseline in facts["baselines"] for row in baseline["rows"]]
    for each in (facts["sizes"], facts["lengths"], rows):
        assert {row["kind"] for row in each} == {"intrasentence"}
    assert facts["scores"] == []
    assert facts["people"] == {"intrasentence": 2, "validation": 6}
    # Three terms: one in dev (a quarter of 3 is 0.75).
    assert {(t["split"], t["terms"]) for t in facts["terms"]} == {("dev", 1), ("test", 2)}


def test_a_build_that_is_killed_after_its_first_line_is_repeated(desk: Desk) -> None:
    campaign = desk.campaign
    line = versions.first_build(campaign)
    versions.record_build(campaign, line)
    versions.record_build(campaign, line)
    path = desk.releases / "built.jsonl"
    assert path.read_bytes().count(b"\n") == 1
    path.write_bytes(path.read_bytes() + b'{"version":"0.2.0","da')  # killed while it was written
    killed = mock.patch.object(versions, "check_unchanged", side_effect=KeyboardInterrupt)
    with killed, pytest.raises(KeyboardInterrupt), campaign.lock():
        build_release(campaign, reporter=Heard())
    assert not desk.first.exists()
    assert not list(desk.releases.glob(".*"))
    desk.build()
    facts = desk.facts()
    assert (facts["canary"], facts["date"]) == (line.canary, line.date)
    assert [first.version for first in campaign[BUILT]] == ["0.1.0"]


def test_questions_without_an_answer_do_not_make_a_release_old(built: Desk) -> None:
    built.done("release", "statement")
    assert "older data" not in built.run("status").err
    path = built.releases / "statement.toml"
    path.write_text(path.read_text("utf-8").replace('doi = ""', 'doi = "10.1234/a"'), "utf-8")
    assert "older data" in built.run("status").err


def test_a_damaged_line_of_built_is_an_error(desk: Desk) -> None:
    path = desk.releases / "built.jsonl"
    path.parent.mkdir()
    path.write_text('{"version":"0.1.0","date":"yesterday"}\n', "utf-8")
    desk.not_built(f"{path} line 1")
    assert not desk.first.exists()


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("licence", " ", "[release] licence is empty"),
        ("version", "a b", "'a b' is not valid fix: use letters, digits"),
        ("version", "0.1.0-anonymous", "'0.1.0-anonymous' must not end in -anonymous or -revealed"),
        ("version", "1-revealed", "'1-revealed' must not end in -anonymous or -revealed"),
        ("accept", ["domain_in_one"], "did you mean 'domain_in_one_split'?"),
        ("dev", 0.01, "domain_in_one_split: 'profession' has no CAT in dev (3 ter"),
    ],
)
def test_settings_that_stop_a_build(desk: Desk, name: str, value: Any, says: str) -> None:
    desk.set(**{name: value})
    desk.not_built(says)
    assert not list(desk.releases.glob("*"))


def test_without_pyarrow_nothing_is_written_and_run_goes_on(desk: Desk) -> None:
    campaign, reporter = desk.campaign, Heard()
    missing = {"pyarrow": None, "pyarrow.parquet": None}
    stored = pd.option_context("mode.string_storage", "python")  # as pandas does without pyarrow
    with mock.patch.dict("sys.modules", missing), campaign.lock(), stored:
        with fails("need pyarrow", fix="pip install 'curation[parquet]'"):
            build_release(campaign, reporter=reporter)
        bring_up_to_date(campaign, reporter=reporter)
    assert "pip install 'curation[parquet]'" in reporter.warnings[-1]
    assert not desk.releases.exists()


def test_an_anonymous_version_does_not_name_who_planned_a_round(desk: Desk) -> None:
    texts = desk.rounds / "text.toml"
    texts.write_text(texts.read_text("utf-8").replace("the Academy", "Another Place"), "utf-8")
    assert {"the Academy", "Another Place"} <= set(
        statement.secrets(desk.campaign, statement.read_statement(desk.campaign))
    )


def test_an_anonymous_version_has_a_folder_and_a_canary_of_its_own(desk: Desk) -> None:
    texts = desk.rounds / "text.toml"  # its words are looked for in the files
    texts.write_text(texts.read_text("utf-8").replace("none needed", "zq-77"), "utf-8")
    desk.build()
    before = shas(desk.first)
    desk.build("--anonymous")
    facts, other = desk.facts(), desk.facts("0.1.0-anonymous")
    assert (other["version"], other["anonymous"]) == ("0.1.0", True)
    assert other["canary"] != facts["canary"]
    assert shas(desk.first) == before
    built = {line.version: line.anonymous for line in desk.campaign[BUILT]}
    assert built == {"0.1.0": False, "0.1.0-anonymous": True}
    state = {step["step"]: step["state"] for step in desk.say("status")["steps"]}
    assert state["release"] == "up to date"
    assert "anonymous" not in state
    folder = desk.releases / "0.1.0-anonymous"
    again = shas(folder)
    (folder / "terms.jsonl").unlink()
    desk.build("--anonymous")
    assert shas(folder) == again


def test_a_persons_labels_are_found_in_every_built_version(built: Desk) -> None:
    campaign, (cat, *_) = built.campaign, built.cats()
    person = lines(built.rounds / "v/labels.jsonl")[0]["annotator"]
    held = versions.holding(campaign, [cat.id, "no such"], person)
    assert held["0.1.0"].cats == 1
    assert held["0.1.0"].labels == 15  # five of the six items, three labels each
    for name in ("dev.json", "test.json"):
        (built.first / name).unlink()
    shutil.rmtree(built.first / "cats")
    assert versions.holding(campaign, [cat.id], person) == held


# --- model runs ---------------------------------------------------------------------------------


def put_run(desk: Desk, model: str, *, leave_out: int = 0, **about: Any) -> None:
    """Write a run whose scores are the negative lengths of the sentences."""
    rules = {"intrasentence": "ll"}
    put(
        desk.root / "5-scores", model, "ll", lambda cat, gold: -len(sentence(cat, gold)),
        desk.cats()[leave_out:], **{"rules": rules, **about},
    )  # fmt: skip


def runs(desk: Desk) -> list[Run]:
    return find_runs(desk.campaign.folder("scores"))


def sentence(cat: Cat, gold: str) -> str:
    return next(a.sentence for a in cat.associations if a.gold == gold)


def test_runs_that_are_not_complete_are_left_out_with_a_warning(desk: Desk) -> None:
    put_run(desk, "whole")
    put_run(desk, "half", leave_out=1)
    reporter = Heard()
    rows = quality.score_facts(runs(desk), desk.cats(), reporter)
    assert {(row.model, row.split, row.kind) for row in rows} == {
        ("whole", split, "intrasentence") for split in ("dev", "test")
    }
    assert sum(row.cats for row in rows) == 6
    (warning,) = reporter.warnings
    assert warning.startswith("half/ll is left out of the release: it has no scores of 1 of 6 CATs")
    assert "curation scores models half" in warning


def test_an_ensemble_is_left_out_of_the_split_that_it_was_fitted_on(desk: Desk) -> None:
    put_run(desk, "both", dev_cats=[cat.id for cat in desk.cats("dev")])
    reporter = Heard()
    rows = quality.score_facts(runs(desk), desk.cats(), reporter)
    assert {row.split for row in rows} == {"test"}
    assert reporter.warnings[0].startswith("both/ll was fitted on dev")


def test_a_head_of_another_training_is_said_in_the_rows(desk: Desk) -> None:
    (first, *others) = desk.cats()
    cats = [first.model_copy(update={"kind": "intersentence"}), *others]
    for model, seed in (("a", 1), ("b", 1), ("c", 2)):
        rules = {"intrasentence": "ll", "intersentence": "nsp"}
        put_run(desk, model, rules=rules, head_training={"seed": seed})
    rows = quality.score_facts(runs(desk), cats, Heard())
    assert {row.model for row in rows if FLAGS["other_head"] in row.flags} == {"c"}


def test_a_model_that_is_scored_after_the_build_needs_a_new_version(built: Desk) -> None:
    put_run(built, "whole")
    built.not_built("7-release/0.1.0 is built already, and its content would change: ")
    assert "release       left as is" in built.done("run").out
    built.set(version="0.2.0")
    assert built.say("release", "build")["models"] == 1
    # No run is under the rule «choice».
    assert "`choice`" not in built.card("0.2.0")


def test_chat_models_are_in_the_release_under_their_own_rule(desk: Desk) -> None:
    cats, scores = desk.cats(), desk.root / "5-scores"
    put_run(desk, "whole")
    choice_run(scores, "talker", lambda _: [0.5, 0.5, 0.5], cats)  # always split: flagged
    choice_run(scores, "refuses", lambda _: [None] * 3, cats)
    done = desk.build()
    assert "refuses/choice: left out: has no results, because 18 of 18 questions" in done.err
    facts, card = desk.facts(), desk.card()
    found = {(row["model"], row["rules"]) for row in facts["scores"]}
    assert found == {("talker", "choice"), ("whole", "ll")}
    own = [row for row in facts["scores"] if row["model"] == "talker"]
    assert {(row["lms"], row["ss"], *row["flags"]) for row in own} == {(50.0, 50.0, FLAGS["ties"])}
    assert "Models under the rule `choice` are chat models." in card
    assert "Such a stated choice is not a likelihood" in card
    assert f"- talker (choice): {FLAGS['ties']}" in card
    why = "refuses (choice) has no results, because 18 of 18 questions have no answer"
    assert facts["unscored"] == [f"{why} (answer_refused 18)"]
    assert f"and have no score:\n\n- {why}" in card
    assert desk.run("release", "check", desk.first).code == 0


def test_a_chat_model_that_lacks_cats_is_left_out_with_its_command(desk: Desk) -> None:
    cats, reporter = desk.cats(), Heard()
    choice_run(desk.root / "5-scores", "talker", lambda _: [1, 1, 1], cats[1:])
    assert quality.score_facts(runs(desk), cats, reporter) == ()
    (warning,) = reporter.warnings
    assert warning.endswith("score it again: curation scores models chat:talker --endpoint URL")


# --- a built version is never rewritten -----------------------------------------------------------


def test_a_version_whose_content_would_change_is_an_error_and_stays(built: Desk) -> None:
    before = shas(built.first)
    built.set(name="Other")
    built.not_built(
        "7-release/0.1.0 is built already, and its content would change: ",
        "raise version in [release] and build again; or, if nobody has this version",
    )
    assert shas(built.first) == before
    state = built.say("status")
    assert [s["state"] for s in state["steps"] if s["step"] == "release"] == ["of older data"]
    (warning,) = state["warnings"]
    assert "7-release/0.1.0 is as of older data or settings; raise version" in warning
    assert state["next"] != "curation run"
    # The next version stands beside it, and going back is an error again.
    built.set(version="0.2.0")
    built.build()
    assert "\n# Other 0.2.0\n" in built.card("0.2.0")
    built.set(version="0.1.0")
    built.not_built("is built already")
    built.set(name="My benchmark")
    built.build()
    assert shas(built.first) == before


def test_what_was_edited_by_hand_is_not_overwritten(built: Desk) -> None:
    before = shas(built.first)
    path = built.first / "test.json"
    path.write_bytes(path.read_bytes() + b"\n")
    built.not_built("7-release/0.1.0: changed after it was built: test.json")
    assert path.read_bytes().endswith(b"\n\n")
    path.unlink()
    built.build()
    assert shas(built.first) == before


GONE = {
    "the manifest": ("manifest.json",),
    "most files": ("0.1.0/SHA256SUMS", "0.1.0/test.json", "0.1.0/dev.json"),
    "its line of built.jsonl": ("built.jsonl", "0.1.0/test.json"),
    "everything": ("0.1.0", "manifest.json"),
    "a killed build": ("0.1.0/test.json", "manifest.json"),  # before the folder got its name
}


@pytest.mark.parametrize("gone", GONE)
def test_what_is_missing_of_a_version_is_written_again(built: Desk, gone: str) -> None:
    before = shas(built.releases)
    for name in GONE[gone]:
        path = built.releases / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    if gone == "a killed build":
        shutil.move(built.first, half_written(built.first))
    built.build()
    after = shas(built.releases)
    assert after.pop("manifest.json") != before.pop("manifest.json")  # it has the time
    assert after == before
    assert list(built.root.rglob(".*.tmp")) == []


def test_a_file_that_is_missing_is_not_written_with_other_content(built: Desk) -> None:
    (built.first / "README.md").unlink()
    (built.first / "SHA256SUMS").unlink()
    built.set(name="Other")
    built.not_built("is built already, and its content would change: ")
    assert not (built.first / "README.md").exists()


@pytest.mark.parametrize("link", ["7-release", "7-release/0.1.0", "7-release/0.1.0/test.json"])
def test_a_release_is_never_written_through_a_link(built: Desk, link: str) -> None:
    place, other = built.root / link, built.root.parent / "other"
    shutil.move(place, other)
    place.symlink_to(other)
    before = files(built.root.parent)
    built.set(name="Other")
    built.not_built(f"{place}: is a link, and nothing is written through links")
    changed = {name for name, data in files(built.root.parent).items() if before[name] != data}
    assert changed == {"c/campaign.toml"}
    built.done("status")


# --- what is lost ---------------------------------------------------------------------------------


def test_an_exclusion_names_the_version_and_leaves_it(built: Desk) -> None:
    before = shas(built.releases)
    done = built.run("rounds", "exclude", "ben", "--reason", "copied")
    assert "7-release/0.1.0 still holds what is lost (3 CATs): raise version" in done.err
    assert shas(built.releases) == before
    assert built.say("rounds", "exclude", "ben", "--undo")["released_in"] == []
    said = built.say("rounds", "exclude", "val-0", "--reason", "asleep")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])
    assert shas(built.releases) == before


def test_every_version_is_named_also_when_it_is_decided_again(built: Desk) -> None:
    built.set(version="0.2.0")
    built.build()
    both = ["0.1.0", "0.2.0"]
    assert built.say("rounds", "exclude", "ben", "--reason", "copied")["released_in"] == both
    built.set(version="0.3.0")
    built.build()
    # The campaign has forgotten the items by now, and 0.3.0 is without them.
    said = built.say("rounds", "withdraw", "--yes", "ben", "--erase")
    assert (said["released_in"], said["releases_deleted"]) == (both, [])
    assert said["releases_to_delete"] == both
    shutil.rmtree(built.first)
    said = built.say("rounds", "withdraw", "--yes", "ben", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.2.0"], ["0.2.0"])
    assert [p.name for p in built.releases.iterdir() if p.is_dir()] == ["0.3.0"]
    # What was published under that version must not come to mean something else.
    built.set(version="0.2.0")
    built.not_built("version 0.2.0 was deleted because a person")
    assert built.say("status")["next"] != "curation run"


def test_versions_are_deleted_only_with_an_erasure(built: Desk) -> None:
    assert "--releases needs --erase" in built.refused(
        "rounds", "withdraw", "--yes", "ben", "--releases"
    )
    other = built.root.parent / "other"
    shutil.move(built.first, other)
    built.first.symlink_to(other)
    said = built.say("rounds", "withdraw", "--yes", "val-0", "--erase", "--releases")
    assert (said["released_in"], said["releases_deleted"]) == (["0.1.0"], [])  # only a link
    assert (other / "test.json").exists()


# --- licences -------------------------------------------------------------------------------------


def test_a_licence_that_nobody_agreed_to_blocks_until_it_is_accepted(built: Desk) -> None:
    built.set(licence="CC0 1.0", version="0.2.0")
    # Six validators and two writers.
    built.not_built(
        "licence_differs: the licence of the release is 'CC0 1.0', but annotators agreed to "
        "'CC BY-SA 4.0' (8 people, rounds v, w)"
    )
    built.set(accept=["licence_differs"])
    built.build()
    card = built.card("0.2.0")
    assert "Licence of the data: " in card
    assert "CC0 1.0" in card
    assert "Annotators who agreed to another licence, CC BY-SA 4.0: 8.\n" in card
    facts = built.facts("0.2.0")
    assert (facts["licence"]["spdx"], facts["other_licences"]) == ("CC0-1.0", {"CC BY-SA 4.0": 8})


def test_each_licence_is_named_with_its_rounds(built: Desk) -> None:
    # As if v had been opened under CC0.
    texts, people = built.rounds / "v/texts.json", built.rounds / "people.jsonl"
    texts.write_text(texts.read_text("utf-8").replace("CC BY-SA 4.0", "CC0"), "utf-8")
    people.write_text(people.read_text("utf-8").replace('"consent":"', '"consent":"of-paper-'))
    built.set(version="0.2.0")
    answered = [("p-1", "v"), ("p-2", "v"), ("p-3", "w"), ("published", "main")]
    found = agreed(built.campaign, answered)
    found = [(one.licence, len(one.people), one.rounds) for one in found]
    assert found == [("CC0", 2, {"v"}), ("CC BY-SA 4.0", 1, {"w"})]


def test_another_licence_is_said_before_people_agree_to_it(built: Desk) -> None:
    path = built.rounds / "text.toml"
    path.write_text(path.read_text("utf-8") + 'licence = "CC0"\n', "utf-8")
    done = built.done("rounds", "open", "intrasentence", "--name", "w2", "--platform", "files")
    has(done.err, "the texts for annotators name the licence 'CC0', and [release] names 'CC BY-SA")


@pytest.mark.parametrize("name", ["cc-by-sa-4.0", "CC  BY–SA 4.0 ", "Cc by sa 4.0"])
def test_spaces_hyphens_and_case_make_no_other_licence(built: Desk, name: str) -> None:
    built.set(licence=name)
    assert other_licences(built.campaign, [("p-1", "v")], QUIET) == {}


def test_a_consent_without_a_licence_is_not_compared(built: Desk) -> None:
    path = built.rounds / "v" / "texts.json"
    texts = read(path)
    texts["consent"]["lines"] = ["You take part."]
    path.write_text(json.dumps(texts), "utf-8")
    with pytest.warns(UserWarning, match="round v: the consent text does not name the licence"):
        assert other_licences(built.campaign, [("p-1", "v")], QUIET) == {}
    path.write_text("[1]", "utf-8")
    with fails("texts.json: not a JSON object"):
        agreed(built.campaign, [])


# --- a renamed term -------------------------------------------------------------------------------


def test_a_rename_is_said_before_the_build_and_a_release_knows_it(built: Desk) -> None:
    (built.root / "1-terms/edits.csv").write_text(
        "domain,term,action,into\nprofession,baker,rename,bread artist\n", "utf-8"
    )
    done = built.run("terms", "select")
    assert "items of 'bread artist' that use an old name or a second spelling: 2" in done.err
    assert "take the rename back" in done.err
    built.set(version="0.2.0")
    assert "only by an old name or another spelling: 2;" in built.build().err
    kept, warning = built.say("status")["warnings"]
    assert "another spelling: 2; «curation measures pitfalls" in kept  # what the step warned of
    assert "2 (target_renamed). Before a release: take the rename back" in warning
    gold = [word for name in ("dev", "test") for word in ("--gold", built.second / f"{name}.json")]
    for source in (["-c", built.root], gold):
        found = json.loads(built.forked("measures", "pitfalls", *source, "--json").out)
        counts = {row["code"]: row["count"] for row in found["table"] if row["count"]}
        assert counts["target_renamed"] == 2
        assert "target_missing" not in counts


def test_a_release_is_measured_with_the_settings_it_was_built_with(built: Desk) -> None:
    built.set(blank_alone=False, language="en-GB", version="0.2.0")
    built.build()
    path = built.second / "test.json"
    settings = {"language": "en-GB", "blank_alone": False, "name_target": True, "names": {}}
    assert read(path)["curation"] == settings
    found = json.loads(built.forked("measures", "pitfalls", "--gold", path, "--json").out)
    (row,) = [row for row in found["table"] if row["code"] == "blank_glued"]
    assert (found["language"], row["why"]) == ("en-GB", "blank_alone = false in test.json")
