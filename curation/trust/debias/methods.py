"""Debias a space of word vectors, block by block: the whole of it need not fit in memory."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from curation.files import CurationError
from curation.trust.debias.hard import equalise, neutralise
from curation.trust.debias.soft import Soft, soft_map
from curation.trust.debias.subspace import subspace, unit
from curation.trust.groups import Groups
from curation.trust.prior.directions import Components, Floats
from curation.trust.prior.measuring import complete_pairs
from curation.trust.vectors.reading import Block, Singles, Vectors

Method = Literal["hard", "multiclass", "soft"]


@dataclass(frozen=True)
class Equalised:
    """Sets of words that were made equal but for their part in the subspace.

    Attributes:
        rows: the new vectors by word, in the file's spelling.
        missing: sets with a word that has no vector.
        flat: sets with a word that has no side in the subspace; they stay as they are.
    """

    rows: dict[str, Floats] = field(default_factory=dict)
    missing: tuple[tuple[str, ...], ...] = ()
    flat: tuple[tuple[str, ...], ...] = ()


def group_subspace(groups: Groups, vectors: Vectors, dimensions: int) -> tuple[Components, int]:
    """The subspace of groups, and from how many sets of words it was found.

    Raises:
        CurationError: no set of words has vectors, or the sets do not span these dimensions.
    """
    sets = complete_pairs(vectors, groups.words)
    where = f"[groups.{groups.name}]"
    if not sets:
        raise CurationError(
            f"{where}: no words at the same place of all lists have vectors",
            "order the lists so that the words at the same place form sets, such as she and he",
        )
    found = subspace(unit(np.stack([vectors.rows(words) for words in sets])), dimensions)
    if len(found.axes) < dimensions:
        raise CurationError(
            f"{where}: the words span {len(found.axes)} dimensions, not {dimensions}",
            "set --dimensions to fewer, or add words to the lists"
            if len(found.axes)
            else "use groups whose words have different vectors",
        )
    return found, len(sets)


def equalised(vectors: Vectors, sets: Iterable[tuple[str, ...]], axes: Floats) -> Equalised:
    """New vectors for sets of words; sets that cannot be equalised are listed."""
    rows: dict[str, Floats] = {}
    missing, flat = [], []
    for words in sets:
        if len(vectors.known(words)) < len(words):
            missing.append(words)
            continue
        changed = equalise(unit(vectors.rows(words)), axes)
        if changed is None:
            flat.append(words)
            continue
        spelled = [vectors.spellings.get(word, word) for word in words]
        rows.update(zip(spelled, changed, strict=True))
    return Equalised(rows, tuple(missing), tuple(flat))


def hard_blocks(
    blocks: Iterable[Block], axes: Floats, kept: Collection[str], rows: dict[str, Floats]
) -> Iterator[tuple[list[str], Singles]]:
    """Blocks with neutralised words; words of ``kept`` are only normalised, ``rows`` replaced."""
    for words, block in blocks:
        own = unit(block)
        free = np.array([word not in kept for word in words], bool)
        changed = np.where(free[:, None], neutralise(own, axes), own)
        for n, word in enumerate(words):
            if word in rows:
                changed[n] = rows[word]
        yield words, changed.astype(np.float32)


def soft_of_blocks(
    blocks: Iterable[Block], axes: Floats, kept: Collection[str], *, weight: float
) -> Soft:
    """The map of soft debiasing for all words in blocks; words of ``kept`` are not neutral."""
    width = axes.shape[1]
    products, neutral = np.zeros((width, width)), np.zeros((width, width))
    for words, block in blocks:
        own = unit(block)
        free = own[np.array([word not in kept for word in words], bool)]
        products += own.T @ own
        neutral += free.T @ free
    return soft_map(products, neutral, axes, weight=weight)


def mapped_blocks(blocks: Iterable[Block], change: Floats) -> Iterator[tuple[list[str], Singles]]:
    """Blocks of normalised words after a linear map, normalised again."""
    for words, block in blocks:
        yield words, unit(unit(block) @ change).astype(np.float32)


def in_spelling(vectors: Vectors, words: Sequence[str]) -> set[str]:
    """Words as the file spells them."""
    return {vectors.spellings.get(word, word) for word in words}
