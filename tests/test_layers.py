"""The layers: which module may import which (see docs/architecture.md)."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import get_args

import curation
from curation.cli import COMMANDS as GROUPS
from curation.cli import module_of
from curation.pipeline import BY_NAME
from curation.records import PlatformName
from support.offenders import refuse

ROOT = Path(curation.__file__).parent
SOURCES = {
    ".".join(("curation", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(ROOT.rglob("*.py"))
}
MODULES = sorted(SOURCES)
LAYERS = (
    {"text", "formats", "work", "catsets", "checks", "models", "stats", "released"}
    | {"files", "http", "kinds", "records", "reasons", "version"},
    {"campaign"},
    *({"terms"}, {"rounds"}, {"decisions"}, {"measures"}, {"scores"}, {"trust"}, {"release"}),
    *({"status"}, {"pages"}, {"board"}, {"pipeline"}, {"across"}),
    {"", "terminal", "cli", "__main__"},
)
"""Packages and modules, from the bottom; those of one layer do not import each other.

On the ground floor and in the command line, they do.
"""
GROUND = LAYERS[0]
STAGES = {"terms", "rounds", "decisions", "measures", "scores", "trust", "release"}
STAGES |= {"pages", "board"}
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
COMMANDS = {"commands", "cli", "terminal"}
"""Modules and packages that may use the terminal."""

# One module for each outside service; only these modules reach the network, most of them through
# the one over requests. Here is what each of them imports of ``NETWORK``.
REACHES_OUT = {
    "curation.http": {"requests", "urllib3", "urllib", "socket"},
    "curation.terms.wikidata": {"urllib"},  # Wikidata's query services
    "curation.rounds.platforms.label_studio.connection": {"urllib", "socket"},  # its SDK: by name
    "curation.rounds.platforms.web.prolific": set(),  # Prolific
    "curation.models.connection": {"urllib"},  # models behind an endpoint
    "curation.release.hub": {"huggingface_hub", "socket"},  # the Hugging Face Hub
    "curation.rounds.platforms.web.app": {"starlette"},  # the pages of annotators
    "curation.rounds.platforms.web.owner": {"starlette"},  # the owner's pages
    "curation.rounds.platforms.web.site": {"starlette"},  # what all pages share
    "curation.rounds.platforms.web.server": {"uvicorn", "socket"},  # and their server
}
NETWORK = {
    *("requests", "urllib", "urllib3", "http", "socket", "httpx", "aiohttp"),
    *("label_studio_sdk", "huggingface_hub"),
    *("starlette", "uvicorn", "fastapi", "flask", "socketserver", "asyncio"),
}
HEAVY = {"torch", "transformers"}
SLOW = (
    *("pandas", "numpy", "scipy", "yaml", "pyarrow", "openpyxl", "huggingface_hub", "rapidfuzz"),
    *("requests", "jinja2", "starlette", "uvicorn", "python_multipart", "sqlite3"),
    *HEAVY,
)
TERMINAL = {"rich", "typer", "click"}


# --- what a module imports ----------------------------------------------------------------------


def imported(
    tree: ast.AST, known: Mapping[str, object], *, typing: bool = True
) -> Iterator[tuple[int, str]]:
    """The modules that a module imports: the number of the line and the full name.

    Args:
        tree: the module.
        known: modules of ours: ``from curation.cli import console`` imports the module console.
        typing: count imports under ``if TYPE_CHECKING``, too.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield node.lineno, full if full in known else str(node.module)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            whole = ast.Module([*(node.body if typing else []), *node.orelse], [])
            yield from imported(whole, known, typing=typing)
        else:
            yield from imported(node, known, typing=typing)


def place(module: str, line: int) -> str:
    return f"{SOURCES[module].relative_to(ROOT.parent)}:{line}"


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(SOURCES[module].read_text("utf-8"))


@cache
def graph() -> dict[str, set[str]]:
    """What each module of ours imports when it runs, by module."""
    return {
        module: {name for _, name in imported(tree_of(module), SOURCES, typing=False)}
        for module in MODULES
    }


# --- layers -------------------------------------------------------------------------------------


FORM = {f"curation.campaign.{name}" for name in ("settings", "private", "manifest")}
"""What a rule may know of campaigns: the form of settings, of paths and of manifests."""


@cache
def is_rule(module: str) -> bool:
    """Whether a module is one of the rules of a stage: it knows no campaign, directly or not."""
    stage = module.split(".")[1] if "." in module else ""
    return stage in STAGES and not any(
        (name.startswith("curation.campaign.") and name not in FORM)
        or RANK.get(name.partition(".")[2].split(".")[0], 0) > RANK[stage]
        or (name.split(".")[1] in STAGES and name != module and not is_rule(name))
        for name in graph()[module]
        if name.startswith("curation.")
    )


