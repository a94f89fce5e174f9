"""CATs of a test set that nearly repeat public CATs, whose texts models may have seen."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import fuzz, process

from curation.release.check.forms import Seen
from curation.rules import same_text

ALIKE = 90  # per cent
_BLOCK = 512  # texts compared at once


class Near(NamedTuple):
    """A CAT, the most similar public CAT, and the similarity of their texts in per cent."""

    cat: Seen
    public: Seen
    similarity: float


def near(cats: Sequence[Seen], public: Sequence[Seen], *, alike: int = ALIKE) -> list[Near]:
    """The CATs whose texts are similar to those of a public CAT of the same kind.

    The texts are the context and the three sentences in the order of the alphabet, so gold labels
    do not matter. The similarity is twice the number of letters that two texts share, in order,
    divided by the number of all letters of both.

    Args:
        cats: the CATs of a test set.
        public: the public CATs.
        alike: the least similarity that is reported, in per cent.

    Returns:
        One per CAT that has a similar one, in the order of ``cats``.
    """
    pairs: dict[int, Near] = {}
    for kind in sorted({cat.kind for cat in cats}):
        own = [(n, _texts(cat)) for n, cat in enumerate(cats) if cat.kind == kind]
        others = sorted((_texts(cat), n) for n, cat in enumerate(public) if cat.kind == kind)
        others.sort(key=lambda pair: len(pair[0]))
        lengths = np.array([len(text) for text, _ in others])
        own.sort(key=lambda pair: len(pair[1]))
        for start in range(0, len(own), _BLOCK):
            block = own[start : start + _BLOCK]
            # A text that is much shorter or longer could not be similar if it were a part.
            low = np.searchsorted(lengths, len(block[0][1]) * alike / (200 - alike), "left")
            high = np.searchsorted(lengths, len(block[-1][1]) * (200 - alike) / alike, "right")
            candidates = others[int(low) : int(high)]
            if not candidates:
                continue
            likeness = process.cdist(
                [text for _, text in block],
                [text for text, _ in candidates],
                scorer=fuzz.ratio,
                score_cutoff=alike,
                dtype=np.float32,
            )
            for row, (n, _) in zip(likeness, block, strict=True):
                best = int(row.argmax())
                if row[best] >= alike:
                    pairs[n] = Near(cats[n], public[candidates[best][1]], float(row[best]))
    return [pairs[n] for n in sorted(pairs)]


def _texts(cat: Seen) -> str:
    sentences = sorted(same_text(option.sentence) for option in cat.options)
    return " ".join((same_text(cat.context), *sentences))
