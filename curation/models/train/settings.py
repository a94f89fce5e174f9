"""Settings and progress of both trainings: next-sentence heads and sentiment classifiers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from pydantic import Field

from curation.files import CurationError

PAPER = (92.5, 98.5)  # accuracy of StereoSet's heads on its test pairs, % (arXiv §7, A.4)
PAPER_SENTIMENT = 92.0  # accuracy of StereoSet's classifier on Large Movie Review, % (ACL A.2)
Precision = Literal["auto", "float32", "bfloat16", "float16"]
Optimizer = Literal["adamw", "bertadam"]
Length = Annotated[int, Field(ge=8)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(ge=0.0)]
Warmup = Annotated[int | None, Field(ge=0)]
Share = Annotated[float, Field(ge=0.0, le=0.9)]
Limit = Annotated[int | None, Field(ge=2)]


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings that every training has; they are the options of its command, too.

    Attributes:
        unit: What the examples are, in messages.
        model: Model to start from: a name on the hub or a folder.
        length: Maximum number of tokens in an example.
        batch: Examples in one step.
        accumulate: Split each batch into this many parts, to use less memory.
        lr: Highest learning rate.
        warmup: Steps until the learning rate is highest. Default: a tenth of all steps, but at
            least 50 and at most 500.
        epochs: Number of passes over the training data.
        held_out: Share of the corpus to test on, from 0 to 0.9.
        limit: Maximum number of examples in an epoch, and of held-out examples.
        precision: auto: mixed 16-bit precision on a GPU, float32 elsewhere. Or float32, bfloat16,
            float16.
        seed: Seed of all random draws.
        checkpoint_every: Steps between checkpoints.
        device: Device: auto, cpu, cuda, cuda:1 …
        revision: Branch, tag or commit on the hub.
        trust_remote_code: Run code that comes with the model.
    """

    unit: ClassVar[str] = "examples"

    model: str = field(kw_only=False)
    length: Length
    batch: Positive
    accumulate: Positive
    lr: Rate
    warmup: Warmup
    epochs: Positive
    held_out: Share
    limit: Limit
    precision: Precision = "auto"
    seed: Annotated[int, Field(ge=0)] = 1
    checkpoint_every: Positive = 500
    device: str = "auto"
    revision: str | None = None
    trust_remote_code: bool = False


@dataclass(frozen=True, kw_only=True)
class NextSentenceSettings(TrainingSettings):
    """Settings for training a next-sentence head on pairs of sentences.

    Each sentence is the first one of at most one pair in an epoch. The defaults of length, batch,
    lr and epochs are the paper's (ACL A.5, arXiv A.4).

    Attributes:
        length: Maximum number of tokens in a pair.
        batch: Pairs in one step.
        held_out: Share of the articles to test on. Has no effect with --test-pairs.
        test_pairs: Test on exactly this many pairs (in the paper 3500000).
        limit: Maximum number of pairs in an epoch (in the paper 9500000) and, without --test-pairs,
            in the test.
        optimizer: adamw, or bertadam as in the paper: without bias correction.
        freeze: Train the head only.
    """

    unit: ClassVar[str] = "pairs"

    length: Length = 256
    batch: Positive = 80
    accumulate: Positive = 1
    lr: Rate = 1e-5
    warmup: Warmup = None
    epochs: Positive = 10
    held_out: Share = 0.05
    test_pairs: Annotated[int | None, Field(ge=2)] = None
    limit: Limit = None
    optimizer: Optimizer = "adamw"
    freeze: bool = False


@dataclass(frozen=True, kw_only=True)
class SentimentSettings(TrainingSettings):
    """Settings for training a sentiment classifier on reviews.

    The defaults of length, batch, lr and epochs are the paper's (ACL A.2, arXiv A.5).

    Attributes:
        classes: 2: negative and positive, without neutral reviews. 3: neutral is a class, too.
        length: Maximum number of tokens; longer reviews are cut off.
        batch: Reviews in one step.
        held_out: Share of each class to test on. Has no effect with a test set.
        limit: Maximum number of reviews in an epoch, and in the test.
    """

    unit: ClassVar[str] = "reviews"

    classes: Annotated[int, Field(ge=2, le=3)] = 2
    length: Length = 256
    batch: Positive = 32
    accumulate: Positive = 1
    lr: Rate = 1e-4
    warmup: Warmup = None
    epochs: Positive = 7
    held_out: Share = 0.1
    limit: Limit = None


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
    if settings.precision not in get_args(Precision):
        raise CurationError(
            f"there is no precision «{settings.precision}»",
            f"use one of: {', '.join(get_args(Precision))}",
        )
    if isinstance(settings, NextSentenceSettings) and settings.optimizer not in get_args(Optimizer):
        raise CurationError(
            f"there is no optimizer «{settings.optimizer}»",
            f"use one of: {', '.join(get_args(Optimizer))}",
        )
    if settings.accumulate > settings.batch:
        raise CurationError(
            f"a batch of {settings.batch} {settings.unit} cannot be split into "
            f"{settings.accumulate} parts",
            "lower --accumulate",
        )
