"""Environments of their own, for packages that are no dependency of ours or conflict with them.

Each is made once, in the user's cache, and used again as long as its packages are the same.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import platformdirs
from filelock import FileLock


class NotThereError(Exception):
    """The environment could not be made, and why."""


def python(name: str, packages: Sequence[str], *, named: str, alone: Sequence[str] = ()) -> Path:
    """The interpreter of an environment; the first call on a machine makes it.

    Args:
        name: its folder in the user's cache.
        packages: what is installed, with versions.
        named: the environment variable that can name the python of another environment.
        alone: packages that are installed without those that they ask for, also if they ask for a
            newer Python.

    Raises:
        NotThereError: it cannot be installed.
    """
    if own := os.environ.get(named):
        return Path(own)
    home = Path(platformdirs.user_cache_dir("curation")) / name
    home.mkdir(parents=True, exist_ok=True)
    version = f"python {sys.version_info.major}.{sys.version_info.minor}"
    wanted = "\n".join([*packages, *alone, version])
    found, ready = home / "bin" / "python", home / "ready"
    with FileLock(home.with_name(f"{name}.lock")):
        if ready.exists() and ready.read_text("utf-8") == wanted and found.exists():
            return found
        ready.unlink(missing_ok=True)
        _run([sys.executable, "-m", "venv", "--clear", home], packages, named)
        options = ("--disable-pip-version-check", "--no-input", "--quiet")
        _run([found, "-m", "pip", "install", *options, *packages], packages, named)
        if alone:
            more = ("--no-deps", "--ignore-requires-python")
            _run([found, "-m", "pip", "install", *options, *more, *alone], alone, named)
        ready.write_text(wanted, "utf-8")
    return found


def _run(command: Sequence[str | Path], packages: Sequence[str], named: str) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise NotThereError(
            f"no environment with {', '.join(packages)}: {lines[-1]}; ${named} can name one"
        )


class Process:
    """A process that answers a line of JSON with a line of JSON; used in a ``with``."""

    def __init__(self, command: Sequence[str | Path], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **environment},
        )

    def ask(self, request: Any) -> Any:
        """The answer to a request."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._process.args!r} ended with {self._process.wait()}")
        return json.loads(line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(BrokenPipeError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        finally:
            self._process.kill()
            if self._process.stdout is not None:
                self._process.stdout.close()
