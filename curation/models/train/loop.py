"""Train a model in steps and epochs: the part that all trainings have in common.

Each training defines its data and model by the abstract methods of ``Trainer``. The rest is here:

* The learning rate warms up and then falls to 0, both linearly.
* On a GPU, precision is mixed. Gradients are clipped at norm 1. A batch can run in parts.
* At the end of each epoch, the accuracy on the held-out examples is computed.

All random draws depend on the seed and the number of the epoch only, and a checkpoint holds the
weights, the optimizer and the state of torch's random numbers. So a killed training continues from
its last checkpoint and ends with the same result; on a CPU, to the last bit.
"""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from pickle import UnpicklingError
from time import monotonic
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError, open_input, read_json, sweep, writing
from curation.models.forward import free_memory, out_of_memory
from curation.models.loading import REPORT, Loaded, called, versions
from curation.models.train.settings import (
    Progress,
    Tell,
    TrainingSettings,
    check,
    rate_at,
    warmup_steps,
)
from curation.records import Fields
from curation.text.times import now
from curation.work.run_folder import differences, disk_errors, locked, read_identity, write_json

CHECKPOINT = "checkpoint.pt"
# What any training leaves if it failed or was killed before it wrote its settings.
_NOTHING_YET = re.compile(r"\.train-\w+\.(lock|json\.[\w-]+\.tmp)")
FREE = ("device", "checkpoint_every")  # settings that may change before a training continues
_CHANGED = {"base": "the model's files", "corpus": "the corpus"}


def _has_ended(
    out: Path, settings: str, done: Sequence[str], identity: Fields, *, restart: bool
) -> bool:
    """Whether this training has already ended in this folder; False if it must start or continue.

    Args:
        out: the folder.
        settings: the file that identifies a training of this kind.
        done: the files that all exist once a training has ended, and not before.
        identity: ``settings``, ``base`` and ``corpus`` of the training.
        restart: delete what an earlier training left.

    Raises:
        CurationError: the folder holds something else, or a training with other settings; the error
            lists them.
    """
    there = sorted(path.name for path in out.iterdir() if not _NOTHING_YET.fullmatch(path.name))
    if there and settings not in there:
        raise CurationError(
            f"{out}: contains {there[0]}, which is not from this kind of training",
            "name a new folder with --out",
        )
    # A killed training leaves these. Only now is it certain that the folder is ours.
    sweep(out, below=False)
    if restart:
        for name in (*done, CHECKPOINT):
            (out / name).unlink(missing_ok=True)
    if restart or there in ([], [settings]):  # so far, nothing was trained
        return False
    before = read_identity(out / settings)
    then, now = before["settings"], identity["settings"]
    changed = [
        f"--{name.replace('_', '-')} was {then.get(name)}, is {now.get(name)}"
        for name in sorted(differences(then, now, free=FREE))
    ]
    changed += [_CHANGED[name] for name in differences(before, identity) if name in _CHANGED]
    if changed:
        raise CurationError(
            f"{out}: contains an earlier training with other settings ({'; '.join(changed)})",
            "give the same settings, name another --out, or delete the earlier one with --restart",
        )
    return all((out / name).exists() for name in done)


def read_checkpoint(out: Path) -> Fields | None:
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
            state: Fields = torch.load(file, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, UnpicklingError) as error:
        raise CurationError(
            f"{path}: cannot be read: {[*str(error).splitlines(), type(error).__name__][0]}",
            "start from scratch with --restart",
        ) from None
    return state


_CLIP = 1.0
_POOL = 100  # examples are sorted by length within this many batches, to need less padding
_NO_LIMIT = 10**6  # the largest --length, if the model has no limit


def _written(settings: TrainingSettings) -> Fields:
    """Settings as they are written to files: without folders of this machine."""
    return asdict(replace(settings, model=called(settings.model)))


def _base(loaded: Loaded) -> Fields:
    """The identity of the model that the training starts from."""
    return {"model": loaded.about["model"], "revision": loaded.about["revision"]}


def _no_memory(settings: TrainingSettings) -> CurationError:
    parts = min(2 * settings.accumulate, settings.batch)
    more = f"--accumulate {parts} and --restart, or " if parts > settings.accumulate else ""
    return CurationError(
        f"{settings.model}: out of memory with {settings.batch} {settings.unit} "
        f"in {settings.accumulate} parts",
        f"give {more}a shorter --length" + ("" if more else " and --restart"),
    )


def check_length(settings: TrainingSettings, loaded: Loaded, *, least: int) -> None:
    """Check that the model can read examples of the length in the settings.

    Args:
        settings: the settings.
        loaded: the model.
        least: the smallest length that makes sense, in tokens.

    Raises:
        CurationError: it cannot; the error gives the lengths that are allowed.
    """
    window = loaded.window or 10**9
    if not least <= settings.length <= window:
        raise CurationError(
            f"{settings.model}: {settings.unit} of {settings.length} tokens are not allowed",
            f"give a --length from {least} to {min(window, _NO_LIMIT)}",
        )