def allowed(module: str, name: str) -> bool:
    """Whether a module may import another."""
    parts = name.split(".")
    if parts[0] != "curation":
        heavy = parts[0] in HEAVY and not module.startswith("curation.models.")
        outside = parts[0] in NETWORK - REACHES_OUT.get(module, set())
        terminal = parts[0] in TERMINAL and not COMMANDS & set(module.split("."))
        return not (heavy or outside or terminal)
    if name == "curation.http":
        return module in REACHES_OUT
    target, here = (parts[1] if len(parts) > 1 else ""), module.partition(".")[2].split(".")[0]
    if here == "records":
        return target in {"", "kinds", "records", "reasons"}
    if target == "terminal":
        return bool(COMMANDS & set(module.split(".")))
    together = {*GROUND, *LAYERS[-1]}
    return (
        target == here
        or target in ("", "version")
        or RANK[target] < RANK[here]
        or (RANK[target] == RANK[here] and here in together)
    )


def test_a_module_imports_its_own_layer_or_a_lower_one() -> None:
    found = (
        f"{place(module, line)}: imports {name}"
        for module in MODULES
        for line, name in imported(tree_of(module), SOURCES)
        if not allowed(module, name)
    )
    refuse(found, fix="move what both need to a lower layer, or pass it in (docs/architecture.md)")


def test_rules_import_no_other_stage() -> None:
    others = {
        module: sorted(
            name
            for name in graph()[module]
            if name.startswith("curation.")
            and name.split(".")[1] in STAGES - {module.split(".")[1]}
        )
        for module in MODULES
        if is_rule(module)
    }
    assert len(others) > 100
    refuse(
        (f"{module}: imports {name}" for module in others for name in others[module]),
        fix="pass in what is needed, or make it an action",
    )


def test_the_rule_sees_imports_that_are_not_allowed() -> None:
    assert not allowed("curation.decisions.filter", "curation.scores.compare")
    assert not allowed("curation.rounds.steps", "curation.terminal.console")
    assert not allowed("curation.records", "curation.files")
    assert not allowed("curation.work.run_folder", "curation.campaign.manifest")
    assert not allowed("curation.campaign.store", "curation.decisions.filter")
    assert not allowed("curation.rounds.steps", "rich.progress")
    assert not allowed("curation.scores.compare", "torch.nn")
    assert not allowed("curation.rounds.fold", "requests")
    assert not allowed("curation.rounds.fold", "curation.http")
    assert not allowed("curation.terms.wikidata", "requests")
    assert not allowed("curation.across.serving", "uvicorn")
    assert not allowed("curation.across.commands", "starlette.applications")
    assert allowed("curation.terms.wikidata", "curation.http")
    assert allowed("curation.models.causal", "torch.nn")
    assert allowed("curation.decisions.commands", "curation.decisions.steps")
    assert allowed("curation.rounds.platforms.web.app", "starlette.routing")
    assert not allowed("curation.rounds.platforms.web.app", "requests")


def test_what_is_named_exists() -> None:
    assert set(SOURCES) >= {f"curation.{name}".rstrip(".") for name in RANK} | set(REACHES_OUT)
    assert {module.split(".")[1] for module in MODULES if "." in module} == RANK.keys() - {""}


# --- circles ------------------------------------------------------------------------------------


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other, directly or not; empty if there are none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    found = [" -> ".join(circle(graph()))]
    refuse(filter(None, found), fix="join these modules, or move what both need to one below")


def siblings(graph: Mapping[str, set[str]], packages: Mapping[str, str]) -> set[tuple[str, str]]:
    """Pairs of packages that import each other; a package and its subpackage are no pair.

    Args:
        graph: what each module imports.
        packages: the package of each module.
    """
    arrows = {
        (packages[module], packages[name])
        for module, imports in graph.items()
        for name in imports & packages.keys()
    }
    pairs = {(a, b) for a, b in arrows if a < b and (b, a) in arrows}
    return {(a, b) for a, b in pairs if not b.startswith(f"{a}.")}


PACKAGES = {
    module: module if path.name == "__init__.py" else module.rpartition(".")[0]
    for module, path in SOURCES.items()
}


def test_no_sibling_packages_import_each_other() -> None:
    found = [f"{a} <-> {b}" for a, b in sorted(siblings(graph(), PACKAGES))]
    refuse(found, fix="move what both need to one of the two packages, or below them")


