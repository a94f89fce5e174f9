"""Building a release: the same bytes again, clear errors before anything is written."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from curation.campaign import open_campaign
from curation.files import CurationError
from curation.scores.flags import FLAGS
from curation.steps.pipeline import bring_up_to_date
from curation.steps.release import scored, statement, versions
from curation.steps.release.build import build_release
from curation.steps.source import campaign_source
from curation.steps.step import QUIET, Quiet
from support.chosen import choice_run
from support.desk import Desk
from support.labelled import answer, set_to, shas

FOLDER = Path("7-release/0.1.0")


class Warned(Quiet):
    """Keeps warnings."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture(scope="module")
def decided(forked: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small campaign of one kind, with everything that a release reads."""
    root = tmp_path_factory.mktemp("decided") / "c"
    desk = Desk.make(forked, root, ["baker", "potter", "fiddler"], items=2, near=1.0)
    desk.open("intrasentence", "w")
    desk.written("w", ["ann", "ben"])
    desk.open("validation", "v")
    answer(desk, desk.export("v"))
    campaign = open_campaign(root)
    with campaign.lock():
        steps = ("agreement", "statistics", "sentiment", "keywords", "pitfalls")
        bring_up_to_date(campaign, *steps, reporter=Warned())
    return root


@pytest.fixture
def desk(forked: Any, decided: Path, tmp_path: Path) -> Desk:
    return Desk(forked, Path(shutil.copytree(decided, tmp_path / "c")))


def facts_of(desk: Desk, version: str = "0.1.0") -> dict[str, Any]:
    return dict(json.loads((desk.root / "7-release" / version / "release.json").read_bytes()))


def test_the_command_says_what_it_wrote_and_what_is_next(desk: Desk) -> None:
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    assert "6 CATs, 90 annotations in" in done.out  # six items, five people, three associations
    listed = done.out.split("files: ")[1].split("\n")[0].split(", ")
    assert {"LICENSE", "README.md", "SHA256SUMS", "annotations.csv", "cats/"} <= set(listed)
    then = done.out.split("next: ")[1]
    parts = ("scores models", "release statement", "delete", "release build", "release check")
    assert [part for part in parts if part in then] == list(parts)
    said = desk.say("release", "build")
    assert (said["cats"], said["annotations"], said["models"]) == (6, 90, 0)
    assert set(said["files"]) == set(shas(desk.root / FOLDER))
    assert "cats/intersentence-dev.jsonl" not in said["files"]  # there are no such CATs


def test_a_release_of_one_kind_says_nothing_of_the_other(desk: Desk) -> None:
    assert desk.run("release", "build").code == 0
    facts = facts_of(desk)
    assert {size["kind"] for size in facts["sizes"]} == {"intrasentence"}
    assert [length["kind"] for length in facts["lengths"]] == ["intrasentence"]
    kinds = {row["kind"] for baseline in facts["baselines"] for row in baseline["rows"]}
    assert kinds == {"intrasentence"}
    assert facts["scores"] == []
    assert facts["people"] == {"intrasentence": 2, "validation": 6}
    # Three terms: one in dev (a quarter of 3 is 0.75).
    assert {(t["split"], t["terms"]) for t in facts["terms"]} == {("dev", 1), ("test", 2)}


def test_a_version_that_is_built_from_scratch_has_the_same_bytes(desk: Desk) -> None:
    assert desk.run("release", "build").code == 0
    before = shas(desk.root / "7-release")
    shutil.rmtree(desk.root / FOLDER)
    (desk.root / "7-release/manifest.json").unlink()
    assert desk.run("release", "build").code == 0
    after = shas(desk.root / "7-release")
    assert after.pop("manifest.json") != before.pop("manifest.json")  # it has the time
    assert after == before


def test_a_lost_line_of_built_is_written_again_from_the_folder(desk: Desk) -> None:
    assert desk.run("release", "build").code == 0
    before = shas(desk.root / "7-release")
    (desk.root / "7-release/built.jsonl").unlink()
    (desk.root / FOLDER / "test.json").unlink()
    assert desk.run("release", "build").code == 0
    after = shas(desk.root / "7-release")
    assert {k: v for k, v in after.items() if k != "manifest.json"} == {
        k: v for k, v in before.items() if k != "manifest.json"
    }


def test_a_build_that_is_killed_after_its_first_line_is_repeated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    campaign = open_campaign(desk.root)
    line = versions.first_build(campaign)
    versions.record_build(campaign, line)
    versions.record_build(campaign, line)
    path = desk.root / "7-release/built.jsonl"
    assert path.read_bytes().count(b"\n") == 1
    path.write_bytes(path.read_bytes() + b'{"version":"0.2.0","da')  # killed while it was written
    with monkeypatch.context() as patch:
        patch.setattr(versions, "check_unchanged", killed)
        with pytest.raises(KeyboardInterrupt), campaign.lock():
            build_release(campaign, reporter=Warned())
    assert not (desk.root / FOLDER).exists()
    assert not list((desk.root / "7-release").glob(".*"))
    assert desk.run("release", "build").code == 0
    facts = facts_of(desk)
    assert (facts["canary"], facts["date"]) == (line.canary, line.date)
    assert [first.version for first in versions.read_first_builds(campaign)] == ["0.1.0"]


def test_questions_without_an_answer_do_not_make_a_release_old(desk: Desk) -> None:
    (desk.root / "7-release/statement.toml").unlink(missing_ok=True)
    assert desk.run("release", "build").code == 0
    assert desk.run("release", "statement").code == 0
    assert "older data" not in desk.run("status").err
    path = desk.root / "7-release/statement.toml"
    path.write_text(path.read_text("utf-8").replace('doi = ""', 'doi = "10.1234/a"'), "utf-8")
    assert "older data" in desk.run("status").err


def test_a_damaged_line_of_built_is_an_error(desk: Desk) -> None:
    path = desk.root / "7-release/built.jsonl"
    path.parent.mkdir()
    path.write_text('{"version":"0.1.0","date":"yesterday"}\n', "utf-8")
    assert f"{path} line 1" in desk.refused("release", "build")
    assert not (desk.root / FOLDER).exists()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('licence = "CC BY-SA 4.0"', 'licence = " "', "[release] licence is empty"),
        ('version = "0.1.0"', 'version = "a b"', "'a b' is not valid fix: use letters, digits"),
        ('version = "0.1.0"', 'version = "0.1.0-anonymous"', "version = '0.1.0-anonymous'"),
        ('version = "0.1.0"', 'version = "1-revealed"', "version = '1-revealed'"),
        ("accept = []", 'accept = ["domain_in_one"]', "did you mean 'domain_in_one_split'?"),
        ("dev = 0.25", "dev = 0.01", "domain_in_one_split: 'profession' has no CAT in dev (3 ter"),
    ],
)
def test_settings_that_stop_a_build(desk: Desk, old: str, new: str, says: str) -> None:
    set_to(desk, old, new)
    assert says in " ".join(desk.refused("release", "build").split())
    assert not list((desk.root / "7-release").glob("*"))


def test_a_domain_in_one_split_can_be_accepted(desk: Desk) -> None:
    set_to(desk, "dev = 0.25", "dev = 0.01")
    set_to(desk, "accept = []", 'accept = ["domain_in_one_split"]')
    assert desk.run("release", "build").code == 0
    assert {size["split"] for size in facts_of(desk)["sizes"]} == {"test"}


def test_without_pyarrow_nothing_is_written_and_run_goes_on(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    campaign, reporter = open_campaign(desk.root), Warned()
    with campaign.lock():
        with pytest.raises(CurationError, match="need pyarrow") as caught:
            build_release(campaign, reporter=reporter)
        assert caught.value.fix == "pip install 'curation[parquet]'"
        bring_up_to_date(campaign, reporter=reporter)
    assert "pip install 'curation[parquet]'" in reporter.warnings[-1]
    assert not (desk.root / "7-release").exists()


def test_an_anonymous_version_does_not_name_who_planned_a_round(desk: Desk) -> None:
    texts = desk.rounds / "text.toml"
    texts.write_text(texts.read_text("utf-8").replace("the Academy", "Another Place"), "utf-8")
    assert {"the Academy", "Another Place"} <= set(statement.secrets(open_campaign(desk.root)))


def test_an_anonymous_version_has_a_folder_and_a_canary_of_its_own(desk: Desk) -> None:
    texts = desk.rounds / "text.toml"  # its words are looked for in the files
    texts.write_text(texts.read_text("utf-8").replace("none needed", "zq-77"), "utf-8")
    assert desk.run("release", "build").code == 0
    before = shas(desk.root / FOLDER)
    done = desk.run("release", "build", "--anonymous")
    assert done.code == 0, done.err
    facts, other = facts_of(desk), facts_of(desk, "0.1.0-anonymous")
    assert (other["version"], other["anonymous"]) == ("0.1.0", True)
    assert other["canary"] != facts["canary"]
    assert shas(desk.root / FOLDER) == before
    built = versions.read_first_builds(open_campaign(desk.root))
    assert [(line.version, line.anonymous) for line in built] == [
        ("0.1.0", False),
        ("0.1.0-anonymous", True),
    ]
    state = {step["step"]: step["state"] for step in desk.say("status")["steps"]}
    assert state["release"] == "up to date"
    assert "anonymous" not in state
    again = shas(desk.root / "7-release/0.1.0-anonymous")
    (desk.root / "7-release/0.1.0-anonymous/terms.jsonl").unlink()
    assert desk.run("release", "build", "--anonymous").code == 0
    assert shas(desk.root / "7-release/0.1.0-anonymous") == again


def test_a_persons_labels_are_found_in_every_built_version(desk: Desk) -> None:
    assert desk.run("release", "build").code == 0
    campaign = open_campaign(desk.root)
    cats = campaign_source(campaign).cats
    person = json.loads((desk.root / "2-rounds/v/labels.jsonl").read_text("utf-8").split("\n")[0])
    held = versions.holding(campaign, [cats[0].id, "no such"], person["annotator"])
    assert held["0.1.0"].cats == 1
    assert held["0.1.0"].labels == 15  # five of the six items, three labels each
    for name in ("dev.json", "test.json"):
        (desk.root / FOLDER / name).unlink()
    shutil.rmtree(desk.root / FOLDER / "cats")
    assert versions.holding(campaign, [cats[0].id], person["annotator"]) == held


# --- model runs ---------------------------------------------------------------------------------


def put_run(desk: Desk, model: str, *, leave_out: int = 0, **about: Any) -> None:
    """Write a run whose scores are the negative lengths of the sentences."""
    folder = desk.root / "5-scores" / model / "ll"
    folder.mkdir(parents=True)
    cats = campaign_source(open_campaign(desk.root)).cats
    ids = [(a.id, -len(a.sentence)) for cat in cats[leave_out:] for a in cat.associations]
    rows = [
        {"model": model, "rule": "ll", "association": id, "value": float(v), "asked": ""}
        for id, v in ids
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "scores.jsonl").write_text(lines, "utf-8")
    about = {"model": model, "family": "causal", "rules": {"intrasentence": "ll"}, **about}
    (folder / "run.json").write_text(json.dumps(about), "utf-8")


def test_runs_that_are_not_complete_are_left_out_with_a_warning(desk: Desk) -> None:
    put_run(desk, "whole")
    put_run(desk, "half", leave_out=1)
    campaign, reporter = open_campaign(desk.root), Warned()
    cats = campaign_source(campaign).cats
    rows = scored.score_facts(campaign, cats, reporter)
    assert {(row.model, row.split, row.kind) for row in rows} == {
        ("whole", split, "intrasentence") for split in ("dev", "test")
    }
    assert sum(row.cats for row in rows) == 6
    (warning,) = reporter.warnings
    assert warning.startswith("half/ll is left out of the release: it has no scores of 1 of 6 CATs")
    assert "curation scores models half" in warning


def test_an_ensemble_is_left_out_of_the_split_that_it_was_fitted_on(desk: Desk) -> None:
    campaign, reporter = open_campaign(desk.root), Warned()
    cats = campaign_source(campaign).cats
    put_run(desk, "both", dev_cats=[cat.id for cat in cats if cat.split == "dev"])
    assert {row.split for row in scored.score_facts(campaign, cats, reporter)} == {"test"}
    assert reporter.warnings[0].startswith("both/ll was fitted on dev")


def test_a_head_of_another_training_is_said_in_the_rows(desk: Desk) -> None:
    campaign, reporter = open_campaign(desk.root), Warned()
    (first, *others) = campaign_source(campaign).cats
    cats = [first.model_copy(update={"kind": "intersentence"}), *others]
    for model, seed in (("a", 1), ("b", 1), ("c", 2)):
        rules = {"intrasentence": "ll", "intersentence": "nsp"}
        put_run(desk, model, rules=rules, head_training={"seed": seed})
    rows = scored.score_facts(campaign, cats, reporter)
    marked = {row.model for row in rows if FLAGS["other_head"] in row.flags}
    assert marked == {"c"}


def test_a_model_that_is_scored_after_the_build_needs_a_new_version(desk: Desk) -> None:
    assert desk.run("release", "build").code == 0
    put_run(desk, "whole")
    said = desk.refused("release", "build")
    assert "7-release/0.1.0 is built already, and its content would change: " in said
    done = desk.run("run")
    assert done.code == 0
    assert "release       left as is" in done.out
    set_to(desk, 'version = "0.1.0"', 'version = "0.2.0"')
    assert desk.say("release", "build")["models"] == 1


def test_quiet_python_users_can_build(decided: Path, tmp_path: Path) -> None:
    campaign = open_campaign(Path(shutil.copytree(decided, tmp_path / "c")))
    with campaign.lock():
        made = build_release(campaign, reporter=QUIET)
    assert made.folder == campaign.releases / "0.1.0"
    assert made.counts["cats"] == 6


def test_chat_models_are_in_the_release_under_their_own_rule(desk: Desk) -> None:
    cats = campaign_source(open_campaign(desk.root)).cats
    scores = desk.root / "5-scores"
    put_run(desk, "whole")
    choice_run(scores, "talker", lambda _: [0.5, 0.5, 0.5], cats)  # always split: flagged
    choice_run(scores, "refuses", lambda _: [None] * 3, cats)
    done = desk.run("release", "build")
    assert done.code == 0, done.err
    assert "refuses/choice: left out: has no results, because 18 of 18 questions" in done.err
    rows = facts_of(desk)["scores"]
    assert {(row["model"], row["rules"]) for row in rows} == {("talker", "choice"), ("whole", "ll")}
    own = [row for row in rows if row["model"] == "talker"]
    assert {(row["lms"], row["ss"], *row["flags"]) for row in own} == {(50.0, 50.0, FLAGS["ties"])}
    card = (desk.root / FOLDER / "README.md").read_text("utf-8")
    assert "Models under the rule `choice` are chat models." in card
    assert "Such a stated choice is not a likelihood" in card
    assert f"- talker (choice): {FLAGS['ties']}" in card
    why = "refuses (choice) has no results, because 18 of 18 questions have no answer"
    assert facts_of(desk)["unscored"] == [f"{why} (answer_refused 18)"]
    assert f"and have no score:\n\n- {why}" in card
    assert desk.run("release", "check", desk.root / FOLDER).code == 0


def test_the_card_speaks_of_the_rule_choice_only_if_a_run_is_under_it(desk: Desk) -> None:
    put_run(desk, "whole")
    assert desk.run("release", "build").code == 0
    assert "`choice`" not in (desk.root / FOLDER / "README.md").read_text("utf-8")


def test_a_chat_model_that_lacks_cats_is_left_out_with_its_command(desk: Desk) -> None:
    cats = campaign_source(open_campaign(desk.root)).cats
    choice_run(desk.root / "5-scores", "talker", lambda _: [1, 1, 1], cats[1:])
    campaign, reporter = open_campaign(desk.root), Warned()
    assert scored.score_facts(campaign, cats, reporter) == ()
    (warning,) = reporter.warnings
    assert warning.endswith("score it again: curation scores models chat:talker --endpoint URL")
