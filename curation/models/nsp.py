"""Next-sentence prediction: log p that the association follows its context, under a trained head.

There are two kinds of heads:

* **BERT's own** (BERT, MobileBERT, ERNIE, Megatron-BERT, FNet), from pretraining. Its pooler reads
  the first token. Index 0 of its two logits means «next».
* **Heads trained by** ``curation scores train-nsp`` for a causal model, a masked model or XLNet.
  The body is fine-tuned, and the head is like BERT's (dense, tanh, two logits). It reads the first
  token of masked models, the last token of XLNet (its ``<cls>``), or the mean over all tokens of
  causal models. Index 1 means «next». ``head.json`` contains all this and is read when the head is
  opened.

``curation.models.nsp_heads`` opens and saves them; ``curation.models.pairing`` joins context and
association into one text. Sources: Devlin et al. 2019 §3.1; StereoSet ACL §6 and A.5, arXiv §7 and
A.4.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.causal import finite
from curation.models.forward import Runner, Tell
from curation.models.packing import Row, Text
from curation.models.pairing import frame_of, texts
from curation.models.rules import Family, Refusal, Scored, ScoringRequest

Pool = Literal["first", "last", "mean"]
POOLS: dict[Family, Pool] = {"masked": "first", "xlnet": "last", "causal": "mean"}
# By how much rounding may change pooled states, relative to their norm, by precision.
# Measured: up to 1e-6, 2e-3 and 2e-2; a wrong mask changes them by 6e-2 or far more.
_TOLERANCE = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}


class Head(torch.nn.Module):
    """A head like BERT's: a pooler and two logits, over the pooled state of a text."""

    def __init__(self, width: int, *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(width, width)
        self.dropout = torch.nn.Dropout(dropout)
        self.out = torch.nn.Linear(width, 2)
        for layer in (self.dense, self.out):
            torch.nn.init.normal_(layer.weight, std=0.02)
            torch.nn.init.zeros_(layer.bias)

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2), from states of shape (texts, width)."""
        return self.out(self.dropout(torch.tanh(self.dense(states))))


class OwnHead(torch.nn.Module):
    """The head that a model was pretrained with: a pooler, then two logits."""

    def __init__(self, pooler: Any, logits: Any) -> None:
        super().__init__()
        self.pooler, self.logits = pooler, logits

    def forward(self, states: Any) -> Any:
        """Logits of shape (texts, 2), from states of shape (texts, width)."""
        return self.logits(self.pooler(states[:, None]))  # the pooler reads the first token


class NextSentenceModel(torch.nn.Module):
    """A body and a head over its pooled states.

    Attributes:
        body: the model without a head.
        head: the head.
        pool: the token that the head reads, or «mean» for the mean over all tokens.
        follows: the index of the logit that means «next».
        precision: the dtype of the head.
        place: the device of the head.
    """

    def __init__(self, body: Any, head: Any, *, pool: Pool, follows: int) -> None:
        super().__init__()
        self.body, self.head, self.pool, self.follows = body, head, pool, follows
        self.precision = next(head.parameters()).dtype
        self.place = next(head.parameters()).device

    @property
    def config(self) -> Any:
        """The body's configuration."""
        return self.body.config

    @property
    def base_model(self) -> Any:
        """The body."""
        return self.body

    @property
    def device(self) -> Any:
        """The device of its inputs."""
        return self.body.device

    @property
    def dtype(self) -> Any:
        """The body's precision."""
        return self.body.dtype

    def forward(self, **inputs: Any) -> Any:
        """The body's states and the logits of the first token, in one row.

        ``faster.quicken`` compares this output before and after it replaces layers.
        """
        hidden = self.body(**inputs)[0]
        logits = self.head(hidden[:, 0].to(self.place, self.precision))
        return (torch.cat([hidden.flatten().to(logits), logits.flatten()]),)

    def states(self, inputs: dict[str, Any], rows: Sequence[Row]) -> Any:
        """The pooled state for each read of these rows, in order; shape (reads, width).

        The place of a read is the first token of a text if ``pool`` is «first», else the last.
        """
        hidden = self.body(**inputs)[0]
        length = hidden.shape[1]
        hidden = hidden.flatten(0, 1)
        if self.pool == "mean":
            weights = np.zeros((sum(len(row.reads) for row in rows), len(hidden)), np.float32)
            at = 0
            for n, row in enumerate(rows):
                mask = row.mask()
                for place, _, _ in row.reads:  # the last token of a text sees exactly this text
                    seen = mask[place]
                    weights[at, n * length : n * length + len(row)] = seen / seen.sum()
                    at += 1
            share = torch.from_numpy(weights).to(hidden.device)
            pooled = share @ hidden.float()
        else:
            places = [n * length + place for n, row in enumerate(rows) for place, _, _ in row.reads]
            pooled = hidden.index_select(0, torch.tensor(places, device=hidden.device))
        return pooled.to(self.place, self.precision)


