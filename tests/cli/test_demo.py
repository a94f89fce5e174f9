"""The demo shows two lines of each command, with what it found; its log has the rest."""

import json
import re
import textwrap
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

from curation.files import shipped

SHOWN = tomllib.loads(shipped("data", "example", "steps.toml").read_text("utf-8"))


def test_each_command_has_two_lines_and_all_fit_a_window(demo: Any) -> None:
    assert (demo.done.code, demo.done.err) == (0, "")
    lines = demo.done.out.splitlines()
    assert len([part for line in lines for part in textwrap.wrap(line, 80) or [""]]) <= 90
    commands = [n for n, line in enumerate(lines) if line.startswith("$ curation ")]
    assert len(commands) == 32
    assert all(after - n == 2 for n, after in pairwise(commands))
    for n in commands:
        assert re.fullmatch(r"\$ curation \S.*\S  # \S.*\S", lines[n]), lines[n]
        assert re.fullmatch(r"  \S.*", lines[n + 1]), lines[n]
    named = {name for name in SHOWN for n in commands if lines[n].startswith(f"$ curation {name}")}
    assert named == set(SHOWN)


def test_findings_are_those_of_the_files(demo: Any) -> None:
    """What is said of a command is in its results, too."""
    lines = demo.done.out.splitlines()
    said = {line[11:].split("  #")[0]: after for line, after in pairwise(lines)}
    root = demo.folder / "curation-demo"

    def read(*place: str) -> Any:
        return json.loads(Path(root, *place).read_text("utf-8"))

    def check(command: str, expected: str) -> None:
        assert said[command] == f"  {expected}"

    split = read("3-decisions", "split.json")["domains"].values()
    dev, test = (sum(d[f"{name}_cats"] for d in split) for name in ("dev", "test"))
    check("decisions split", f"{dev} CATs in dev, {test} in test")
    kept = dev + test + 1
    check("decisions filter", f"{kept} of 176 items kept as CATs")
    # How many labels there are depends on the campaign's key. Three of them are the excluded
    # person's, and others are on the item of the writer who withdraws, which was a CAT.
    left = read("3-decisions", "manifest.json")["steps"]["filter"]["counts"]["labels_in"]
    labels = json.loads(said["rounds exclude validator-77 --reason …"].split()[1])
    assert labels in (2645, 2648)
    check(
        "rounds exclude validator-77 --reason …",
        f"labels: {labels} before, {labels - 3} now; CATs: {kept} before, {kept} now",
    )
    check(
        "rounds withdraw writer-13 --yes",
        f"labels: {labels - 3} before, {left} now; CATs: {kept} before, {dev + test} now",
    )
    overall = read("4-measures", "statistics.json")["overall"]
    check(
        "measures statistics",
        f"{overall['cats']} CATs on {overall['terms']} terms; a text has "
        f"{overall['mean_words']:.2f} words on average",
    )
    difference = read("4-measures", "sentiment.json")["rows"][0]["difference"]
    low, high = difference["ci"]
    check(
        "measures sentiment",
        f"negative: stereotypes minus anti-stereotypes is {difference['value']:.2f} points "
        f"({low:.1f} to {high:.1f})",
    )
    domains = [
        group for group in read("4-measures", "keywords.json")["groups"] if group["by"] == "domain"
    ]
    check(
        "measures keywords --top 5",
        "; ".join(f"{group['domain']}: {group['keywords'][0]['word']}" for group in domains),
    )
    counts = read("6-trust", "report.json")["counts"]
    decided = (
        f"{counts['pass'] + counts['fail']} tests: {counts['pass']} pass and {counts['fail']} fail"
    )
    check(
        "trust report",
        f"The data decide {decided}. They leave {counts['inconclusive']} inconclusive.",
    )
    rows = (root / "7-release" / "0.1.0" / "annotations.csv").read_bytes().count(b"\n") - 1
    assert 2100 < rows < left  # those on kept items
    check("release build", f"{dev + test} CATs, {rows:,} annotations; 2 questions are open")
    check("import answers writers.csv", "182 rows: 168 items; 14 answers refused")
    asked = 2 if labels == 2645 else 3
    check("rounds import validate-2 wave-1", f"22 new; refused: 4; {asked} answers missing")
    check("rounds import validate-2 wave-2", f"{asked} new; nothing is missing")
    for model in ("tiny-gpt", "tiny-bert"):
        assert re.search(
            rf"{model}: icat [\d.]+ \([\d.]+–[\d.]+\)",
            said["scores models models/tiny-gpt models/tiny-bert"],
        )


def test_the_log_has_what_the_commands_printed(demo: Any) -> None:
    log = (demo.folder / "curation-demo" / "tasks" / "demo.log").read_text("utf-8")
    assert log.count("\n$ curation ") == 32 + 5  # exports and ends of rounds are only there
    assert "own_item            1 the validator wrote this item" in log
    assert log.count("\nwarning: ") == 11
    assert "\x1b" not in log
    title = r"tiny-gpt, ll-bos_conditional, intrasentence, test split: \d+ of \d+ CATs"
    assert re.search(title, log)
    for name in (
        "both kinds, test split: 103 of 141 CATs",
        "intersentence, test split: 52 of 72 CATs",
    ):
        assert f"tiny-bert, pll-word-l2r, {name}\n" in log
