"""Units of work: read the states of words in some contexts, and add up those with the same key.

Units are cut from the list of contexts alone, so that results do not depend on how many processes
there are, and a command that was killed can go on.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from curation.models.states import Place, StatesSpec

UNIT = 512
"""Contexts of a unit; a text is never cut apart."""
Key = tuple[int, int]


class Unit(NamedTuple):
    """Words in contexts, and the key under which the state of each is added up."""

    spec: "StatesSpec"
    places: "tuple[Place, ...]"
    keys: tuple[Key, ...]


class Part(NamedTuple):
    """Sums of states by key.

    Attributes:
        keys: shape (n, 2).
        values: the sum of the states of each key, shape (n, width).
        counts: the number of states of each key, shape (n,).
        refused: (first number of the key, reason code, contexts) for contexts without a state.
    """

    keys: NDArray[np.int64]
    values: NDArray[np.float64]
    counts: NDArray[np.int64]
    refused: list[tuple[int, str, int]]


def units(spec: "StatesSpec", places: "Sequence[Place]", keys: Sequence[Key]) -> Iterator[Unit]:
    """Cut contexts into units; places of the same text must follow each other."""
    start = 0
    for end in range(1, len(places) + 1):
        if end == len(places) or (end - start >= UNIT and places[end].text != places[end - 1].text):
            yield Unit(spec, tuple(places[start:end]), tuple(keys[start:end]))
            start = end


def read_unit(unit: Unit) -> Part:
    """The sums of a unit; each process opens the model only once.

    Raises:
        CurationError: the model cannot be opened, or memory ran out.
    """
    from curation.models.states import open_states

    states = open_states(unit.spec).states(unit.places)
    order = sorted(set(unit.keys))
    place = {key: number for number, key in enumerate(order)}
    values = np.zeros((len(order), states.vectors.shape[1]))
    counts = np.zeros(len(order), dtype=np.int64)
    refused = Counter[tuple[int, str]]()
    for number, (key, vector) in enumerate(zip(unit.keys, states.vectors, strict=True)):
        if number in states.refused:
            refused[key[0], states.refused[number]] += 1
            continue
        values[place[key]] += vector
        counts[place[key]] += 1
    has = counts > 0
    keys = np.array(order, dtype=np.int64).reshape(-1, 2)[has]
    return Part(keys, values[has], counts[has], _rows(refused))


def joined(parts: Sequence[Part]) -> Part:
    """The sums of several parts, in the order of the keys."""
    keys = np.concatenate([part.keys for part in parts])
    order, of = np.unique(keys, axis=0, return_inverse=True)
    values = np.zeros((len(order), parts[0].values.shape[1]))
    counts = np.zeros(len(order), dtype=np.int64)
    np.add.at(values, of.ravel(), np.concatenate([part.values for part in parts]))
    np.add.at(counts, of.ravel(), np.concatenate([part.counts for part in parts]))
    refused = Counter[tuple[int, str]]()
    for part in parts:
        for first, code, number in part.refused:
            refused[first, code] += number
    return Part(order, values, counts, _rows(refused))


def _rows(refused: Counter[tuple[int, str]]) -> list[tuple[int, str, int]]:
    return [(first, code, number) for (first, code), number in sorted(refused.items())]
