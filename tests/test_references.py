"""What docstrings name in double backticks exists: modules, functions, fields and files."""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import curation
from support.offenders import refuse

ROOT = Path(curation.__file__).parent
SOURCES = {
    ".".join(("curation", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): path
    for path in sorted(ROOT.rglob("*.py"))
}
FOLDERS = ("annotation_configs", "benchmarks", "data", "deploy", "docs", "schemas", "tests")
# What belongs to others and is not a name in our code: libraries, StereoSet's code, a service, a
# variable of a template; and patterns of names.
OTHERS = {
    *("LM.loglikelihood", "datasets.load_dataset", "node.name", "section.key"),
    *("IntrasentenceLoader",),
    *("dataloader.py", "eval_generative_models.py", "eval_discriminative_models.py"),
    *("metric.py", "metric_autoregressive.py", "get_span", "calculate_aul"),
    *("HF_ENDPOINT", "acc_bytes", "acc_norm", "attn_implementation", "experts_implementation"),
    *("sha256sum", "finally", "prolific_token"),
    *("INTRASENTENCE_INTERSENTENCE", "INTRA_INTER", "KIND_tier_N", "NAME_ci", "NAME_title"),
}
FILE = re.compile(r"[\w./-]+\.(?:py|json|jsonl|toml|csv|md|bin|sql|txt|cff|html|css|js)")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+")
WORD = re.compile(r"[A-Za-z_]\w*")


@cache
def trees() -> dict[str, ast.Module]:
    return {module: ast.parse(path.read_text("utf-8")) for module, path in SOURCES.items()}


def docstrings(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.Constant]]:
    """Each docstring, also of a constant, with the module, class or function that it is in."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            text = each.value if isinstance(each, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node, text


def names_in(tree: ast.AST) -> Iterator[str]:
    """All names in code, also those that it defines."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            if isinstance(name := getattr(node, field, None), str):
                yield from name.split(".")


@cache
def defined() -> dict[str, set[str]]:
    """What each module and package has: classes, functions, constants, imports and modules."""
    found: dict[str, set[str]] = defaultdict(set)
    for module, tree in trees().items():
        found[module.rpartition(".")[0]].add(module.rpartition(".")[2])
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found[module].add(node.name)
            else:
                found[module] |= set(names_in(node))
    return found


@cache
def members() -> dict[str, set[str]]:
    """The fields and methods of each class of ours."""
    found: dict[str, set[str]] = defaultdict(set)
    for tree in trees().values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found[node.name] |= set(names_in(node))
    return found


@cache
def attributes() -> set[str]:
    """The attributes that code reads of a name, as ``NAME.ATTRIBUTE``."""
    nodes = (node for tree in trees().values() for node in ast.walk(tree))
    return {
        ast.unparse(node)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }


@cache
def words() -> set[str]:
    """Every word of the code outside docstrings, and of the files beside it."""
    found = {part for module in SOURCES for part in module.split(".")}
    for tree in trees().values():
        found |= set(names_in(tree))
        ours = {id(text) for _, text in docstrings(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= set() if id(node) in ours else set(WORD.findall(node.value))
    for path in (each for top in ("data", "curation") for each in (ROOT.parent / top).rglob("*")):
        if path.suffix in {".toml", ".csv", ".sql", ".html", ".js", ".jinja"}:
            found |= set(WORD.findall(path.read_text("utf-8")))
    return found


def leads_somewhere(name: str, node: ast.AST) -> bool:
    """Whether a name in a docstring exists.

    Args:
        name: what is between the backticks.
        node: the module, class or function with the docstring.
    """
    if name in OTHERS:
        return True
    if FILE.fullmatch(name):
        if name.partition("/")[0] in FOLDERS and "/" in name and name == name.lower():
            return (ROOT.parent / name).exists()
        ours = any(str(path).endswith(f"/{name}") for path in SOURCES.values())
        return ours or not name.endswith(".py")
    if WORD.fullmatch(name):
        return name in words()
    if not DOTTED.fullmatch(name):
        return True
    head, field, *_ = parts = name.split(".")
    for at in range(1, len(parts)):
        module, first, field_of = ".".join(parts[:at]), parts[at], parts[at + 1 : at + 2]
        own = [what for known, what in defined().items() if f".{known}".endswith(f".{module}")]
        if any(first in what for what in own) and members()[first].issuperset(field_of):
            return True
    if field in members()[head] or f"{head}.{field}" in attributes():
        return True
    if hasattr(getattr(builtins, head, None), field):
        return True
    if not any(f".{known}".endswith(f".{head}") for known in SOURCES) and find_spec(head):
        return True
    # A field of an argument or a variable; what a module has is named with the module.
    of_modules = set().union(*defined().values())
    return head in set(names_in(node)) and field in set().union(*members().values()) - of_modules


def test_what_docstrings_name_exists() -> None:
    found = (
        f"{SOURCES[module].relative_to(ROOT.parent)}:{text.lineno}: {name}"
        for module, tree in trees().items()
        for node, text in docstrings(tree)
        for name in re.findall(r"``([^`\s]+?)(?:\(\))?``", str(text.value))
        if not leads_somewhere(name, node)
    )
    refuse(found, fix="name what is there now; what others own is in OTHERS")


def test_the_rule_sees_names_that_lead_nowhere() -> None:
    node = ast.parse("def f(counts, spec): return counts.sum()").body[0]
    gone = ("metrics.gone", "gone_module.by_cat", "scores.metrics.results", "Cat.gone", "GoneClass",
            "gone_function", "counts.questions_table", "gone.py", "docs/gone.md",
            "curation.scores.gone", "records.Reply.gone")  # fmt: skip
    there = ("metrics.results", "stats.metrics.results", "records.Cat", "Cat.tier", "curation.http",
             "records.Reply.body", "spec.submitted_at", "str.casefold", "contextlib.closing", "Cat",
             "questions_table", "pipeline.py", "docs/measures.md", "campaign.toml", "--json",
             "{name}")  # fmt: skip
    assert [name for name in gone if leads_somewhere(name, node)] == []
    assert [name for name in there if not leads_somewhere(name, node)] == []
