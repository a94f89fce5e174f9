"""The pipeline: what is up to date is left alone, what is not is made anew, no more and no less."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import curation
from curation import pipeline
from curation.campaign.settings import CampaignSettings, Settings
from curation.campaign.store import Campaign
from support.commands import set_to
from support.written import beside

TABLES = beside(__file__)

MEASURES = ["statistics", "sentiment", "keywords", "pitfalls"]
STEPS = [step.name for step in pipeline.STEPS]  # docs/commands.md has them, and a test compares
assert STEPS.pop() == "pages"  # it tells of the others, so it follows all of them
CAMPAIGN = Campaign(Path(), Settings(campaign=CampaignSettings(id="folders")))
FOLDERS = list(dict.fromkeys(step.folder(CAMPAIGN).name for step in pipeline.STEPS))


class Finished:
    """A finished campaign, and commands on it."""

    def __init__(self, forked: Any, root: Path) -> None:
        self.forked, self.root = forked, root

    def run(self, *words: Any) -> Any:
        return self.forked(*(words or ("run",)), "-c", self.root)

    def ran(self) -> list[str]:
        """The steps that «run --json» says it ran."""
        return ran(self.run("run", "--json"))

    def status(self) -> Any:
        return json.loads(self.run("status", "--json").out)

    def states(self) -> dict[str, str]:
        """What «status --json» says of each step but the release and the report."""
        return {step["step"]: step["state"] for step in self.status()["steps"][:-2]}

    def set_to(self, old: str, new: str) -> None:
        set_to(self.root, old, new)


@pytest.fixture
def place(forked: Any, finished: Path) -> Finished:
    return Finished(forked, finished)


def ran(done: Any) -> list[str]:
    assert done.code == 0, done.err
    steps = json.loads(done.out)["steps"]
    assert [step["step"] for step in steps] == [*STEPS, "pages"]
    return [step["step"] for step in steps[:-1] if step["ran"]]


def test_a_second_run_writes_nothing(cli: Any, place: Finished, untouched: Any) -> None:
    before = untouched(place.root)
    done = cli("run", "-c", place.root)
    assert done.code == 0
    assert len(re.findall(r"^\w+ +up to date ", done.out, re.M)) == len(pipeline.STEPS)
    assert f"release: {place.root / '7-release' / '0.1.0'}" in done.out
    assert untouched(place.root) == before
    assert place.ran() == []
    assert untouched(place.root) == before


def test_the_demo_and_run_make_the_same(place: Finished, content: Any) -> None:
    root, before = place.root, content(place.root)
    for folder in ("3-decisions", "4-measures", "7-release/0.1.0"):
        shutil.rmtree(root / folder)
    (root / "7-release" / "manifest.json").unlink()  # built.jsonl has the canary
    for name in ("manifest.json", "report.json", "report.md"):  # attest.toml is the team's
        (root / "6-trust" / name).unlink()
    steps = json.loads((root / "2-rounds" / "manifest.json").read_text("utf-8"))["steps"]
    for name in ("manifest.json", *steps["answers"]["outputs"], *steps["item_pitfalls"]["outputs"]):
        (root / "2-rounds" / name).unlink()
    (root / "1-terms" / "targets.jsonl").unlink()
    assert place.ran() == STEPS
    assert content(root) == before


# What depends on it reruns; what reads a result that came out the same does not. A release whose
# content would change is left as it is.
SETTINGS: list[tuple[str, str, list[str]]] = [
    ('name = "Mild example"', 'name = "Other"', ["trust"]),
    ('language = "en"', 'language = "en-GB"', [*STEPS[:3], *MEASURES, "trust"]),
    ("drop_flagged = 0", "drop_flagged = 2", ["filter", "agreement"]),
    ('flags = ["objective"]', 'flags = ["ungrammatical"]', ["filter", "agreement", "trust"]),
    ("[rounds]", "[domains.x]\n\n[rounds]", ["select", "answers", "release"]),
    ("least = 1", "least = 9", ["select"]),
    ('contact = ""', 'contact = "a@example.org"', []),
    ("seed = 1", "seed = 2", STEPS[5:-1]),
    ("needed = 3", "needed = 4", STEPS[3:-1]),
    ("match_intent = true", "match_intent = false", STEPS[3:-1]),
    ("count_repeats = false", "count_repeats = true", ["filter", "agreement"]),
    ('rounds = ["main", "published", "validate-2"]', 'rounds = ["main"]', STEPS[3:-1]),
    ("intervals\nconfidence = 0.95", "intervals\nconfidence = 0.9", ["agreement", "trust"]),
    ('["alpha", "fleiss", "ac1"]', '["alpha"]', ["agreement", "trust"]),
    ("dev = 0.25", "dev = 0.5", STEPS[5:-1]),
    ("classes = 2", "classes = 3", ["sentiment", "release"]),
    ("smoothing = 10.0", "smoothing = 1.0", ["keywords"]),
    ("accept = []", 'accept = ["meta_text"]', ["release"]),
    ('leave_out = ["item-005"]', "leave_out = []", [*STEPS[3:6], "pitfalls", "trust"]),
    ('version = "0.1.0"', 'version = "0.2.0"', ["release"]),
]


@pytest.mark.parametrize(("old", "new", "steps"), SETTINGS)
def test_a_setting_reruns_steps(place: Finished, old: str, new: str, steps: list[str]) -> None:
    place.set_to(old, new)
    assert place.ran() == steps
    assert set(place.states().values()) == {"up to date"}
    place.set_to(new, old)
    first = [step for step, state in place.states().items() if state != "up to date"][:1]
    assert first == [step for step in steps if step != "release"][:1]


def test_settings_that_are_set_back_give_the_same(place: Finished, content: Any) -> None:
    before = content(place.root)
    for undo in (False, True):
        for old, new, _ in SETTINGS[:-1]:  # what was built under another version stays
            place.set_to(*((new, old) if undo else (old, new)))
        assert "select" in place.ran()
        assert place.ran() == []
    assert content(place.root) == before


def test_status_says_what_has_changed_and_what_depends_on_it(place: Finished) -> None:
    place.set_to("needed = 3", "needed = 4")
    (place.root / "4-measures" / "keywords.json").unlink()
    steps = {step["step"]: (step["state"], step["note"]) for step in place.status()["steps"]}
    depends = ("depends on filter, which is out of date", "")
    assert steps["filter"] == ("out of date", "changed: decisions.needed")
    assert steps["agreement"] == ("out of date", "changed: decisions.needed")
    assert steps["keywords"] == ("out of date", "changed: 4-measures/keywords.json")
    assert steps["split"] == steps["statistics"] == steps["trust"] == depends
    assert steps["item_pitfalls"] == ("up to date", "")
    shown = place.run("status").out
    assert "keywords: changed: 4-measures/keywords.json" in shown
    place.run()
    assert {*place.states().values()} == {"up to date"}


@pytest.mark.parametrize(("name", "step"), TABLES["a_damaged_result_is_made_anew"])
def test_a_damaged_result_is_made_anew(place: Finished, content: Any, name: str, step: str) -> None:
    before, path = content(place.root), place.root / name
    data = path.read_bytes()
    changed = data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]
    for harm in (data[: len(data) // 2], changed, None):  # cut, one byte changed, gone
        path.unlink() if harm is None else path.write_bytes(harm)
        status = place.status()
        states = {each["step"]: each["state"] for each in status["steps"]}
        assert states[step] == "out of date"
        again = "curation rounds status, which computes items and labels again"
        assert status["next"] == (again if path.stem in ("items", "labels") else "curation run")
    assert place.ran() == [step]
    assert content(place.root) == before


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_damaged_manifest_is_an_error(place: Finished, content: Any, folder: str) -> None:
    before, path = content(place.root), place.root / folder / "manifest.json"
    path.write_bytes(path.read_bytes()[:50])
    done = place.run()
    assert done.code == 1
    assert f"error: {path}: " in done.err
    assert "fix:   delete the file; the steps will run again" in done.err
    path.unlink()
    assert place.run().code == 0
    assert content(place.root) == before


@pytest.mark.parametrize("harm", ["gone", "changed"])
def test_changed_raw_answers_stop_everything(place: Finished, untouched: Any, harm: str) -> None:
    segment = sorted((place.root / "2-rounds" / "main" / "raw").iterdir())[1]
    data = segment.read_bytes()
    if harm == "gone":
        segment.unlink()
    else:
        segment.write_bytes(data.replace(b"stereotype", b"unrelated ", 1))
    before = untouched(place.root)
    done = place.run()
    assert done.code == 1
    assert f"error: {segment}: these raw answers " in done.err
    assert "fix:   put the file back from a backup" in done.err
    assert untouched(place.root) == before
    status = place.run("status")
    assert "cannot run" in status.out
    assert "next: put the file back from a backup" in status.out
    segment.write_bytes(data)
    assert place.ran() == []


def test_edits_of_terms_rerun_what_follows(place: Finished) -> None:
    edits = place.root / "1-terms" / "edits.csv"
    edits.write_text(edits.read_text("utf-8") + "profession,baker,,,early risers,\n", "utf-8")
    done = place.run("run", "--json")
    # Terms come first; that a family changed reaches the release, which is left as it was built.
    assert ran(done)[0] == "select"
    assert "split" in ran(done)
    assert "7-release/0.1.0 is built already, and its content would change" in done.err
    assert "filter" not in ran(done)


def test_an_answer_reruns_what_follows(place: Finished, example_data: Path, tmp_path: Path) -> None:
    rows = (example_data / "validators.csv").read_text("utf-8-sig").splitlines()
    cats = (place.root / "3-decisions" / "cats.jsonl").read_text("utf-8")
    item = next(row.split(";") for row in rows[1:] if f'"{row.split(";")[1]}"' in cats)
    item[0], item[2], item[9] = "late-1", "validator-99", "2026-05-01T00:00:00Z"
    (tmp_path / "more.csv").write_text("\n".join([rows[0], ";".join(item)]) + "\n", "utf-8")
    summary = json.loads(place.run("import", "answers", tmp_path / "more.csv", "--json").out)
    assert (summary["added"], summary["rejected"]) == (1, {})
    assert [*place.states().values()][:5] == ["up to date"] * 3 + ["out of date"] * 2
    # Three surplus labels: no decision and so no CAT changes, but the annotations are published.
    assert place.ran() == ["filter", "agreement", "trust"]
    place.set_to('version = "0.1.0"', 'version = "0.2.0"')
    assert place.ran() == ["release"]
    table = (place.root / "7-release" / "0.2.0" / "annotations.csv").read_text("utf-8")
    counted = [row["counted"] for row in csv.DictReader(table.splitlines())]
    assert counted[-3:] == ["False"] * 3


def test_a_domain_that_is_named_later_brings_its_items(place: Finished) -> None:
    items = place.root / "2-rounds" / "main" / "items.jsonl"
    before = items.read_bytes()
    place.set_to("[domains.religion]", "[domains.creed]")
    place.run()
    assert 0 < items.read_bytes().count(b"\n") < before.count(b"\n")
    place.set_to("[domains.creed]", "[domains.religion]")
    assert place.run().code == 0
    assert items.read_bytes() == before


# --- for scripts ----------------------------------------------------------------------------------


def test_json_stands_alone(place: Finished, example_data: Path) -> None:
    labels = (place.root / "2-rounds" / "main" / "labels.jsonl").read_text("utf-8").splitlines()
    person = json.loads(labels[0])["annotator"]
    for words in (
        *("status", "run", "terms select", "terms explain librarian", "decisions filter"),
        *("decisions agreement", f"decisions agreement --by term --exclude {person}"),
        *("decisions split", "release build"),
        f"import answers {example_data / 'pilot.jsonl'} --round pilot --known-terms",
        f"import stereoset {example_data / 'published.json'}",
    ):
        done = place.run(*words.split(), "--json")
        assert done.code == 0, done.err
        assert all(line.startswith("warning: 1-terms/edits.csv") for line in done.err.splitlines())
        assert isinstance(json.loads(done.out, parse_constant=pytest.fail), dict | list), words


def test_a_pipe_has_no_colour(
    cli: Any, forked: Any, demo: Any, example: Path, tmp_path: Path
) -> None:
    said = [
        demo.done,
        forked("status", "-c", example),
        forked("decisions", "agreement", "-c", example),
        cli("run", "-c", tmp_path),  # an error
        forked("--help"),
    ]
    assert [done.code for done in said] == [0, 0, 0, 1, 0]
    assert said[3].err
    for done in said:
        assert "\x1b" not in done.out + done.err


def test_baselines_go_into_a_file(forked: Any, example: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out.json"
    gold = example / "7-release" / "0.1.0" / "test.json"
    done = forked("scores", "baselines", "--gold", gold, "--json", out)
    assert done.code == 0
    results = json.loads(out.read_text("utf-8"), parse_constant=pytest.fail)
    assert {"model", "kinds", "overall"} <= set(results[0])
    # A baseline that beats chance is warned of, and nothing else.
    beyond = sum(len(one.get("beyond_chance", ())) for one in results)
    assert beyond
    assert done.err.count(" uses the surface only ") == done.err.count("warning: ") == beyond


def test_csv_is_one_table(forked: Any, example: Path) -> None:
    done = forked("decisions", "agreement", "--csv", "-c", example)
    assert (done.code, done.err) == (0, "")
    rows = list(csv.reader(done.out.splitlines()))
    assert len(rows) > 10
    assert {len(row) for row in rows} == {len(set(rows[0]))}


def test_the_version_and_an_unknown_word(cli: Any, forked: Any) -> None:
    assert cli("--version").out == f"{curation.__version__}\n"
    done = forked("decide")
    assert (done.code, done.out) == (2, "")
    assert "decide" in done.err
