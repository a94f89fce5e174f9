"""The documentation is true: what it names exists, and what exists is named."""

import difflib
import json
import re
import runpy
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from pydantic_core import PydanticUndefined

from curation.campaign.settings import (
    PAPER,
    DomainSettings,
    GroupSettings,
    PeopleSettings,
    Settings,
)
from curation.kinds import KINDS
from curation.models.rules import PROFILES, RULES
from curation.pipeline import STEPS
from curation.reasons import REASONS
from curation.scores.asking import VARIANTS
from support.offenders import refuse

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What is under a heading, down to the next one that is not below it."""
    lines = text.split("\n")
    start = lines.index(heading)
    level = heading.split(" ")[0]
    ends = (n for n in range(start + 1, len(lines)) if re.match(rf"#{{1,{len(level)}}} ", lines[n]))
    return "\n".join(lines[start + 1 : next(ends, len(lines))])


def blocks(text: str) -> list[str]:
    """What is between the fences of a page, in order."""
    return re.findall(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows in a text, heads left out."""
    lines = text.split("\n")
    found = []
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("|") and not line.startswith("|---") and not below.startswith("|---"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            found.append([cell.strip() for cell in cells])
    return found


# --- commands -------------------------------------------------------------------------------


MADE = runpy.run_path(str(ROOT / "docs" / "make_commands.py"))
COLUMNS_MADE = runpy.run_path(str(ROOT / "docs" / "make_columns.py"))
STEPS_MADE = runpy.run_path(str(ROOT / "docs" / "make_steps.py"))
TOP = MADE["TOP"]
ALL: dict[tuple[str, ...], Any] = dict(MADE["walk"](TOP))
LEAVES = {path: command for path, command in ALL.items() if not hasattr(command, "commands")}


def options(command: Any) -> set[str]:
    return {
        name
        for p in command.params
        if p.param_type_name == "option"
        for name in (*p.opts, *p.secondary_opts)
    }


def test_every_command_and_option_has_help() -> None:
    found = (
        " ".join(("curation", *path, *(part.opts[:1] if part is not command else ())))
        for path, command in ALL.items()
        for part in (command, *command.params)
        if not (part.help or "").strip()
    )
    refuse(found, fix="write its docstring or its help")
    assert "--known-terms" in options(LEAVES["import", "answers"])


def test_the_tables_of_options_are_those_of_the_commands() -> None:
    old, new = page("commands.md"), MADE["written"](page("commands.md"))
    found = [line for line in difflib.ndiff(old.split("\n"), new.split("\n")) if line[:2] in "+ - "]
    refuse(found, fix="run make docs; what the help does not say goes below the table")


def test_the_tables_of_columns_are_those_of_releases() -> None:
    old, new = page("formats.md"), COLUMNS_MADE["written"](page("formats.md"))
    found = [line for line in difflib.ndiff(old.split("\n"), new.split("\n")) if line[:2] in "+ - "]
    refuse(found, fix="change data/release/columns.toml, and run make docs")


def test_the_figure_of_the_steps_is_as_they_are() -> None:
    old = page("architecture.md")
    assert STEPS_MADE["written"](old) == old, "run make docs"


def test_every_command_is_a_heading_and_no_other_is() -> None:
    headings = set(re.findall(r"^## (curation.*)$", page("commands.md"), re.MULTILINE))
    assert headings == {" ".join(("curation", *path)) for path in (*LEAVES, ())}


def test_help_has_the_order_of_the_readme() -> None:
    pipeline = section(README, "## The pipeline")
    order = list(dict.fromkeys(re.findall(r"`curation ([a-z]+)", pipeline)))
    assert TOP.list_commands(None) == [*order, "demo"]  # type: ignore[attr-defined,arg-type]
    named = [name for name in re.findall(r"«curation ([a-z]+)", TOP.help or "") if name in order]
    done = [name for name in dict.fromkeys(named) if name not in ("run", "status")]
    assert done == [name for name in order if name in done]
    assert {"init", "terms", "rounds", "import", "decisions", "scores", "run"} <= {*named}
    step = next(line for line in re.split(r"\n(?=\d)", pipeline) if "curation rounds" in line)
    rounds = list(ALL["rounds",].commands)
    verbs = [v for v in re.findall(r"`(?:curation rounds )?([a-z-]+)", step) if v in rounds]
    assert len(verbs) > 5
    assert verbs == [name for name in rounds if name in verbs]


FENCED = re.compile(r"^```\w*\n.*?^```$", re.MULTILINE | re.DOTALL)


def shell_commands(text: str) -> Iterator[tuple[int, str]]:
    """Whatever a page shows as a command line that begins with ``curation``, with its line."""
    outside = FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)
    hits = [*re.finditer(r"`curation\s+([^`]+)`", outside)]
    for block in FENCED.finditer(text):
        line = re.compile(r"^ *(?:\$ )?curation ((?:.*\\\n)*.+)", re.MULTILINE)
        hits += line.finditer(text, block.start(), block.end())
    for hit in sorted(hits, key=lambda hit: hit.start()):
        words = hit[1].replace("\\\n", " ").split("#")[0]
        yield text.count("\n", 0, hit.start()) + 1, words.strip()


