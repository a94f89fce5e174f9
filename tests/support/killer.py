"""Commands with models that are killed or stopped at a moment, and given again.

All of it is a fresh process, in which torch has not yet computed, and forks of it: one counts how
often the disk is touched, others get a signal at a chosen touch and are followed by one that goes
on.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from curation.scores import running
from support import commands
from support.strike import strike, times

MODULES = (
    *("curation.models.causal", "curation.models.faster", "curation.models.scoring"),
    *("curation.models.train.next_sentence", "curation.models.train.sentiment"),
    *("transformers.models.bert.modeling_bert", "transformers.models.gpt2.modeling_gpt2"),
)


class Ended(NamedTuple):
    """How a command ended, how many temporary files it left, and how it ended when given again."""

    code: int
    left: int
    again: int
    err: str


def killed(
    command: Sequence[Any],
    root: Path,
    ends: Sequence[tuple[int, float]],
    *,
    shard: int = running.SHARD,
) -> tuple[int, list[Ended]]:
    """Give a command a signal at some moments, and then give it again.

    Args:
        command: its last word is the option that names the folder that it writes.
        root: where it writes: undisturbed into «whole», and for each end into a folder «0», «1», …
        ends: signals, and when they come: as a share of the times that the disk is touched.
        shard: how many CATs are scored before their scores are written.

    Returns:
        How often the disk is touched, and the ends.
    """
    root.mkdir()
    given = json.dumps([[*map(str, command)], str(root), ends, shard])
    path = os.pathsep.join([str(commands.ROOT), str(commands.ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "support.killer", given],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True, encoding="utf-8", check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    count, found = json.loads(done.stdout)
    return count, [Ended(*each) for each in found]


def _kill(
    command: list[str], root: Path, ends: list[tuple[int, float]], shard: int
) -> tuple[int, list[Ended]]:
    commands.load()
    for name in MODULES:
        importlib.import_module(name)
    running.SHARD = shard
    count, found = times(commands.run, [*command, str(root / "whole")], root), list[Ended]()
    for number, (by, share) in enumerate(ends):
        words = [*command, str(root / str(number))]
        at = max(1, round(share * count))
        ended = commands.run(*words, before=strike(root, at=at, by=by))
        left = len(list(Path(words[-1]).rglob(".*.tmp")))
        again = commands.run(*words, before=lambda: None)
        found.append(Ended(ended.code, left, again.code, ended.err + again.err))
    return count, found


if __name__ == "__main__":
    _words, _root, *_how = json.loads(sys.argv[1])
    json.dump(_kill(_words, Path(_root), *_how), sys.stdout)
