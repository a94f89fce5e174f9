"""Which tests need what: marks set from the fixtures and modules that a test uses.

``make test`` leaves out what is marked ``outside``, ``make test-outside`` runs it. ``make quick``
leaves out ``models`` and ``long`` as well. Marks are set here, so that nobody has to think of them;
``long`` alone stands in the tests.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FIXTURES = {"label_studio_executable": "server", "browser": "browser", "peers": "peers"}
"""A fixture, and the mark of tests that use it, directly or through another fixture."""
OUTSIDE = ("server", "browser", "peers", "ray", "environment")
"""What needs an environment or a service of its own, and minutes to make it."""
MODELS = ("torch", "transformers", "tokenizers", "curation.models.tiny", "support.models")
"""What a test file that makes or runs models imports."""
MADE = ("tokenizer_config.json", "model.safetensors")
"""Files that every model has: whoever opens one makes or runs a model."""
_opened: list[str] = []


def mark(items: Iterable[pytest.Item]) -> None:
    """Set the marks of tests."""
    for item in items:
        for fixture in set(getattr(item, "fixturenames", ())) & FIXTURES.keys():
            item.add_marker(FIXTURES[fixture])
        if any(item.get_closest_marker(name) for name in OUTSIDE):
            item.add_marker("outside")
        module = getattr(item, "module", None)
        if module and ("models" in Path(item.path).parts or _imports_models(module)):
            item.add_marker("models")


def _imports_models(module: ModuleType) -> bool:
    homes = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for value in vars(module).values()
    }
    return any(str(home).startswith(MODELS) for home in homes)


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
