"""``curation trust vectors``: what it writes and shows, and every bad input through the command."""

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.campaign.store import Campaign, open_campaign
from curation.files import CurationError
from curation.formats.word_vectors import Vectors, write_vectors
from curation.trust.measure.cosine import known_words
from curation.trust.runs import measuring
from curation.trust.runs.files import group_files, read_groups, read_run
from support.commands import set_to
from support.places import Place
from support.written import beside

PLANE = {
    "tower": (2, 0.5),
    "giant": (4, 0),
    "Dwarf": (0, 1),
    "pebble": (0.5, 3),
    "baker": (3, 4),
    "sailor": (4, 3),
    "miller": (-3, 4),
}


class Plane(Place):
    """A campaign with groups, and a file of vectors."""

    def measure(self, *args: str | Path, file: Path | None = None) -> Any:
        words = ("trust", "vectors", file or self.file, "--campaign", self.campaign.root)
        return self.run(*words, *args)

    def shown(self, *args: str | Path, file: Path | None = None) -> Any:
        """The run that a command shows as JSON."""
        return json.loads(self.measure("--json", *args, file=file).out)["runs"][0]

    def says(self, message: str) -> None:
        """Check what a command says that measures the same vectors under another name."""
        done = self.measure("--source", "other")
        assert done.code == 1
        assert message in " ".join(done.err.split())
        assert "fix:" in done.err

    def folder(self, name: str = "size-plane") -> Path:
        return self.campaign.folder("trust") / "runs" / "vectors" / name

    def about(self, name: str = "size-plane") -> Mapping[str, Any]:
        content: Mapping[str, Any] = json.loads((self.folder(name) / "run.json").read_bytes())
        return content


@pytest.fixture
def place(campaign: Campaign, tmp_path: Path, forked: Callable[..., Any]) -> Plane:
    file = tmp_path / "plane.vec"
    write_vectors(file, [(list(PLANE), np.array(list(PLANE.values()), np.float32))])
    return Plane(campaign, file, forked, "baker\nsailor\nmiller\nweaver\n")


def test_a_run(place: Plane) -> None:
    done = place.measure()
    assert done.code == 0, done.err
    assert "vectors/size-plane" in done.out
    assert "negative_soa" in done.out
    assert "missing_target" in done.out
    errors = " ".join(done.err.split())
    assert "1 word of 3 of the group «tall» left out, without a vector: mountain" in errors
    assert "no result for 2 of 4 targets: " in errors
    assert "negative_soa 1 (" in errors
    assert "missing_target 1 (weaver)" in errors
    assert {
        "missing": {"tall": ["mountain"]},
        "missing_targets": ["weaver"],
        "spellings": {"dwarf": "Dwarf"},
        "dimensions": 2,
    }.items() <= place.about().items()
    rows = (place.folder() / "bias.jsonl").read_text().splitlines()
    baker = json.loads(rows[0])
    assert baker["n"] == 4
    assert baker["signed"][0] < 0
    assert baker["ci"][0][0] < baker["signed"][0] < baker["ci"][0][1]
    shown = place.shown()
    assert shown["measured"] is False
    assert [bias["target"] for bias in shown["biases"]] == ["baker", "sailor", "miller", "weaver"]


def test_a_run_is_made_again_if_something_changed(place: Plane) -> None:
    place.measure()
    place.write("short.txt", "dwarf\n")
    assert [place.shown()["measured"] for _ in range(2)] == [True, False]
    for name, content in (("run.json", "{"), ("bias.jsonl", "")):
        (place.folder() / name).write_text(content, "utf-8")
        assert place.shown()["measured"] is True
    # The order of the groups identifies a run.
    lists = 'tall = "tall.txt", short = "short.txt"'
    set_to(place.campaign.root, lists, 'short = "short.txt", tall = "tall.txt"')
    run = place.shown()
    assert run["measured"] is True
    assert run["biases"][0]["groups"] == ["short", "tall"]


