"""Fine-tune a sentiment classifier on reviews.

From StereoSet (ACL A.2, arXiv A.5), which fine-tunes BERT on the Large Movie Review data (Maas et
al. 2011): reviews of at most 256 tokens, batches of 32, Adam with learning rate 1e-4, seven epochs,
an accuracy of 92 % on the test set. The paper does not say the rest, which is ours:

* There is no weight decay.
* The rate warms up over a tenth of the steps, but at least 50 and at most 500, and never more than
  half of them. Then it falls linearly to 0.
* Gradients are clipped at norm 1. Precision is mixed on a GPU.
* Without a test set, a tenth of each class is held out.

See ``curation.models.train.loop`` for steps, epochs and checkpoints.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from curation.files import CurationError
from curation.models.classifier import SETTINGS, Encoded, classifier_of
from curation.models.loading import Loaded, load, loading_options
from curation.models.sentiments import names_of
from curation.models.train.corpus import Numbers
from curation.models.train.loop import Trainer, check_length
from curation.models.train.reviews import Reviews, divide
from curation.models.train.settings import PAPER_SENTIMENT, SentimentSettings
from curation.records import Fields

_HELD = 10_000  # held-out reviews whose tokens are in memory at once
_LEFT_OUT = ("neutral", "repeated", "contradictory", "unlabelled", "in_test")  # of ``Reviews``
Example = tuple[Encoded, int]


class SentimentTrainer(Trainer):
    """One training on reviews, new or continued.

    The reviews have as many classes as the settings. If they have a test set, it is used instead of
    the held-out share, and nothing else is held out. The folder of the trained model is one of
    transformers, with its tokenizer. The report also has the share of the commonest class, which is
    the accuracy of a constant answer.
    """

    settings_file, model_file = SETTINGS, "config.json"
    settings: SentimentSettings
    corpus: Reviews

    @staticmethod
    def load(settings: SentimentSettings) -> Loaded:
        """The model with a head for these classes."""
        options = loading_options(settings, dtype="float32")
        loaded = load(settings.model, head="classes", fresh=names_of(settings.classes), **options)
        loaded.model.config.problem_type = "single_label_classification"
        loaded.model.requires_grad_(True)
        return loaded

    def _prepare(self) -> int:
        settings, reviews = self.settings, self.corpus
        if reviews.names != names_of(settings.classes):
            raise CurationError(
                f"the reviews have {len(reviews.names)} classes, the settings have "
                f"{settings.classes}",
                f"read the reviews with classes={settings.classes}",
            )
        special = self.loaded.tokenizer.num_special_tokens_to_add(pair=False)
        check_length(settings, self.loaded, least=special + 1)
        self.tested = reviews if reviews.test is None else reviews.test
        self.training, self.held = divide(
            reviews, share=settings.held_out, seed=settings.seed, limit=settings.limit
        )
        self.classifier = classifier_of(self.loaded, reviews.names, window=settings.length)
        return len(self.training)

    def _optimizer(self, weights: list[Any]) -> Any:
        return torch.optim.Adam(weights, lr=self.settings.lr)

    def _set_mode(self, *, training: bool) -> None:
        self.model.train(training)

    def _trained(self) -> Any:
        return self.model

    def _batches(self, epoch: int) -> list[Numbers]:
        sizes = self.corpus.sizes(self.corpus.numbers[self.training])
        return [self.training[batch] for batch in self.order(sizes, epoch)]

    def _examples(self, batch: Numbers) -> list[Example]:
        return self._encoded(self.corpus, batch)

    def _encoded(self, reviews: Reviews, indices: Numbers) -> list[Example]:
        texts = [reviews.text(int(number)) for number in reviews.numbers[indices]]
        labels = reviews.classes[indices].tolist()
        return list(zip(self.classifier.encode(texts), labels, strict=True))

    def _logits(self, examples: Sequence[Example]) -> tuple[Any, Any]:
        logits = self.classifier.outputs([encoded for encoded, _ in examples])
        return logits, torch.tensor([label for _, label in examples], device=logits.device)

    def _count_correct(self) -> tuple[int, int]:
        correct = 0
        for start in range(0, len(self.held), _HELD):
            some = self._encoded(self.tested, self.held[start : start + _HELD])
            with self.cast():
                classes = self.classifier.logits([encoded for encoded, _ in some]).argmax(-1)
            correct += int((classes == np.array([label for _, label in some])).sum())
        return correct, len(self.held)

    def _report(self) -> Fields:
        held = self.tested.counts(self.held)
        test = self.corpus.test
        return {
            "architecture": type(self.model).__name__,
            "classes": list(self.corpus.names),
            "corpus": self.corpus.files,
            "reviews": len(self.corpus.numbers),
            **{f"reviews_{name}": getattr(self.corpus, name) for name in _LEFT_OUT},
            "reviews_an_epoch": len(self.training),
            "reviews_an_epoch_by_class": self.corpus.counts(self.training),
            "reviews_held_out": len(self.held),
            "reviews_held_out_by_class": held,
            "commonest_class_held_out": 100 * max(held.values()) / len(self.held),
            "test": None if test is None else _test_set(test),
            "test_accuracy": None if test is None else self.history[-1]["held_out_accuracy"],
            "paper_held_out_accuracy": PAPER_SENTIMENT,
        }

    def _save_model(self) -> None:
        tokenizer = self.loaded.tokenizer
        if tokenizer.is_fast:  # or its file would cut off and pad texts everywhere
            tokenizer.backend_tokenizer.no_truncation()
            tokenizer.backend_tokenizer.no_padding()
        self.model.save_pretrained(self.out)
        tokenizer.save_pretrained(self.out)


def _test_set(test: Reviews) -> Fields:
    """The test set, for the report."""
    return {
        "files": test.files,
        "reviews": len(test.numbers),
        "neutral": test.neutral,
        "repeated": test.repeated,
        "contradictory": test.contradictory,
    }
