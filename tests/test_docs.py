"""The documentation is true: what it names exists, and what exists is named."""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic_core import PydanticUndefined

from curation.cli import app
from curation.models.rules import PROFILES, RULES
from curation.reasons import REASONS
from curation.scores.asking import VARIANTS
from curation.settings import PAPER, DomainSettings, GroupSettings, Settings
from curation.steps.pipeline import STEPS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "deploy/README.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]
TOP = typer.main.get_command(app)


def page(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def section(text: str, heading: str) -> str:
    """What stands under a heading, down to the next one that is not below it."""
    lines = text.split("\n")
    start = lines.index(heading)
    level = heading.split(" ")[0]
    ends = (n for n in range(start + 1, len(lines)) if re.match(rf"#{{1,{len(level)}}} ", lines[n]))
    return "\n".join(lines[start + 1 : next(ends, len(lines))])


def blocks(text: str) -> list[str]:
    """What stands between the fences of a page, in order."""
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


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every group and command with its words after ``curation``."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from walk(below, (*path, name))


ALL = dict(walk(TOP))
LEAVES = {path: command for path, command in ALL.items() if not hasattr(command, "commands")}
SHOWN = {"/".join(("curation", *path)): path for path in (*LEAVES, ())}


def options(command: Any) -> set[str]:
    return {
        name
        for p in command.params
        if p.param_type_name == "option"
        for name in (*p.opts, *p.secondary_opts)
    }


def test_the_walk_finds_commands() -> None:
    assert ("import", "answers") in LEAVES
    assert ("demo",) in LEAVES
    assert "--known-terms" in options(LEAVES["import", "answers"])


@pytest.mark.parametrize("path", ALL.values(), ids=["/".join(p) or "curation" for p in ALL])
def test_every_command_has_help(path: Any) -> None:
    assert (path.help or "").strip()
    assert all((p.help or "").strip() for p in path.params), "an option without help"


@pytest.mark.parametrize("path", SHOWN.values(), ids=SHOWN.keys())
def test_every_command_is_a_heading_with_all_its_options(path: tuple[str, ...]) -> None:
    text = page("commands.md")
    heading = " ".join(("## curation", *path))
    assert heading in text.split("\n")
    heads = [cells[0] for cells in rows(section(text, heading))]
    named = {name for head in heads for name in re.findall(r"`(--?[\w-]+)`", head)}
    assert options(ALL[path]) - named == set(), "not documented"
    assert named - options(ALL[path]) <= {"--help", "-h"}, "not an option of this command"
    arguments = {
        p.metavar or p.name.upper() for p in ALL[path].params if p.param_type_name == "argument"
    }
    assert arguments <= {head.strip("`") for head in heads}


def test_no_heading_is_without_its_command() -> None:
    headings = re.findall(r"^## (curation.*)$", page("commands.md"), re.MULTILINE)
    assert {h.replace(" ", "/") for h in headings} == set(SHOWN)


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
    named = re.findall(r"`(?:curation rounds )?([a-z-]+)", step)
    verbs = [name for name in named if name in rounds]
    assert len(verbs) > 5
    assert verbs == [name for name in rounds if name in verbs]


def shell_commands(text: str) -> Iterator[str]:
    """Whatever a page shows as a command line that begins with ``curation``."""
    for block in blocks(text):
        for line in block.replace("\\\n", " ").split("\n"):
            yield from re.findall(r"^(?:\$ )?curation (.+)", line.split("#")[0].strip())
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`curation\s+([^`]+)`", outside)


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


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_shown_command_is_real(path: Path) -> None:
    wrong = {
        line: why for line in shell_commands(path.read_text("utf-8")) if (why := wrong_with(line))
    }
    assert not wrong


def test_a_shown_command_that_is_not_real_is_seen() -> None:
    text = (
        "so `curation scoring x`\n```sh\n$ curation run --fast  # now\ncuration init d --yes\n```\n"
    )
    assert sorted(shell_commands(text)) == ["init d --yes", "run --fast", "scoring x"]
    assert wrong_with("scoring x") == "no command 'scoring'"
    assert wrong_with("scores average") == "no command 'average'"
    assert wrong_with("run --fast") == "no option '--fast'"
    assert wrong_with("init d --yes") == ""
    assert len(list(shell_commands(README))) > 10


# --- settings and reasons -------------------------------------------------------------------

NAMED = {"domains": DomainSettings, "groups": GroupSettings}
TABLES: dict[str, Any] = {
    f"{name}.NAME" if name in NAMED else name: NAMED.get(name, part.annotation)
    for name, part in Settings.model_fields.items()
}
SETTINGS = {
    f"{name}.{key}": (name, key, field.default)
    for name, part in TABLES.items()
    for key, field in part.model_fields.items()
}


