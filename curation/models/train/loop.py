"""Train a model in steps and epochs: what all trainings have in common.

A training defines its data and model (the abstract methods of ``Learner``). Here the learning rate
warms up and then falls to 0, both linearly; precision is mixed on a GPU; gradients are clipped at
norm 1; a batch can run in parts; and each epoch ends with the accuracy on the held-out examples.

All draws come from the seed and the number of the epoch, and a checkpoint holds the weights, the
optimizer and the state of torch's random numbers. So a run that was killed continues from its last
checkpoint and ends as if it had not been killed; on a CPU to the last bit.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError, dump_json, now, read_json, writing
from curation.models.forward import free_memory, out_of_memory
from curation.models.loading import Loaded, called, versions
from curation.models.train.folder import (
    CHECKPOINT,
    REPORT,
    Kind,
    alone,
    ended,
    read_checkpoint,
    write_checkpoint,
)
from curation.models.train.settings import Learning, Tell, Told, check, rate_at, warmup_steps

_CLIP = 1.0
_POOL = 100  # batches in which examples are sorted by length, for less padding
_NO_LIMIT = 10**6  # of a length, where the model has none


def learn(
    wanted: Learning,
    out: Path,
    *,
    kind: Kind,
    corpus: str,
    opened: Callable[[], Loaded],
    begun: Callable[[Loaded], "Learner"],
    restart: bool,
) -> dict[str, Any]:
    """Train, or continue where a run of the same settings and corpus stopped.

    Args:
        wanted: the settings.
        out: a folder for the trained model; new, empty, or of an earlier run.
        kind: the sort of training.
        corpus: the identity of the corpus.
        opened: loads the model.
        begun: makes a training of the loaded model.
        restart: delete what an earlier run left there.

    Returns:
        The content of ``training.json``.

    Raises:
        CurationError: the folder holds something else, or a run of other settings; the model or
            the corpus cannot be used; memory ran out; the loss is not finite.
    """
    check(wanted)
    if out.exists() and Path(wanted.model).exists() and out.samefile(wanted.model):
        raise CurationError(
            f"{out}: is the model that the training begins from", "name another folder with --out"
        )
    out.mkdir(parents=True, exist_ok=True)
    with alone(out, kind), torch.random.fork_rng():
        torch.manual_seed(wanted.seed)  # before loading, which may draw weights
        loaded = opened()
        says = {"settings": _settings(wanted), "base": _base(loaded), "corpus": corpus}
        usual = {setting.name: setting.default for setting in fields(wanted)}
        if ended(out, kind, says, usual=usual, restart=restart):
            return dict(read_json(out / REPORT))
        with writing(out / kind.settings) as file:
            file.write(dump_json(says))
        try:
            return begun(loaded).run()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            free_memory()
            parts = min(2 * wanted.accumulate, wanted.batch)
            more = f"--accumulate {parts} and --restart, or " if parts > wanted.accumulate else ""
            raise CurationError(
                f"{wanted.model}: no memory for {wanted.batch} {wanted.unit} "
                f"in {wanted.accumulate} parts",
                f"give {more}a shorter --length" + ("" if more else " and --restart"),
            ) from None


def _settings(wanted: Learning) -> dict[str, Any]:
    """Settings as they are written: without folders of this machine."""
    return asdict(replace(wanted, model=called(wanted.model)))


def _base(loaded: Loaded) -> dict[str, Any]:
    """The model that the training begins from."""
    return {"model": loaded.about["model"], "revision": loaded.about["revision"]}


def check_length(wanted: Learning, loaded: Loaded, *, least: int) -> None:
    """Check that the model takes examples of the length in the settings.

    Args:
        wanted: the settings.
        loaded: the model.
        least: tokens that an example has at least.

    Raises:
        CurationError: it does not; says which lengths it takes.
    """
    window = loaded.window or 10**9
    if not least <= wanted.length <= window:
        raise CurationError(
            f"{wanted.model}: {wanted.unit} of {wanted.length} tokens are not allowed",
            f"give a --length from {least} to {min(window, _NO_LIMIT)}",
        )


def precision_of(name: str, device: Any) -> str:
    """The precision that a training has on a device.

    Raises:
        CurationError: it has none there.
    """
    cuda = device.type == "cuda"
    if name == "auto":
        if not cuda:
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if name == "float16" and not cuda:
        raise CurationError("float16 trains on a GPU only", "take --precision bfloat16 or float32")
    return name


class Learner(ABC):
    """One training, new or continued.

    ``model`` is the model that learns; ``precision`` is the precision of its arithmetic.
    """

    def __init__(
        self,
        wanted: Learning,
        out: Path,
        loaded: Loaded,
        tell: Tell,
        *,
        count: int,
    ) -> None:
        """Prepare to learn from ``count`` examples an epoch."""
        self.wanted, self.out, self.loaded, self.tell = wanted, out, loaded, tell
        self.base = _base(loaded)
        self.model = loaded.model
        self.per_epoch = -(-count // wanted.batch)
        self.steps = self.per_epoch * wanted.epochs
        self.warmup = warmup_steps(self.steps) if wanted.warmup is None else wanted.warmup
        self.warmup = min(self.warmup, self.steps - 1)
        self.precision = precision_of(wanted.precision, self.model.device)
        self.optimizer = self._optimizer(
            [part for part in self.model.parameters() if part.requires_grad]
        )
        self.scaler = torch.amp.GradScaler(
            self.model.device.type, enabled=self.precision == "float16"
        )
        self._mode(learning=False)
        self.step, self.history, self.losses = 0, list[dict[str, Any]](), [0.0, 0.0]
        self.seconds, self.continued = 0.0, 0

    # --- what each training defines ---------------------------------------------------------------

    @abstractmethod
    def _optimizer(self, parts: list[Any]) -> Any:
        """The optimizer of these weights; its rate is set at each step."""

    @abstractmethod
    def _mode(self, *, learning: bool) -> None:
        """Turn dropout on or off."""

    @abstractmethod
    def _learning(self) -> Any:
        """The module whose weights a checkpoint holds."""

    @abstractmethod
    def _batches(self, epoch: int) -> Sequence[Any]:
        """An epoch's batches in their order; always the same for the same epoch."""

    @abstractmethod
    def _examples(self, batch: Any) -> Sequence[Any]:
        """A batch as the model reads it."""

    @abstractmethod
    def _judged(self, examples: Sequence[Any]) -> tuple[Any, Any]:
        """Logits of examples, with gradients, and their labels in the same order."""

    @abstractmethod
    def _right(self) -> tuple[int, int]:
        """How many held-out examples are classified correctly, and how many there are."""

    @abstractmethod
    def _report(self) -> dict[str, Any]:
        """The part of the report about the model, the corpus and its division."""

    @abstractmethod
    def _keep(self) -> None:
        """Write the trained model into the folder."""

    # --- learning -------------------------------------------------------------------------------

    def run(self) -> dict[str, Any]:
        """Train to the end and write everything."""
        self._go_on()
        begun = monotonic() - self.seconds
        self.tell(Told(self.step, self.steps, self.step // self.per_epoch + 1))
        while self.step < self.steps:
            epoch, done = divmod(self.step, self.per_epoch)
            for batch in self._batches(epoch)[done:]:
                loss = self._learn(self._examples(batch))
                self.step += 1
                self.losses = [self.losses[0] + loss, self.losses[1] + 1]
                self.seconds = monotonic() - begun
                self.tell(Told(self.step, self.steps, epoch + 1, loss))
                if self.step % self.per_epoch and not self.step % self.wanted.checkpoint_every:
                    self._save()
            self._end_of_epoch(epoch + 1)
        return self._finish()

    def order(self, sizes: NDArray[Any], epoch: int) -> list[NDArray[Any]]:
        """An epoch's batches, as numbers of examples: shuffled, with similar lengths together.

        Args:
            sizes: how long each example is, in any unit.
            epoch: from 0.
        """
        draw, batch = np.random.default_rng([self.wanted.seed, epoch, 3]), self.wanted.batch
        shuffled = draw.permutation(len(sizes))
        batches = []
        for start in range(0, len(shuffled), _POOL * batch):
            some = shuffled[start : start + _POOL * batch]
            some = some[np.argsort(sizes[some], kind="stable")]
            batches += [some[at : at + batch] for at in range(0, len(some), batch)]
        return [batches[n] for n in draw.permutation(len(batches))]

    def cast(self) -> Any:
        """A context in which arithmetic has this training's precision."""
        return torch.autocast(
            self.model.device.type,
            getattr(torch, self.precision),
            enabled=self.precision != "float32",
        )

    def _learn(self, whole: Sequence[Any]) -> float:
        """One step; the batch's mean loss."""
        self._mode(learning=True)
        total = 0.0
        for part in np.array_split(np.arange(len(whole)), self.wanted.accumulate):
            if not len(part):
                continue
            with self.cast():
                logits, labels = self._judged([whole[n] for n in part])
            lost: Any = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="sum")
            loss = lost / len(whole)
            self.scaler.scale(loss).backward()
            total += float(loss.detach())
        if not whole:
            return 0.0  # texts without a token: nothing to learn
        if not math.isfinite(total):
            raise CurationError(
                f"step {self.step + 1}: the loss is {total}",
                "take a lower --lr, or --precision float32; with --restart",
            )
        share = rate_at(self.step, steps=self.steps, warmup=self.warmup)
        for group in self.optimizer.param_groups:
            group["lr"] = self.wanted.lr * share
        self.scaler.unscale_(self.optimizer)
        self._clip([part for group in self.optimizer.param_groups for part in group["params"]])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        return total

    def _clip(self, parts: list[Any]) -> None:
        torch.nn.utils.clip_grad_norm_(parts, _CLIP)

    def _end_of_epoch(self, epoch: int) -> None:
        self._mode(learning=False)
        right, count = self._right()
        accuracy, loss = 100 * right / max(count, 1), self.losses[0] / self.losses[1]
        self.history.append({"epoch": epoch, "loss": loss, "held_out_accuracy": accuracy})
        self.losses = [0.0, 0.0]
        self.tell(Told(self.step, self.steps, epoch, loss, accuracy))
        self._save()

    # --- on disk --------------------------------------------------------------------------------

    def _save(self) -> None:
        cuda = self.model.device.type == "cuda"
        state = {
            "step": self.step,
            "weights": self._learning().state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "random": torch.get_rng_state(),
            "random_cuda": torch.cuda.get_rng_state_all() if cuda else [],
            "history": self.history,
            "losses": self.losses,
            "seconds": self.seconds,
            "continued": self.continued,
        }
        write_checkpoint(self.out, state)

    def _go_on(self) -> None:
        state = read_checkpoint(self.out)
        if state is None:
            return
        self._learning().load_state_dict(state["weights"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state["scaler"]:  # empty where the other device had no need of it
            self.scaler.load_state_dict(state["scaler"])
        torch.set_rng_state(state["random"])
        if self.model.device.type == "cuda" and state["random_cuda"]:
            torch.cuda.set_rng_state_all(state["random_cuda"])
        self.step, self.history = state["step"], state["history"]
        self.losses, self.seconds = state["losses"], state["seconds"]
        self.continued = state["continued"] + 1

    def _finish(self) -> dict[str, Any]:
        self._mode(learning=False)
        report = {
            "settings": _settings(self.wanted),
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
        self._keep()
        with writing(self.out / REPORT) as file:
            file.write(dump_json(report))
        (self.out / CHECKPOINT).unlink(missing_ok=True)
        return report