def test_the_rule_sees_circles() -> None:
    packages = {"a.x": "a", "a.y": "a", "a.b.z": "a.b", "c.w": "c"}
    inside = {"a.x": {"a.b.z"}, "a.b.z": {"a.y"}, "c.w": {"a.x"}}
    assert siblings(inside, packages) == set()
    assert siblings({**inside, "a.y": {"c.w"}}, packages) == {("a", "c")}
    typed = "if TYPE_CHECKING:\n    from a import b\ndef f():\n    import c\n"
    for typing, found in ((False, [(4, "c")]), (True, [(2, "a.b"), (4, "c")])):
        assert list(imported(ast.parse(typed), {"a.b": 0}, typing=typing)) == found


# --- steps --------------------------------------------------------------------------------------


def names_compared(tree: ast.AST) -> list[tuple[int, str]]:
    """What is compared with a step's name: a variable or field called name, step or last.

    Words such as "split" and "filter" have other uses, so other variables are left out. Each comes
    with the number of its line.
    """
    compared = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Match):
            sides = [node.subject, *(case.pattern for case in node.cases)]
        else:
            continue
        called = {getattr(side, "id", getattr(side, "attr", "")) for side in sides}
        holders = ast.Tuple | ast.List | ast.Set | ast.pattern
        parts = [*sides, *(p for s in sides if isinstance(s, holders) for p in ast.walk(s))]
        constants = {part.value for part in parts if isinstance(part, ast.Constant)}
        if called & {"name", "step", "last"} and constants & BY_NAME.keys():
            compared.append((sides[0].lineno, ast.unparse(sides[0])))
    return compared


def test_what_is_special_about_a_step_is_declared_at_the_step() -> None:
    found = (
        f"{place(module, line)}: compares {what} with the name of a step"
        for module in MODULES
        if module.split(".")[1:2] in (["steps"], ["cli"])
        for line, what in names_compared(tree_of(module))
    )
    refuse(found, fix="add a field to Step (curation/campaign/step.py) and read it here")


def test_the_rule_sees_comparisons_of_names() -> None:
    for text in ('step.name == "release"', 'step.name in ("select", "answers")'):
        assert names_compared(ast.parse(text)), text
    for text in ('cat.split == "split"', 'name == "dev"', 'steps["answers"].name == other.name'):
        assert not names_compared(ast.parse(text)), text


# --- platforms ----------------------------------------------------------------------------------

# The only module outside rounds/platforms/ that compares names of platforms (docs/architecture.md).
MAY_ASK = {"curation.rounds.answers.interpret": "raw answers"}


def platforms_compared(tree: ast.AST) -> list[tuple[int, str]]:
    """Comparisons with the name of a platform: the number of the line, and the comparison."""
    names = {*get_args(PlatformName), "DEFAULT", "SERVERS"}
    compared = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
            words = {getattr(p, "id", getattr(p, "attr", getattr(p, "value", ""))) for p in parts
                     if isinstance(p, ast.Name | ast.Attribute | ast.Constant)}  # fmt: skip
            if words & {"platform", "platform_", "source"} and words & names:
                compared.append((node.lineno, ast.unparse(node)))
    return compared


def test_only_named_modules_ask_which_platform_it_is() -> None:
    asking = {
        module: [f"{place(module, line)}: {what}" for line, what in platforms_compared(tree)]
        for module in MODULES
        if not module.startswith("curation.rounds.platforms.")
        for tree in (tree_of(module),)
    }
    refuse(
        (line for module in asking.keys() - MAY_ASK for line in asking[module]),
        fix="add a verb or an attribute to Platform (curation/rounds/platforms/interface.py)",
    )
    assert all(asking[module] for module in MAY_ASK), "a module of MAY_ASK does not ask any more"
    page = (ROOT.parent / "docs" / "architecture.md").read_text("utf-8")
    assert all(f"`{SOURCES[module].relative_to(ROOT)}`" in page for module in MAY_ASK)


def test_the_rule_sees_comparisons_of_platforms() -> None:
    for text in ('round.platform == "web"', "platform_ != DEFAULT", 'x.source in ("files", "web")'):
        assert platforms_compared(ast.parse(text)), text
    for text in ('basis == "files"', "platform not in (a, b)", "platform == round.platform"):
        assert not platforms_compared(ast.parse(text)), text


# --- files --------------------------------------------------------------------------------------

