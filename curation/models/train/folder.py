"""The folder of a training: its lock, its checkpoint, and whether a training may continue in it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import torch
from filelock import FileLock, Timeout

from curation.files import CurationError, read_json, writing

CHECKPOINT, REPORT = "checkpoint.pt", "training.json"
# What any training leaves if it failed or was killed before it wrote its settings.
_NOTHING_YET = re.compile(r"\.train-\w+\.(lock|json\.\d+\.tmp)")
FREE = ("device", "checkpoint_every")  # settings that may change before a training goes on


class Kind(NamedTuple):
    """A sort of training, by the files that it leaves.

    Attributes:
        settings: written when a training begins; tells whether a later one is the same.
        done: the files that all exist once it has ended, and not before.
    """

    settings: str
    done: tuple[str, ...]

    @property
    def lock(self) -> str:
        """The lock that keeps out a second training."""
        return f".{Path(self.settings).stem}.lock"


@contextmanager
def alone(out: Path, kind: Kind) -> Iterator[None]:
    """Hold the folder's lock, so that no other training runs in it.

    Raises:
        CurationError: another is running here.
    """
    lock = FileLock(out / kind.lock)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CurationError(
            f"{out}: another training is running here", "wait for it, or name another folder"
        ) from None
    try:
        yield
    finally:
        lock.release()


def ended(
    out: Path, kind: Kind, says: dict[str, Any], *, usual: dict[str, Any], restart: bool
) -> bool:
    """Whether the same training has ended in this folder; False if it is to begin or continue.

    Args:
        out: the folder.
        kind: the sort of training.
        says: settings, base and corpus of the training.
        usual: the default of each setting, for settings that came after a folder was made.
        restart: delete what an earlier training left.

    Raises:
        CurationError: the folder holds something else, or a training of other settings; says which.
    """
    others = sorted(path.name for path in out.iterdir() if not _NOTHING_YET.fullmatch(path.name))
    if others and kind.settings not in others:
        raise CurationError(
            f"{out}: holds {others[0]}, which is not from this kind of training",
            "name a new folder with --out",
        )
    for path in out.glob(
        ".*.tmp"
    ):  # a killed run left them; only now is it clear that the folder is ours
        path.unlink(missing_ok=True)
    if restart:
        for name in (*kind.done, CHECKPOINT):
            (out / name).unlink(missing_ok=True)
    if restart or not others:
        return False
    before = read_json(out / kind.settings)
    was = {**usual, **before["settings"]}
    changed = [
        f"--{name.replace('_', '-')} was {was[name]}, is {value}"
        for name, value in sorted(says["settings"].items())
        if name not in FREE and was[name] != value
    ]
    if before["base"] != says["base"]:
        changed.append("the model's files")
    if before["corpus"] != says["corpus"]:
        changed.append("the corpus")
    if changed:
        raise CurationError(
            f"{out}: has an earlier run with other settings ({'; '.join(changed)})",
            "give the same settings, name another --out, or delete the earlier run with --restart",
        )
    return all((out / name).exists() for name in kind.done)


def write_checkpoint(out: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint: whole, or the earlier one stays."""
    with writing(out / CHECKPOINT) as file:
        torch.save(state, file)


def read_checkpoint(out: Path) -> dict[str, Any] | None:
    """The last checkpoint, or None. It is in main memory; the caller moves its parts.

    Loaded to a GPU it would be there twice, and the optimizer's step counts, which belong in main
    memory, would make each step wait.

    Raises:
        CurationError: it cannot be read.
    """
    path = out / CHECKPOINT
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, UnpicklingError) as error:
        raise CurationError(
            f"{path}: cannot be read: {[*str(error).splitlines(), type(error).__name__][0]}",
            "begin again with --restart",
        ) from None
    return state
