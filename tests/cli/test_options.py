"""Options come from the signatures and docstrings of functions, and from dataclasses of settings.

Options:
    here: Of this module.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from curation.cli import COMMANDS, app, module_of
from curation.models.chat import ChatSpec
from curation.terminal import options
from curation.terminal.options import Commands, MaybeCount, command_group


@dataclass(frozen=True)
class Common:
    """What two kinds of bread share.

    Attributes:
        flour: Name of the flour.
        hours: Hours to rise.
    """

    PANEL: ClassVar = "Dough"

    flour: str
    hours: Annotated[int, Field(ge=1, le=48)] = 12
    salt: float = 0.02


@dataclass(frozen=True)
class Rye(Common):
    """Bread of rye.

    Attributes:
        hours: Hours to rise, with leaven.
        salt (SHARE): Salt for each part of flour.
        dark: Bake it dark.
    """

    hours: Annotated[int, Field(ge=1, le=48)] = 24
    dark: bool = False


baked: list[Any] = []


def bake(*, out: Path, here: str = "", tier: MaybeCount = None, settings: Rye) -> None:
    """Bake bread.

    It takes
    a day.

    Options:
        out (FILE): Where it goes,
            also if
            that is far.
    """
    baked.append((out, here, tier, settings))


@pytest.fixture
def bakery() -> Commands:
    group = command_group()
    assert group.command("bake")(bake) is bake  # it stays a function that Python users can call
    group.command("other")(lambda: None)
    return group


def params(group: typer.Typer, *path: str) -> dict[str, Any]:
    command: Any = typer.main.get_command(group)
    for name in path:
        command = command.commands[name]
    return {param.name: param for param in command.params}


def test_help_is_that_of_the_docstrings(bakery: Commands) -> None:
    command: Any = typer.main.get_command(bakery)
    assert command.commands["bake"].help == "Bake bread.\n\nIt takes\na day."
    shown = {name: (each.help, each.metavar) for name, each in params(bakery, "bake").items()}
    # Arguments first; then options in their order, a class's own before those that it inherits.
    assert list(shown.items()) == [
        ("flour", ("Name of the flour.", None)),
        ("out", ("Where it goes, also if that is far.", "FILE")),
        ("here", ("Of this module.", None)),
        ("tier", (options.__doc__ and shown["tier"][0], "N")),
        ("hours", ("Hours to rise, with leaven.", None)),
        ("dark", ("Bake it dark.", None)),
        ("salt", ("Salt for each part of flour.", "SHARE")),
    ]
    assert shown["tier"][0].startswith("Only CATs on whose labels N or more annotators agree")


def test_a_dataclass_is_an_option_for_each_field(bakery: Commands) -> None:
    known = params(bakery, "bake")
    assert (known["hours"].min, known["hours"].max, known["hours"].default) == (1, 48, 24)
    assert known["dark"].opts == ["--dark"]
    assert known["dark"].secondary_opts == []
    panels = {name: each.rich_help_panel for name, each in known.items()}
    assert panels == dict.fromkeys(("flour", "hours", "dark", "salt"), "Dough") | dict.fromkeys(
        ("out", "here", "tier"), None
    )
    words = ["bake", "rye", "--out", "loaf", "--hours", "30", "--dark", "--tier", "2"]
    assert CliRunner().invoke(bakery, words).exit_code == 0
    assert baked.pop() == (Path("loaf"), "", 2, Rye("rye", hours=30, dark=True))
    assert CliRunner().invoke(bakery, ["bake", "rye", "--out", "a", "--hours", "49"]).exit_code == 2


def functions(name: str) -> Iterator[Callable[..., Any]]:
    """The functions of all commands of a group, or that of a command."""
    module = module_of(name)
    if not hasattr(module, "app"):
        yield getattr(module, name)
        return
    yield from (inspect.unwrap(each.callback) for each in module.app.registered_commands)


def described(documented: Any, section: str = "Options") -> set[str]:
    """The names that a section of a docstring describes."""
    _, _, after = (inspect.getdoc(documented) or "").partition(f"\n\n{section}:\n")
    return set(re.findall(r"^    (\w+)(?: \(.*?\))?:", after, re.MULTILINE))


def test_help_without_an_import_is_that_of_the_command() -> None:
    for name, (_, help) in COMMANDS.items():
        if not hasattr(module_of(name), "app"):
            assert (inspect.getdoc(getattr(module_of(name), name)) or "").split("\n")[0] == help


def test_docstrings_describe_options_that_exist() -> None:
    every, used = [each for name in COMMANDS for each in functions(name)], dict[Any, set[str]]()
    assert len(every) > 40
    for function in every:
        hints = {n: p.annotation for n, p in inspect.signature(function).parameters.items()}
        kinds = [kind for kind in hints.values() if is_dataclass(kind)]
        names = {name for name, kind in hints.items() if kind not in kinds}
        assert described(function) <= names, function
        for kind in kinds:
            own = {field.name for field in fields(kind)}
            assert described(kind, "Attributes") - {"unit"} <= own, kind
            names |= own
        for module in (sys.modules[function.__module__], options):
            used[module] = used.get(module, set()) | names
    for module, names in used.items():
        assert described(module) <= names, module


def test_the_help_names_the_defaults_of_chat_models() -> None:
    known, default = params(app, "scores", "models"), ChatSpec(Path())
    for name in ("samples", "temperature", "max_tokens", "concurrency"):
        assert f"; default: {getattr(default, name):g}." in known[name].help