def wrong_with(line: str) -> str:
    """Why a command line cannot be run, or nothing."""
    words, command = line.split(), TOP
    while words and hasattr(command, "commands") and words[0] in command.commands:
        command = command.commands[words.pop(0)]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        return "" if words[0] == "COMMAND" else f"no command {words[0]!r}"
    flags = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
    unknown = flags - options(command) - {"--help", "-h"}
    return f"no option {min(unknown)!r}" if unknown else ""


def test_every_shown_command_is_real() -> None:
    found = (
        f"{path.relative_to(ROOT)}:{number}: curation {line}: {why}"
        for path in PAGES
        for number, line in shell_commands(path.read_text("utf-8"))
        if (why := wrong_with(line))
    )
    refuse(found, fix="write the command as it is now")


def test_a_shown_command_that_is_not_real_is_seen() -> None:
    text = (
        "so `curation scoring x`\n```sh\n$ curation run \\\n  --fast  # now\ncuration init d\n```\n"
    )
    shown = [(number, line.split()) for number, line in shell_commands(text)]
    assert shown == [(1, ["scoring", "x"]), (3, ["run", "--fast"]), (5, ["init", "d"])]
    assert wrong_with("scores average") == "no command 'average'"
    assert wrong_with("run --fast") == "no option '--fast'"
    assert wrong_with("init d --yes") == ""
    assert len(list(shell_commands(README))) > 10


# --- settings and reasons -------------------------------------------------------------------

NAMED = {"domains": DomainSettings, "people": PeopleSettings, "groups": GroupSettings}
TABLES: dict[str, Any] = {
    f"{name}.{'KIND' if name == 'people' else 'NAME'}" if name in NAMED else name: NAMED.get(
        name, part.annotation
    )
    for name, part in Settings.model_fields.items()
}
SETTINGS = {
    f"{name}.{key}": (name, key, field.default)
    for name, part in TABLES.items()
    for key, field in part.model_fields.items()
}


def test_settings_are_documented_with_their_defaults_and_no_others() -> None:
    text = page("settings.md")
    assert re.findall(r"^## `\[([\w.]+)\]`$", text, re.MULTILINE) == list(TABLES)
    told = {name: rows(section(text, f"## `[{name}]`")) for name in TABLES}
    assert all(len(cells) == 4 and all(cells) for table in told.values() for cells in table)
    expected: dict[str, list[tuple[str, str]]] = {name: [] for name in TABLES}
    for name, key, default in SETTINGS.values():
        shown = "none" if name == "groups.NAME" else "made by `curation init`"
        if default is not PydanticUndefined:
            shown = f"`{json.dumps(default, ensure_ascii=False)}`"
        expected[name].append((f"`{key}`", shown))
    assert {name: [(c[0], c[1]) for c in table] for name, table in told.items()} == expected


def _limits(part: Any, key: str) -> tuple[str, str] | None:
    """The range of a setting as the docs write it; None if it is not a number with a range."""
    schema = part.model_json_schema()["properties"][key]
    if schema.get("type") not in ("integer", "number") or "enum" in schema:
        return None
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if below is not None and schema["type"] == "integer":
        high, below = below - 1, None
    return (
        f"above {above:g}" if low is None else f"{low:g}",
        f"below {below:g}" if high is None else f"{int(high)}",
    )


