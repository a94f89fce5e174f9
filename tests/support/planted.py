"""Corpora with a known association, and word vectors trained on them.

The texts are about the jobs of ``support.trust.LEAN`` and have words of the peoples. How often a
job is with each people is drawn from its planted shares, so that a measure must recover their signs
and their order. Around the listed words are others that only one people has.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from support import trust

COMPANIONS: Mapping[str, tuple[str, ...]] = {
    "hill": ("goats", "snow", "echoes", "pines", "eagles"),
    "lake": ("boats", "nets", "herons", "waves", "fish"),
    "moor": ("ponies", "fog", "larks", "bogs", "sheep"),
}
"""Words that are found with each people only; they are in no list."""
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class Planted(NamedTuple):
    """A corpus, and what is in it.

    Attributes:
        documents: of three sentences each, and no two alike.
        shares: the planted shares of each job, over the first k peoples.
        counts: how many documents have the job and each people; what text-automated must count.
        alone: how many documents have the job and no people.
    """

    documents: list[str]
    shares: dict[str, tuple[float, ...]]
    counts: dict[str, tuple[int, ...]]
    alone: dict[str, int]

    def signed(self, job: str) -> NDArray[np.float64]:
        """The planted p − p0 of a job, for a uniform p0; shape (k,)."""
        shares = np.array(self.shares[job])
        return np.asarray(shares - 1 / len(shares))

    @property
    def order(self) -> list[str]:
        """The jobs by the share of the lakes, the smallest first."""
        return sorted(self.shares, key=lambda job: self.shares[job][1])


def plant(
    shares: Mapping[str, Sequence[float]], *, documents: int = 200, none: float = 0.1, seed: int = 0
) -> Planted:
    """Write a corpus.

    Args:
        shares: the shares of each job, over the first k peoples.
        documents: documents on each job.
        none: the share of these that name no people.
        seed: of what is drawn.
    """
    draws = np.random.default_rng(seed)
    texts: list[str] = []
    counts: dict[str, tuple[int, ...]] = {}
    alone: dict[str, int] = {}
    for job, own in shares.items():
        peoples = list(trust.GROUPS)[: len(own)]
        counted = Counter[str]()
        for _ in range(documents):
            people = str(draws.choice(peoples, p=own))
            if draws.random() < none:
                texts.append(_text(draws, len(texts), job, people, named=False))
                counted[""] += 1
            else:
                texts.append(_text(draws, len(texts), job, people, named=True))
                counted[people] += 1
        counts[job] = tuple(counted[people] for people in peoples)
        alone[job] = counted[""]
    draws.shuffle(texts)
    planted = {job: tuple(map(float, own)) for job, own in shares.items()}
    return Planted(texts, planted, counts, alone)


def _text(draws: np.random.Generator, number: int, job: str, people: str, *, named: bool) -> str:
    first, second = draws.choice(COMPANIONS[people], size=2, replace=False)
    place = draws.choice(trust.GROUPS[people]) if named else "road"
    day = DAYS[number % len(DAYS)]
    return (
        f"On {day} number {number} was drawn. "
        f"The {job} saw {first} near the {place} with {second}. Then the day was over."
    )


def write(corpus: Planted, folder: Path, *, files: int = 2) -> list[Path]:
    """Write a corpus as text files with a document on each line."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"planted-{n}.txt" for n in range(files)]
    for n, path in enumerate(paths):
        path.write_text("\n".join(corpus.documents[n::files]) + "\n", "utf-8")
    return paths


def embed(documents: Sequence[str], *, window: int = 4) -> tuple[list[str], NDArray[np.float32]]:
    """Word vectors of a corpus: the positive pointwise mutual information with each other word.

    These are the explicit vectors of Levy & Goldberg 2014. They have no negative entries, and so
    there are no negative cosines.

    Args:
        documents: the texts.
        window: words on each side that count as a word's neighbours.

    Returns:
        The words in the order of the alphabet, and an array of shape (words, words).
    """
    rows = [text.lower().replace(".", " ").split() for text in documents]
    rows = [[word for word in row if word.isalpha()] for row in rows]
    words = sorted({word for row in rows for word in row})
    place = {word: n for n, word in enumerate(words)}
    pairs = np.zeros((len(words), len(words)))
    for row in rows:
        ids = [place[word] for word in row]
        for at, own in enumerate(ids):
            for other in ids[max(at - window, 0) : at]:
                pairs[own, other] += 1
                pairs[other, own] += 1
    sums = pairs.sum(axis=1)
    with np.errstate(divide="ignore"):
        information = np.log(pairs * pairs.sum() / np.outer(sums, sums))
    return words, np.maximum(information, 0).astype(np.float32)
