"""The files of a built release, and their fields, are those that the documentation lists."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from support.commands import ROOT
from support.desk import read_csv
from support.written import files, lines

CELL = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+)[^|]*\|", re.MULTILINE)


def section(page: str, heading: str) -> str:
    text = (ROOT / "docs" / page).read_text("utf-8")
    level = heading.split(" ")[0]
    rest = text.split(f"\n{heading}\n", 1)[1]
    return re.split(rf"^{level} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def table(text: str, first: str) -> list[str]:
    """The names in the first column of the table that begins with this heading."""
    rows = text.split(f"| {first} |", 1)[1].split("\n\n", 1)[0]
    return [name for cell in CELL.findall(rows) for name in re.findall(r"`([^`]+)`", cell)]


def names(folder: Path) -> set[str]:
    """Files in the folder, and folders with a slash at the end."""
    return {path.name + "/" * path.is_dir() for path in folder.iterdir()}


def keys(paths: Iterable[Path]) -> set[str]:
    return {key for path in paths for row in lines(path) for key in row}


@pytest.mark.parametrize("name", ["release", "hidden", "sealed", "anonymous"])
def test_the_table_of_release_md_lists_every_file(demo: object, request: Any, name: str) -> None:
    listed = set(table(section("release.md", "## The files"), "file")) - {"errata.jsonl"}
    other = {"hidden": {"sealed.jsonl"}, "sealed": {"hidden/", "test.json"}}
    without = other.get(name, {"hidden/", "sealed.jsonl"})
    assert listed - without == names(request.getfixturevalue(f"example_{name}"))


@pytest.mark.parametrize("name", ["example_release", "example_hidden", "example_sealed"])
def test_formats_md_lists_every_data_file(demo: object, request: Any, name: str) -> None:
    release = request.getfixturevalue(name)
    rows = table(section("formats.md", "## A release"), "file")
    patterns = [re.sub("KIND|SPLIT", "*", row) + "*" * row.endswith("/") for row in rows]
    found = {path for pattern in patterns for path in release.glob(pattern)}
    others = {"README.md", "STATEMENT.md", "LICENSE", "SHA256SUMS", "release.json"}
    left = files(release).keys() - {path.relative_to(release).as_posix() for path in found}
    assert {name for name in left if not name.startswith("lm-eval/")} == others


def test_formats_md_lists_every_field(
    example_release: Path, example_hidden: Path, example_sealed: Path
) -> None:
    text = section("formats.md", "## A release")
    cats = [*example_release.glob("cats/*.jsonl"), *example_hidden.glob("cats/*.jsonl")]
    assert set(table(text, "field in `cats/`")) == keys(cats)
    assert set(table(text, "field of `terms.jsonl`")) == keys([example_release / "terms.jsonl"])
    assert set(table(text, "field of `sealed.jsonl`")) == keys([example_sealed / "sealed.jsonl"])
    annotations = read_csv(example_release / "annotations.csv")
    assert table(text, "column of `annotations.csv`") == [*annotations[0]]
    columns = table(text, "field in `intersentence/` and `intrasentence/`")
    fields = {name.split(".")[0] for name in columns}
    for path in example_release.glob("int*/*.parquet"):
        assert set(parquet.read_schema(path).names) == fields


def test_the_readme_of_the_tasks_lists_every_task(example_release: Path) -> None:
    folder = example_release / "lm-eval"
    text = (folder / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    written = [
        re.findall(r"^(?:task|group): (\w+)$", path.read_text("utf-8"), re.MULTILINE)[0]
        for path in folder.rglob("*.yaml")
    ]
    parts = {f"{name}_{gold}" for name in listed for gold in ("stereotype", "anti_stereotype")}
    assert set(listed) == set(written) - parts
    for path in re.findall(r"`(cats/[^`*]+)`", text):
        assert not path.endswith(".jsonl") or (example_release / path).is_file()
