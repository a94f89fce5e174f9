"""Run ``curation ...``: in this process, in a fork of it, or in a process of its own."""

import hashlib
import importlib
import io
import json
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest
import typer.main

import curation
from curation import __main__ as entry
from curation.decisions import agreement
from curation.release import quality
from curation.scores import results as runs

ROOT = Path(__file__).parents[2]


class Ran(NamedTuple):
    """How a command ended; a negative code is the signal that killed it."""

    code: int
    out: str
    err: str


def set_to(root: Path, before: str, after: str) -> None:
    """Change a setting of a campaign, as a person does in an editor."""
    path = root / "campaign.toml"
    text = path.read_text("utf-8")
    assert before in text, before
    path.write_text(text.replace(before, after), "utf-8")


def in_a_new_process(*args: str | Path, cwd: Path | None = None, **env: str) -> Ran:
    """``python -m curation ...`` from the first import to the end."""
    done = subprocess.run(
        [sys.executable, "-m", "curation", *map(str, args)],
        capture_output=True,
        cwd=cwd,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env},
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def run(
    *args: str | Path, before: Callable[[], object] | None = None, seconds: float | None = None
) -> Ran:
    """A command in this process, or in a fork of it where something is done to it.

    Args:
        args: the command's words.
        before: what a fork does first, such as preparing its end.
        seconds: after so long a fork is killed.
    """
    load()
    argv = ["curation", *map(str, args)]
    if before is None and seconds is None:
        return _here(argv)
    return _forked(argv, before, seconds)


def well(*words: object) -> Ran:
    """A command that goes well."""
    ran = run(*map(str, words))
    assert ran.code == 0, ran.err
    return ran


def told(*words: object) -> Any:
    """What a command that goes well prints as JSON."""
    return json.loads(well(*words, "--json").out)


def refused(*words: object) -> str:
    """What a command says that ends with an error and its fix, and that prints nothing else."""
    ran = run(*map(str, words))
    assert (ran.code, ran.out) == (1, ""), ran.err
    assert "error: " in ran.err
    assert "fix:   " in ran.err
    assert "Traceback" not in ran.err
    return ran.err


@cache
def load() -> None:
    """Load what commands need, once for all of them.

    The tree of commands, too, is built once: it takes longer than many a command. Coefficients and
    baselines, which many commands need, are computed once for the same input; they touch no disk,
    so that a command can be killed at the same moments as ever.
    """
    for module in pkgutil.walk_packages(curation.__path__, "curation."):
        if not module.name.endswith("__main__") and not module.name.startswith("curation.models."):
            importlib.import_module(module.name)
    for name in ("pyarrow.parquet", "wordfreq"):  # a fork would load them every time
        importlib.import_module(name)
    typer.main.get_command = cache(typer.main.get_command)
    dict(typer.main.get_command(curation.cli.app).commands)  # type: ignore[attr-defined]
    baselines = "baseline_results"
    for module, name in ((agreement, "measured"), (quality, baselines), (runs, baselines)):
        setattr(module, name, _once(getattr(module, name)))


def _once(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that keeps its results, by the content of its arguments; a fork knows them too."""
    kept: dict[bytes, bytes] = {}

    def call(*args: Any, **options: Any) -> Any:
        key = hashlib.sha256(pickle.dumps((args, options))).digest()
        if key not in kept:
            kept[key] = pickle.dumps(function(*args, **options))
        return pickle.loads(kept[key])

    return call


def _here(argv: list[str]) -> Ran:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", argv)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", err)
        code = _main()
    if scoring := sys.modules.get("curation.models.scoring"):
        scoring.open_scorer.cache_clear()  # a command's model ends with it
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def _forked(argv: list[str], before: Callable[[], object] | None, seconds: float | None) -> Ran:
    reader, writer = os.pipe()  # no file: a full disk must not swallow the message
    with tempfile.TemporaryFile() as out, open(reader, encoding="utf-8") as err:  # noqa: PTH123
        with warnings.catch_warnings():  # Python 3.12 warns of forks beside threads
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(writer, 2)
            _become(argv, before)
        os.close(writer)
        if seconds is not None:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        said = err.read()
        _, status = os.waitpid(child, 0)
        out.seek(0)
        return Ran(os.waitstatus_to_exitcode(status), out.read().decode(), said)


def _become(argv: list[str], before: Callable[[], object] | None) -> NoReturn:
    code = 70
    try:
        sys.argv = argv
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        code = _main(before)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _main(before: Callable[[], object] | None = None) -> int:
    """The command that ``sys.argv`` names; gives its exit code."""
    try:
        if before:
            before()
        entry.main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except Exception:
        traceback.print_exc()
        return 70
    return 0