def test_the_ranges_of_settings_are_documented() -> None:
    told = {
        name: (low, high)
        for names, low, high in rows(section(page("settings.md"), "## Ranges"))
        for name in re.findall(r"`(.+?)`", names)
    }
    twice = {
        key for _, key, _ in SETTINGS.values() if sum(k == key for _, k, _ in SETTINGS.values()) > 1
    }
    ranges = {
        f"{name}.{key}" if key in twice else key: limits
        for name, key, _ in SETTINGS.values()
        if (limits := _limits(TABLES[name], key))
    }
    assert told == ranges


def test_the_papers_domains_are_as_documented() -> None:
    told = rows(section(page("settings.md"), "## The paper's domains"))
    found = {
        domain.strip("`"): tomllib.loads("\n".join(re.findall(r"`(.+?)`", settings)))
        for domain, settings in told
    }
    assert found == json.loads(json.dumps(PAPER))


def test_reasons_are_documented_with_their_meanings_and_no_others() -> None:
    parts = re.split(r"^## ", page("reasons.md"), flags=re.MULTILINE)[1:]
    told = [cells for part in parts if "| code |" in part for cells in rows(part)]
    assert [(cells[0].strip("`"), cells[1]) for cells in told] == list(REASONS.items())
    assert all(cells[2] for cells in told)  # what to do


# --- steps ----------------------------------------------------------------------------------


def test_steps_are_listed_in_their_order() -> None:
    table = section(page("commands.md"), "## curation status").split("| step | counts |")[1]
    assert [cells[0] for cells in rows(table)] == [step.name for step in STEPS]


# --- rules of scoring -----------------------------------------------------------------------

RULES_TOLD = section(page("scores.md"), "## Rules")


def test_rules_profiles_and_variants_of_scoring_are_told_as_they_are() -> None:
    tables = rows(RULES_TOLD[: RULES_TOLD.index("### Profiles")])
    rules = {cells[0].strip("`") for cells in tables if cells[0].startswith("`")}
    assert rules | {"nsp"} == set(RULES)  # nsp has a section of its own
    assert "`nsp`, for intersentence CATs, is " in section(RULES_TOLD, "### Next sentence")
    told: dict[str, dict[str, dict[str, str]]] = {}
    for name, families, *by_kind in rows(section(RULES_TOLD, "### Profiles")):
        own = {kind: cell.strip("`") for kind, cell in zip(KINDS, by_kind, strict=True)}
        for family in re.sub(r" \([^)]*\)", "", families).split(", "):
            kinds = {kind: rule for kind, rule in own.items() if rule != "–"}
            told.setdefault(name.strip("`"), {})[family] = kinds
    assert told == PROFILES
    variants = rows(section(RULES_TOLD, "### Variants"))
    assert [cells[0].strip("`") for cells in variants] == list(VARIANTS)


# --- the README -----------------------------------------------------------------------------


def test_the_readme_lists_every_page() -> None:
    listed = section(README, "## Documentation")
    for path in (ROOT / "docs").glob("*.md"):
        assert f"- [docs/{path.name}](docs/{path.name}): " in listed


# --- the architecture -----------------------------------------------------------------------


CODE = ROOT / "curation"
GUIDES = [ROOT / "docs" / "architecture.md", ROOT / "CONTRIBUTING.md"]
DEFINED = {
    name
    for path in CODE.rglob("*.py")
    for name in re.findall(r"^ *(?:def|class) (\w+)", path.read_text("utf-8"), re.MULTILINE)
}


# What the guides name as examples of what you add.
EXAMPLES = {
    "curation/audit/",
    "curation/audit/commands.py",
    "curation/audit/steps.py",
    "tests/audit/",
}


def packages() -> set[str]:
    """Every package under curation/, as the page writes it."""
    folders = {path.parent.relative_to(CODE) for path in CODE.rglob("__init__.py")}
    return {f"{folder.as_posix()}/" for folder in folders - {Path()}}


