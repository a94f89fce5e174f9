"""What kinds of items and of rounds there are: one object for each, and its name on disk.

A new kind of item is an entry of ``ITEMS``, with its texts in ``annotation_configs/text/``. Code
asks the object what an item consists of, and does not compare names.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["intrasentence", "intersentence"]
Gold = Literal["stereotype", "anti-stereotype", "unrelated"]
MetricName = Literal["lms", "ss", "icat"]
RoundKindName = Literal["review", "intrasentence", "intersentence", "validation", "neutral"]
Work = Literal["review", "write", "label"]

WORKS: tuple[Work, ...] = get_args(Work)
GOLDS: tuple[Gold, ...] = get_args(Gold)
GOLD_COLUMNS: dict[str, Gold] = {gold.replace("-", "_"): gold for gold in GOLDS}
"""The columns of tables that have a text each, and the gold label of the text."""


@dataclass(frozen=True)
class ItemKind:
    """A kind of item: its texts, the roles of its associations, and what follows from them.

    Attributes:
        name: the name in files.
        has_gap: whether the context has a BLANK that the associations fill. Otherwise the
            associations follow the context.
        roles: the gold labels of a CAT of this kind: each of its associations has another one.
            Tables, arrays of scores and pairs have the associations in this order.
        pairs: the comparisons that a model must make, as places in ``roles``. The first of a pair
            is the one that counts if it is preferred.
        metrics: the metrics that follow from these comparisons.
        context: the field of forms in which people write the context.
    """

    name: Kind
    has_gap: bool
    roles: tuple[Gold, ...]
    pairs: tuple[tuple[int, int], ...]
    metrics: tuple[MetricName, ...]
    context: str

    @property
    def columns(self) -> dict[str, Gold]:
        """The columns of tables that have an association each, and its role."""
        return {role.replace("-", "_"): role for role in self.roles}

    @property
    def size(self) -> int:
        """The number of associations of an item."""
        return len(self.roles)


_TRIPLE = ((0, 2), (1, 2), (0, 1))
"""The comparisons of a CAT with three associations: the first two make lms, the third makes ss."""

ITEMS: dict[Kind, ItemKind] = {
    kind.name: kind
    for kind in (
        ItemKind("intrasentence", True, GOLDS, _TRIPLE, ("lms", "ss", "icat"), "template"),
        ItemKind("intersentence", False, GOLDS, _TRIPLE, ("lms", "ss", "icat"), "context"),
    )
}
"""The kinds of items, in the order in which tables have them."""

KINDS: tuple[Kind, ...] = tuple(ITEMS)
FILLED: ItemKind = ITEMS["intrasentence"]
"""The kind of an item whose context has a BLANK, if nothing else says which kind it is."""
FOLLOWED: ItemKind = ITEMS["intersentence"]
"""The kind of an item whose context has none."""


@dataclass(frozen=True)
class RoundKind:
    """A kind of round: what people do in it, and on what.

    Attributes:
        name: the name in files and commands.
        work: what people do; settings such as ``pay_label`` are named by it.
        writes: the kind of items that people write; None if they write none.
        shows_items: whether its tasks show items, which may be chosen by their rounds.
        keeps_terms: whether its terms keep their ids from now on, whatever happens later.
    """

    name: RoundKindName
    work: Work
    writes: ItemKind | None = None
    shows_items: bool = False
    keeps_terms: bool = True


REVIEW = RoundKind("review", "review", keeps_terms=False)
VALIDATION = RoundKind("validation", "label", shows_items=True)
NEUTRAL = RoundKind("neutral", "write", shows_items=True)

ROUNDS: dict[RoundKindName, RoundKind] = {
    kind.name: kind
    for kind in (
        REVIEW,
        *(RoundKind(item.name, "write", writes=item) for item in ITEMS.values()),
        VALIDATION,
        NEUTRAL,
    )
}
"""The kinds of rounds. A validation of a neutral round is a validation, and asks for other items:
see ``rounds/planning.py``."""

ROUND_KINDS: tuple[RoundKindName, ...] = tuple(ROUNDS)
