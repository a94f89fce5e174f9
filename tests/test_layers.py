"""The walls: who may import whom (see CONTRIBUTING.md)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import curation

ROOT = Path(curation.__file__).parent
MODULES = sorted(p.relative_to(ROOT).with_suffix("").parts for p in ROOT.rglob("*.py"))
STAGES = {
    p.name
    for p in ROOT.iterdir()
    if (p / "__init__.py").exists() and p.name not in {"cli", "steps", "models", "checks", "stats"}
}
NETWORK = {
    *("requests", "urllib", "urllib3", "http", "socket", "httpx", "aiohttp"),
    "label_studio_sdk",
}
MAY_REACH_OUT: set[tuple[str, ...]] = {
    ("terms", "wikidata"),
    ("rounds", "platforms", "label_studio", "connection"),
    ("models", "endpoint", "client"),
}


def imported(module: tuple[str, ...]) -> Iterator[str]:
    tree = ast.parse(ROOT.joinpath(*module).with_suffix(".py").read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def allowed(module: tuple[str, ...], name: str) -> bool:
    parts = name.split(".")
    if parts[0] != "curation":
        heavy = parts[0] in {"torch", "transformers"} and module[0] != "models"
        outside = parts[0] in NETWORK and module not in MAY_REACH_OUT
        return not heavy and not outside
    target, here = (parts[1] if len(parts) > 1 else ""), module[0]
    if here == "records":
        return target in {"", "records", "reasons"}
    if here in STAGES:
        return target not in (STAGES | {"cli", "steps"}) - {here}
    if here in {"cli", "steps", "__main__"}:
        return True
    return target not in STAGES | {"cli", "steps"}


@pytest.mark.parametrize("module", MODULES, ids="/".join)
def test_no_module_climbs_a_wall(module: tuple[str, ...]) -> None:
    climbed = [name for name in imported(module) if not allowed(module, name)]
    assert not climbed


def test_the_rule_sees_a_wall_being_climbed() -> None:
    assert "decisions" in STAGES
    assert not allowed(("decisions", "filter"), "curation.scores.compare")
    assert not allowed(("files",), "curation.rounds")
    assert not allowed(("records",), "curation.files")
    assert not allowed(("scores", "metrics"), "torch.nn")
    assert not allowed(("rounds", "folding", "fold"), "requests")
    assert allowed(("steps", "decisions"), "curation.decisions.filter")


@pytest.mark.parametrize("module", MODULES, ids="/".join)
def test_files_stay_short(module: tuple[str, ...]) -> None:
    lines = ROOT.joinpath(*module).with_suffix(".py").read_text("utf-8").count("\n")
    assert lines <= 400, "it holds two ideas: part it"
