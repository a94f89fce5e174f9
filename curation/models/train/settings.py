"""The settings of both trainings (next-sentence heads, sentiment classifiers), and their progress.

A setting that is added later needs a default that does what was done before: a training that an
earlier version began goes on with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from curation.files import CurationError

PAPER = (92.5, 98.5)  # per cent right on its test pairs: StereoSet's heads (arXiv §7, A.4)
PAPER_SENTIMENT = 92.0  # on the Large Movie Review test set: StereoSet's classifier (ACL A.2)
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
OPTIMIZERS = ("adamw", "bertadam")


@dataclass(frozen=True)
class Learning:
    """Settings that every training has.

    Attributes:
        model: the model to begin from: a name on the hub or a folder.
        revision: a branch, tag or commit on the hub.
        length: the most tokens of an example.
        batch: examples in one step.
        accumulate: run each batch in this many parts, which need less memory.
        lr: the highest learning rate.
        warmup: steps until the rate is that high; None for a tenth of all within 50 and 500.
        epochs: how often each example is seen.
        held_out: the share of the corpus to test on.
        limit: the most examples of an epoch, and of those held out.
        precision: of the arithmetic; «auto» is bfloat16 or float16 on a GPU and float32 elsewhere.
        seed: of all random draws.
        checkpoint_every: steps between checkpoints.
        device: «auto», or a device of torch.
        trust_remote_code: run code that comes with the model.
    """

    unit: ClassVar[str] = "examples"

    model: str
    revision: str | None = None
    length: int = 256
    batch: int = 32
    accumulate: int = 1
    lr: float = 1e-4
    warmup: int | None = None
    epochs: int = 10
    held_out: float = 0.05
    limit: int | None = None
    precision: str = "auto"
    seed: int = 1
    checkpoint_every: int = 500
    device: str = "auto"
    trust_remote_code: bool = False


@dataclass(frozen=True)
class Training(Learning):
    """Settings of the training of a next-sentence head, on pairs of sentences.

    ``held_out`` is a share of the articles. An epoch sees each pair's first sentence once. The
    defaults of length, batch, lr and epochs are the paper's (ACL A.5, arXiv A.4).

    Attributes:
        freeze: train the head alone.
        test_pairs: test on exactly so many pairs; then ``held_out`` has no effect, and ``limit``
            none on the held-out side. The paper has 3.5 million.
        optimizer: «adamw», or «bertadam» as in the paper.
    """

    unit: ClassVar[str] = "pairs"

    batch: int = 80
    lr: float = 1e-5
    freeze: bool = False
    test_pairs: int | None = None
    optimizer: str = "adamw"


@dataclass(frozen=True)
class SentimentTraining(Learning):
    """Settings of the training of a sentiment classifier, on reviews.

    The defaults of length, batch, lr and epochs are the paper's (ACL A.2, arXiv A.5). With a test
    set, ``held_out`` has no effect.

    Attributes:
        classes: 2 for negative and positive, 3 with neutral between them.
    """

    unit: ClassVar[str] = "reviews"

    epochs: int = 7
    held_out: float = 0.1
    classes: int = 2


class Told(NamedTuple):
    """Progress: steps done of all, and the loss of the last step or, at its end, of an epoch.

    ``accuracy`` is the held-out accuracy in per cent; only the end of an epoch has it.
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


def check(wanted: Learning) -> None:
    """Check settings before a model is loaded.

    Raises:
        CurationError: a setting has an unknown value, or two do not go together.
    """
    if wanted.device == "map":
        raise CurationError("training runs on one device", "take --device cuda or cpu")
    if wanted.precision not in PRECISIONS:
        raise CurationError(
            f"no precision «{wanted.precision}»", f"take one of {', '.join(PRECISIONS)}"
        )
    if isinstance(wanted, Training) and wanted.optimizer not in OPTIMIZERS:
        raise CurationError(
            f"no optimizer «{wanted.optimizer}»", f"take one of {', '.join(OPTIMIZERS)}"
        )
    if wanted.accumulate > wanted.batch:
        raise CurationError(
            f"a batch of {wanted.batch} {wanted.unit} has no {wanted.accumulate} parts",
            "lower --accumulate",
        )
