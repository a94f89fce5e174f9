"""Write what must not change when code is moved, and compare it with what was written before.

    python benchmarks/frozen.py write BEFORE
    python benchmarks/frozen.py compare BEFORE AFTER

``write`` runs, with clock, durations, nonces and canaries pinned (``tests/support/frozen.py``):
the demo; a plain, a hidden, a sealed and an anonymous release; exports for both harnesses; JSON
and Markdown of reports. What the commands print is in DIR/said/. If the real data is beside the
checkout, ``reproduce.py`` runs, too. ``compare`` lists every file that differs, is missing or is
new, with the first lines that differ, and fails if there is one. Run both times on one machine:
models and sums differ in their last digits between processors.
"""

import argparse
import contextlib
import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = "curation-demo"
SHOWN = (
    "status -c {}",
    "status --json -c {}",
    "rounds status --json -c {}",
    "rounds refused validate-2 --to refused -c {}",
    "rounds refused validate-2 --to refused-csv --format csv -c {}",
    "rounds pay validate-2 --json -c {}",
    "decisions agreement --json -c {}",
    "decisions filter --json -c {}",
    "measures statistics --json -c {}",
    "measures sentiment --json -c {}",
    "measures keywords --json -c {}",
    "measures pitfalls --json -c {}",
    "scores compare --json compared.json --csv compared.csv --latex compared.tex --power 5 -c {}",
    "scores baselines --gold {}/7-release/0.1.0/test.json --latex baselines.tex",
    "trust report --json -c {}",
    "release check --json -c {}",
    "release near --json -c {}",
    "release export bias-bench --to export-bias-bench -c {}",
    "release export lm-eval --to export-lm-eval -c {}",
)


def write(folder: Path) -> None:
    """Run everything into a folder, which must be new."""
    from support import commands, frozen

    folder.mkdir(parents=True)
    said = folder / "said"
    said.mkdir()
    os.environ |= {"COLUMNS": "120", "CURATION_KEYS": str(folder / "keys"), "OMP_NUM_THREADS": "1"}

    def run(line: str) -> None:
        done = commands.run(*line.split())
        print(f"{done.code}  curation {line}", flush=True)
        text = f"$ curation {line}\n{done.out}\n{done.err}\n(exit {done.code})\n"
        to = said / f"{len(list(said.iterdir())):03d}-{'-'.join(line.split()[:2])}.txt"
        to.write_text(text.replace(str(folder.resolve()), "FOLDER"), "utf-8")

    commands.load()
    with contextlib.chdir(folder), frozen.pinned():
        run(f"demo {DEMO}")
        for line in SHOWN:
            run(line.format(DEMO))
        for name, options in {
            "hidden": "--hide labels",
            "sealed": "--hide all",
            "anonymous": "--anonymous",
        }.items():
            shutil.copytree(DEMO, name)
            shutil.rmtree(Path(name, "7-release"))
            run(f"release build {options} -c {name}")
            version = "0.1.0-anonymous" if name == "anonymous" else ""
            run(f"release check {version} --json -c {name}")
        for line in _commands():
            run(f"{line} --help")
    data = ROOT.parent / "shared" / "realdata"
    if data.is_dir():
        tables = [ROOT / "benchmarks" / "reproduce.py", "--data", data, "--json"]
        subprocess.run(
            [sys.executable, *tables, folder / "reproduced.json"],
            check=True,
            stdout=subprocess.DEVNULL,
        )


def _commands() -> list[str]:
    """Every command, as it is typed."""
    from typer import main
    from typer.core import TyperGroup

    from curation.cli import app

    def inside(command: object, line: str) -> list[str]:
        if not isinstance(command, TyperGroup):
            return [line]
        found = [f"{line} {name}".strip() for name in command.commands]
        return [
            line
            for each, under in zip(found, command.commands.values(), strict=True)
            for line in inside(under, each)
        ]

    return inside(main.get_command(app), "")


def compare(before: Path, after: Path) -> int:
    """Print each file that differs; gives how many there are."""
    found = [_files(folder) for folder in (before, after)]
    differ = 0
    for name in sorted(found[0].keys() | found[1].keys()):
        old, new = (files.get(name) for files in found)
        if old == new:
            continue
        differ += 1
        print(f"{name}: {'new' if old is None else 'missing' if new is None else 'differs'}")
        if old is not None and new is not None and b"\0" not in old + new:
            lines = (data.decode("utf-8", "replace").splitlines() for data in (old, new))
            for line in list(difflib.unified_diff(*lines, n=0, lineterm=""))[2:8]:
                print(f"    {line[:300]}")
    print(f"{differ} of {len(found[0].keys() | found[1].keys())} files differ")
    return differ


def _files(folder: Path) -> dict[str, bytes]:
    """The bytes of every file, but of locks."""
    paths = (path for path in folder.rglob("*") if path.is_file() and ".lock" not in path.name)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def main() -> int:
    """Parse the arguments, and write or compare."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("write").add_argument("folder", type=Path)
    two = verbs.add_parser("compare")
    two.add_argument("before", type=Path)
    two.add_argument("after", type=Path)
    asked = parser.parse_args()
    if asked.verb == "compare":
        return compare(asked.before, asked.after) > 0
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    write(asked.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
