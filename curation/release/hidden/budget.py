"""How many values about hidden gold labels may be given out, and which were.

Anyone who has the texts can run public models on them, and so knows which association of each CAT a
model prefers. The overall ss of a model on the hidden CATs then is one linear equation in the
orders of stereotype and anti-stereotype. ``GAIN`` limits what all these equations tell together.

lms costs nothing: it treats stereotype and anti-stereotype alike, and readers can see in the texts
which association is unrelated. ``benchmarks/hidden.py`` measures what attackers gain.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from math import ceil, floor, pi

import orjson

from curation.records import Record
from curation.release.hidden.commitments import Hash, HiddenGold, texts

GAIN = 0.03
"""The largest share of orders that published values may add to what is guessed without them."""
ONE = ceil(1 / (2 * pi * GAIN**2))
"""The smallest number of hidden CATs about which one value may be given out."""
HIDDEN_PER_DEV = 5
"""With fewer dev CATs, a value also tells much of how far a model prefers stereotypes."""


def budget(cats: int, dev: int) -> int:
    """How many values may be given out about a number of hidden CATs.

    With K values of models whose ss is 50, which is the worst case, the best estimate of the
    order of each of N CATs has a variance of K/N, so it adds sqrt(K / (2 pi N)) to the share of
    orders that are guessed. Terms of different sizes only lower it.

    Args:
        cats: the number of hidden CATs.
        dev: the number of CATs with public gold labels; ``HIDDEN_PER_DEV`` hidden ones count for
            each.

    >>> [budget(cats, cats // 3) for cats in (100, 222, 500, 1_000, 6_000)], budget(1_000, 100)
    ([0, 1, 2, 5, 33], 2)
    """
    return floor(2 * pi * GAIN**2 * min(cats, HIDDEN_PER_DEV * dev))


class GivenOut(Record):
    """A line of ``given-out.jsonl``: a value about hidden gold labels that was given out.

    ``version`` is the release that publishes it, ``cats`` the ``fingerprint`` of the hidden CATs,
    ``name`` what it is, such as "model gpt2 (default)", and ``value`` what is published.
    """

    version: str
    cats: Hash
    name: str
    value: str

    @property
    def content(self) -> tuple[str, str, str]:
        """What makes two lines the same value, whatever the version."""
        return self.cats, self.name, self.value


def fingerprint(golds: Iterable[HiddenGold]) -> str:
    """The sha256 of the hidden CATs' own ids, texts and gold labels, whatever their public ids."""
    lines = sorted(
        orjson.dumps(
            (
                *(gold.original, gold.kind, gold.bias_type, gold.target, gold.context),
                sorted((o.original, o.sentence, o.gold_label) for o in gold.sentences),
            )
        )
        for gold in golds
    )
    return sha256(b"\n".join(lines)).hexdigest()


def names(golds: Iterable[HiddenGold]) -> frozenset[object]:
    """By what CATs of two versions are recognised as the same: by their own id, or their texts."""
    return frozenset(
        name
        for gold in golds
        for name in (
            gold.original,
            texts(gold.kind, gold.context, (option.sentence for option in gold.sentences)),
        )
    )


def room(
    version: str,
    golds: Mapping[str, Sequence[HiddenGold]],
    given: Collection[GivenOut],
    *,
    dev: int,
) -> int:
    """How many more values about the hidden CATs of a version may be given out.

    A value counts for every version that shares a CAT with its own, because the budget belongs to
    the CATs. It also counts if the gold file of its own version is lost. If a related version is
    sealed, nothing may be given out: all its values are public.

    Args:
        version: the version.
        golds: of each version that is not revealed, this one included, the CATs whose gold labels
            nobody knows.
        given: all values that were given out.
        dev: the number of CATs with public gold labels.

    Returns:
        The number; it is negative if more was given out than the budget.
    """
    known = {name: names(of) for name, of in golds.items()}
    related = [name for name in known if known[name] & known[version] or name == version]
    if any(gold.sealed for name in related for gold in golds[name][:1]):
        return 0
    return min(
        budget(len(golds[name]), dev)
        - len({f.content for f in given if known.get(f.version, known[name]) & known[name]})
        for name in related
    )


def shared_out(
    wanted: Sequence[GivenOut], given: Collection[GivenOut], room: int
) -> tuple[list[GivenOut], list[GivenOut]]:
    """The values that may be published, and those that may not.

    A value that was given out before costs nothing. The first ones of the others are published.

    Args:
        wanted: the values, in the order of their importance.
        given: all values that were given out.
        room: how many more may be.
    """
    known = {value.content for value in given}
    new = [value for value in wanted if value.content not in known]
    left_out = new[max(room, 0) :]
    return [value for value in wanted if value not in left_out], left_out
