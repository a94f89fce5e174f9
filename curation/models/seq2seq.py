"""The rules for encoder-decoder models (the contract is in ``curation.models.rules``).

Each text for the encoder is encoded once, even if several answers of the decoder are scored: the
three options of a CAT share it. Answers are batched by length. The vocabulary is projected only at
the positions of scored tokens.

For ``infill`` the attribute's tokens are removed from the filled context and replaced by a sentinel
or mask token, as in the models' own training (Raffel et al. 2020 §3.1.4; Lewis et al. 2020 §2.2,
text infilling). All other tokens stay as they are in the whole text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from curation.files import CurationError
from curation.models.causal import finite
from curation.models.forward import filled, halved, logits_at, read, usual_batch
from curation.models.loading import Loaded
from curation.models.rules import Refusal, Scored, ScoringRequest, not_computed
from curation.models.tokens import Tokens, surround, tokenize
from curation.text.rules import grouped

_RULES = ("infill", "conditional", "conditional-chars")
_VALUES = 1 << 28  # logits in memory at once: 1 GiB of float32


class Pair(NamedTuple):
    """The tokens for the encoder, the answer of the decoder, and its first token to be scored."""

    shown: tuple[int, ...]
    answer: tuple[int, ...]
    first: int


class Frame(NamedTuple):
    """The special tokens before and after a text, the tokens for blanks, and the window."""

    before: list[int]
    after: list[int]
    blanks: list[int]
    sentinels: bool
    window: int | None


def score(
    loaded: Loaded,
    rule: str,
    requests: Sequence[ScoringRequest],
    *,
    batch_tokens: int | None = None,
) -> list[Scored]:
    """Scores of associations under a rule, in natural logarithms.

    Args:
        loaded: an encoder-decoder model.
        rule: «infill», «conditional» or «conditional-chars».
        requests: the associations.
        batch_tokens: tokens in a batch, including padding; None for a size that suits the device.

    Raises:
        CurationError: the rule is another one, the tokenizer does not have what it needs, or
            memory ran out.
    """
    plans = plan(loaded.tokenizer, rule, requests, window=loaded.window)
    unique = list(dict.fromkeys(each for each in plans if isinstance(each, Pair)))
    values = _Batches(loaded, batch_tokens or usual_batch(loaded)).run(unique)
    by = [each.characters if rule == "conditional-chars" else 1 for each in requests]
    return [
        each if isinstance(each, Refusal) else finite(values[each] / size)
        for each, size in zip(plans, by, strict=True)
    ]


def plan(
    tokenizer: Any, rule: str, requests: Sequence[ScoringRequest], *, window: int | None = None
) -> list[Pair | Refusal]:
    """The tokens for encoder and decoder, for each association.

    Args:
        tokenizer: the model's tokenizer.
        rule: «infill», «conditional» or «conditional-chars».
        requests: the associations.
        window: the largest number of tokens that encoder and decoder read; None for no limit.

    Raises:
        CurationError: the rule is another one; or it is «infill», and the tokenizer has neither
            sentinels nor a mask token.
    """
    if rule not in _RULES:
        raise not_computed(rule, _RULES)
    infill = rule == "infill"
    blanks, sentinels = _blanks(tokenizer, most=1 + max((len(r.also) for r in requests), default=0))
    if infill and not blanks:
        raise CurationError(
            "the tokenizer has neither sentinels nor a mask token to replace BLANK",
            "use a model that was trained to fill gaps, such as T5 or BART",
        )
    frame = Frame(*surround(tokenizer), blanks, sentinels, window)
    contexts = tokenize(tokenizer, [r.filled if infill else r.context for r in requests])
    sentences = tokenize(tokenizer, [r.sentence for r in requests])
    make = _infill if infill else _conditional
    return [make(*each, frame) for each in zip(requests, contexts, sentences, strict=True)]


def _blanks(tokenizer: Any, *, most: int) -> tuple[list[int], bool]:
    """The tokens for the first, second … BLANK, and whether they are sentinels."""
    known = tokenizer.get_vocab()
    for form in ("<extra_id_{}>", "▁<extra_id_{}>"):
        sentinels = [known.get(form.format(n)) for n in range(most)]
        if None not in sentinels:
            return sentinels, True
    mask = tokenizer.mask_token_id
    return ([] if mask is None else [int(mask)] * most), False


def _infill(
    request: ScoringRequest, filled: Tokens, sentence: Tokens, frame: Frame
) -> Pair | Refusal:
    size = request.end - request.start
    own = filled.touching([(request.at, request.at + size)])
    if not own or not request.attribute.strip():
        return Refusal("nothing_to_score", "no token fills the BLANK")
    gaps: dict[int, int] = {}  # the number of the gap, for each place that is removed
    for n, at in enumerate([request.at, *request.also]):
        for place in filled.touching([(at, at + size)]):
            gaps.setdefault(place, n)
    shown: list[int] = []
    for place, token in enumerate(filled.ids):
        if place not in gaps:
            shown.append(token)
        elif gaps.get(place - 1) != gaps[place]:
            shown.append(frame.blanks[gaps[place]])
    if frame.sentinels:
        answer = [frame.blanks[0], *(filled.ids[place] for place in own)]
        return _fitted(shown, answer, 1, min(gaps), frame)
    answer = [*frame.before, *sentence.ids]
    return _fitted(shown, answer, len(frame.before), min(gaps), frame)


def _conditional(
    request: ScoringRequest, context: Tokens, sentence: Tokens, frame: Frame
) -> Pair | Refusal:
    if not sentence.ids or not request.sentence.strip():
        return Refusal("nothing_to_score", "no token to score")
    answer = [*frame.before, *sentence.ids]
    return _fitted(context.ids, answer, len(frame.before), len(context.ids), frame)


def _fitted(
    shown: list[int], answer: list[int], first: int, spare: int, frame: Frame
) -> Pair | Refusal:
    """The pair without surplus tokens at the left of ``shown``; at most ``spare`` are removed."""
    most = frame.window or 10**9
    over = max(len(frame.before) + len(shown) + len(frame.after) - most, 0)
    if over > spare or len(answer) > most:
        longest = max(len(shown), len(answer))
        return Refusal("too_long", f"{longest} tokens, the window is {most}")
    shown = [*frame.before, *shown[over:], *frame.after]
    if not shown:
        return Refusal("nothing_to_score", "the context has no token to read")
    return Pair(tuple(shown), tuple(answer), first)


# --- running ------------------------------------------------------------------------------------


class _Batches:
    """Runs a model over pairs in batches, which are halved if memory runs out."""

    def __init__(self, loaded: Loaded, budget: int) -> None:
        self.loaded, self.budget = loaded, budget
        self.values: dict[Pair, float] = {}

    def run(self, pairs: Sequence[Pair]) -> dict[Pair, float]:
        """The sum of log-probabilities of each pair."""
        answers = grouped((pair.shown, pair) for pair in pairs)
        waiting = sorted(answers, key=len)
        while waiting:
            size = max(1, self.budget // max(len(waiting[-1]), 1))
            batch, waiting = waiting[-size:], waiting[:-size]
            try:
                self._encode(batch, answers)
            except (RuntimeError, MemoryError) as error:
                self._halve(error, len(batch), len(batch[-1]))
                waiting += batch
        return self.values

    @torch.inference_mode()
    def _encode(
        self, batch: list[tuple[int, ...]], answers: dict[tuple[int, ...], list[Pair]]
    ) -> None:
        ids, seen = self._padded(batch)
        hidden = self.loaded.model.get_encoder()(input_ids=ids, attention_mask=seen)[0]
        places = {shown: n for n, shown in enumerate(batch)}
        open_ = [pair for shown in batch for pair in answers[shown] if pair not in self.values]
        waiting = sorted(open_, key=lambda pair: len(pair.answer))
        while waiting:
            size = self._fit(waiting[-1], len(batch[-1]))
            part, waiting = waiting[-size:], waiting[:-size]
            try:
                rows = torch.tensor([places[pair.shown] for pair in part])
                self._decode(
                    part, *(of.index_select(0, rows.to(of.device)) for of in (hidden, seen))
                )
            except (RuntimeError, MemoryError) as error:
                if len(part) == 1:
                    raise  # there may be enough memory if fewer texts are encoded
                self._halve(error, len(part), max(len(part[-1].answer), len(batch[-1])))
                waiting += part

    def _fit(self, longest: Pair, shown: int) -> int:
        """The number of answers in a batch, limited by the budget of tokens and by the logits."""
        vocabulary = self.loaded.model.config.get_text_config().vocab_size
        length = len(longest.answer)
        rows: int = min(self.budget // max(length, shown), _VALUES // (vocabulary * length))
        return max(1, rows)

    def _decode(self, part: list[Pair], hidden: Any, seen: Any) -> None:
        """Compute the sums of a batch; nothing is read from padding."""
        ids, _ = self._padded([self._shifted(pair.answer) for pair in part])
        length = ids.shape[1]
        reads = [
            (n * length + place, pair.answer[place])
            for n, pair in enumerate(part)
            for place in range(pair.first, len(pair.answer))
        ]
        inputs = {
            "encoder_outputs": BaseModelOutput(last_hidden_state=hidden),
            "attention_mask": seen,
            "decoder_input_ids": ids,
            "use_cache": False,
        }
        logits = logits_at(self.loaded.model, inputs, [place for place, _ in reads])
        tokens = np.array([token for _, token in reads])
        log_probs = read(logits.reshape(len(reads), -1), np.arange(len(reads)), tokens)
        ends = np.cumsum([len(pair.answer) - pair.first for pair in part])
        for pair, values in zip(part, np.split(log_probs, ends[:-1]), strict=True):
            self.values[pair] = float(values.sum())

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Token ids, padded at the right; and a mask that is 0 for padding."""
        length = max(map(len, rows))
        ids = filled(rows, length, self.loaded.tokenizer.pad_token_id)
        seen = filled([[1] * len(row) for row in rows], length)
        device = self.loaded.device
        return torch.from_numpy(ids).to(device), torch.from_numpy(seen).to(device)

    def _halve(self, error: Exception, texts: int, longest: int) -> None:
        self.budget = halved(error, self.loaded, texts, longest, most=self.budget)

    def _shifted(self, answer: Sequence[int]) -> list[int]:
        """The decoder's input for an answer: its start token, and all tokens except the last."""
        model = self.loaded.model
        for config in (model.config, model.generation_config):
            if getattr(config, "decoder_start_token_id", None) is not None:
                return [int(config.decoder_start_token_id), *answer[:-1]]
        # mBART starts with the last token of its texts, which marks their language.
        labels = torch.tensor([[*answer, *surround(self.loaded.tokenizer)[1]]])
        try:
            shifted = model.prepare_decoder_input_ids_from_labels(labels)
        except (AttributeError, TypeError, ValueError):
            raise CurationError(
                f"{self.loaded.name}: the start token of its decoder is not known",
                "set decoder_start_token_id in its config.json",
            ) from None
        return [int(token) for token in shifted[0, : len(answer)]]
