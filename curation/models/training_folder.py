"""The folder of a training: one at a time, gone on with or refused, its checkpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from filelock import FileLock, Timeout

from curation.files import CurationError, read_json, sweep, writing
from curation.models.nsp import HEAD_JSON, SETTINGS

CHECKPOINT, REPORT, LOCK = "checkpoint.pt", "training.json", ".train-nsp.lock"
FREE = ("device", "checkpoint_every")  # settings that may change before a training goes on


@contextmanager
def alone(out: Path) -> Iterator[None]:
    """No other training in this folder meanwhile; what a killed one left half written goes.

    Raises:
        CurationError: another is at work here.
    """
    lock = FileLock(out / LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise CurationError(
            f"{out}: another training is at work here", "wait for it, or name another folder"
        ) from None
    try:
        sweep(out)
        yield
    finally:
        lock.release()


def ended(out: Path, says: dict[str, Any], *, restart: bool) -> bool:
    """Whether the same training has ended in this folder; False where it is to begin or go on.

    Args:
        out: the folder.
        says: settings, base and corpus of the training.
        restart: throw away what an earlier one left.

    Raises:
        CurationError: it holds something else, or a training of other settings; says which.
    """
    others = sorted(path.name for path in out.iterdir() if path.name != LOCK)
    if others and SETTINGS not in others:
        raise CurationError(
            f"{out}: holds {others[0]}, which is not of a training", "name a new folder with --out"
        )
    if restart:
        for name in (HEAD_JSON, CHECKPOINT, REPORT):
            (out / name).unlink(missing_ok=True)
    if restart or not others:
        return False
    before = read_json(out / SETTINGS)
    changed = [
        f"--{name.replace('_', '-')} was {before['settings'].get(name)}, is {value}"
        for name, value in says["settings"].items()
        if name not in FREE and before["settings"].get(name) != value
    ]
    if before["base"] != says["base"]:
        changed.append("the model's files")
    if before["corpus"] != says["corpus"]:
        changed.append("the corpus")
    if changed:
        raise CurationError(
            f"{out}: an earlier run stands here with other settings ({'; '.join(changed)})",
            "give the same again, name another --out, or throw it away with --restart",
        )
    return (out / HEAD_JSON).exists()


def write_checkpoint(out: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint: whole, or the earlier one stays."""
    with writing(out / CHECKPOINT) as file:
        torch.save(state, file)


def read_checkpoint(out: Path, device: Any) -> dict[str, Any] | None:
    """The last checkpoint, or None.

    Raises:
        CurationError: it cannot be read.
    """
    path = out / CHECKPOINT
    if not path.exists():
        return None
    try:
        state: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, UnpicklingError) as error:
        raise CurationError(
            f"{path}: cannot be read: {[*str(error).splitlines(), type(error).__name__][0]}",
            "begin anew with --restart",
        ) from None
    return state
