"""Word vectors with known bias: the words of a group scatter around the group's own vector."""

import numpy as np

from curation.formats.word_vectors import Vectors
from curation.trust.framework import Floats, distributions
from curation.trust.groups import Groups
from curation.trust.vectors.cosine import soa

WIDTH = 50


def scattered(
    sizes: tuple[int, ...], *, spread: float, targets: int, random: np.random.Generator
) -> tuple[Vectors, Groups, Floats]:
    """Random words of groups, and the bias that endless lists of words would give.

    Args:
        sizes: the number of words of each group.
        spread: the length of a word's distance from its group, whose own vector has length 1.
        targets: how many targets, each with one word.
        random: where the numbers come from.

    Returns:
        The vectors, the groups, and p − p0 of each target, shape (targets, groups).
    """

    def noise(*shape: int) -> Floats:
        return np.asarray(random.normal(size=(*shape, WIDTH)) / np.sqrt(WIDTH))

    shared = noise()
    shared /= np.linalg.norm(shared)
    centres = shared + 0.5 * noise(len(sizes))
    rows = [centre + spread * noise(size) for centre, size in zip(centres, sizes, strict=True)]
    own = 0.8 * shared + 0.6 * noise(targets)
    lists = {f"g{g}": tuple(f"g{g}w{w}" for w in range(size)) for g, size in enumerate(sizes)}
    names = tuple(f"t{place}" for place in range(targets))
    words = (*(word for each in lists.values() for word in each), *names)
    vectors = Vectors(words, np.concatenate([*rows, own]).astype(np.float32))
    groups = Groups("made", lists, {name: (name,) for name in names})
    return vectors, groups, distributions(soa(own, centres)) - 1 / len(sizes)
