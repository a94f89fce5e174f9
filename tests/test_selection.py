"""``make test`` and ``make test-outside`` run every test, each of them once."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.M)
    assert found, target
    return [line.strip() for line in found[1].splitlines()]


def test_every_test_is_run_by_one_of_two_targets_and_no_other_option_leaves_one_out() -> None:
    assert recipe("test") == ['$(IN)/python -m pytest -m "not outside"']
    assert recipe("test-outside") == ['$(IN)/python -m pytest -m "outside"']
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    options = settings["tool"]["pytest"]["ini_options"]
    assert options["testpaths"] == ["tests", "curation"]
    allowed = "--import-mode=importlib --doctest-modules -ra --strict-markers -n 2 --dist worksteal"
    assert options["addopts"] == allowed
    assert not options.keys() & {"norecursedirs", "collect_imported_tests", "python_files"}
    ran = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert ran[-3:] == ["make check", "make test", "make test-outside"]
    (quick,) = recipe("quick")
    assert ' -m "not outside and ' in quick
