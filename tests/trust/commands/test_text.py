"""``curation trust text``: what it writes and shows, and every bad input through the command."""

import csv
import json
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from curation.campaign.private import protect
from curation.campaign.store import Campaign
from support.places import Place

Run = Callable[..., Any]
TEXTS = [
    "The baker saw a giant. It rained. The end.",
    "A pebble fell. The baker slept. A dwarf sang. The sailor woke.",
    "A tower stood. The baker baked. Nothing else.",
    "The sailor saw a giant. The dwarf did not. The end.",
    "Short, baker.",
]
HEAD = "passage,target,group,annotator,submitted_at,text"


class Texts(Place):
    """A campaign with groups, and a corpus."""

    def measure(self, *args: str | Path, file: Path | None = None) -> Any:
        return self.run("trust", "text", "--campaign", self.campaign.root, *args)

    def fails(self, message: str, *args: str | Path, file: Path | None = None) -> str:
        return super().fails(message, *(args or (self.file,)))

    def results(self, run: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
        """``run.json``, and the results by target."""
        folder = self.campaign.folder("trust") / "runs" / run
        lines = (folder / "bias.jsonl").read_text("utf-8").splitlines()
        about: Mapping[str, Any] = json.loads((folder / "run.json").read_text("utf-8"))
        return about, {row["target"]: row for row in map(json.loads, lines)}


@pytest.fixture
def place(campaign: Campaign, tmp_path: Path, forked: Run) -> Texts:
    file = tmp_path / "harbour.txt"
    file.write_text("\n".join(TEXTS), "utf-8")
    return Texts(campaign, file, forked, "baker\nsailor\nweaver\n")


def test_a_run_on_texts(place: Texts) -> None:
    done = place.measure(place.file)
    assert done.code == 0, done.err
    assert "text-automated/size-harbour" in done.out
    says = "text-automated/size-harbour: no result for 1 of 3 targets: missing_target 1 (weaver)."
    assert says in done.err
    assert done.err.count("weaver") == 1
    about, found = place.results("text-automated/size-harbour")
    counts = {name: (row["soa"], row["n"]) for name, row in found.items() if row["n"]}
    assert counts == {"baker": ([2, 2], 4), "sailor": ([0, 1], 2)}
    assert found["weaver"]["undefined"] == "missing_target"
    assert about["contexts"]["sailor"] == {"no_group": 0, "one_group": 1, "several_groups": 1}
    size = place.file.stat().st_size
    read = {"file": "harbour.txt", "bytes": size, "documents": 5, "too_short": 1}
    assert about["files"] == [read]
    assert about["words_without_context"] == {"tall": ["mountain"]}
    assert about["targets_without_context"] == ["weaver"]
    assert about["identity"]["window"] == 3
    assert "measured before" in place.measure(place.file).out
    # As JSON, and with another window.
    done = place.measure(place.file, "--json", "--window", "1", "--groups", "size")
    assert done.code == 0, done.err
    [run] = json.loads(done.out)["runs"]
    assert run["run"] == "text-automated/size-harbour+window-1"
    assert [bias["soa"] for bias in run["biases"]] == [[1, 0], [1, 0], [0, 0]]
    assert run["biases"][0]["n"] == 4


def test_each_window_is_a_run_of_its_own_under_a_given_name(place: Texts) -> None:
    named = (place.file, "--source", "sea")
    assert place.measure(*named).code == 0
    for name in ("sea", "sea+window-1"):
        done = place.measure(place.file, "--source", name, "--window", "1")
        assert "text-automated/size-sea+window-1" in done.out, done.err
    assert "measured before" in place.measure(*named).out
    assert place.results("text-automated/size-sea")[0]["identity"]["window"] == 3
    # A run that is replaced is named, with what is other.
    place.file.write_text("\n".join(TEXTS[:4]), "utf-8")
    said = " ".join(place.measure(*named).err.split())
    assert "text-automated/size-sea is measured again, and replaced: other files" in said


def test_sentences_without_contexts_are_a_warning(place: Texts, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("A giant is a baker.\nA dwarf is a sailor.\n", "utf-8")
    error = " ".join(place.measure(file).err.split())
    assert "2 of 2 documents have fewer than 3 sentences and no context" in error
    assert "--window 1" in error
    assert "documents have fewer" not in place.measure(place.file).err
    place.write("short.txt", "gnome\n")
    error = " ".join(place.measure(place.file).err.split())
    assert "no word of the group «short» is in a context of a target" in error


# --- labels of people -----------------------------------------------------------------------------


def labels(place: Texts, *rows: str, head: str = HEAD) -> Path:
    return place.write("labels.csv", "\n".join([head, *rows, ""]))


ROWS = [
    "p1,baker,tall,ann,2026-03-01T10:00:00Z,The baker.",
    "p1,baker,tall,ben,2026-03-01T10:00:00Z,The baker.",
    "p1,baker,short,cal,2026-03-01T10:00:00Z,The baker.",
    "p2,baker,short,ann,2026-03-01T10:01:00Z,A baker.",
    "p2,baker,none,ben,2026-03-01T10:01:00Z,A baker.",
    "p3,baker,,ann,2026-03-01T10:02:00Z,Bakers.",
    "p4,sailor,short,ann,2026-03-01T10:03:00Z,Sailors.",
    "p4,sailor,short,ben,2026-03-01T10:03:00Z,Sailors.",
    "p5,sailor,short,ann,2026-03-01T10:03:00Z,Sail.",
]


def test_a_run_on_labels(place: Texts) -> None:
    later = [
        "p1,baker,short,ann,2026-03-09T10:00:00Z,The baker.",
        "p1,baker,short,ann,2026-03-10T10:00:00Z,The baker.",
        "p4,sailor,short,ann,2026-03-10T10:00:00Z,Sailors.",
    ]
    done = place.measure("--labels", labels(place, *later, *ROWS))
    assert done.code == 0, done.err
    about, found = place.results("text-human/size-labels")
    assert (found["baker"]["soa"], found["baker"]["n"]) == ([1, 0], 3)  # p2 has no majority
    assert (found["sailor"]["soa"], found["sailor"]["n"]) == ([0, 2], 2)
    assert found["weaver"]["undefined"] == "missing_target"
    counts = {"labelled_again": 2, "later_labels": 1, "no_majority": 1}
    counts |= {"passages": 5, "annotators": 3}
    assert {name: about[name] for name in counts} == counts
    checks = {(each["criterion"], each["check"]) for each in about["evidence"]}
    assert {
        ("agreement", "annotators"),
        ("agreement", "control-shuffled-labels"),
        ("retest", "annotators"),
        ("sensitivity", "label_shares"),
    } <= checks


def test_bad_rows_are_refused_and_kept(place: Texts) -> None:
    bad = {
        "unknown_group": "p1,baker,huge,dan,2026-03-01,The baker.",
        "unlisted_target": "p1,butcher,tall,dan,2026-03-01,The baker.",
        "missing_field": "p1,baker,tall,,2026-03-01,The baker.",
        "bad_value": "p1,baker,tall,dan,yesterday,The baker.",
        "clashing_id": "p1,baker,tall,dan,2026-03-01,Another text.",
        "duplicate_label": ROWS[0],
    }
    done = place.measure("--labels", labels(place, *ROWS, *bad.values()))
    assert done.code == 0, done.err
    assert "6 of 15 rows are refused" in " ".join(done.err.split())
    about, _ = place.results("text-human/size-labels")
    assert about["refused"] == dict.fromkeys(bad, 1)
    path = place.campaign.folder("trust") / "runs" / "text-human" / "size-labels" / "rejected.jsonl"
    refused = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [row["code"] for row in refused] == list(bad)
    assert refused[0]["where"] == "labels.csv line 11"
    assert "annotator" not in refused[0]["record"]


def test_refused_rows_do_not_say_who_labelled_and_are_private(place: Texts) -> None:
    rows = (f"{row},ann@example.org" for row in (*ROWS, ROWS[0]))
    assert place.measure("--labels", labels(place, *rows, head=f"{HEAD},email")).code == 0
    refused = (
        place.campaign.folder("trust") / "runs" / "text-human" / "size-labels" / "rejected.jsonl"
    )
    assert "ann" not in refused.read_text("utf-8")
    assert "The baker" in refused.read_text("utf-8")
    assert stat.S_IMODE(refused.stat().st_mode) == 0o600
    refused.chmod(0o644)
    protect(place.campaign.root)
    assert stat.S_IMODE(refused.stat().st_mode) == 0o600


def test_labels_in_json_lines(place: Texts) -> None:
    rows: list[dict[str, Any]] = list(csv.DictReader([HEAD, *ROWS]))
    rows += [
        {**rows[0], "annotator": 7},
        {**rows[0], "annotator": ["x"]},
        {**rows[5], "group": None},
        {**rows[0], "annotator": 8, "text": json.loads("[" * 300 + "]" * 300)},
    ]
    path = place.write("labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    done = place.measure("--labels", path)
    assert done.code == 0, done.err
    about, _ = place.results("text-human/size-labels")
    assert about["refused"] == {"bad_value": 2, "duplicate_label": 1}
    assert about["labels"] == 10


# --- bad input ------------------------------------------------------------------------------------


def test_bad_files_and_options(place: Texts, tmp_path: Path) -> None:
    """What can be wrong with a file is in ``tests/measures/test_counting.py``."""
    place.fails("no such file", tmp_path / "no.txt")
    place.fails("give either files of text or --labels", "--json")
    place.fails("not a name for a folder", place.file, "--source", "a/b")
    place.fails("there are no groups «colour»", place.file, "--groups", "colour")


def test_bad_labels(place: Texts, tmp_path: Path) -> None:
    place.fails("no such file", "--labels", tmp_path / "no.csv")
    place.fails("no column «annotator»", "--labels", place.write("a.csv", "passage,target,group\n"))
    place.fails("has no label of the targets", "--labels", labels(place))
    place.fails("line 2: there is no target 'x'", "--labels", labels(place, "p,x,,a,2026-03-01,t"))


def test_bad_groups(place: Texts) -> None:
    """What else can be wrong with groups is in ``tests/trust/measure/test_groups.py``."""
    place.write("short.txt", "dwarf\n---\n")
    place.fails("'---': has no letters")