@pytest.mark.parametrize(("name", "key", "default"), SETTINGS.values(), ids=SETTINGS.keys())
def test_every_setting_is_documented_with_its_default(name: str, key: str, default: Any) -> None:
    table = {cells[0]: cells for cells in rows(section(page("settings.md"), f"## `[{name}]`"))}
    cells = table[f"`{key}`"]
    if default is PydanticUndefined:
        assert cells[1] == ("none" if name == "groups.NAME" else "made by `curation init`")
    else:
        assert cells[1] == f"`{json.dumps(default, ensure_ascii=False)}`"
    assert len(cells) == 4
    assert all(cells)


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


def test_no_documented_setting_is_unknown() -> None:
    text = page("settings.md")
    sections = re.findall(r"^## `\[([\w.]+)\]`$", text, re.MULTILINE)
    assert sections == list(TABLES)
    named = [
        f"{name}.{cells[0].strip('`')}"
        for name in sections
        for cells in rows(section(text, f"## `[{name}]`"))
    ]
    assert named == list(SETTINGS)


def test_the_papers_domains_are_as_documented() -> None:
    told = rows(section(page("settings.md"), "## The paper's domains"))
    found = {
        domain.strip("`"): tomllib.loads("\n".join(re.findall(r"`(.+?)`", settings)))
        for domain, settings in told
    }
    assert found == json.loads(json.dumps(PAPER))


@pytest.mark.parametrize("code", REASONS)
def test_every_reason_is_documented_with_its_meaning(code: str) -> None:
    table = {cells[0]: cells for cells in rows(page("reasons.md"))}
    cells = table[f"`{code}`"]
    assert cells[1] == REASONS[code]
    assert cells[2]


def test_no_documented_reason_is_unknown() -> None:
    text = page("reasons.md")
    parts = [part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:] if "| code |" in part]
    assert [cells[0].strip("`") for part in parts for cells in rows(part)] == list(REASONS)


# --- steps ----------------------------------------------------------------------------------


def test_steps_are_listed_in_their_order() -> None:
    names = [step.name for step in STEPS]
    text = " ".join(section(page("campaign.md"), "## Steps and manifests").split())
    assert text.startswith(f"The steps are {', '.join(names[:-1])} and {names[-1]}, in this order.")
    table = section(page("commands.md"), "## curation status").split("| step | counts |")[1]
    assert [cells[0] for cells in rows(table)] == names


# --- rules of scoring -----------------------------------------------------------------------

RULES_TOLD = section(page("scores.md"), "## Rules")


def test_every_rule_of_scoring_is_told_and_no_other() -> None:
    tables = rows(RULES_TOLD[: RULES_TOLD.index("### Profiles")])
    told = {cells[0].strip("`") for cells in tables if cells[0].startswith("`")}
    assert told | {"nsp"} == set(RULES)  # nsp has a section of its own
    assert "`nsp`, for intersentence CATs, is " in section(RULES_TOLD, "### Next sentence")


def test_profiles_are_told_as_they_are() -> None:
    told: dict[str, dict[str, dict[str, str]]] = {}
    for name, families, *by_kind in rows(section(RULES_TOLD, "### Profiles")):
        intra, inter = (cell.strip("`") for cell in by_kind)
        for family in re.sub(r" \([^)]*\)", "", families).split(", "):
            rules = {"intrasentence": intra, "intersentence": inter}
            told.setdefault(name.strip("`"), {})[family] = rules
    assert told == PROFILES


def test_variants_are_told_as_they_are() -> None:
    told = [cells[0].strip("`") for cells in rows(section(RULES_TOLD, "### Variants"))]
    assert told == list(VARIANTS)


# --- the README -----------------------------------------------------------------------------


def test_the_readme_lists_every_page() -> None:
    listed = section(README, "## Documentation")
    for path in (ROOT / "docs").glob("*.md"):
        assert f"- [docs/{path.name}](docs/{path.name}): " in listed


LEFT_OUT = {"__init__.py", "py.typed"}


