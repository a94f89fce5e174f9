"""Lay out two sentences as one text, as a model reads them where it judges whether they belong.

Masked models and XLNet read them as their tokenizer joins two texts ([CLS] c [SEP] a [SEP], with
segment ids where it has them); causal ones read them as one text, with a space between.
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
    """What stands before, between and after two texts.

    Attributes:
        before, between, after: tokens.
        types: their segment ids; none where the model has no segments.
        of: the two texts' segment ids.
        first: whether the model is asked at the first token, or at the last.
    """

    before: list[int]
    between: list[int]
    after: list[int]
    types: tuple[int, ...] = ()
    of: tuple[int, int] = (0, 0)
    first: bool = False

    @property
    def size(self) -> int:
        """How many tokens it has."""
        return len(self.before) + len(self.between) + len(self.after)

    def text(self, first: Sequence[int], second: Sequence[int], label: int) -> Text:
        """Two texts' tokens in this frame, a label asked of them."""
        parts = (self.before, first, self.between, second, self.after)
        ids = [token for part in parts for token in part]
        types: list[int] = []
        if self.types:
            start, stop = len(self.before), len(self.before) + len(self.between)
            types = [*self.types[:start], *(self.of[0] for _ in first)]
            types += [*self.types[start:stop], *(self.of[1] for _ in second), *self.types[stop:]]
        return Text(ids, [(0 if self.first else len(ids) - 1, label)], types)


def frame_of(loaded: Loaded) -> Frame:
    """How a model's tokenizer joins two texts; causal models get one text.

    Raises:
        CurationError: the tokenizer makes nothing of a letter.
    """
    tokenizer = loaded.tokenizer
    if loaded.family == "causal":
        before, after = surround(tokenizer)
        return Frame(before, [], after)
    told = {"return_special_tokens_mask": True, "return_token_type_ids": True}
    for letter in ("a", "1", "."):
        made = tokenizer(letter, letter, **told)
        ids = list(made["input_ids"])
        words = [n for n, special in enumerate(made["special_tokens_mask"]) if not special]
        if len(words) < 2:
            continue
        # Both texts are the same, so half of these tokens are the first one's.
        first, end = words[0], words[len(words) // 2 - 1] + 1
        second, last = words[len(words) // 2], words[-1] + 1
        kinds = list(made["token_type_ids"])
        types = (*kinds[:first], *kinds[end:second], *kinds[last:])
        of = (int(kinds[first]), int(kinds[second]))
        known = _knows(loaded.model, (*types, *of))
        return Frame(
            ids[:first],
            ids[end:second],
            ids[last:],
            types if known else (),
            of if known else (0, 0),
            first=loaded.family == "masked",
        )
    raise CurationError(
        f"{loaded.name}: its tokenizer makes no token of «a»", "check the tokenizer's files"
    )


def _knows(model: Any, types: Sequence[int]) -> bool:
    """Whether a model has such segments: tokenizers do not always say (ALBERT, XLNet)."""
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
    """What the model reads for each pair of first and second sentence.

    Args:
        loaded: a next-sentence model.
        pairs: the sentences.
        labels: what is asked of each pair.
        window: the most tokens; the first sentence loses tokens at its left, to one at least.
        shorten: where that does not do, the second loses tokens at its right, and is not refused.
    """
    frame, window = frame_of(loaded), window or 10**9
    found: list[Text | Refusal] = []
    for (first, second), label in zip(_tokens(loaded, pairs), labels, strict=True):
        room = window - frame.size - 1
        if not first or not second:
            found.append(Refusal("nothing_to_score", "context or association has no token"))
        elif len(second) > room and not shorten:
            size = frame.size + len(first) + len(second)
            found.append(Refusal("too_long", f"{size} tokens, the window is {window}"))
        else:
            kept = second[: max(room, 1)]
            over = max(len(first) - (window - frame.size - len(kept)), 0)
            found.append(frame.text(first[over:], kept, label))
    return found


def _tokens(loaded: Loaded, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
    """Both sentences' tokens, as they are in the joined text."""
    if loaded.family != "causal":
        known = tokenize(
            loaded.tokenizer, unique := list(dict.fromkeys(s for p in pairs for s in p))
        )
        of = dict(zip(unique, known, strict=True))
        return [(of[first].ids, of[second].ids) for first, second in pairs]
    wholes = tokenize(loaded.tokenizer, [f"{first} {second}" for first, second in pairs])
    return [_parted(whole, *pair) for whole, pair in zip(wholes, pairs, strict=True)]


def _parted(whole: Tokens, first: str, second: str) -> tuple[list[int], list[int]]:
    """The tokens of one text, parted where the second sentence begins; its space is its own."""
    if not second.strip():
        return whole.ids, []
    end = len(first) + 1 + len(second)
    at = min(whole.touching([(len(first.rstrip()), end)]), default=len(whole.ids))
    return whole.ids[:at], whole.ids[at:]
