"""The code of docs/python.md runs, block after block, and names only functions that exist."""

import pydoc
import re
from pathlib import Path
from typing import Any

import pytest

from support.offenders import refuse

PAGE = (Path(__file__).parents[1] / "docs" / "python.md").read_text("utf-8")


@pytest.mark.models
@pytest.mark.filterwarnings("ignore:domains that campaign.toml does not have")
@pytest.mark.filterwarnings("ignore:.* is left out of the release")  # they scored some of the CATs
def test_the_pages_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/python.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "168 items, 2504 labels" in printed
    assert (tmp_path / "demo" / "5-scores" / "trained").is_dir()
    assert len(names["group"].models) == 2
    kept = [line for line in printed.splitlines() if re.match(r"[345] Counter", line)]
    assert len(kept) == 3


def is_there(name: str) -> bool:
    """Whether a function, or a method of a class, has this name."""
    return callable(pydoc.locate(name))


def test_functions_in_the_table_exist() -> None:
    named = [
        (number, name)
        for number, line in enumerate(PAGE.split("\n"), 1)
        for name in re.findall(r"^\| .* \| `([\w.]+)\(", line)
    ]
    assert len(named) > 20
    found = (f"docs/python.md:{n}: no function {name}" for n, name in named if not is_there(name))
    refuse(found, fix="write the function's name as it is now")
