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

from curation.files import CurationError
from curation.models.tiny import make
from curation.models.train import loop
from curation.models.train.loop import read_checkpoint
from curation.models.train.reviews import Reviews, read_reviews
from curation.models.train.sentiment import SentimentTrainer, train
from curation.models.train.settings import SentimentSettings
from curation.work.run_folder import disk_errors
from support.reviews import ALL, write_reviews
from support.strike import KilledError, half_written, kill_at

SHORT: dict[str, Any] = {"length": 32, "batch": 8, "epochs": 2, "held_out": 0.25, "lr": 1e-3}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A masked model over these words, untrained."""
    return make(tmp_path_factory.mktemp("base") / "tiny-bert", [ALL], family="masked", steps=0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Reviews:
    """24 reviews: 18 to learn from, so batches of 8, 8 and 2, and 6 held out."""
    return read_reviews([write_reviews(tmp_path_factory.mktemp("small") / "a.csv", 24)])


# --- learning -----------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [1, 3])
def test_a_steps_gradient_is_that_of_the_mean_loss(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: int
) -> None:
    # By plain torch; eight reviews in three parts are 3, 3 and 2. No dropout, no clipping.
    monkeypatch.setattr(SentimentTrainer, "_set_mode", lambda run, *, training: run.model.eval())
    monkeypatch.setattr(loop, "_CLIP", 1e9)
    found = list[Any]()

    def learnt(run: SentimentTrainer) -> None:
        batch = run._batches(0)[0]
        texts = [small.text(int(number)) for number in small.numbers[batch]]
        inputs = run.loaded.tokenizer(texts, padding=True, return_tensors="pt")
        labels = torch.tensor(small.classes[batch].astype(int))
        run.model(**inputs, labels=labels).loss.backward()
        wanted = [part.grad.clone() for part in run.model.parameters()]
        run.model.zero_grad(set_to_none=True)
        step = run.optimizer.step
        grads = list[Any]()

        def keep(*args: Any, **told: Any) -> Any:
            grads.extend(part.grad.clone() for part in run.model.parameters())
            return step(*args, **told)

        run.optimizer.step = keep
        run._take_step(run._examples(batch))
        found.extend(zip(grads, wanted, strict=True))
        raise KilledError

    monkeypatch.setattr(SentimentTrainer, "run", learnt)
    wanted = SentimentSettings(model=str(bert), accumulate=parts, **SHORT)
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path / "out")
    assert len(found) > 10
    for grad, by_torch in found:
        torch.testing.assert_close(grad, by_torch, atol=1e-6, rtol=1e-4)
    assert max(float(grad.abs().max()) for grad, _ in found) > 1e-3


def test_the_rate_rises_and_falls_as_said(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = list[float]()
    learn = SentimentTrainer._take_step

    def keep(run: SentimentTrainer, whole: Any) -> float:
        loss = learn(run, whole)
        rates.append(run.optimizer.param_groups[0]["lr"])
        return loss

    monkeypatch.setattr(SentimentTrainer, "_take_step", keep)
    train(SentimentSettings(model=str(bert), warmup=2, **SHORT), small, tmp_path / "out")
    assert rates == pytest.approx([5e-4, 1e-3, 1e-3, 7.5e-4, 5e-4, 2.5e-4])


# --- going on -----------------------------------------------------------------------------------


def test_a_training_goes_on_in_another_precision_of_another_device(
    bert: Path, small: Reviews, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Begun on a CPU, gone on with on a GPU that knows no bfloat16: only there losses are scaled.
    wanted = SentimentSettings(model=str(bert), checkpoint_every=2, **SHORT)
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path / "out", tell=kill_at(4))
    state = read_checkpoint(tmp_path / "out")
    assert state is not None
    assert state["scaler"] == {}
    monkeypatch.setattr(loop, "precision_of", lambda *_: "float16")
    report = train(wanted, small, tmp_path / "out")
    assert (report["precision"], report["continued"]) == ("float16", 1)


def test_half_a_checkpoint_is_an_error(tmp_path: Path) -> None:
    assert read_checkpoint(tmp_path) is None
    (tmp_path / "checkpoint.pt").write_bytes(b"half")
    with pytest.raises(CurationError, match=r"checkpoint\.pt: cannot be read") as error:
        read_checkpoint(tmp_path)
    assert "--restart" in error.value.fix


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
def test_a_model_is_not_trained_in_its_own_folder(
    bert: Path, small: Reviews, tmp_path: Path, restart: bool
) -> None:
    out = tmp_path / "out"
    train(SentimentSettings(model=str(bert), **SHORT), small, out)
    before = (out / "model.safetensors").read_bytes()
    with pytest.raises(CurationError, match="is the model that the training starts") as error:
        train(SentimentSettings(model=str(out), **SHORT), small, out, restart=restart)
    assert "--out" in error.value.fix
    assert (out / "model.safetensors").read_bytes() == before
    assert (out / "config.json").exists()


def test_what_a_training_of_another_sort_left_when_it_failed_is_no_hindrance(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    with FileLock(tmp_path / ".train-nsp.lock"):
        pass
    (tmp_path / ".train-nsp.lock").touch()  # whether or not it goes with the process
    train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path)
    with (
        FileLock(tmp_path / ".train-sentiment.lock"),
        pytest.raises(CurationError, match="another training is running"),
    ):
        train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path)


def test_a_training_that_was_refused_does_not_keep_its_settings(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    with pytest.raises(CurationError, match="of 4000 tokens are not allowed"):
        train(SentimentSettings(model=str(bert), **{**SHORT, "length": 4000}), small, tmp_path)
    report = train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path)
    assert report["settings"]["length"] == SHORT["length"]


def test_a_folder_of_others_keeps_its_hidden_files(
    bert: Path, small: Reviews, tmp_path: Path
) -> None:
    (tmp_path / "campaign").mkdir()
    hidden = half_written(tmp_path / "campaign" / "cats.jsonl"), tmp_path / ".theirs.tmp"
    for path in hidden:
        path.write_text("at work", "utf-8")
    with pytest.raises(CurationError, match="which is not from this kind of training"):
        train(SentimentSettings(model=str(bert), **SHORT), small, tmp_path, restart=True)
    assert all(path.exists() for path in hidden)


def test_what_was_half_written_goes(bert: Path, small: Reviews, tmp_path: Path) -> None:
    wanted = SentimentSettings(model=str(bert), checkpoint_every=2, **SHORT)
    half_written(tmp_path / "train-sentiment.json").write_text("{", "utf-8")  # killed at once
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path, tell=kill_at(4))
    assert not list(tmp_path.glob(".*.tmp"))
    half_written(tmp_path / "checkpoint.pt").write_bytes(b"half")  # killed later
    assert train(wanted, small, tmp_path)["continued"] == 1
    assert not list(tmp_path.glob(".*.tmp"))


@pytest.mark.parametrize(
    ("parts", "fix"),
    [
        (1, "give --accumulate 2 and --restart, or a shorter --length"),
        (5, "give --accumulate 8 and --restart, or a shorter --length"),
        (8, "give a shorter --length and --restart"),
    ],
)
def test_where_memory_runs_out_the_mend_can_be_followed(
    bert: Path,
    small: Reviews,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parts: int,
    fix: str,
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(SentimentTrainer, "_logits", full)
    with pytest.raises(CurationError, match=f"8 reviews in {parts} parts") as error:
        train(SentimentSettings(model=str(bert), accumulate=parts, **SHORT), small, tmp_path)
    assert error.value.fix == fix
