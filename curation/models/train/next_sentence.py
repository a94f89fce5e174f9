"""Train a next-sentence head, and the model below it, on pairs of sentences.

From StereoSet (ACL A.5, arXiv A.4): pairs of at most 256 tokens, batches of 80, learning rate 1e-5
with a linear warm-up, ten epochs, the mean over all tokens pooled for GPT-2, and optionally the
optimizer BertAdam. The paper's warm-up goes "from 50 steps to 500 steps", which can be read in
several ways. Here it takes a tenth of the steps, but at least 50 and at most 500, and never more
than half of them.

Not from the paper: AdamW with weight decay 0.01 on matrices, a linear fall of the rate to 0,
gradients clipped at norm 1, dropout 0.1 before the head's logits, and mixed precision on every GPU
(the paper mentions it for GPT-2 large).

See ``curation.models.train.loop`` for steps, epochs and checkpoints.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from curation.files import CurationError
from curation.models.forward import Row, Text
from curation.models.loading import Loaded, load, loading_options
from curation.models.nsp import (
    HEAD_JSON,
    POOLS,
    SETTINGS,
    TRAINED_NEXT,
    Head,
    NextSentenceModel,
    PairRunner,
    frame_of,
    save_next_sentence,
    texts,
)
from curation.models.train.corpus import Corpus, Pairs, divide, pairs
from curation.models.train.loop import Trainer, check_length
from curation.models.train.settings import PAPER, NextSentenceSettings
from curation.records import Fields

_BETAS, _EPS = (0.9, 0.999), 1e-6


class BertAdam(torch.optim.Optimizer):
    """Adam with decoupled weight decay and without bias correction.

    This is the optimizer of the BERT release (Devlin et al. 2019); the name is that of the package
    pytorch-pretrained-bert. With gradient g, rate r and decay d, each weight w changes by

        m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,  w ← w − r (m / (√v + 1e-6) + d w).

    AdamW divides m by 1 − 0.9ᵗ and v by 1 − 0.999ᵗ at step t. Without that, the first steps are
    larger: 3.2 times as large at step 1, at most 6.6 times (about step 12), twice at step 288.
    That package also clips the gradient of each weight matrix at norm 1, warms up the rate and lets
    it fall. Here this is left to the caller.
    """

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the weights by their gradients."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["mean"], state["square"] = (torch.zeros_like(weight) for _ in range(2))
                state["mean"].lerp_(weight.grad, 1 - _BETAS[0])
                state["square"].lerp_(weight.grad.square(), 1 - _BETAS[1])
                change = state["mean"] / (state["square"].sqrt() + _EPS)
                weight -= group["lr"] * (change + group["weight_decay"] * weight)
        return loss


_DECAY = 0.01
_HELD = 10_000  # held-out pairs whose tokens are in memory at once
_HELD_SEED = 1_000_000  # no epoch has this number


class NextSentenceTrainer(Trainer):
    """One training on pairs of sentences, new or continued."""

    settings_file, model_file = SETTINGS, HEAD_JSON
    settings: NextSentenceSettings
    corpus: Corpus

    @staticmethod
    def load(settings: NextSentenceSettings) -> Loaded:
        """The model with a new head."""
        options = loading_options(settings, dtype="float32")
        loaded = load(settings.model, head="none", **options)
        if loaded.family not in POOLS:
            raise CurationError(
                f"{settings.model}: an encoder-decoder model cannot have a next-sentence head",
                "use a causal or masked model, or XLNet",
            )
        body = loaded.model.requires_grad_(not settings.freeze)
        head = Head(body.config.get_text_config().hidden_size).to(body.device)
        model = NextSentenceModel(body, head, pool=POOLS[loaded.family], follows=TRAINED_NEXT)
        return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, loaded.about)

    def _prepare(self) -> int:
        settings, corpus = self.settings, self.corpus
        check_length(settings, self.loaded, least=frame_of(self.loaded).size + 2)
        self.training, held = divide(
            corpus, share=settings.held_out, seed=settings.seed, held_pairs=settings.test_pairs
        )
        most = settings.test_pairs or settings.limit
        self.held = pairs(corpus, held, seed=[settings.seed, _HELD_SEED], limit=most)
        self.held_counts = {"articles_held_out": len(held), "pairs_held_out": len(self.held.first)}
        self.pairs = len(self._drawn(0).first)
        self.runner = PairRunner(self.loaded)
        return self.pairs

    def _optimizer(self, weights: list[Any]) -> Any:
        groups = [
            {"params": [each for each in weights if each.dim() > 1], "weight_decay": _DECAY},
            {"params": [each for each in weights if each.dim() < 2], "weight_decay": 0.0},
        ]
        optimizer = BertAdam if self.settings.optimizer == "bertadam" else torch.optim.AdamW
        return optimizer(groups, lr=self.settings.lr)

    def _clip(self, weights: list[Any]) -> None:
        if self.settings.optimizer != "bertadam":
            super()._clip(weights)
            return
        for each in weights:  # as the package does that BertAdam is from
            super()._clip([each])

    def _set_mode(self, *, training: bool) -> None:
        self.model.body.train(training and not self.settings.freeze)
        self.model.head.train(training)

    def _trained(self) -> Any:
        return self.model.head if self.settings.freeze else self.model

    def _drawn(self, epoch: int) -> Pairs:
        seed = [self.settings.seed, epoch]
        return pairs(self.corpus, self.training, seed=seed, limit=self.settings.limit)

    def _batches(self, epoch: int) -> list[Pairs]:
        drawn = self._drawn(epoch)
        sizes = self.corpus.sizes(drawn.first) + self.corpus.sizes(drawn.second)
        return [_select(drawn, batch) for batch in self.order(sizes, epoch)]

    def _texts(self, some: Pairs) -> list[Text]:
        sentence = self.corpus.text
        both = [(sentence(a), sentence(b)) for a, b in zip(some.first, some.second, strict=True)]
        joined = texts(
            self.loaded, both, labels=some.label.tolist(), window=self.settings.length, shorten=True
        )
        return [text for text in joined if isinstance(text, Text)]

    def _examples(self, batch: Pairs) -> list[Row]:
        return [_row(text) for text in self._texts(batch)]

    def _logits(self, examples: Sequence[Row]) -> tuple[Any, Any]:
        rows = sorted(examples, key=len, reverse=True)
        labels = torch.tensor([row.reads[0][1] for row in rows], device=self.model.place)
        return self.runner.logits(rows), labels

    def _count_correct(self) -> tuple[int, int]:
        correct = count = 0
        for start in range(0, len(self.held.first), _HELD):
            some = self._texts(_select(self.held, slice(start, start + _HELD)))
            with self.cast():
                log_probs = self.runner.log_probs(some)
            correct += sum(math.exp(value[0]) > 0.5 for value in log_probs)
            count += len(some)
        return correct, count

    def _report(self) -> Fields:
        return {
            "family": self.loaded.family,
            "pool": self.model.pool,
            "corpus": self.corpus.files,
            "articles": self.corpus.articles,
            "articles_of_one_sentence": self.corpus.single,
            "articles_repeated": self.corpus.repeated,
            "sentences": self.corpus.sentences,
            "pairs_an_epoch": self.pairs,
            **self.held_counts,
            "paper_held_out_accuracy": list(PAPER),
        }

    def _save_model(self) -> None:
        save_next_sentence(self.out, self.loaded, base=self.base)


def _select(drawn: Pairs, indices: Any) -> Pairs:
    """Some of the pairs."""
    return Pairs(drawn.first[indices], drawn.second[indices], drawn.label[indices])


def _row(text: Text) -> Row:
    """A text as a row of its own."""
    places = [(place, label, 0) for place, label in text.reads]
    ids = list(text.ids)
    return Row(ids, list(range(len(ids))), list(text.types), starts=[0], reads=places)
