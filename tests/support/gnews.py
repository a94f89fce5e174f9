"""Real word vectors and census shares: what tests and benchmarks of stage 6 compare with papers."""

import csv
from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np

from curation.files import shipped
from curation.formats.word_vectors import Vectors, read_vectors
from curation.trust.measure.groups import Groups
from support import biases
from support.realdata import SHARED, needs

FOLDER = SHARED / "divdist"
FILE = FOLDER / "w2v_gnews_subset" / "w2v_gnews_subset.npz"
"""226 words of the GoogleNews vectors (word2vec, 300 dimensions)."""
MARKS = needs(FILE)

CODE = {
    "female": ("woman", "girl", "she", "mother", "daughter", "female", "herself"),
    "male": ("man", "boy", "he", "father", "son", "male", "himself"),
}
"""The lists of the paper's code, without its two names, which have no lower-case vector."""

TABLE_3 = dict(zip(biases.TARGETS, biases.TABLE_3["word2vec"], strict=True))
"""Column w2v of Table 3: p(female) − .5."""


def shipped_list(name: str) -> tuple[str, ...]:
    """The words of a list in ``data/groups/``."""
    lines = shipped("data", "groups", f"{name}.txt").read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def paper_lists(*names: str) -> dict[str, tuple[str, ...]]:
    """Lists of Appendix A.1."""
    return {name: shipped_list(name) for name in names}


@cache
def vectors() -> Vectors:
    """All 226 words."""
    return read_vectors(FILE)


@cache
def census(kind: str, columns: tuple[str, ...]) -> dict[str, tuple[float, ...]]:
    """The groups' shares in 100 professions in 2010; the shares of these groups sum to 1.

    Four of the 104 professions of the census have no vector.
    """
    path = FOLDER / "garg2018" / f"occupation_percentages_{kind}_occ1950.csv"
    shares = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            values = np.array([float(row[name]) for name in columns])
            if row["Census year"] == "2010" and row["Occupation"] in vectors():
                shares[row["Occupation"]] = tuple((values / values.sum()).tolist())
    return shares


RACES = ("white", "hispanic", "asian")


def gender() -> dict[str, tuple[float, ...]]:
    """The shares of women and men in 100 professions."""
    return census("gender", ("Female", "Male"))


def groups(
    lists: Mapping[str, tuple[str, ...]], targets: Iterable[str], name: str = "test"
) -> Groups:
    """Groups with targets of one word each; shares of the targets are outcomes."""
    outcomes = targets if isinstance(targets, Mapping) else {}
    return Groups(name, lists, {word: (word,) for word in targets}, outcomes=outcomes)
