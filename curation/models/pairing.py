"""Join two sentences into one text for a next-sentence head.

Masked models and XLNet read two sentences as their tokenizer joins them ([CLS] c [SEP] a [SEP],
with segment ids if the model has them). Causal models read them as one text, joined by a space.
"""

import inspect
from collections.abc import Sequence
from typing import Any, NamedTuple

from curation.files import CurationError
from curation.models.loading import Loaded
from curation.models.packing import Text
from curation.models.rules import Refusal
from curation.models.tokens import Tokens, surround, tokenize


class Frame(NamedTuple):
    """The special tokens around two texts.

    Attributes:
        before: tokens before the first text.
        between: tokens between the texts.
        after: tokens after the second text.
        types: segment ids of these tokens; empty if the model has no segments.
        of: the segment ids of the two texts.
        first: whether the label is read at the first token; else at the last.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    types: tuple[int, ...] = ()
    of: tuple[int, int] = (0, 0)
    first: bool = False

    @property
    def size(self) -> int:
        """The number of these tokens."""
        return len(self.before) + len(self.between) + len(self.after)

    def text(self, first: Sequence[int], second: Sequence[int], label: int) -> Text:
        """Two texts in this frame, with a label to be read."""
        parts = (self.before, first, self.between, second, self.after)
        ids = [token for part in parts for token in part]
        types: list[int] = []
        if self.types:
            start, stop = len(self.before), len(self.before) + len(self.between)
            types = [*self.types[:start], *(self.of[0] for _ in first)]
            types += [*self.types[start:stop], *(self.of[1] for _ in second), *self.types[stop:]]
        return Text(ids, [(0 if self.first else len(ids) - 1, label)], types)


def frame_of(loaded: Loaded) -> Frame:
    """The special tokens with which a model's tokenizer joins two texts; none for causal models.

    Raises:
        CurationError: the tokenizer has no token for the letters that are tried.
    """
    tokenizer = loaded.tokenizer
    if loaded.family == "causal":
        before, after = surround(tokenizer)
        return Frame(before, [], after)
    options = {"return_special_tokens_mask": True, "return_token_type_ids": True}
    for letter in ("a", "1", "."):
        encoded = tokenizer(letter, letter, **options)
        ids = list(encoded["input_ids"])
        words = [n for n, special in enumerate(encoded["special_tokens_mask"]) if not special]
        if len(words) < 2:
            continue
        # Both texts are the same, so half of these tokens belong to the first.
        first, end = words[0], words[len(words) // 2 - 1] + 1
        second, last = words[len(words) // 2], words[-1] + 1
        segments = list(encoded["token_type_ids"])
        types = (*segments[:first], *segments[end:second], *segments[last:])
        of = (int(segments[first]), int(segments[second]))
        known = _has_segments(loaded.model, (*types, *of))
        return Frame(
            ids[:first],
            ids[end:second],
            ids[last:],
            types if known else (),
            of if known else (0, 0),
            first=loaded.family == "masked",
        )
    raise CurationError(
        f"{loaded.name}: its tokenizer has no token for «a»", "check the tokenizer's files"
    )


def _has_segments(model: Any, types: Sequence[int]) -> bool:
    """Whether a model has these segments: not all tokenizers say so (ALBERT, XLNet)."""
    most = getattr(model.config, "type_vocab_size", None)
    takes = "token_type_ids" in inspect.signature(model.base_model.forward).parameters
    return takes and any(types) and (most is None or max(types) < most)


def texts(
    loaded: Loaded,
    pairs: Sequence[tuple[str, str]],
    *,
    labels: Sequence[int],
    window: int | None,
    shorten: bool = False,
) -> list[Text | Refusal]:
    """The texts that a model reads for pairs of sentences.

    Args:
        loaded: a next-sentence model.
        pairs: first and second sentences.
        labels: the label to be read for each pair.
        window: the largest number of tokens; None for no limit. If a pair is longer, the first
            sentence loses tokens at its left; at least one remains.
        shorten: if that is not enough, the second sentence loses tokens at its right; otherwise the
            pair is refused.
    """
    frame, window = frame_of(loaded), window or 10**9
    joined: list[Text | Refusal] = []
    for (first, second), label in zip(_tokens(loaded, pairs), labels, strict=True):
        room = window - frame.size - 1
        if not first or not second:
            joined.append(Refusal("nothing_to_score", "context or association has no token"))
        elif len(second) > room and not shorten:
            size = frame.size + len(first) + len(second)
            joined.append(Refusal("too_long", f"{size} tokens, the window is {window}"))
        else:
            kept = second[: max(room, 1)]
            over = max(len(first) - (window - frame.size - len(kept)), 0)
            joined.append(frame.text(first[over:], kept, label))
    return joined


def _tokens(loaded: Loaded, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
    """The tokens of both sentences, as they are in the joined text."""
    if loaded.family != "causal":
        known = tokenize(
            loaded.tokenizer, unique := list(dict.fromkeys(s for p in pairs for s in p))
        )
        of = dict(zip(unique, known, strict=True))
        return [(of[first].ids, of[second].ids) for first, second in pairs]
    wholes = tokenize(loaded.tokenizer, [f"{first} {second}" for first, second in pairs])
    return [_split(whole, *pair) for whole, pair in zip(wholes, pairs, strict=True)]


def _split(whole: Tokens, first: str, second: str) -> tuple[list[int], list[int]]:
    """The tokens of a joined text, split where the second sentence and its space begin."""
    if not second.strip():
        return whole.ids, []
    end = len(first) + 1 + len(second)
    at = min(whole.touching([(len(first.rstrip()), end)]), default=len(whole.ids))
    return whole.ids[:at], whole.ids[at:]