def missing_names(text: str) -> Iterator[tuple[int, str]]:
    """Modules, packages and functions that a guide names and that are not there, by line.

    In backticks, ``campaign/step.py`` is a module under curation/ or a file of the project,
    ``rounds/`` is a folder there, and ``run_steps()`` a function. ``3-decisions/`` is in a
    campaign, and ``test_STEP.py`` is an example. A name before a module in brackets is in it.
    """
    for match in re.finditer(r"`(\w+)(?:\(\))?`\s+(?:\(|in\s+)`([a-z_/]+\.py)`", text):
        places = [path for root in (CODE, ROOT) if (path := root / match[2]).exists()]
        if places and not re.search(rf"\b{match[1]}\b", places[0].read_text("utf-8")):
            yield text[: match.start()].count("\n") + 1, f"{match[1]} in {match[2]}"
    for number, line in enumerate(text.split("\n"), 1):
        for name in re.findall(r"`([a-z][a-z_0-9./-]*(?:/|\.py)|\w+\(\))`", line):
            if name.endswith("()"):
                there = name[:-2] in DEFINED
            else:
                there = any((root / name).exists() for root in (ROOT, CODE))
            if not there and name not in EXAMPLES:
                yield number, name


def test_every_package_is_in_the_architecture_and_no_other() -> None:
    table = rows(section(page("architecture.md"), "## Packages"))
    listed = [cells[0].strip("`") for cells in table]
    assert sorted(listed) == sorted(packages()), "a package has one row in docs/architecture.md"


def test_modules_and_functions_that_the_guides_name_exist() -> None:
    found = (
        f"{path.relative_to(ROOT)}:{number}: {name} is not there"
        for path in GUIDES
        for number, name in missing_names(path.read_text("utf-8"))
    )
    refuse(found, fix="write where it is now")
    assert list(missing_names("`campaign/step.py` has\n`run_stops()`")) == [(2, "run_stops()")]
    assert list(missing_names("`METRICS` in `records.py`")) == [(1, "METRICS in records.py")]


# --- dependencies ---------------------------------------------------------------------------


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NEEDED = [re.split(r"[<>=!~;\[ ]", line)[0] for line in PROJECT["dependencies"]]
EXTRAS = [
    re.split(r"[<>=!~;\[ ]", line)[0]
    for extra in PROJECT["optional-dependencies"].values()
    for line in extra
]

SPDX = {  # what packages say in words of their own
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "MIT License": "MIT",
}


def declared_licence(package: str) -> str:
    """The licence of an installed package in SPDX's words; empty if it only has the whole text."""
    about = metadata.metadata(package).json
    said = about.get("license_expression") or about.get("license") or ""
    if said == "UNKNOWN":  # then the classifier says it
        said = next(c.split(" :: ")[-1] for c in about["classifier"] if c.startswith("License"))
    return SPDX.get(said, said) if len(said) < 80 else ""


def test_dependencies_are_listed_with_their_licences_and_no_others() -> None:
    told = rows(page("dependencies.md"))
    assert sorted(cells[0] for cells in told) == sorted(NEEDED + EXTRAS)
    for package, licence, why, *_ in told:
        assert licence, package
        assert why, package
        assert declared_licence(package) in ("", licence), package


def plain(text: str) -> list[str]:
    """A text's lines without rules and the widths of columns."""
    return [" ".join(line.split()) for line in text.split("\n") if line.strip(" ─")]


def test_the_demo_ends_as_the_readme_says(demo: Any) -> None:
    quoted = [plain(block) for block in blocks(README)]
    steps = [lines for lines in quoted if lines[0].startswith("$ curation ")]
    end = next(lines for lines in quoted if lines[-1].startswith("To look around: "))
    assert demo.done.code == 0, demo.done.err
    lines = plain(demo.done.out)
    # The tiny models are not quoted: they differ between processors.
    assert [step[0].split()[2:4] for step in steps] == [
        ["decisions", "filter"],
        ["scores", "predictions"],
    ]
    for step in steps:
        start = lines.index(step[0])
        assert lines[start : start + 2] == step
    assert len(end) == 4
    assert lines[-4:] == end


# --- links ----------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The names under which headings can be linked to."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(path: Path) -> list[tuple[int, str]]:
    """The links of a page that lead nowhere, with the numbers of their lines."""
    dead = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        for link in re.findall(r"\]\(([^)\s]+)\)", line):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = path.parent / name if name else path
            if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
                dead.append((number, link))
    return dead


def test_every_relative_link_leads_somewhere() -> None:
    found = (
        f"{path.relative_to(ROOT)}:{number}: {link}"
        for path in PAGES
        for number, link in dead_links(path)
    )
    refuse(found, fix="link to a file and a heading that are there")


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "# One two\n[x](b.md) [y](#one-two)\n[z](a.md#three) [w](https://example.org)\n"
    )
    assert dead_links(path) == [(2, "b.md"), (3, "a.md#three")]
