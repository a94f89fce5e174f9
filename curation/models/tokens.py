"""Texts as tokens, and which tokens belong to a part of a text."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from curation.files import CurationError

_LETTERS = "a가я中अあعאΩ1."


class Tokens(NamedTuple):
    """A text's tokens without special ones.

    ``spans`` are the characters that each stands for, ``words`` the number of the word that it is
    a part of, as the tokenizer parts words; both are empty where it does not tell.
    """

    ids: list[int]
    spans: list[tuple[int, int]]
    words: list[int | None]

    def touching(self, parts: Iterable[tuple[int, int]]) -> list[int]:
        """Places of the tokens that touch a part of the text: have a character in common.

        One that stands for none, as RoBERTa's lone space, belongs to the part that it is inside.

        Raises:
            CurationError: the tokenizer does not tell which characters a token stands for.
        """
        if self.ids and not self.spans:
            raise CurationError(
                "the tokenizer does not tell which characters a token stands for",
                "take a rule for whole texts (ll-bos, pll), or a model with a fast tokenizer",
            )
        found = {
            place
            for start, end in parts
            for place, (first, last) in enumerate(self.spans)
            if max(first, start) < min(last, end) or start < first == last < end
        }
        return sorted(found)


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Tokens of each text, no special tokens added."""
    if not texts:
        return []
    fast = bool(tokenizer.is_fast)
    told = {"add_special_tokens": False, "return_offsets_mapping": fast, "verbose": False}
    found = tokenizer(list(texts), **told)
    return [
        Tokens(
            list(ids),
            [(int(a), int(b)) for a, b in found["offset_mapping"][n]] if fast else [],
            _words(texts[n], found["offset_mapping"][n], found.word_ids(n)) if fast else [],
        )
        for n, ids in enumerate(found["input_ids"])
    ]


def count_tokens(tokenizer: Any, texts: Sequence[str]) -> dict[str, int]:
    """How many tokens the texts have, special ones left out, and how many of them are unknown.

    Returns:
        ``read``, and ``unknown``: those that are the tokenizer's unknown token.
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
    """Each token's word; parted at spaces where the tokenizer takes several words for one."""
    for start, end, word in ((a, b, w) for (a, b), w in zip(spans, words, strict=True)):
        whole = [b for (_, b), other in zip(spans, words, strict=True) if other == word]
        if word is not None and len(text[start : max([end, *whole])].split()) > 1:
            return [len(text[: max(a + 1, b)].split()) for a, b in spans]
    return list(words)


def surround(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The special tokens that the tokenizer by itself puts before and after a text."""
    for letter in _LETTERS:  # a vocabulary may lack those of other scripts
        found = tokenizer(letter, return_special_tokens_mask=True)
        ids, special = list(found["input_ids"]), list(found["special_tokens_mask"])
        if 0 in special:
            break
    else:
        raise CurationError(
            "the tokenizer makes no token of a letter", "take a model that knows the language"
        )
    first, last = special.index(0), len(special) - special[::-1].index(0)
    return ids[:first], ids[last:]


def start_token(tokenizer: Any) -> int:
    """What a text begins after: the token for its beginning, else that for the end of another.

    Raises:
        CurationError: the tokenizer has neither.
    """
    for name in ("bos_token_id", "eos_token_id"):
        found = getattr(tokenizer, name, None)
        if found is not None:
            return int(found)
    raise CurationError(
        "the tokenizer has no token for the beginning or the end of a text",
        "take a rule that needs none: ll-arxiv, conditional",
    )