def precision_of(name: str, device: Any) -> str:
    """The precision of a training on a device, if ``name`` is the setting.

    Raises:
        CurationError: the device cannot train in this precision.
    """
    cuda = device.type == "cuda"
    if name == "auto":
        if not cuda:
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if name == "float16" and not cuda:
        raise CurationError(
            "training in float16 needs a GPU", "use --precision bfloat16 or float32"
        )
    return name


class Trainer(ABC):
    """One training, new or continued.

    Attributes:
        settings_file: written when a training of this kind starts; it identifies the training.
        model_file: the file of the trained model that is written last.
        settings: the settings.
        corpus: what is learned from.
        out: the folder of the trained model.
        loaded: the model that is trained, with its tokenizer.
        model: the model itself.
        precision: the precision of its arithmetic.
    """

    settings_file: ClassVar[str]
    model_file: ClassVar[str]

    @classmethod
    def train(
        cls,
        settings: TrainingSettings,
        corpus: Any,
        out: Path,
        *,
        restart: bool = False,
        tell: Tell = lambda _: None,
    ) -> Fields:
        """Train, or continue a training with the same settings and corpus.

        Args:
            settings: the settings.
            corpus: what is learned from.
            out: the folder of the trained model: new, empty, or of an earlier training.
            restart: delete what an earlier training left in the folder.
            tell: called with the progress.

        Returns:
            The content of ``training.json``: settings, versions, corpus, counts, losses, and
            accuracies in per cent.

        Raises:
            CurationError: the folder holds something else, or a training with other settings; the
                model or the corpus cannot be used; memory ran out; the loss is not finite.
        """
        check(settings)
        if out.exists() and Path(settings.model).exists() and out.samefile(settings.model):
            raise CurationError(
                f"{out}: is the model that the training starts from",
                "name another folder with --out",
            )
        out.mkdir(parents=True, exist_ok=True)
        busy = CurationError(
            f"{out}: another training is running here", "wait until it ends, or use another folder"
        )
        lock = f".{Path(cls.settings_file).stem}.lock"
        with locked(out, busy, name=lock), torch.random.fork_rng():
            torch.manual_seed(settings.seed)  # before loading, which may draw weights
            loaded = cls.load(settings)
            base = _base(loaded)
            identity = {"settings": _written(settings), "base": base, "corpus": corpus.identity}
            done = (cls.model_file, REPORT)
            if _has_ended(out, cls.settings_file, done, identity, restart=restart):
                return dict(read_json(out / REPORT))
            write_json(out / cls.settings_file, identity)
            try:
                return cls(settings, corpus, out, loaded, tell).run()
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                free_memory()
                raise _no_memory(settings) from None

    def __init__(self, settings: Any, corpus: Any, out: Path, loaded: Loaded, tell: Tell) -> None:
        self.settings, self.corpus, self.out, self.tell = settings, corpus, out, tell
        self.loaded, self.model, self.base = loaded, loaded.model, _base(loaded)
        self._set_mode(training=False)
        self.per_epoch = -(-self._prepare() // settings.batch)
        self.steps = self.per_epoch * settings.epochs
        self.warmup = warmup_steps(self.steps) if settings.warmup is None else settings.warmup
        self.warmup = min(self.warmup, self.steps - 1)
        self.precision = precision_of(settings.precision, self.model.device)
        self.optimizer = self._optimizer(
            [weight for weight in self.model.parameters() if weight.requires_grad]
        )
        self.scaler = torch.amp.GradScaler(
            self.model.device.type, enabled=self.precision == "float16"
        )
        self.step, self.history, self.losses = 0, list[Fields](), [0.0, 0.0]
        self.seconds, self.continued = 0.0, 0

    # --- what each training defines ---------------------------------------------------------------

    @staticmethod
    @abstractmethod
    def load(settings: Any) -> Loaded:
        """Load the model, which may have new weights."""

    @abstractmethod
    def _prepare(self) -> int:
        """Check the length, and divide the corpus; gives the number of examples of an epoch."""

    @abstractmethod
    def _optimizer(self, weights: list[Any]) -> Any:
        """The optimizer of these weights; its rate is set at each step."""

    @abstractmethod
    def _set_mode(self, *, training: bool) -> None:
        """Turn dropout on or off."""

    @abstractmethod
    def _trained(self) -> Any:
        """The module whose weights a checkpoint holds."""

    @abstractmethod
    def _batches(self, epoch: int) -> Sequence[Any]:
        """The batches of an epoch in their order; always the same for the same epoch."""

    @abstractmethod
    def _examples(self, batch: Any) -> Sequence[Any]:
        """A batch as the model reads it."""

    @abstractmethod
    def _logits(self, examples: Sequence[Any]) -> tuple[Any, Any]:
        """Logits of shape (examples, classes), with gradients, and labels in the same order."""

    @abstractmethod
    def _count_correct(self) -> tuple[int, int]:
        """How many held-out examples are classified correctly, and how many there are."""

    @abstractmethod
    def _report(self) -> Fields:
        """The part of the report about the model, the corpus and its split."""

    @abstractmethod
    def _save_model(self) -> None:
        """Write the trained model to the folder."""

    # --- training -------------------------------------------------------------------------------

    def run(self) -> Fields:
        """Train to the end, and write the model and the report.

        Returns:
            The content of ``training.json``.

        Raises:
            CurationError: the loss is not finite, or the checkpoint cannot be read.
        """
        self._continue()
        started = monotonic() - self.seconds
        self.tell(Progress(self.step, self.steps, self.step // self.per_epoch + 1))
        while self.step < self.steps:
            epoch, done = divmod(self.step, self.per_epoch)
            for batch in self._batches(epoch)[done:]:
                loss = self._take_step(self._examples(batch))
                self.step += 1
                self.losses = [self.losses[0] + loss, self.losses[1] + 1]
                self.seconds = monotonic() - started
                self.tell(Progress(self.step, self.steps, epoch + 1, loss))
                if self.step % self.per_epoch and not self.step % self.settings.checkpoint_every:
                    self._save()
            self._end_of_epoch(epoch + 1)
        return self._finish()

    def order(self, sizes: NDArray[Any], epoch: int) -> list[NDArray[Any]]:
        """The batches of an epoch: shuffled, with examples of similar length together.

        Args:
            sizes: the length of each example, in any unit.
            epoch: the number of the epoch, from 0.

        Returns:
            For each batch, the indices of its examples.
        """
        rng, batch = np.random.default_rng([self.settings.seed, epoch, 3]), self.settings.batch
        shuffled = rng.permutation(len(sizes))
        batches = []
        for start in range(0, len(shuffled), _POOL * batch):
            some = shuffled[start : start + _POOL * batch]
            some = some[np.argsort(sizes[some], kind="stable")]
            batches += [some[at : at + batch] for at in range(0, len(some), batch)]
        return [batches[n] for n in rng.permutation(len(batches))]

    def cast(self) -> Any:
        """A context manager in which arithmetic has this training's precision."""
        return torch.autocast(
            self.model.device.type,
            getattr(torch, self.precision),
            enabled=self.precision != "float32",
        )

    def _take_step(self, examples: Sequence[Any]) -> float:
        """Train on one batch; returns its mean loss."""
        self._set_mode(training=True)
        total = 0.0
        for part in np.array_split(np.arange(len(examples)), self.settings.accumulate):
            if not len(part):
                continue
            with self.cast():
                logits, labels = self._logits([examples[n] for n in part])
            losses: Any = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="sum")
            loss = losses / len(examples)
            self.scaler.scale(loss).backward()
            total += float(loss.detach())
        if not examples:
            return 0.0  # no text has a token
        if not math.isfinite(total):
            raise CurationError(
                f"step {self.step + 1}: the loss is {total}",
                "give a lower --lr or --precision float32, and --restart",
            )
        share = rate_at(self.step, steps=self.steps, warmup=self.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.lr * share
        self.scaler.unscale_(self.optimizer)
        self._clip([weight for group in self.optimizer.param_groups for weight in group["params"]])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _clip(self, weights: list[Any]) -> None:
        torch.nn.utils.clip_grad_norm_(weights, _CLIP)

    def _end_of_epoch(self, epoch: int) -> None:
        self._set_mode(training=False)
        correct, count = self._count_correct()
        accuracy, loss = 100 * correct / max(count, 1), self.losses[0] / self.losses[1]
        self.history.append({"epoch": epoch, "loss": loss, "held_out_accuracy": accuracy})
        self.losses = [0.0, 0.0]
        self.tell(Progress(self.step, self.steps, epoch, loss, accuracy))
        self._save()

    # --- on disk --------------------------------------------------------------------------------

    def _save(self) -> None:
        cuda = self.model.device.type == "cuda"
        state = {
            "step": self.step,
            "weights": self._trained().state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if cuda else [],
            "history": self.history,
            "losses": self.losses,
            "seconds": self.seconds,
            "continued": self.continued,
        }
        path = self.out / CHECKPOINT
        with writing(path) as file, disk_errors(path):  # if that fails, the earlier one stays
            torch.save(state, file)

    def _continue(self) -> None:
        """Take up the last checkpoint, if there is one."""
        state = read_checkpoint(self.out)
        if state is None:
            return
        self._trained().load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state["scaler"]:  # empty if the checkpoint is from a device that does not need it
            self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"])
        if self.model.device.type == "cuda" and state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self.step, self.history = state["step"], state["history"]
        self.losses, self.seconds = state["losses"], state["seconds"]
        self.continued = state["continued"] + 1

    def _finish(self) -> Fields:
        self._set_mode(training=False)
        report = {
            "settings": _written(self.settings),
            "base": self.base,
            "steps": self.steps,
            "warmup_steps": self.warmup,
            "precision": self.precision,
            "device": str(self.model.device),
            **self._report(),
            "epochs": self.history,
            "held_out_accuracy": self.history[-1]["held_out_accuracy"],
            "seconds": round(self.seconds, 1),
            "continued": self.continued,
            "versions": versions(),
            "finished": now(),
        }
        with disk_errors(self.out):
            self._save_model()
        write_json(self.out / REPORT, report)
        (self.out / CHECKPOINT).unlink(missing_ok=True)
        return report
