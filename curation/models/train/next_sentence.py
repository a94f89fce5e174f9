"""Train a next-sentence head, and the model below it, on pairs of sentences.

From StereoSet (ACL A.5, arXiv A.4): pairs of at most 256 tokens, batches of 80, learning rate 1e-5
with a linear warm-up, ten epochs, the mean over all tokens pooled for GPT-2, and by option the
optimizer BertAdam. Its warm-up goes "from 50 steps to 500 steps", which can be read in several
ways; here it takes a tenth of the steps, at least 50 and at most 500 (and never more than half).
Ours: AdamW with weight decay 0.01 on matrices, a linear fall of the rate to 0, gradients clipped at
norm 1, dropout 0.1 before the head's logits, mixed precision on every GPU (the paper names it for
GPT-2 large).

See ``curation.models.train.loop`` for steps, epochs and checkpoints.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from curation.files import CurationError
from curation.models.loading import Loaded, load
from curation.models.nsp import (
    HEAD_JSON,
    POOLS,
    SETTINGS,
    TRAINED_NEXT,
    Head,
    NextSentenceModel,
    PairRunner,
    save_next_sentence,
)
from curation.models.packing import Row, Text
from curation.models.pairing import frame_of, texts
from curation.models.train.bertadam import BertAdam
from curation.models.train.corpus import Corpus, Pairs, divide, pairs
from curation.models.train.folder import REPORT, Kind
from curation.models.train.loop import Learner, check_length, learn
from curation.models.train.settings import PAPER, Tell, Training

_DECAY = 0.01
_HELD = 10_000  # held-out pairs whose tokens are held at once
_HELD_SEED = 1_000_000  # no epoch has this number
_KIND = Kind(SETTINGS, (HEAD_JSON, REPORT))


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
        restart: delete what an earlier run left there.
        tell: is called with the progress.

    Returns:
        The content of ``training.json``: settings, versions, corpus, counts, losses, accuracies.

    Raises:
        CurationError: the folder holds something else, or a run of other settings; the model or
            the corpus cannot be used; memory ran out; the loss is not finite.
    """
    return learn(
        wanted,
        out,
        kind=_KIND,
        corpus=corpus.identity,
        opened=lambda: _model(wanted),
        begun=lambda loaded: Run(wanted, corpus, out, loaded, tell),
        restart=restart,
    )


def _model(wanted: Training) -> Loaded:
    """The model with a fresh head."""
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
    return Loaded(loaded.name, loaded.family, model, loaded.tokenizer, loaded.about)


class Run(Learner):
    """One training on pairs, begun or gone on with."""

    wanted: Training

    def __init__(
        self,
        wanted: Training,
        corpus: Corpus,
        out: Path,
        loaded: Loaded,
        tell: Tell,
    ) -> None:
        check_length(wanted, loaded, least=frame_of(loaded).size + 2)
        self.wanted, self.corpus = wanted, corpus
        self.learnt, held = divide(
            corpus, share=wanted.held_out, seed=wanted.seed, held_pairs=wanted.test_pairs
        )
        most = wanted.test_pairs or wanted.limit
        self.held = pairs(corpus, held, seed=[wanted.seed, _HELD_SEED], limit=most)
        self.sides = {"articles_held_out": len(held), "pairs_held_out": len(self.held.first)}
        self.pairs = len(self._drawn(0).first)
        super().__init__(wanted, out, loaded, tell, count=self.pairs)
        self.runner = PairRunner(loaded)

    def _optimizer(self, parts: list[Any]) -> Any:
        groups = [
            {"params": [part for part in parts if part.dim() > 1], "weight_decay": _DECAY},
            {"params": [part for part in parts if part.dim() < 2], "weight_decay": 0.0},
        ]
        made = BertAdam if self.wanted.optimizer == "bertadam" else torch.optim.AdamW
        return made(groups, lr=self.wanted.lr)

    def _clip(self, parts: list[Any]) -> None:
        if self.wanted.optimizer != "bertadam":
            super()._clip(parts)
            return
        for part in parts:
            super()._clip([part])

    def _mode(self, *, learning: bool) -> None:
        self.model.body.train(learning and not self.wanted.freeze)
        self.model.head.train(learning)

    def _learning(self) -> Any:
        return self.model.head if self.wanted.freeze else self.model

    def _drawn(self, epoch: int) -> Pairs:
        seed = [self.wanted.seed, epoch]
        return pairs(self.corpus, self.learnt, seed=seed, limit=self.wanted.limit)

    def _batches(self, epoch: int) -> list[Pairs]:
        drawn = self._drawn(epoch)
        sizes = self.corpus.sizes(drawn.first) + self.corpus.sizes(drawn.second)
        return [_those(drawn, batch) for batch in self.order(sizes, epoch)]

    def _texts(self, some: Pairs) -> list[Text]:
        sentence = self.corpus.sentence
        both = [(sentence(a), sentence(b)) for a, b in zip(some.first, some.second, strict=True)]
        made = texts(
            self.loaded, both, labels=some.label.tolist(), window=self.wanted.length, shorten=True
        )
        return [text for text in made if isinstance(text, Text)]

    def _examples(self, batch: Pairs) -> list[Row]:
        return [_row(text) for text in self._texts(batch)]

    def _judged(self, examples: Sequence[Row]) -> tuple[Any, Any]:
        rows = sorted(examples, key=len, reverse=True)
        labels = torch.tensor([row.reads[0][1] for row in rows], device=self.model.place)
        return self.runner.logits(rows), labels

    def _right(self) -> tuple[int, int]:
        right = count = 0
        for start in range(0, len(self.held.first), _HELD):
            some = self._texts(_those(self.held, slice(start, start + _HELD)))
            with self.cast():
                found = self.runner.log_probs(some)
            right += sum(math.exp(value[0]) > 0.5 for value in found)
            count += len(some)
        return right, count

    def _report(self) -> dict[str, Any]:
        return {
            "family": self.loaded.family,
            "pool": self.model.pool,
            "corpus": self.corpus.files,
            "articles": self.corpus.articles,
            "articles_of_one_sentence": self.corpus.single,
            "articles_repeated": self.corpus.repeated,
            "sentences": self.corpus.sentences,
            "pairs_an_epoch": self.pairs,
            **self.sides,
            "paper_held_out_accuracy": list(PAPER),
        }

    def _keep(self) -> None:
        save_next_sentence(self.out, self.loaded, base=self.base)


def _those(drawn: Pairs, which: Any) -> Pairs:
    """Some of the pairs."""
    return Pairs(drawn.first[which], drawn.second[which], drawn.label[which])


def _row(text: Text) -> Row:
    """A text as a row of its own."""
    places = [(place, label, 0) for place, label in text.reads]
    ids = list(text.ids)
    return Row(ids, list(range(len(ids))), list(text.types), starts=[0], reads=places)
