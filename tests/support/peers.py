"""Other people's scorers, lm-eval and minicons, each in a process of an environment of their own.

They are a peer to be equal with, and no dependency of ours. The environment is made once, in the
user's cache, about 1 GB; ``$CURATION_PEERS`` names the python of another that has them.
"""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from support import environments
from support.environments import Process

PACKAGES = ("torch==2.13.0", "lm-eval==0.4.13", "minicons==0.3.39", "transformers==5.23.0")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "peers" / "scores.py"
NAMED = "CURATION_PEERS"
_QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


class Answer(NamedTuple):
    """Natural logarithms, seconds on the clock and of processors, the most memory so far in MB."""

    values: list[float]
    seconds: float
    cpu: float
    peak: float


class Worker(Process):
    """A process that opens models and scores what it is sent; used in a ``with``.

    It answers one line of JSON with one, as ``benchmarks/peers/scores.py`` says.
    """

    def __init__(self, command: Sequence[str | Path], *, threads: int = 1) -> None:
        number = str(threads)
        self._threads = threads
        super().__init__(command, {**_QUIET, "OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number})

    def open(self, peer: str, model: Path, **other: Any) -> Any:
        """Have a model opened by one of the peers; gives its description."""
        return self.ask({"peer": peer, "model": str(model), "threads": self._threads, **other})

    def score(self, items: Sequence[Any]) -> Answer:
        """The items' scores by the model that was opened last, in their order."""
        return Answer(**self.ask(list(items)))


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
    return environments.python("peers", PACKAGES, named=NAMED)


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
