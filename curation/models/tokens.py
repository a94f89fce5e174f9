"""Tokenize texts, and find the tokens that belong to a part of a text."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from curation.files import CurationError

_LETTERS = "a가я中अあعאΩ1."


class Tokens(NamedTuple):
    """The tokens of a text, without special tokens.

    Attributes:
        ids: token ids.
        spans: the (start, end) characters of each token; empty if the tokenizer does not give them.
        words: the number of the word of each token, as the tokenizer splits words; empty if the
            tokenizer does not give it.
    """

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]

    def touching(self, parts: Iterable[tuple[int, int]]) -> list[int]:
        """The places of the tokens that share a character with a part of the text.

        A token without characters, such as RoBERTa's single space, belongs to the part around it.

        Args:
            parts: (start, end) in characters.

        Raises:
            CurationError: the tokenizer does not give the characters of its tokens.
        """
        if self.ids and not self.spans:
            raise CurationError(
                "the tokenizer does not give the characters of its tokens",
                "use a rule for whole texts (ll-bos, pll), or a model with a fast tokenizer",
            )
        places = {
            place
            for start, end in parts
            for place, (first, last) in enumerate(self.spans)
            if max(first, start) < min(last, end) or start < first == last < end
        }
        return sorted(places)


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """The tokens of each text, without special tokens."""
    if not texts:
        return []
    fast = bool(tokenizer.is_fast)
    options = {"add_special_tokens": False, "return_offsets_mapping": fast, "verbose": False}
    encoded = tokenizer(list(texts), **options)
    return [
        Tokens(
            list(ids),
            [(int(a), int(b)) for a, b in encoded["offset_mapping"][n]] if fast else [],
            _words(texts[n], encoded["offset_mapping"][n], encoded.word_ids(n)) if fast else [],
        )
        for n, ids in enumerate(encoded["input_ids"])
    ]


def shared_places(
    ids: Sequence[int], other: Sequence[int], *, around: tuple[list[int], list[int]], second: bool
) -> list[int]:
    """The places of the tokens of a sentence that the other sentence of its pair has, too.

    Args:
        ids: the tokens of the sentence.
        other: those of the other sentence.
        around: the special tokens before and after each. They are compared, and not returned.
        second: whether the other sentence is the first of the pair.

    Source: ``get_span`` in ``metric.py`` of CrowS-Pairs (Nangia et al. 2020).

    >>> shared_places([5, 6, 7], [5, 8, 9, 7], around=([1], [2]), second=False)
    [0, 2]
    """
    before, after = around
    own, others = [*before, *ids, *after], [*before, *other, *after]
    one, two = (others, own) if second else (own, others)
    starts = [
        (match.b if second else match.a, match.size)
        for match in SequenceMatcher(None, one, two).get_matching_blocks()
    ]
    places = [start + n - len(before) for start, size in starts for n in range(size)]
    return [place for place in places if 0 <= place < len(ids)]


def count_tokens(tokenizer: Any, texts: Sequence[str]) -> dict[str, int]:
    """Count the tokens of texts, without special tokens, and the unknown ones among them.

    Returns:
        ``read``, all tokens; and ``unknown``, those that are the tokenizer's unknown token.
    """
    if not texts:
        return {"read": 0, "unknown": 0}
    rows = tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
    return {
        "read": sum(map(len, rows)),
        "unknown": sum(list(row).count(tokenizer.unk_token_id) for row in rows),
    }


def _words(
    text: str, spans: Sequence[tuple[int, int]], words: Sequence[int | None]
) -> list[int | None]:
    """The word of each token; split at spaces if the tokenizer joins several words into one."""
    for start, end, word in ((a, b, w) for (a, b), w in zip(spans, words, strict=True)):
        whole = [b for (_, b), other in zip(spans, words, strict=True) if other == word]
        if word is not None and len(text[start : max([end, *whole])].split()) > 1:
            return [len(text[: max(a + 1, b)].split()) for a, b in spans]
    return list(words)


def surround(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer adds before and after a text.

    Raises:
        CurationError: the vocabulary has none of a few letters.
    """
    for letter in _LETTERS:  # a vocabulary may not have the letters of other scripts
        encoded = tokenizer(letter, return_special_tokens_mask=True)
        ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
        if 0 in special:
            break
    else:
        raise CurationError(
            "the tokenizer knows no letter", "use a model of the language of the texts"
        )
    first, last = special.index(0), len(special) - special[::-1].index(0)
    return ids[:first], ids[last:]


def end_types(tokenizer: Any) -> list[int]:
    """Segment ids of the special tokens after a text: XLNet's <cls> has a segment of its own."""
    count = len(surround(tokenizer)[1])
    types = list(tokenizer("a", return_token_type_ids=True)["token_type_ids"])
    return types[len(types) - count :]


def start_token(tokenizer: Any) -> int:
    """The BOS token or, if the tokenizer has none, its end-of-text token.

    Raises:
        CurationError: the tokenizer has neither.
    """
    for name in ("bos_token_id", "eos_token_id"):
        token = getattr(tokenizer, name, None)
        if token is not None:
            return int(token)
    raise CurationError(
        "the tokenizer has no token for the beginning or the end of a text",
        "use a rule that needs none: ll-arxiv, conditional",
    )