def test_a_debiased_file_beside_the_original(place: Plane, tmp_path: Path) -> None:
    other = tmp_path / "other.npz"
    write_vectors(other, [(list(PLANE), np.ones((len(PLANE), 2), np.float32))])
    original = place.shown()["biases"]
    shown = place.shown("--source", "plane-debiased", file=other)
    assert shown["run"] == "vectors/size-plane-debiased"
    assert [bias["l1"] for bias in shown["biases"][:3]] == [0, 0, 0]
    # The original as the reference: p0 is what was there before.
    place.settings('reference = "run:vectors/size-plane"')
    after = place.shown("--source", "after", file=other)
    assert after["biases"][0]["reference"] == original[0]["p"]
    assert after["biases"][3]["undefined"] == "no_reference"


def test_vectors_of_a_year(place: Plane) -> None:
    error = place.fails("--year 1900: the vectors of all years need one name", "--year", "1900")
    assert "--source NAME" in error
    year = ("--year", "1900", "--source", "books")
    assert place.shown(*year)["run"] == "vectors/size-books+1900"
    about = place.about("size-books+1900")
    assert (about["year"], about["identity"]["year"]) == (1900, 1900)
    root = ("--campaign", place.campaign.root)
    prior = ("trust", "prior", place.file, "--measure", "manzini", "--scale", "raw", *root)
    done = place.run(*prior, *year, "--json")
    assert json.loads(done.out)["runs"][0]["run"] == "manzini/size-books+1900+raw"
    place.write("short.txt", "dwarf\n")
    shown = json.loads(place.run("status", *root, "--json").out)["trust"]
    assert [row["again"] for row in shown] == [
        f"curation trust {name} FILE --groups size --source books --year 1900"
        for name in ("prior", "vectors")
    ]


def test_raw_warns_of_values_that_are_not_divergences(place: Plane) -> None:
    place.settings(trust='negative = "raw"')
    errors = " ".join(place.measure().err.split())
    assert "1 of 4 targets have a negative association" in errors
    assert "L1 of 1 is above its maximum, up to" in errors
    # Such a run is not a reference.
    place.settings('reference = "run:vectors/size-plane"')
    place.says("p of «miller» has a negative entry")


# --- bad input ----------------------------------------------------------------------------------


def test_a_damaged_run_is_not_used_and_is_measured_again(place: Plane) -> None:
    assert place.measure().code == 0
    folder = place.folder()
    results, about = (folder / name for name in ("bias.jsonl", "run.json"))
    content = json.loads(about.read_bytes())
    assert content["file"] == "plane.vec"  # a path may have the name of a person
    lines = results.read_text("utf-8").splitlines(keepends=True)
    whole = results.read_bytes(), about.read_bytes()

    def edited(evidence: Any, *rows: str) -> str:
        results.write_text("".join(rows), "utf-8")
        sha256 = hashlib.sha256(results.read_bytes()).hexdigest()
        changed = {**content, "evidence": evidence, "bias_sha256": sha256}
        about.write_text(json.dumps(changed), "utf-8")
        with pytest.raises(CurationError) as error:
            read_run(folder)
        assert place.measure().code == 0
        assert json.loads(about.read_bytes())["bias_sha256"] == content["bias_sha256"]
        results.write_bytes(whole[0])
        about.write_bytes(whole[1])
        return error.value.what

    assert "bias.jsonl, field 'target': is not as in run.json" in edited([], *lines[1:])
    other = [line.replace('"tall"', '"high"') for line in lines]
    assert "bias.jsonl, field 'groups': is not as in run.json" in edited([], *other)
    p = json.dumps({**json.loads(lines[0]), "p": [1.0]}) + "\n"
    assert "p has 1 values for 2 groups" in edited([], p, *lines[1:])
    assert "field 'evidence': is not a list of records" in edited(3, *lines)
    (line,) = edited([1], *lines).splitlines()
    assert "field 'evidence': Input should be an object" in line


def test_lists_that_cannot_be_measured(place: Plane) -> None:
    place.write("short.txt", "")
    assert "short.txt" in place.fails("is empty")
    place.write("short.txt", "# only a comment\n")
    assert "short.txt: the group «short» has no words" in place.fails("has no words")
    (place.campaign.folder("trust") / "short.txt").unlink()
    place.fails("no such list of words")
    place.write("short.txt", "gnome\ndroplet\n")
    error = place.fails("[groups.size]: no word of the group «short» has a vector: gnome, droplet")
    assert "use words of the language" in error
    assert str(place.file) in error


