"""Short trainings for tests, each in a folder of its own."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file

from curation.models.train.reviews import Reviews
from curation.models.train.sentiment import SentimentTrainer
from curation.models.train.settings import SentimentSettings
from support.expected import fails
from support.strike import KilledError, kill_at


class Training(NamedTuple):
    """Trainings of one sort, in folders below a root.

    Attributes:
        train: what trains.
        settings: the class of its settings.
        corpus: what is learnt from.
        root: of the folders.
        usual: the settings that a test does not name.
    """

    train: Any
    settings: Any
    corpus: Any
    root: Path
    usual: Mapping[str, Any]

    def __call__(self, out: str = "", *, corpus: Any = None, **changed: Any) -> Any:
        """Train, and give the report; settings may be changed, and how the training is called."""
        how = {name: changed.pop(name) for name in ("tell", "restart") if name in changed}
        wanted = self.settings(**{**self.usual, **changed})
        return self.train(wanted, corpus or self.corpus, self.root / out, **how)

    def kill(self, step: int, out: str = "", **changed: Any) -> None:
        """Begin to train, and end it from outside after a step."""
        with pytest.raises(KilledError):
            self(out, tell=kill_at(step), **changed)

    def fails(self, what: str, fix: str = "", **changed: Any) -> None:
        """A training that is refused."""
        with fails(what, fix=fix):
            self(**changed)


def weights(folder: Path) -> dict[str, Any]:
    """Of a model, with those of a head in a file of its own."""
    files = sorted(folder.glob("*.safetensors"))
    return {f"{file.stem} {key}": part for file in files for key, part in load_file(file).items()}


def same(one: Path, other: Path) -> bool:
    """Whether two models have the same weights, to the last bit."""
    left, right = weights(one), weights(other)
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


def of_sentiment(model: Path, reviews: Reviews, root: Path) -> Training:
    """Trainings of classifiers of sentiment: 3 steps of 8 reviews an epoch, for 24 reviews."""
    usual = {"length": 32, "batch": 8, "epochs": 2, "held_out": 0.25, "lr": 1e-3}
    return Training(
        SentimentTrainer.train, SentimentSettings, reviews, root, {"model": str(model), **usual}
    )
