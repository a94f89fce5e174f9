"""Other people's scorers, lm-eval and minicons, each in a process of an environment of their own.

They are a peer to be equal with, and no dependency of ours. The environment is made once, in the
user's cache, about 1 GB; ``$CURATION_PEERS`` names the python of another that has them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple, Self

import platformdirs
from filelock import FileLock

PACKAGES = ("torch==2.13.0", "lm-eval==0.4.13", "minicons==0.3.39", "transformers==5.23.0")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peers" / "scores.py"
NAMED = "CURATION_PEERS"
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


class NotThereError(Exception):
    """The environment could not be made, and why."""


class Answer(NamedTuple):
    """Natural logarithms, seconds on the clock and of processors, the most memory so far in MB."""

    values: list[float]
    seconds: float
    cpu: float
    peak: float


class Worker:
    """A process that opens models and scores what it is sent; used in a ``with``.

    It answers one line of JSON with one, as ``benchmarks/peers/scores.py`` says.
    """

    def __init__(self, command: Sequence[str | Path], *, threads: int = 1) -> None:
        number = str(threads)
        self._threads = threads
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **_QUIET, "OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number},
        )

    def open(self, peer: str, model: Path, **other: Any) -> Any:
        """Have a model opened by one of the peers; gives what is said of it."""
        return self._ask({"peer": peer, "model": str(model), "threads": self._threads, **other})

    def score(self, items: Sequence[Any]) -> Answer:
        """The items' scores by what was opened last, in their order."""
        return Answer(**self._ask(list(items)))

    def _ask(self, what: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
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


def peers(*, threads: int = 1) -> Worker:
    """A process in which the peers of ``benchmarks/peers/scores.py`` can be opened.

    Raises:
        NotThereError: there is no environment, and none can be made.
    """
    return Worker([python(), SCRIPT], threads=threads)


def python() -> Path:
    """The interpreter that has the peers; the first call on a machine makes it.

    Raises:
        NotThereError: it cannot be installed.
    """
    if named := os.environ.get(NAMED):
        return Path(named)
    home = Path(platformdirs.user_cache_dir("curation")) / "peers"
    home.mkdir(parents=True, exist_ok=True)
    wanted = "\n".join([*PACKAGES, f"python {sys.version_info.major}.{sys.version_info.minor}"])
    found, ready = home / "bin" / "python", home / "ready"
    with FileLock(home.with_name("peers.lock")):
        if ready.exists() and ready.read_text("utf-8") == wanted and found.exists():
            return found
        ready.unlink(missing_ok=True)
        _run([sys.executable, "-m", "venv", "--clear", home])
        pip = (
            found,
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "--quiet",
        )
        _run([*pip, *PACKAGES])
        ready.write_text(wanted, "utf-8")
    return found


def _run(command: Sequence[str | Path]) -> None:
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise NotThereError(
            f"no environment with {', '.join(PACKAGES)}: {said[-1]}; ${NAMED} can name one"
        )


def close(ours: Sequence[float], theirs: Sequence[float], *, relative: float = 1e-5) -> float:
    """Assert that scores are equal but for rounding, and order each CAT's three alike.

    Returns:
        The greatest relative difference.
    """
    assert len(ours) == len(theirs) > 0
    assert len(set(theirs)) > len(theirs) / 2  # else equality says little
    greatest = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    assert greatest <= relative
    for start in range(0, len(ours), 3):
        for one, other in combinations(range(start, start + 3), 2):
            wanted = theirs[one] - theirs[other]
            if abs(wanted) > 2 * relative * abs(theirs[one]):  # the same text twice has no order
                assert (ours[one] - ours[other]) * wanted > 0
    return greatest
