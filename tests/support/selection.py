"""Which tests need what: marks set from the fixtures and modules that a test uses.

``make test`` leaves out what is marked ``outside``, ``make test-outside`` runs it. ``make quick``
leaves out ``models`` and ``long`` as well. Only ``ray``, ``environment``, ``long`` and, for tests
that take very long, ``outside`` are written in the tests.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FIXTURES = {
    "label_studio_executable": "server",
    "browser": "browser",
    "office": "office",
    "peers": "peers",
    "consumers": "consumers",
    "citations": "consumers",
    "demo": "models",  # it makes two
}
"""A fixture, and the mark of tests that use it, directly or through another fixture."""
OUTSIDE = ("server", "browser", "office", "peers", "consumers", "ray", "environment")
"""What needs an environment or a service of its own, and minutes to make it."""
MODELS = ("torch", "transformers", "tokenizers", "curation.models.states", "curation.models.tiny")
"""What a test file that makes or runs models imports."""
MADE = ("tokenizer_config.json", "model.safetensors")
"""Files that every model has: whoever opens one makes or runs a model."""
HELPERS = Path(__file__).parent
_opened: list[str] = []


def mark(items: Iterable[pytest.Item]) -> None:
    """Set the marks of tests."""
    for item in items:
        for fixture in set(getattr(item, "fixturenames", ())) & FIXTURES.keys():
            item.add_marker(FIXTURES[fixture])
        if any(item.get_closest_marker(name) for name in OUTSIDE):
            item.add_marker("outside")
        if item.get_closest_marker("realdata"):
            item.add_marker("long")
        if item.path.suffix == ".py" and runs_models(item.path):
            item.add_marker("models")


def left_out(path: Path, expression: str) -> bool:
    """Whether a file need not be read: only models are in it, and they are left out."""
    return path.suffix == ".py" and "not models" in expression and runs_models(path)


@cache
def runs_models(path: Path) -> bool:
    """Whether a test file makes or runs models: by its folder, or by what it imports at its top.

    The file is parsed and not imported, since importing torch takes long.
    """
    if "models" in path.parts:
        return True
    names = set[str]()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    helpers = (
        HELPERS / f"{name.split('.')[1]}.py" for name in names if name.startswith("support.")
    )
    return any(name.startswith(MODELS) for name in names) or any(map(runs_models, helpers))


@contextmanager
def watched(item: pytest.Item) -> Iterator[None]:
    """Fail a test that opens a model and is not marked so: ``make quick`` would run it."""
    _watch()
    _opened.clear()
    yield
    if _opened and not any(map(item.get_closest_marker, ("models", "outside"))):
        pytest.fail(f"{_opened[0]} is opened: add what makes it to MODELS in {__file__}")


def _watch(state: list[bool] = []) -> None:  # noqa: B006
    if not state:
        state.append(True)
        sys.addaudithook(_hook)


def _hook(event: str, args: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(args[0], str) and args[0].endswith(MADE):
        _opened.append(args[0])
