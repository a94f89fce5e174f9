"""Fine-tune a classifier of sentiment on reviews.

From StereoSet (ACL A.2, arXiv A.5), which fine-tunes BERT on the Large Movie Review data (Maas et
al. 2011): reviews of at most 256 tokens, batches of 32, Adam with learning rate 1e-4, seven epochs,
92 % right on the test set. Ours, where the paper is silent: no weight decay; the rate warms up over
a tenth of the steps, but at least 50 and at most 500 (and never more than half), and then falls
linearly to 0; gradients are clipped at norm 1; mixed precision on a GPU; without a test set, a
tenth of each class is held out.

See ``curation.models.train.loop`` for steps, epochs and checkpoints.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from curation.files import CurationError
from curation.models.classifier import SETTINGS, Encoded, made_of
from curation.models.loading import Loaded, load
from curation.models.sentiments import names_of
from curation.models.train.corpus import Numbers
from curation.models.train.folder import REPORT, Kind
from curation.models.train.loop import Learner, check_length, learn
from curation.models.train.reviews import Reviews, divide
from curation.models.train.settings import PAPER_SENTIMENT, SentimentTraining, Tell

_HELD = 10_000  # held-out reviews whose tokens are held at once
_KIND = Kind(SETTINGS, ("config.json", REPORT))
Example = tuple[Encoded, int]


def train(
    wanted: SentimentTraining,
    reviews: Reviews,
    out: Path,
    *,
    restart: bool = False,
    tell: Tell = lambda _: None,
) -> dict[str, Any]:
    """Train, or go on where a run of the same settings and reviews ended.

    Args:
        wanted: the settings.
        reviews: with as many classes as the settings say; if they have a test set, it takes the
            place of the held-out share, and nothing else is held out.
        out: a folder for the trained model; new, empty, or of an earlier run. At the end it holds a
            model of transformers with its tokenizer.
        restart: delete what an earlier run left there.
        tell: is called with the progress.

    Returns:
        The content of ``training.json``: settings, versions, corpus, counts, losses, accuracies in
        per cent, and the share of the commonest class, which a constant answer would have.

    Raises:
        CurationError: the folder holds something else, or a run of other settings; the model or
            the reviews cannot be used; memory ran out; the loss is not finite.
    """
    if reviews.names != names_of(wanted.classes):
        raise CurationError(
            f"the reviews were read in {len(reviews.names)} classes, {wanted.classes} are wanted",
            "read them in the form that is wanted",
        )
    return learn(
        wanted,
        out,
        kind=_KIND,
        corpus=reviews.identity,
        opened=lambda: _model(wanted),
        begun=lambda loaded: Run(wanted, reviews, out, loaded, tell),
        restart=restart,
    )


def _model(wanted: SentimentTraining) -> Loaded:
    """The model with a head for these classes."""
    try:
        loaded = load(
            wanted.model,
            head="classes",
            dtype="float32",
            device=wanted.device,
            revision=wanted.revision,
            trust_remote_code=wanted.trust_remote_code,
            fresh=names_of(wanted.classes),
        )
    except CurationError as error:
        if "Unrecognized configuration class" not in error.what:
            raise
        raise CurationError(
            f"{wanted.model}: transformers has no classifier of texts for this type of model",
            "take a model such as google-bert/bert-base-cased",
        ) from None
    loaded.model.config.problem_type = "single_label_classification"
    loaded.model.requires_grad_(True)
    return loaded


class Run(Learner):
    """One training on reviews, begun or gone on with."""

    wanted: SentimentTraining

    def __init__(
        self,
        wanted: SentimentTraining,
        reviews: Reviews,
        out: Path,
        loaded: Loaded,
        tell: Tell,
    ) -> None:
        special = loaded.tokenizer.num_special_tokens_to_add(pair=False)
        check_length(wanted, loaded, least=special + 1)
        self.reviews = reviews
        self.tested = reviews if reviews.test is None else reviews.test
        self.learnt, self.held = divide(
            reviews, share=wanted.held_out, seed=wanted.seed, limit=wanted.limit
        )
        super().__init__(wanted, out, loaded, tell, count=len(self.learnt))
        self.classifier = made_of(loaded, reviews.names, window=wanted.length)

    def _optimizer(self, parts: list[Any]) -> Any:
        return torch.optim.Adam(parts, lr=self.wanted.lr)

    def _mode(self, *, learning: bool) -> None:
        self.model.train(learning)

    def _learning(self) -> Any:
        return self.model

    def _batches(self, epoch: int) -> list[Numbers]:
        sizes = self.reviews.sizes(self.reviews.numbers[self.learnt])
        return [self.learnt[batch] for batch in self.order(sizes, epoch)]

    def _examples(self, batch: Numbers) -> list[Example]:
        return self._encoded(self.reviews, batch)

    def _encoded(self, reviews: Reviews, those: Numbers) -> list[Example]:
        texts = [reviews.text(int(number)) for number in reviews.numbers[those]]
        labels = reviews.classes[those].tolist()
        return list(zip(self.classifier.encode(texts), labels, strict=True))

    def _judged(self, examples: Sequence[Example]) -> tuple[Any, Any]:
        logits = self.classifier.outputs([encoded for encoded, _ in examples])
        return logits, torch.tensor([label for _, label in examples], device=logits.device)

    def _right(self) -> tuple[int, int]:
        right = 0
        for start in range(0, len(self.held), _HELD):
            some = self._encoded(self.tested, self.held[start : start + _HELD])
            with self.cast():
                found = self.classifier.logits([encoded for encoded, _ in some]).argmax(-1)
            right += int((found == np.array([label for _, label in some])).sum())
        return right, len(self.held)

    def _report(self) -> dict[str, Any]:
        held = self.tested.counts(self.held)
        test = self.reviews.test
        return {
            "architecture": type(self.model).__name__,
            "classes": list(self.reviews.names),
            "corpus": self.reviews.files,
            "reviews": len(self.reviews.numbers),
            "reviews_neutral": self.reviews.neutral,
            "reviews_repeated": self.reviews.repeated,
            "reviews_contradictory": self.reviews.contradictory,
            "reviews_unlabelled": self.reviews.unlabelled,
            "reviews_in_test": self.reviews.in_test,
            "reviews_an_epoch": len(self.learnt),
            "reviews_an_epoch_by_class": self.reviews.counts(self.learnt),
            "reviews_held_out": len(self.held),
            "reviews_held_out_by_class": held,
            "commonest_class_held_out": 100 * max(held.values()) / len(self.held),
            "test": None if test is None else _test_set(test),
            "test_accuracy": None if test is None else self.history[-1]["held_out_accuracy"],
            "paper_held_out_accuracy": PAPER_SENTIMENT,
        }

    def _keep(self) -> None:
        tokenizer = self.loaded.tokenizer
        if tokenizer.is_fast:  # or its file would cut off and fill up texts wherever it is used
            tokenizer.backend_tokenizer.no_truncation()
            tokenizer.backend_tokenizer.no_padding()
        self.model.save_pretrained(self.out)
        tokenizer.save_pretrained(self.out)


def _test_set(test: Reviews) -> dict[str, Any]:
    """The test set, for the report."""
    return {
        "files": test.files,
        "reviews": len(test.numbers),
        "neutral": test.neutral,
        "repeated": test.repeated,
        "contradictory": test.contradictory,
    }