# The only rules of stages that open files other than those that are shipped with curation.
MAY_OPEN = {
    "terms.dump": "a Wikidata dump",
    "terms.wikidata": "answers of the query service",
    "checks.content": "lists that are shipped",
    "checks.lexical": "a list of another package",
    "checks.lists": "a team's own words; lists that are shipped",
    "rounds.answers.archive": "raw answers",
    "rounds.answers.forms": "no file: digest() is of a row",
    "rounds.answers.people": "the key",
    "rounds.platforms.label_studio.local": "the folder of a local server",
    "rounds.platforms.label_studio.platform": "what it sent to a server",
    "rounds.platforms.pages": "texts, those of a team and those that are shipped; examples",
    "rounds.platforms.web.platform": "the list of links",
    "rounds.platforms.web.database": "its schema",
    "decisions.neutral": "texts that are shipped",
    "measures.counting": "tables of counts",
    "scores.published": "figures that are shipped",
    "scores.run_folder": "the folder of a run",
    "scores.running": "the folder of a run",
    "scores.runs": "folders of runs, and files of predictions",
    "trust.protocol.attested": "the answers; questions that are shipped",
    "released.folder": "folders of releases",
    "released.versions": "other versions of a dataset",
    "released.commitments": "private gold files",
    "release.anonymous": "the texts for annotators that are shipped",
    "release.harness_files": "lm_eval_metrics.py, which releases contain",
    "board.about": "board.toml",
    "board.log": "the log of a board",
    "board.submission": "what is submitted",
}
OPENING = {
    *("open", "open_input", "digest", "writing", "append_lines", "each_columns"),
    *("read_bytes", "read_text", "read_json", "read_records", "read_table", "read_toml"),
    *("read_parts", "read_dataset", "read_entries", "read_cats", "read_gold_file"),
}


def opened(tree: ast.AST) -> list[tuple[int, str]]:
    """Calls that open a file that is not shipped: the number of the line, and what is called."""
    return [
        (node.lineno, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (name := ast.unparse(node.func).split(".")[-1]) in OPENING
        and (isinstance(node.func, ast.Name) or name in {"open", "read_bytes", "read_text"})
        and not ast.unparse(node).startswith(f"{name}(shipped(")
    ]


def test_only_readers_and_writers_of_files_open_them() -> None:
    opening = {
        module.removeprefix("curation."): [
            f"{place(module, line)}: calls {name}" for line, name in opened(tree_of(module))
        ]
        for module in MODULES
        if is_rule(module) or module.split(".")[1:2] in (["checks"], ["released"])
    }
    refuse(
        (line for module in opening.keys() - MAY_OPEN for line in opening[module]),
        fix="read it in an action, or where such files are read, and pass in what is read",
    )
    assert all(opening[module] for module in MAY_OPEN), "a module of MAY_OPEN opens no file now"


def test_the_rule_sees_what_opens_a_file() -> None:
    for text in ("open(a)", "path.read_text()", "read_json(path)", "read_toml(place(x), fix='')"):
        assert opened(ast.parse(text)), text
    for text in ("read_toml(shipped('data'), fix='')", "release.digest(name)", "read_label(x)"):
        assert not opened(ast.parse(text)), text


# --- models, printing, the command line ---------------------------------------------------------


def test_the_command_line_and_the_steps_are_there_without_large_libraries() -> None:
    code = f"import sys, curation.cli, curation.pipeline; print(*set({SLOW!r}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_help_imports_no_stage() -> None:
    code = (
        "import sys; from curation.cli import app; app(['--help'], standalone_mode=False); "
        "print('modules', *sorted(m for m in sys.modules if m.startswith('curation.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split("modules ")[1].split()
    assert "curation.cli" in loaded
    assert "curation.records" not in loaded  # pydantic makes its models when it is imported
    assert not {name.split(".")[1] for name in loaded} & {*STAGES, "pipeline", "status", "across"}


PRINTING = {"print", "sys.stdout.write", "sys.stderr.write"}


def test_only_the_command_line_prints() -> None:
    found = (
        f"{place(module, node.lineno)}: calls {name}"
        for module in MODULES
        if not {*COMMANDS, "__main__"} & set(module.split("."))
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and (name := ast.unparse(node.func)) in PRINTING
    )
    refuse(found, fix="return it, or give it to the Reporter that the caller passes in")


def commands(module: ModuleType) -> Iterator[str]:
    """The modules of the commands of a group, or the module of a command."""
    if not hasattr(module, "app"):
        yield module.__name__
        return
    for command in module.app.registered_commands:
        yield command.callback.__module__


def test_modules_of_the_command_line_hold_commands_options_or_tables() -> None:
    """A module without a command shows results: it declares no options and opens nothing."""
    own = {m for m in MODULES if {"cli", "commands"} & set(m.split("."))}
    groups = {m for m in own if "\napp = command_group(" in SOURCES[m].read_text("utf-8")}
    tables = (
        own - groups - {m for name in GROUPS for m in commands(module_of(name))} - {"curation.cli"}
    )
    assert tables
    found = [
        f"{place(module, line)}: imports typer"
        for module in tables
        for line, name in imported(tree_of(module), SOURCES)
        if name == "typer"
    ]
    found += [
        f"{place(module, node.lineno)}: names open_campaign"
        for module in tables
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Name | ast.Attribute | ast.alias)
        and "open_campaign" in ast.unparse(node)
    ]
    refuse(sorted(found), fix="this module has no command: move options and campaigns to commands")