def tree(text: str) -> dict[str, str]:
    """The paths of a drawn file tree with their comments; folders end in a slash."""
    block = next(b for b in blocks(text) if b.startswith(".\n"))
    found: dict[str, str] = {}
    above: list[str] = []
    for line in block.split("\n")[1:-1]:
        drawn, _, comment = line.partition("#")
        bar, name = re.fullmatch(r"((?:│   |    )*[├└]── )(.+?)\s*", drawn).groups()  # type: ignore[union-attr]
        above = above[: len(bar) // 4 - 1]
        found["".join(above) + name] = comment.strip()
        if name.endswith("/"):
            above.append(name)
    return found


def real_files() -> set[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {name for name in listing.split("\0") if name and (ROOT / name).exists()}
    return {n for n in names if not n.startswith(".") and Path(n).name not in LEFT_OUT}


def below(folder: str, files: set[str]) -> set[str]:
    """What lies directly in a folder; folders end in a slash."""
    inside = [name.removeprefix(folder) for name in files if name.startswith(folder)]
    return {folder + part.split("/")[0] + ("/" if "/" in part else "") for part in inside}


def drawn_below(folder: str, drawn: dict[str, str]) -> set[str]:
    inside = [n for n in drawn if n.startswith(folder) and n != folder and not n.startswith(".")]
    return {n for n in inside if "/" not in n.removeprefix(folder).rstrip("/")}


def test_the_file_tree_is_the_real_one() -> None:
    drawn, files = tree(page("architecture.md")), real_files()
    assert drawn_below("", drawn) == below("", files)
    opened = {f for f in drawn if f.endswith("/") and drawn_below(f, drawn)}
    for folder in sorted(opened):
        assert drawn_below(folder, drawn) == below(folder, files), folder
    modules = {name for name in files if name.startswith("curation/") and name.endswith(".py")}
    assert modules <= set(drawn)
    assert all((ROOT / name).exists() for name in drawn)


def test_every_line_of_the_file_tree_has_a_comment() -> None:
    opened = {
        name
        for name in tree(page("architecture.md"))
        if drawn_below(name, tree(page("architecture.md")))
    }
    silent = {name for name, comment in tree(page("architecture.md")).items() if not comment}
    assert silent <= opened


def test_a_file_tree_is_read_as_drawn() -> None:
    lines = [".", "├── a.py   # one", "├── b/", "│   └── c.py  # two", "└── d/     # three"]
    text = "\n".join(["```sh", "x", "```", "```", *lines, "    └── e/  # 4", "```", ""])
    assert tree(text) == {"a.py": "one", "b/": "", "b/c.py": "two", "d/": "three", "d/e/": "4"}
    assert drawn_below("", tree(text)) == {"a.py", "b/", "d/"}
    assert drawn_below("d/", tree(text)) == {"d/e/"}
    assert below("b/", {"a.py", "b/c.py", "b/x/y.py"}) == {"b/c.py", "b/x/"}


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


@pytest.mark.parametrize("package", [*NEEDED, *EXTRAS])
def test_every_dependency_is_listed_with_its_licence(package: str) -> None:
    table = {cells[0]: cells for cells in rows(page("dependencies.md"))}
    _, licence, why = table[package]
    assert licence
    assert why
    about = metadata.metadata(package).json
    said = about.get("license_expression") or about.get("license") or ""
    if said == "UNKNOWN":  # then the classifier says it
        said = next(c.split(" :: ")[-1] for c in about["classifier"] if c.startswith("License"))
    if said and len(said) < 80:  # older packages put the whole text there
        assert licence == SPDX.get(said, said)


def test_no_listed_dependency_is_unknown() -> None:
    listed = [cells[0] for cells in rows(page("dependencies.md"))]
    assert sorted(listed) == sorted(NEEDED + EXTRAS)


def plain(text: str) -> list[str]:
    """A text's lines without rules and the widths of columns."""
    return [" ".join(line.split()) for line in text.split("\n") if line.strip(" ─")]


def test_the_demo_ends_as_the_readme_says(demo: Any) -> None:
    quoted = [plain(block) for block in blocks(README)]
    scores = next(lines for lines in quoted if lines[0] == "shorter-is-likelier, both kinds")
    end = next(lines for lines in quoted if lines[-1].startswith("To look around: "))
    assert demo.done.code == 0, demo.done.err
    lines = plain(demo.done.out)
    start = lines.index(scores[0])
    assert len(scores) == 3
    assert lines[start : start + len(scores)] == scores
    # The tiny models come before. The README does not quote them: they differ between processors.
    before = lines[: lines.index("$ curation release build")]
    assert any(line.startswith("$ curation scores models ") for line in before)
    assert "$ curation scores compare" in before
    assert len(end) == 2
    assert lines[-2:] == end


# --- links ----------------------------------------------------------------------------------


def anchors(text: str) -> set[str]:
    """The names under which headings can be linked to."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def dead_links(path: Path) -> list[str]:
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", path.read_text("utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists() or (anchor and anchor not in anchors(target.read_text("utf-8"))):
            dead.append(link)
    return dead


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    assert not dead_links(path)


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("# One two\n[x](b.md) [y](#one-two) [z](a.md#three) [w](https://example.org)\n")
    assert dead_links(path) == ["b.md", "a.md#three"]
