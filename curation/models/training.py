"""Train a next-sentence head, and the body below it, on pairs of sentences.

As StereoSet does (ACL §6, arXiv §6.2): pairs of at most 256 tokens, batches of 80, learning rate
1e-5 that warms up and then falls to nothing in a straight line, ten epochs, mixed precision on a
GPU. Ours, where the paper is silent: AdamW with weight decay 0.01 on matrices, gradients clipped at
norm 1, dropout 0.1 before the head's logits, warm-up over a tenth of the steps but at least 50 and
at most 500 (and never more than half).

Whatever is drawn comes from the seed and the number of the epoch, and a checkpoint holds weights,
optimiser and the state of torch's random numbers. So a run that was killed goes on at its last
checkpoint and ends as if it had not been killed; on a CPU to the last bit.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
import torch
from filelock import FileLock, Timeout

from curation.files import CurationError, beside, dump_json, now, read_json, sync, writing
from curation.models.corpus import Corpus, Numbers, Pairs, divide, pairs
from curation.models.forward import free_memory, out_of_memory
from curation.models.loading import Loaded, load, versions
from curation.models.nsp import (
    HEAD_JSON,
    POOLS,
    TRAINED_NEXT,
    UNFINISHED,
    WEIGHTS,
    Head,
    NextSentenceModel,
    save_next_sentence,
)
from curation.models.packing import Row, Text
from curation.models.pairing import frame_of, texts

PAPER = (92.5, 98.5)  # held-out accuracy in per cent, of the heads of StereoSet's models
CHECKPOINT, REPORT, LOCK = "checkpoint.pt", "training.json", ".train-nsp.lock"
_DECAY, _CLIP = 0.01, 1.0
_POOL = 100  # batches among which pairs of like length are put together: less padding
_HELD_BATCH = 64
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
_FREE = ("device", "checkpoint_every")  # may change between a run and its continuation


@dataclass(frozen=True)
class Training:
    """How a head is trained.

    Attributes:
        model: whose body: a name on the hub or a folder.
        revision: a branch, tag or commit on the hub.
        length: the most tokens of a pair.
        batch: pairs whose gradients make one step.
        accumulate: in how many parts a batch is run, for want of memory.
        rate: the highest learning rate.
        warmup: steps until then; None for a tenth of all within 50 and 500.
        epochs: how often each pair's first sentence is seen.
        held_out: share of the articles to test on.
        limit: the most pairs of an epoch, and of those held out.
        freeze: train the head alone.
        precision: of the arithmetic; «auto» is bfloat16 or float16 on a GPU and float32 elsewhere.
        seed: of all that is drawn.
        checkpoint_every: steps.
        device: «auto», or a device of torch.
        trust_remote_code: run code that comes with the model.
    """

    model: str
    revision: str | None = None
    length: int = 256
    batch: int = 80
    accumulate: int = 1
    rate: float = 1e-5
    warmup: int | None = None
    epochs: int = 10
    held_out: float = 0.05
    limit: int | None = None
    freeze: bool = False
    precision: str = "auto"
    seed: int = 1
    checkpoint_every: int = 500
    device: str = "auto"
    trust_remote_code: bool = False


class Told(NamedTuple):
    """How far training is: steps done of all, the mean loss since last told, or an epoch's end.

    ``accuracy`` is held-out accuracy in per cent, at an epoch's end only.
    """

    step: int
    steps: int
    epoch: int
    loss: float | None = None
    accuracy: float | None = None


Tell = Callable[[Told], None]


def warmup_steps(steps: int) -> int:
    """A tenth of the steps within 50 and 500, never more than half.

    >>> [warmup_steps(steps) for steps in (40, 300, 2_000, 90_000)]
    [20, 50, 200, 500]
    """
    return min(max(steps // 10, 50), 500, steps // 2)


def rate_at(step: int, *, steps: int, warmup: int) -> float:
    """The share of the learning rate that step number ``step`` (from 0) has.

    >>> [rate_at(step, steps=6, warmup=2) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup:
        return (step + 1) / warmup
    return (steps - step) / (steps - warmup)


def train(
    wanted: Training,
    corpus: Corpus,
    out: Path,
    *,
    restart: bool = False,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Train, or go on where a run of the same settings and corpus ended.

    Args:
        wanted: the settings.
        corpus: sentences of articles.
        out: a folder for the trained model; new, empty, or of an earlier run.
        restart: throw away what an earlier run left there.
        tell: told of progress.

    Returns:
        What ``training.json`` says: settings, versions, corpus, counts, losses and accuracies.

    Raises:
        CurationError: the folder holds something else, or a run of other settings; the model or
            the corpus does not serve; memory ran out; the loss is not finite.
    """
    out.mkdir(parents=True, exist_ok=True)
    with _alone(out), _seeded(wanted.seed):
        loaded, head = _model(wanted)
        says = _identity(wanted, corpus, loaded)
        if _found(out, says, restart):
            return dict(read_json(out / REPORT))
        with writing(out / UNFINISHED) as file:
            file.write(dump_json(says))
        return _Run(wanted, corpus, out, loaded, head, tell).run()


def _model(wanted: Training) -> tuple[Loaded, dict[str, Any]]:
    """The model with a fresh head, and what it was before."""
    loaded = load(
        wanted.model,
        head="none",
        dtype="float32",
        device=wanted.device,
        revision=wanted.revision,
        trust_remote_code=wanted.trust_remote_code,
    )
    if loaded.family not in POOLS:
        raise CurationError(
            f"{wanted.model}: an encoder-decoder model gets no next-sentence head",
            "take a causal or masked model, or XLNet",
        )
    body = loaded.model.requires_grad_(not wanted.freeze)
    head = Head(body.config.get_text_config().hidden_size).to(body.device)
    model = NextSentenceModel(body, head, pool=POOLS[loaded.family], follows=TRAINED_NEXT)
    base = {"model": loaded.about["model"], "revision": loaded.about["revision"]}
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, loaded.about), base