class PairRunner(Runner):
    """A next-sentence model, and how it is run."""

    @property
    def about(self) -> dict[str, Any]:
        """What was opened, for ``run.json``."""
        return self.loaded.about

    @property
    def notices(self) -> list[str]:
        """Messages for the user."""
        return self.loaded.notices

    def logits(self, rows: list[Row], *, packed: bool = False) -> Any:
        """Logits for each read, with gradients if torch records them; shape (reads, 2).

        Args:
            rows: the longest first.
            packed: rows may hold several texts that do not see each other.
        """
        model = self.loaded.model
        return model.head(model.states(self._inputs(rows, packed=packed), rows))

    @torch.inference_mode()
    def _batch(self, rows: list[Row], values: NDArray[np.float64], *, packed: bool) -> None:
        logits = self.logits(rows, packed=packed).double()
        log_probs = torch.log_softmax(logits, -1).cpu().numpy()
        reads = [read for row in rows for read in row.reads]
        values[[slot for _, _, slot in reads]] = log_probs[
            range(len(reads)), [label for _, label, _ in reads]
        ]

    def _inputs(self, rows: list[Row], *, packed: bool) -> dict[str, Any]:
        if packed and self.loaded.family == "xlnet":
            return self._xlnet_inputs(rows)
        inputs = self._typed(super()._inputs(rows, packed=packed), rows)
        if not packed and len({len(row) for row in rows}) == 1:
            del inputs["attention_mask"]  # nothing is hidden, and FNet does not accept a mask
        return inputs

    def _xlnet_inputs(self, rows: list[Row]) -> dict[str, Any]:
        """Inputs of packed rows for XLNet: positions are relative, ``perm_mask`` hides tokens."""
        inputs = self._typed(super()._inputs(rows, packed=False), rows)
        length = inputs["input_ids"].shape[1]
        unseen = np.ones((len(rows), length, length), np.float32)
        for n, row in enumerate(rows):
            unseen[n, : len(row), : len(row)] = ~row.mask()
        del inputs["attention_mask"]
        mask = torch.from_numpy(unseen).to(self.loaded.device, self.loaded.model.dtype)
        return {**inputs, "perm_mask": mask}

    def _typed(self, inputs: dict[str, Any], rows: list[Row]) -> dict[str, Any]:
        """Add segment ids if a row has them: not all tokenizers list them (ALBERT, XLNet)."""
        if any(any(row.types) for row in rows):
            types = np.zeros(inputs["input_ids"].shape, np.int64)
            for n, row in enumerate(rows):
                types[n, : len(row)] = row.types
            inputs["token_type_ids"] = torch.from_numpy(types).to(self.loaded.device)
        return inputs

    # --- trying out the model -------------------------------------------------------------------

    def _probe(self) -> None:
        texts = self._probes()
        plain = torch.cat([self._plainly(text) for text in texts])
        name = self.loaded.name
        if not self._agrees_with(texts, plain):
            self.pack = False
            self.notices.append(f"{name}: cannot read packed rows; it reads padded ones, slower")
            if not self._agrees_with(texts, plain, slack=4):
                self.batch_tokens = 1
                self.notices.append(
                    f"{name}: cannot read padding either; it reads pairs one by one"
                )

    def _probes(self) -> list[Text]:
        loaded = self.loaded
        draw = np.random.default_rng(0)
        frame = frame_of(loaded)
        vocabulary = loaded.model.config.get_text_config().vocab_size
        words = [draw.integers(vocabulary, size=size).tolist() for size in (4, 3, 6, 1)]
        return [frame.text(words[0], words[n], loaded.model.follows) for n in (1, 2, 3)]

    @torch.inference_mode()
    def _plainly(self, text: Text) -> Any:
        """The pooled state of one text: no mask, no packing, no padding."""
        model = self.loaded.model
        row = Row(list(text.ids), list(range(len(text.ids))), list(text.types), starts=[0])
        hidden = model.body(**self._inputs([row], packed=False))[0][0].float()
        return {"first": hidden[:1], "last": hidden[-1:], "mean": hidden.mean(0, keepdim=True)}[
            model.pool
        ]

    @torch.inference_mode()
    def _agrees_with(self, texts: Sequence[Text], plain: Any, *, slack: float = 1) -> bool:
        """Whether texts have the same pooled states in rows as alone, up to rounding."""
        layout = self._layout(texts, pack=self.pack)
        rows = sorted(layout.rows, key=len, reverse=True)
        try:
            inputs = self._inputs(rows, packed=layout.packed)
            states = self.loaded.model.states(inputs, rows).float()
        except (TypeError, ValueError, RuntimeError, IndexError, AttributeError):
            return False
        slots = [slot for row in rows for _, _, slot in row.reads]
        order = [slots.index(own[0]) for own in layout.slots]
        errors = (states[order] - plain).norm(dim=-1) / plain.norm(dim=-1)
        allowed = _TOLERANCE[str(self.loaded.model.dtype).removeprefix("torch.")]
        return bool((errors <= slack * allowed).all())


def score(
    runner: PairRunner,
    rule: str,
    requests: Sequence[ScoringRequest],
    *,
    tell: Tell = lambda _: None,
) -> list[Scored]:
    """Natural logarithms of the probability that associations follow their contexts.

    Args:
        runner: a next-sentence model.
        rule: «nsp».
        requests: intersentence associations.
        tell: called with the number of rows in each batch.

    Raises:
        CurationError: the rule is another one, or memory ran out.
    """
    if rule != "nsp":
        raise CurationError(
            f"a next-sentence head cannot compute the rule «{rule}»", "use the rule «nsp»"
        )
    loaded = runner.loaded
    joined = texts(
        loaded,
        [(request.context, request.sentence) for request in requests],
        labels=[loaded.model.follows] * len(requests),
        window=loaded.window,
    )
    values = iter(runner.log_probs([text for text in joined if isinstance(text, Text)], tell))
    return [
        text if isinstance(text, Refusal) else finite(float(next(values)[0])) for text in joined
    ]
