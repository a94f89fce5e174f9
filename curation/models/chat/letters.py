"""The letters of an answer as tokens of a model on this machine."""

from collections.abc import Sequence
from typing import Any

from curation.files import CurationError
from curation.models.chat.prompts import Prompts

_MARKUP = frozenset("*_`\"'()[].:")


def bare(text: str) -> str:
    """A text as it is compared with a letter: without spaces and markup around it, and its case.

    >>> bare(" **A**."), bare("(b)"), bare("A B")
    ('a', 'b', 'a b')
    """
    return "".join(" " if sign in _MARKUP else sign for sign in text).strip().casefold()


def letter_tokens(tokenizer: Any, prompts: Prompts, *, name: str) -> tuple[list[int], list[int]]:
    """All tokens that read as the first letter and as the second, without special tokens.

    Args:
        tokenizer: the model's tokenizer.
        prompts: the letters.
        name: the model, for errors.

    Raises:
        CurationError: a letter is not a token.
    """
    special = set(tokenizer.all_special_ids)
    texts = token_texts(tokenizer, range(len(tokenizer)))
    letters = [bare(letter) for letter in prompts.letters]
    found: tuple[list[int], list[int]] = ([], [])
    for token, text in enumerate(texts):
        reads = bare(text)
        if reads and reads in letters and token not in special:
            found[letters.index(reads)].append(token)
    for letter, tokens in zip(prompts.letters, found, strict=True):
        if not tokens:
            raise CurationError(
                f"{name}: its vocabulary has no token for the letter «{letter}»",
                f"choose other letters in {prompts.where}",
            )
    return found


def token_texts(tokenizer: Any, tokens: Sequence[int]) -> list[str]:
    """The text of each token alone; "" for a token that the tokenizer does not know."""
    options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
    known = len(tokenizer)
    rows = [[int(token)] for token in tokens if 0 <= token < known]
    texts = iter(tokenizer.batch_decode(rows, **options))
    return [next(texts) if 0 <= token < known else "" for token in tokens]
