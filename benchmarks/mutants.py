"""Change single lines of curation, and see whether the tests notice: seeded mutants.

    python benchmarks/mutants.py draw mutants.json --number 60 --seed 1
    python benchmarks/mutants.py run mutants.json --at COMMIT --json caught.json

``draw`` chooses lines outside the command line in which an operator or a number can be changed, and
whose text is there only once, so that the same mutants are found again after code has moved.
``run`` makes each in a copy of a commit and runs the tests of the package until one fails: those in
its folder of tests/, and all that import its module. Mutants that the tests catch before a change
must be caught after it; ``--only caught.json`` runs just these.
"""

import argparse
import ast
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SWAPS = {" < ": " >= ", " > ": " <= ", " == ": " != ", " + ": " - ", " and ": " or ", " not ": " "}
NUMBER = re.compile(r"(?<![\w.\"'])(\d+)(?![\w.\"'])")
LIMIT = 600  # seconds for the tests of one mutant; a mutant that hangs is caught


class Mutant(NamedTuple):
    """A line, and what it becomes."""

    before: str
    after: str


def candidates(root: Path) -> Iterator[Mutant]:
    """Every line that can be changed and whose text occurs once."""
    lines = Counter[str]()
    code: list[str] = []
    for path in sorted((root / "curation").rglob("*.py")):
        text = path.read_text("utf-8").split("\n")
        lines.update(line.strip() for line in text)
        if not {"cli", "terminal", "commands", "commands.py"} & {*path.relative_to(root).parts}:
            code += [text[number - 1].strip() for number in _statements(path)]
    for line in code:
        for old, new in SWAPS.items():
            if lines[line] == 1 and line.count(old) == 1 and "import" not in line:
                yield Mutant(line, line.replace(old, new))
        found = NUMBER.findall(line)
        if lines[line] == 1 and len(found) == 1 and line.startswith(("return", "if", "while")):
            yield Mutant(line, NUMBER.sub(str(int(found[0]) + 1), line))


def _statements(path: Path) -> list[int]:
    """The numbers of lines that hold a whole statement, or the head of one, inside a function."""
    numbers = set()
    for function in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Return | ast.Assign | ast.AugAssign | ast.If | ast.While):
                    end = node.test.end_lineno if isinstance(node, ast.If | ast.While) else 0
                    if (end or node.end_lineno) == node.lineno:
                        numbers.add(node.lineno)
    return sorted(numbers)


def tests_of(copy: Path, module: Path) -> list[str]:
    """The tests of a module's package, and those that import the module; the nearest first."""
    dotted = ".".join(module.relative_to(copy).with_suffix("").parts)
    parent, _, name = dotted.rpartition(".")
    named = re.compile(rf"from {re.escape(dotted)} |from {re.escape(parent)} import .*\b{name}\b")
    files = sorted((copy / "tests").rglob("test_*.py"))
    direct = [str(path) for path in files if named.search(path.read_text("utf-8"))]
    folder = copy / "tests" / (module.relative_to(copy).parts[1].removesuffix(".py"))
    return list(dict.fromkeys([*direct, *([str(folder)] if folder.is_dir() else [])]))


def caught(copy: Path, mutant: Mutant) -> str:
    """The test that fails with the mutant; empty if none does, "?" if its line is not there."""
    for path in sorted((copy / "curation").rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.split("\n")
        places = [n for n, line in enumerate(lines) if line.strip() == mutant.before]
        if len(places) == 1:
            break
    else:
        return "?"
    line = lines[places[0]]
    lines[places[0]] = line.replace(mutant.before, mutant.after)
    path.write_text("\n".join(lines), "utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m"]
    command += ["not outside", *tests_of(copy, path)]
    try:
        done = subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=LIMIT)
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.M)
        return failed[1] if failed else "" if done.returncode in (0, 5) else "error"
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        path.write_text(text, "utf-8")


def main() -> None:
    """Draw mutants, or run them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("verb", choices=("draw", "run"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--at", default="HEAD", help="the commit whose code and tests are run")
    parser.add_argument("--json", type=Path, help="write what was caught")
    parser.add_argument("--only", type=Path, help="results of an earlier run: its caught mutants")
    asked = parser.parse_args()
    if asked.verb == "draw":
        chosen = random.Random(asked.seed).sample(list(candidates(ROOT)), asked.number)
        asked.file.write_text(json.dumps(chosen, indent=1, ensure_ascii=False), "utf-8")
        return
    mutants = [Mutant(*each) for each in json.loads(asked.file.read_text("utf-8"))]
    if asked.only:
        known = json.loads(asked.only.read_text("utf-8"))
        mutants = [mutant for mutant in mutants if known.get(mutant.before, "?") not in ("", "?")]
    ends = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        subprocess.run(["git", "clone", "-q", ROOT, copy], check=True)
        subprocess.run(["git", "checkout", "-q", asked.at], cwd=copy, check=True)
        for mutant in mutants:
            ends[mutant.before] = caught(copy, mutant)
            print(f"{ends[mutant.before] or 'SURVIVES'}\n    {mutant.before}\n    {mutant.after}")
            if asked.json:
                asked.json.write_text(json.dumps(ends, indent=1, ensure_ascii=False), "utf-8")
    missed = sum(not end for end in ends.values())
    print(f"{len(ends)} mutants, {missed} survive, {[*ends.values()].count('?')} are not there")


if __name__ == "__main__":
    main()
