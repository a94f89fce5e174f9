"""Settings and progress of both trainings: next-sentence heads and sentiment classifiers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from curation.files import CurationError

PAPER = (92.5, 98.5)  # accuracy of StereoSet's heads on its test pairs, % (arXiv §7, A.4)
PAPER_SENTIMENT = 92.0  # accuracy of StereoSet's classifier on Large Movie Review, % (ACL A.2)
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
OPTIMIZERS = ("adamw", "bertadam")


@dataclass(frozen=True)
class TrainingSettings:
    """Settings that every training has.

    Attributes:
        unit: what the examples are, in messages.
        model: the model to start from: a name on the hub or a folder.
        revision: a branch, tag or commit on the hub.
        length: the largest number of tokens in an example.
        batch: examples in one step.
        accumulate: split each batch into this many parts, to use less memory.
        lr: the highest learning rate.
        warmup: steps until the learning rate is highest; None for a tenth of all steps, but at
            least 50 and at most 500.
        epochs: how often each example is seen.
        held_out: the share of the corpus to test on, from 0 to 1.
        limit: the largest number of examples in an epoch, and of held-out examples.
        precision: of the arithmetic; «auto» is bfloat16 or float16 on a GPU and float32 elsewhere.
        seed: the seed of all random draws.
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
class NextSentenceSettings(TrainingSettings):
    """Settings for training a next-sentence head on pairs of sentences.

    ``held_out`` is a share of the articles. Each sentence is the first one of at most one pair in
    an epoch. The defaults of length, batch, lr and epochs are the paper's (ACL A.5, arXiv A.4).

    Attributes:
        freeze: train the head only.
        test_pairs: test on exactly this many pairs; then ``held_out`` has no effect, and ``limit``
            does not apply to held-out pairs. The paper has 3.5 million.
        optimizer: «adamw», or «bertadam» as in the paper.
    """

    unit: ClassVar[str] = "pairs"

    batch: int = 80
    lr: float = 1e-5
    freeze: bool = False
    test_pairs: int | None = None
    optimizer: str = "adamw"


@dataclass(frozen=True)
class SentimentSettings(TrainingSettings):
    """Settings for training a sentiment classifier on reviews.

    The defaults of length, batch, lr and epochs are the paper's (ACL A.2, arXiv A.5). With a test
    set, ``held_out`` has no effect.

    Attributes:
        classes: 2 for negative and positive, 3 for negative, neutral and positive.
    """

    unit: ClassVar[str] = "reviews"

    epochs: int = 7
    held_out: float = 0.1
    classes: int = 2


class Progress(NamedTuple):
    """Progress of a training.

    Attributes:
        step: steps done so far.
        steps: all steps.
        epoch: the number of the epoch, from 1.
        loss: the loss of the last step or, at the end of an epoch, the mean over the epoch.
        accuracy: the held-out accuracy in per cent, at the end of an epoch only.
    """

    step: int
    steps: int
    epoch: int
    loss: float | None = None
    accuracy: float | None = None


Tell = Callable[[Progress], None]


def warmup_steps(steps: int) -> int:
    """A tenth of the steps, but at least 50 and at most 500; never more than half of them.

    >>> [warmup_steps(steps) for steps in (40, 300, 2_000, 90_000)]
    [20, 50, 200, 500]
    """
    return min(max(steps // 10, 50), 500, steps // 2)


def rate_at(step: int, *, steps: int, warmup: int) -> float:
    """The learning rate of step number ``step`` (from 0), as a share of the highest rate.

    >>> [rate_at(step, steps=6, warmup=2) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup:
        return (step + 1) / warmup
    return (steps - step) / (steps - warmup)


def check(settings: TrainingSettings) -> None:
    """Check settings before a model is loaded.

    Raises:
        CurationError: a setting has an unknown value, or two settings contradict each other.
    """
    if settings.device == "map":
        raise CurationError("training runs on one device only", "use --device cuda or cpu")
    if settings.precision not in PRECISIONS:
        raise CurationError(
            f"there is no precision «{settings.precision}»", f"use one of: {', '.join(PRECISIONS)}"
        )
    if isinstance(settings, NextSentenceSettings) and settings.optimizer not in OPTIMIZERS:
        raise CurationError(
            f"there is no optimizer «{settings.optimizer}»", f"use one of: {', '.join(OPTIMIZERS)}"
        )
    if settings.accumulate > settings.batch:
        raise CurationError(
            f"a batch of {settings.batch} {settings.unit} cannot be split into "
            f"{settings.accumulate} parts",
            "lower --accumulate",
        )