def test_files_that_are_not_vectors(place: Plane, tmp_path: Path) -> None:
    """Every cut has its error in ``tests/formats/test_word_vectors.py``; here, it is said."""
    assert place.fails("no such file", file=tmp_path / "none.vec").count("none.vec") == 1
    prior = place.run("trust", "prior", tmp_path / "none.vec", "-c", place.campaign.root)
    assert prior.err.count("none.vec") == 1
    path = tmp_path / "model.kv"
    path.write_bytes(b"\x80\x04")
    assert "save_word2vec_format" in place.fails("a pickle can run any code", file=path)


def test_a_reference_run_that_does_not_fit(place: Plane) -> None:
    place.settings('reference = "run:vectors/size-none"')
    place.fails("there is no such run")
    place.settings()
    place.measure()
    whole = (place.folder() / "run.json").read_bytes()
    place.write("third.txt", "pebble\n")
    place.write("short.txt", "dwarf\n")
    set_to(place.campaign.root, 'short = "short.txt"', 'short = "short.txt", c = "third.txt"')
    place.measure("--source", "three")
    place.settings('reference = "run:vectors/size-three"')
    place.says("has the groups tall, short, c, not tall, short")
    (place.folder() / "run.json").write_bytes(whole[:50])
    place.settings('reference = "run:vectors/size-plane"')
    place.says("the file ends in the middle")


def test_sources_and_groups_that_cannot_be(place: Plane) -> None:
    for source in ("a/b", "..", ".hidden", "a b", "a\nb", "x" * 200):
        place.fails("not a name for a folder", "--source", source)
    assert "use one of: size" in place.fails("there are no groups «colour»", "--groups", "colour")
    path = place.campaign.root / "campaign.toml"
    path.write_text(path.read_text("utf-8").partition("\n[groups.size]")[0])
    place.fails("has no groups to measure")


def test_frequencies_and_history(place: Plane) -> None:
    place.write("counts.csv", "target,count,year\nbaker,20,\nbaker,3,1900\nsailor,0.5,1900\n")
    place.write("census.csv", "year,target,tall,short\n1900,baker,0.25,0.75\n1910,baker,1,0\n")
    place.settings('frequencies = "counts.csv"\nhistory = "census.csv"')
    campaign = open_campaign(place.campaign.root)
    (groups,) = read_groups(campaign)
    assert groups.frequencies == {"baker": 20}
    assert groups.frequencies_by_year == {1900: {"baker": 3, "sailor": 0.5}}
    assert groups.history == {1900: {"baker": (0.25, 0.75)}, 1910: {"baker": (1, 0)}}
    own = {
        path.name for path in group_files(campaign)
    }  # the report reads them again if they change
    assert {"counts.csv", "census.csv"} <= own
    assert place.measure().code == 0
    known = known_words(Vectors(("giant", "dwarf"), np.eye(2, dtype=np.float32)), groups)
    assert known.history == groups.history


TABLES = beside(__file__, "wrong_tables.toml")["wrong"]


def test_tables_that_are_wrong(place: Plane) -> None:
    for setting, table, message in TABLES:
        place.write("a.csv", table)
        if setting == "targets":
            place.settings()
            set_to(place.campaign.root, "targets.txt", "a.csv")
        else:
            place.settings(f'{setting} = "a.csv"')
        assert "a.csv" in place.fails(message)


def test_a_run_of_other_groups_is_not_replaced(place: Plane) -> None:
    place.measure("--source", "a-b")
    set_to(place.campaign.root, "[groups.size]", "[groups.size-a]")
    done = place.measure("--source", "b")
    assert "has a run of the groups «size»" in " ".join(done.err.split())
    assert place.about("size-a-b")["groups"] == "size"


def test_results_wait_for_a_command_that_holds_the_lock(
    place: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    with place.campaign.lock():
        monkeypatch.setattr(measuring, "WAIT", 0.01)
        assert "in use by" in place.measure().err
    monkeypatch.setattr(measuring, "WAIT", 5.0)
    held = place.campaign.lock()
    held.__enter__()
    end = threading.Timer(0.2, held.__exit__, (None, None, None))
    end.start()
    done = place.measure()
    end.join()
    assert done.code == 0, done.err
