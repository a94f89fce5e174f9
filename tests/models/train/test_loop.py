"""What every training has in common, where neither of the two says it: rates, devices, folders."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from safetensors import SafetensorError

from curation.models.train import loop
from curation.models.train.loop import read_checkpoint
from curation.models.train.reviews import Reviews
from curation.models.train.sentiment import SentimentTrainer
from curation.work.run_folder import disk_errors
from support.expected import Patch, fails, raising
from support.strike import KilledError, half_written
from support.trainings import Training

# --- learning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 3])
def test_a_steps_gradient_is_that_of_the_mean_loss(
    run: Training, small: Reviews, monkeypatch: Patch, parts: int
) -> None:
    # By plain torch; eight reviews in three parts are 3, 3 and 2. No dropout, no clipping.
    monkeypatch.setattr(SentimentTrainer, "_set_mode", lambda run, *, training: run.model.eval())
    monkeypatch.setattr(loop, "_CLIP", 1e9)
    found = list[Any]()

    def learnt(trainer: SentimentTrainer) -> None:
        def gradients() -> list[Any]:
            return [part.grad.clone() for part in trainer.model.parameters()]

        batch = trainer._batches(0)[0]
        texts = [small.text(int(number)) for number in small.numbers[batch]]
        inputs = trainer.loaded.tokenizer(texts, padding=True, return_tensors="pt")
        labels = torch.tensor(small.classes[batch].astype(int))
        trainer.model(**inputs, labels=labels).loss.backward()
        wanted = gradients()
        trainer.model.zero_grad(set_to_none=True)
        trainer.optimizer.step = lambda *_, **__: found.extend(
            zip(gradients(), wanted, strict=True)
        )
        trainer._take_step(trainer._examples(batch))
        raise KilledError

    monkeypatch.setattr(SentimentTrainer, "run", learnt)
    with pytest.raises(KilledError):
        run(accumulate=parts)
    assert len(found) > 10
    for grad, by_torch in found:
        torch.testing.assert_close(grad, by_torch, atol=1e-6, rtol=1e-4)
    assert max(float(grad.abs().max()) for grad, _ in found) > 1e-3


def test_the_rate_rises_and_falls_as_said(run: Training, monkeypatch: Patch) -> None:
    rates = list[float]()
    learn = SentimentTrainer._take_step

    def keep(trainer: SentimentTrainer, batch: Any) -> float:
        loss = learn(trainer, batch)
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        return loss

    monkeypatch.setattr(SentimentTrainer, "_take_step", keep)
    run(warmup=2)
    assert rates == pytest.approx([5e-4, 1e-3, 1e-3, 7.5e-4, 5e-4, 2.5e-4])


# --- going on -----------------------------------------------------------------------------------


def test_a_training_goes_on_in_another_precision(run: Training, monkeypatch: Patch) -> None:
    # Begun on a CPU, gone on with on a GPU that knows no bfloat16: only there losses are scaled.
    run.kill(4, checkpoint_every=2)
    state = read_checkpoint(run.root)
    assert state is not None
    assert state["scaler"] == {}
    assert read_checkpoint(run.root / "none") is None
    monkeypatch.setattr(loop, "precision_of", lambda *_: "float16")
    report = run(checkpoint_every=2)
    assert (report["precision"], report["continued"]) == ("float16", 1)


class Full(io.RawIOBase):
    """A file on a full disk."""

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_the_same_error_for_every_library(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="model") as error, disk_errors(tmp_path / "model"):
        torch.save({"weights": torch.zeros(100_000)}, io.BufferedWriter(Full()))
    assert error.value.errno == errno.ENOSPC
    with pytest.raises(OSError, match="model") as error, disk_errors(tmp_path / "model"):
        raise SafetensorError("Error while serializing: I/O error: (os error 28)")
    assert error.value.errno == errno.ENOSPC
    with pytest.raises(ValueError, match="no disk"), disk_errors(tmp_path):
        raise ValueError("no disk")


# --- folders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", [False, True])
def test_a_model_is_not_trained_in_its_own_folder(run: Training, *, restart: bool) -> None:
    run()
    before = (run.root / "model.safetensors").read_bytes()
    says = "is the model that the training starts"
    run.fails(says, "--out", model=str(run.root), restart=restart)
    assert (run.root / "model.safetensors").read_bytes() == before
    assert (run.root / "config.json").exists()


def test_what_a_training_of_another_sort_left_when_it_failed_is_no_hindrance(run: Training) -> None:
    with FileLock(run.root / ".train-nsp.lock"):
        pass
    (run.root / ".train-nsp.lock").touch()  # whether or not it goes with the process
    run()
    with FileLock(run.root / ".train-sentiment.lock"):
        run.fails("another training is running")


def test_a_training_that_was_refused_does_not_keep_its_settings(run: Training) -> None:
    run.fails("of 4000 tokens are not allowed", length=4000)
    assert run()["settings"]["length"] == 32


def test_a_folder_of_others_keeps_its_hidden_files(run: Training) -> None:
    (run.root / "campaign").mkdir()
    hidden = half_written(run.root / "campaign" / "cats.jsonl"), run.root / ".theirs.tmp"
    for path in hidden:
        path.write_text("at work", "utf-8")
    run.fails("which is not from this kind of training", restart=True)
    assert all(path.exists() for path in hidden)


def test_what_was_half_written_goes(run: Training) -> None:
    half_written(run.root / "train-sentiment.json").write_text("{", "utf-8")  # killed at once
    run.kill(4, checkpoint_every=2)
    assert not list(run.root.glob(".*.tmp"))
    half_written(run.root / "checkpoint.pt").write_bytes(b"half")  # killed later
    assert run(checkpoint_every=2)["continued"] == 1
    assert not list(run.root.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        (1, "give --accumulate 2 and --restart, or a shorter --length"),
        (2, "give --accumulate 4 and --restart, or a shorter --length"),
        (5, "give --accumulate 8 and --restart, or a shorter --length"),
        (8, "give a shorter --length and --restart"),
    ],
)
def test_no_memory_has_a_fix_that_can_be_followed(
    run: Training, monkeypatch: Patch, parts: int, fix: str
) -> None:
    full = torch.OutOfMemoryError("CUDA out of memory")
    monkeypatch.setattr(SentimentTrainer, "_logits", raising(full))
    with fails(f"out of memory with 8 reviews in {parts} parts") as failed:
        run(accumulate=parts)
    assert failed.value.fix == fix
