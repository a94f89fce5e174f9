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
    left = read("3-decisions", "manifest.json")["steps"]["filter"]["counts"]["labels_in"]
    excluded = "rounds exclude validator-77 --reason …"
    labels, kept = (int(said[excluded].split()[n]) for n in (1, 6))
    after = f"{labels - 3} now; CATs: {kept} before, {kept} now"  # three labels are that person's
    check(excluded, f"labels: {labels} before, {after}")
    after = f"{left} now; CATs: {kept} before, {dev + test} now"
    check("rounds withdraw writer-13 --yes", f"labels: {labels - 3} before, {after}")
    overall = read("4-measures", "statistics.json")["overall"]
    words = f"a text has {overall['mean_words']:.2f} words on average"
    check("measures statistics", f"{overall['cats']} CATs on {overall['terms']} terms; {words}")
    difference = read("4-measures", "sentiment.json")["rows"][0]["difference"]
    low, high = difference["ci"]
    value = f"{difference['value']:.2f} points ({low:.1f} to {high:.1f})"
    check("measures sentiment", f"negative: stereotypes minus anti-stereotypes is {value}")
    groups = [g for g in read("4-measures", "keywords.json")["groups"] if g["by"] == "domain"]
    top = (f"{group['domain']}: {group['keywords'][0]['word']}" for group in groups)
    check("measures keywords --top 5", "; ".join(top))
    counts = read("6-trust", "report.json")["counts"]
    decided = counts["pass"] + counts["fail"]
    tests = f"{decided} tests: {counts['pass']} pass and {counts['fail']} fail"
    open_ = f"They leave {counts['inconclusive']} inconclusive."
    check("trust report", f"The data decide {tests}. {open_}")
    rows = (root / "7-release" / "0.1.0" / "annotations.csv").read_bytes().count(b"\n") - 1
    check("release build", f"{dev + test} CATs, {rows:,} annotations; 2 questions are open")
    scored = said["scores models models/tiny-gpt models/tiny-bert"]
    for model in ("tiny-gpt", "tiny-bert"):
        assert re.search(rf"{model}: icat [\d.]+ \([\d.]+–[\d.]+\)", scored)


def test_the_log_has_what_the_commands_printed(demo: Any) -> None:
    log = (demo.folder / "curation-demo" / "tasks" / "demo.log").read_text("utf-8")
    assert log.count("\n$ curation ") == 32 + 5  # exports and ends of rounds are only there
    assert "own_item            1 the validator wrote this item" in log
    assert "\x1b" not in log
