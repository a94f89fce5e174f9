"""Write the tables of arguments and options in docs/commands.md, from the help of the commands.

    python docs/make_commands.py

A command is a section of the page. Its table begins with one of the HEADS; everything else in the
section is written by hand. To add a command, write its section with the first line of the table.
"""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from curation.cli import app

PAGE = Path(__file__).with_name("commands.md")
TOP = typer.main.get_command(app)
HEADS = tuple(f"| {what} | meaning |" for what in ("argument or option", "argument", "option"))
TABLE = re.compile(rf"^(?:{'|'.join(map(re.escape, HEADS))})\n(?:\|.*\n)*", re.MULTILINE)
ENDS = r"(?:jsonl?|csv|tsv|txt|md|toml|xlsx|parquet|npz|bin|vec)?(?:\.?(?:gz|bz2))?"
CODE = re.compile(
    r"«(?P<quoted>[^»]+)»"  # a command
    r"|(?<![\w-])--[a-z][\w-]*"  # an option
    r"|\[[a-z]+(?:\.[A-Z]+)?\]"  # a section of campaign.toml
    r"|https?://[^\s,;]*\w"
    rf"|(?<!\w)[\w./-]*\.(?=[a-z]){ENDS}(?!\w)"  # a file, or the end of its name
    r"|\b\d-[a-z]+(?:/(?:[\w./-]*[\w/])?)?"  # a folder of a campaign
    r"|\b[A-Z]{3,}(?:[/@+=][A-Z]{3,})+/?"  # MODEL/RULE/, NAME@KIND
    r"|\b[A-Z]+(?:_[A-Z]+)+\b"  # a variable of the environment
    r"|(?:(?<=^)|(?<=[.;] ))(?!default:)[a-z0-9][\w-]*(?=: )"  # a value before its meaning
)


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every group and command with its words after ``curation``."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


def as_code(text: str) -> str:
    """A help text with commands, options, files and values as code."""
    return CODE.sub(lambda hit: f"`{hit['quoted'] or hit[0]}`", text)


def row(param: Any) -> str:
    """The row of an argument or option."""
    if param.param_type_name == "argument":
        name = param.metavar or param.name.upper()
        heads = [f"{name}…" if param.nargs == -1 and not name.endswith(("…", "...")) else name]
    else:
        heads = [*param.opts, *param.secondary_opts]
        heads[0] += f" {param.metavar}" if param.metavar else ""
    meaning = as_code((param.help or "").strip())
    if meaning and not meaning.endswith((".", "…")):
        meaning += "."
    if getattr(param, "multiple", False) and "repeat" not in meaning.lower():
        meaning += " Repeatable."
    if param.required and param.param_type_name == "option":
        meaning += " Required."
    default = getattr(param.default, "value", param.default)
    if default is True and param.secondary_opts:
        default = param.opts[0]
    if param.show_default and default is not False and default not in (None, "", []):
        meaning += f" Default: `{default}`."
    cells = ", ".join(f"`{head}`" for head in heads), meaning
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def tables(command: Any) -> list[str]:
    """The tables of a command: one for each group of options in its help."""
    made = []
    for _, group in groupby(command.params, key=lambda param: param.rich_help_panel or ""):
        params = list(group)
        kinds = sorted({param.param_type_name for param in params})
        made.append(
            "\n".join([f"| {' or '.join(kinds)} | meaning |", "|---|---|", *map(row, params)])
        )
    return made


def written(text: str) -> str:
    """The page with its tables of options as the help is now.

    Raises:
        ValueError: a section does not have as many tables as its command needs.
    """
    commands = {" ".join(("## curation", *path)): command for path, command in walk(TOP)}
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    for number, part in enumerate(parts):
        heading = part.split("\n", 1)[0]
        if heading in commands:
            made, (before, *after) = tables(commands[heading]), TABLE.split(part)
            if len(made) != len(after):
                raise ValueError(
                    f"{heading}: write a line «{HEADS[0]}» for each group of options ({len(made)})"
                )
            parts[number] = before + "".join(map("{}\n{}".format, made, after))
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
