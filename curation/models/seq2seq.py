"""The rules for encoder-decoder models (the contract is in ``curation.models.rules``).

What the encoder reads is encoded once, however many answers are asked of the decoder: the three
options of a CAT share it. Answers are batched by length; the vocabulary is projected only where a
token is scored.

For ``infill`` the attribute's tokens are taken out of the filled context, as in the models' own
training (Raffel et al. 2020 §3.1.4; Lewis et al. 2020 §2.2, text infilling), and a sentinel or mask
token stands there; what follows keeps the tokens that it has in the whole text.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers.modeling_outputs import BaseModelOutput

from curation.files import CurationError
from curation.models.causal import finite
from curation.models.forward import (
    BATCH_TOKENS,
    GPU_BATCH_TOKENS,
    Tell,
    free_memory,
    out_of_memory,
    read,
)
from curation.models.loading import Loaded
from curation.models.rules import Refusal, Scored, ScoringRequest
from curation.models.tokens import Tokens, surround, tokenize

_VALUES = 1 << 28  # logits held at once: 1 GiB of float32


class Asked(NamedTuple):
    """What the encoder reads, what the decoder is to write, and from which token on it counts."""

    shown: tuple[int, ...]
    answer: tuple[int, ...]
    first: int


class Frame(NamedTuple):
    """What stands around a text, the tokens for blanks, and how many tokens are read at once."""

    before: list[int]
    after: list[int]
    blanks: list[int]
    sentinels: bool
    window: int | None


def score(
    loaded: Loaded,
    rule: str,
    asks: Sequence[ScoringRequest],
    *,
    batch_tokens: int | None = None,
    tell: Tell = lambda _: None,
) -> list[Scored]:
    """Scores of associations under a rule, in natural logarithms.

    Args:
        loaded: an encoder-decoder model.
        rule: «infill» or «conditional».
        asks: the associations.
        batch_tokens: tokens of a batch, padding included; None for what suits the device.
        tell: told how many answers a batch has done.

    Raises:
        CurationError: the tokenizer lacks what the rule needs, or memory ran out.
    """
    plans = plan(loaded.tokenizer, rule, asks, window=loaded.window)
    unique = list(dict.fromkeys(each for each in plans if isinstance(each, Asked)))
    kind = str(loaded.device).partition(":")[0]
    budget = batch_tokens or BATCH_TOKENS.get(kind, GPU_BATCH_TOKENS)
    values = _Batches(loaded, budget, tell).run(unique)
    return [each if isinstance(each, Refusal) else finite(values[each]) for each in plans]


def plan(
    tokenizer: Any, rule: str, asks: Sequence[ScoringRequest], *, window: int | None = None
) -> list[Asked | Refusal]:
    """What is shown and asked for each association.

    Raises:
        CurationError: the tokenizer has neither sentinels nor a mask token, for ``infill``.
    """
    infill = rule == "infill"
    blanks, sentinels = _blanks(tokenizer, most=1 + max((len(a.also) for a in asks), default=0))
    if infill and not blanks:
        raise CurationError(
            "the tokenizer has neither sentinels nor a mask token to put in place of BLANK",
            "name a model that was trained to fill gaps, such as T5 or BART",
        )
    frame = Frame(*surround(tokenizer), blanks, sentinels, window)
    contexts = tokenize(tokenizer, [ask.filled if infill else ask.context for ask in asks])
    sentences = tokenize(tokenizer, [ask.sentence for ask in asks])
    make = _infill if infill else _conditional
    return [make(*each, frame) for each in zip(asks, contexts, sentences, strict=True)]


def _blanks(tokenizer: Any, *, most: int) -> tuple[list[int], bool]:
    """Tokens for the first, second … blank, and whether they are sentinels."""
    known = tokenizer.get_vocab()
    for form in ("<extra_id_{}>", "▁<extra_id_{}>"):
        found = [known.get(form.format(n)) for n in range(most)]
        if None not in found:
            return found, True
    mask = tokenizer.mask_token_id
    return ([] if mask is None else [int(mask)] * most), False


def _infill(ask: ScoringRequest, filled: Tokens, sentence: Tokens, frame: Frame) -> Asked | Refusal:
    size = ask.end - ask.start
    own = filled.touching([(ask.at, ask.at + size)])
    if not own or not ask.attribute.strip():
        return Refusal("nothing_to_score", "no token fills the BLANK")
    gaps: dict[int, int] = {}  # of each place that is taken out, which gap it lies in
    for n, at in enumerate([ask.at, *ask.also]):
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
    ask: ScoringRequest, context: Tokens, sentence: Tokens, frame: Frame
) -> Asked | Refusal:
    if not sentence.ids or not ask.sentence.strip():
        return Refusal("nothing_to_score", "no token to score")
    answer = [*frame.before, *sentence.ids]
    return _fitted(context.ids, answer, len(frame.before), len(context.ids), frame)


def _fitted(
    shown: list[int], answer: list[int], first: int, spare: int, frame: Frame
) -> Asked | Refusal:
    """Without what is too much at the left of what is shown, of which ``spare`` may go."""
    most = frame.window or 10**9
    over = max(len(frame.before) + len(shown) + len(frame.after) - most, 0)
    if over > spare or len(answer) > most:
        longest = max(len(shown), len(answer))
        return Refusal("too_long", f"{longest} tokens, the window is {most}")
    shown = [*frame.before, *shown[over:], *frame.after]
    if not shown:
        return Refusal("nothing_to_score", "the context has no token to read")
    return Asked(tuple(shown), tuple(answer), first)


# --- running ------------------------------------------------------------------------------------


class _Batches:
    """A model, run over what is asked in batches that halve when memory runs out."""

    def __init__(self, loaded: Loaded, budget: int, tell: Tell) -> None:
        self.loaded, self.budget, self.tell = loaded, budget, tell
        self.values: dict[Asked, float] = {}

    def run(self, asked: Sequence[Asked]) -> dict[Asked, float]:
        """The sum of log-probabilities of each."""
        answers: dict[tuple[int, ...], list[Asked]] = {}
        for one in asked:
            answers.setdefault(one.shown, []).append(one)
        waiting = sorted(answers, key=len)
        while waiting:
            size = max(1, self.budget // max(len(waiting[-1]), 1))
            batch, waiting = waiting[-size:], waiting[:-size]
            try:
                self._encode(batch, answers)
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if len(batch) == 1:
                    raise CurationError(
                        f"{self.loaded.name}: no memory for one text of {len(batch[0])} tokens",
                        "take a smaller --dtype, or --device map to spread the model",
                    ) from None
                self._halve(len(batch) * len(batch[-1]))
                waiting += batch
        return self.values

    @torch.inference_mode()
    def _encode(
        self, batch: list[tuple[int, ...]], answers: dict[tuple[int, ...], list[Asked]]
    ) -> None:
        ids, seen = self._padded(batch)
        hidden = self.loaded.model.get_encoder()(input_ids=ids, attention_mask=seen)[0]
        places = {shown: n for n, shown in enumerate(batch)}
        asked = [one for shown in batch for one in answers[shown] if one not in self.values]
        waiting = sorted(asked, key=lambda one: len(one.answer))
        while waiting:
            size = self._fit(waiting[-1], len(batch[-1]))
            part, waiting = waiting[-size:], waiting[:-size]
            try:
                rows = torch.tensor([places[one.shown] for one in part])
                self._decode(
                    part, *(of.index_select(0, rows.to(of.device)) for of in (hidden, seen))
                )
            except (RuntimeError, MemoryError) as error:
                if not out_of_memory(error):
                    raise
                if len(part) == 1:
                    raise  # with fewer texts encoded there may be room
                self._halve(len(part) * max(len(part[-1].answer), len(batch[-1])))
                waiting += part

    def _fit(self, longest: Asked, shown: int) -> int:
        """How many answers make a batch: of so many tokens, and no more logits than that."""
        vocabulary = self.loaded.model.config.get_text_config().vocab_size
        length = len(longest.answer)
        rows: int = min(self.budget // max(length, shown), _VALUES // (vocabulary * length))
        return max(1, rows)

    def _decode(self, part: list[Asked], hidden: Any, seen: Any) -> None:
        """Sums of a batch; of what is padded at the right nothing is read."""
        ids, _ = self._padded([self._shifted(one.answer) for one in part])
        length = ids.shape[1]
        reads = [
            (n * length + place, one.answer[place])
            for n, one in enumerate(part)
            for place in range(one.first, len(one.answer))
        ]
        flat = torch.tensor([place for place, _ in reads], device=self.loaded.device)
        layer = self.loaded.model.get_output_embeddings()

        def narrowed(_: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
            states = args[0]
            return (states.flatten(0, -2).index_select(0, flat.to(states.device)), *args[1:])

        hook = layer.register_forward_pre_hook(narrowed)
        try:
            logits = self.loaded.model(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=seen,
                decoder_input_ids=ids,
                use_cache=False,
            ).logits
        finally:
            hook.remove()
        tokens = np.array([token for _, token in reads])
        found = read(logits.reshape(len(reads), -1), np.arange(len(reads)), tokens)
        ends = np.cumsum([len(one.answer) - one.first for one in part])
        for one, values in zip(part, np.split(found, ends[:-1]), strict=True):
            self.values[one] = float(values.sum())
        self.tell(len(part))

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Token ids and which of them are there, padded at the right."""
        length = max(map(len, rows))
        ids = np.full((len(rows), length), self.loaded.tokenizer.pad_token_id or 0)
        seen = np.zeros_like(ids)
        for n, row in enumerate(rows):
            ids[n, : len(row)], seen[n, : len(row)] = row, 1
        device = self.loaded.device
        return torch.from_numpy(ids).to(device), torch.from_numpy(seen).to(device)

    def _halve(self, tokens: int) -> None:
        free_memory()
        self.budget = max(1, min(self.budget, tokens) // 2)
        self.loaded.notices.append(f"out of memory: batches of {self.budget} tokens from now")

    def _shifted(self, answer: Sequence[int]) -> list[int]:
        """What the decoder reads to write an answer: its start token, and all but the last."""
        model = self.loaded.model
        for told in (model.config, model.generation_config):
            if getattr(told, "decoder_start_token_id", None) is not None:
                return [int(told.decoder_start_token_id), *answer[:-1]]
        # mBART starts with what its texts end with: the token of their language
        labels = torch.tensor([[*answer, *surround(self.loaded.tokenizer)[1]]])
        try:
            shifted = model.prepare_decoder_input_ids_from_labels(labels)
        except (AttributeError, TypeError, ValueError):
            raise CurationError(
                f"{self.loaded.name}: does not say which token its decoder starts with",
                "set decoder_start_token_id in its config.json",
            ) from None
        return [int(token) for token in shifted[0, : len(answer)]]
