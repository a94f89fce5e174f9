"""How a next-sentence head or a sentiment classifier is trained, and how far a training is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from curation.files import CurationError

PAPER = (92.5, 98.5)  # held-out accuracy in per cent, of the heads of StereoSet's models
PAPER_SENTIMENT = 92.0  # the same, of StereoSet's sentiment classifier
PRECISIONS = ("auto", "float32", "bfloat16", "float16")


@dataclass(frozen=True)
class Learning:
    """How a model is trained: what every training has.

    Attributes:
        model: whose body: a name on the hub or a folder.
        revision: a branch, tag or commit on the hub.
        length: the most tokens of an example.
        batch: examples whose gradients make one step.
        accumulate: in how many parts a batch is run, for want of memory.
        lr: the highest learning rate.
        warmup: steps until then; None for a tenth of all within 50 and 500.
        epochs: how often each example is seen.
        held_out: share of the corpus to test on.
        limit: the most examples of an epoch, and of those held out.
        precision: of the arithmetic; «auto» is bfloat16 or float16 on a GPU and float32 elsewhere.
        seed: of all that is drawn.
        checkpoint_every: steps.
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
    """How a next-sentence head is trained, on pairs of sentences.

    ``held_out`` is of the articles. An epoch sees each pair's first sentence once.

    Attributes:
        freeze: train the head alone.
    """

    unit: ClassVar[str] = "pairs"

    batch: int = 80
    lr: float = 1e-5
    freeze: bool = False


@dataclass(frozen=True)
class SentimentTraining(Learning):
    """How a sentiment classifier is trained, on reviews.

    Attributes:
        classes: 2 for negative and positive, 3 with neutral between them.
    """

    unit: ClassVar[str] = "reviews"

    epochs: int = 7
    held_out: float = 0.1
    classes: int = 2


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


def check(wanted: Learning) -> None:
    """Find settings that do not go together before a model is loaded.

    Raises:
        CurationError: names them.
    """
    if wanted.device == "map":
        raise CurationError("training runs on one device", "take --device cuda or cpu")
    if wanted.precision not in PRECISIONS:
        raise CurationError(
            f"no precision «{wanted.precision}»", f"take one of {', '.join(PRECISIONS)}"
        )
    if wanted.accumulate > wanted.batch:
        raise CurationError(
            f"a batch of {wanted.batch} {wanted.unit} has no {wanted.accumulate} parts",
            "lower --accumulate",
        )
