"""The folder of a training: whether a training may start or continue there, and its checkpoint."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, NamedTuple

import torch

from curation.files import CurationError, open_input, sweep, writing
from curation.models.heads import REPORT
from curation.work.run_folder import differences, disk_errors, locked, read_identity

CHECKPOINT = "checkpoint.pt"
# What any training leaves if it failed or was killed before it wrote its settings.
_NOTHING_YET = re.compile(r"\.train-\w+\.(lock|json\.[\w-]+\.tmp)")
FREE = ("device", "checkpoint_every")  # settings that may change before a training continues
_CHANGED = {"base": "the model's files", "corpus": "the corpus"}


class TrainingFiles(NamedTuple):
    """The files of one kind of training.

    Attributes:
        settings: written when a training starts; it identifies the training.
        model: a file of the trained model that is written last.
    """

    settings: str
    model: str

    @property
    def done(self) -> tuple[str, ...]:
        """The files that all exist once a training has ended, and not before."""
        return (self.model, REPORT)

    @property
    def lock(self) -> str:
        """The lock that keeps out a second training."""
        return f".{Path(self.settings).stem}.lock"


@contextmanager
def locked_training(out: Path, files: TrainingFiles) -> Iterator[None]:
    """Hold the folder's lock, so that no other training runs in it.

    Raises:
        CurationError: another training is running here.
    """
    busy = CurationError(
        f"{out}: another training is running here", "wait until it ends, or use another folder"
    )
    with locked(out, busy, name=files.lock):
        yield


def has_ended(
    out: Path,
    files: TrainingFiles,
    identity: dict[str, Any],
    *,
    defaults: dict[str, Any],
    restart: bool,
) -> bool:
    """Whether this training has already ended in this folder; False if it must start or continue.

    Args:
        out: the folder.
        files: the files of this kind of training.
        identity: ``settings``, ``base`` and ``corpus`` of the training.
        defaults: the default of each setting, for settings that an older folder does not have.
        restart: delete what an earlier training left.

    Raises:
        CurationError: the folder holds something else, or a training with other settings; the error
            lists them.
    """
    there = sorted(path.name for path in out.iterdir() if not _NOTHING_YET.fullmatch(path.name))
    if there and files.settings not in there:
        raise CurationError(
            f"{out}: contains {there[0]}, which is not from this kind of training",
            "name a new folder with --out",
        )
    # A killed training leaves these. Only now is it certain that the folder is ours.
    sweep(out, below=False)
    if restart:
        for name in (*files.done, CHECKPOINT):
            (out / name).unlink(missing_ok=True)
    if restart or there in ([], [files.settings]):  # so far, nothing was trained
        return False
    before = read_identity(out / files.settings)
    settings = {name: before["settings"].get(name, usual) for name, usual in defaults.items()}
    changed = [
        f"--{name.replace('_', '-')} was {settings[name]}, is {identity['settings'][name]}"
        for name in sorted(differences(settings, identity["settings"], free=FREE))
    ]
    changed += [_CHANGED[name] for name in differences(before, identity) if name in _CHANGED]
    if changed:
        raise CurationError(
            f"{out}: contains an earlier training with other settings ({'; '.join(changed)})",
            "give the same settings, name another --out, or delete the earlier one with --restart",
        )
    return all((out / name).exists() for name in files.done)


def write_checkpoint(out: Path, state: dict[str, Any]) -> None:
    """Write a checkpoint. If that fails, the earlier one stays."""
    with writing(out / CHECKPOINT) as file, disk_errors(out / CHECKPOINT):
        torch.save(state, file)


def read_checkpoint(out: Path) -> dict[str, Any] | None:
    """The last checkpoint in main memory, or None.

    The caller moves its parts. Loaded to a GPU directly, the weights would be there twice, and the
    optimizer's step counts, which belong in main memory, would slow down each step.

    Raises:
        CurationError: the checkpoint cannot be read.
    """
    path = out / CHECKPOINT
    if not path.exists():
        return None
    try:
        with open_input(path) as file:
            state: dict[str, Any] = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, UnpicklingError) as error:
        raise CurationError(
            f"{path}: cannot be read: {[*str(error).splitlines(), type(error).__name__][0]}",
            "start from scratch with --restart",
        ) from None
    return state
