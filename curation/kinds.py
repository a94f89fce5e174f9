"""What kinds of items and of rounds there are: one object for each, and its name on disk.

A new kind of item is an entry of ``ITEMS``, with its texts in ``annotation_configs/text/``. Code
asks the object what an item consists of, and does not compare names.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

CatKind = Literal["intrasentence", "intersentence"]
Kind = Literal[CatKind, "pair"]
Gold = Literal["stereotype", "anti-stereotype", "unrelated"]
MetricName = Literal["lms", "ss", "icat"]
RoundKindName = Literal["review", "intrasentence", "intersentence", "validation", "neutral"]
Direction = Literal["stereo", "antistereo"]
Work = Literal["review", "write", "label"]
Action = Literal["keep", "merge", "drop"]

ACTIONS: tuple[Action, ...] = get_args(Action)
"""What a reviewer can do with a term."""
WORKS: tuple[Work, ...] = get_args(Work)
METRIC_NAMES: tuple[MetricName, ...] = get_args(MetricName)
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
        context: the field of forms in which people write the context; "" if items of this kind have
            none, and each association is a text of its own.
        seconds: about how long it takes to write one, to tell people before they begin.
        per_item: whether a metric is the share of items, as the authors of such sets compute it,
            and not a mean over terms.
    """

    name: Kind
    has_gap: bool
    roles: tuple[Gold, ...]
    pairs: tuple[tuple[int, int], ...]
    metrics: tuple[MetricName, ...]
    context: str
    seconds: int
    per_item: bool = False

    @property
    def columns(self) -> dict[str, Gold]:
        """The columns of tables that have an association each, and its role."""
        return {role.replace("-", "_"): role for role in self.roles}

    @property
    def compared(self) -> list[tuple[Gold, Gold]]:
        """``pairs`` as roles."""
        return [(self.roles[first], self.roles[second]) for first, second in self.pairs]

    @property
    def in_stereoset(self) -> bool:
        """Whether StereoSet's format has such items: with an association of each gold label."""
        return sorted(self.roles) == sorted(GOLDS)

    @property
    def size(self) -> int:
        """The number of associations of an item."""
        return len(self.roles)

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of the form in which people write an item, in order."""
        columns = tuple(self.columns)
        return (*columns, self.context) if self.has_gap else (self.context, *columns)


_TRIPLE = ((0, 2), (1, 2), (0, 1))
"""The comparisons of a CAT with three associations: the first two make lms, the third makes ss."""

ITEMS: dict[Kind, ItemKind] = {
    kind.name: kind
    for kind in (
        ItemKind("intrasentence", True, GOLDS, _TRIPLE, ("lms", "ss", "icat"), "template", 150),
        ItemKind("intersentence", False, GOLDS, _TRIPLE, ("lms", "ss", "icat"), "context", 210),
        ItemKind("pair", False, GOLDS[:2], ((0, 1),), ("ss",), "", 120, per_item=True),
    )
}
"""The kinds of items, in the order in which tables have them."""


def find_item_kind(name: object) -> ItemKind | None:
    """The kind of items with a name that a file has; None if there is none."""
    return next((kind for kind in ITEMS.values() if kind.name == name), None)


KINDS: tuple[Kind, ...] = tuple(ITEMS)
CAT_KINDS: tuple[CatKind, ...] = get_args(CatKind)
"""The kinds of CATs, which campaigns collect and release. Pairs are read from files and scored."""
FILLED: ItemKind = ITEMS["intrasentence"]
"""The kind of an item whose context has a BLANK, if nothing else says which kind it is."""
FOLLOWED: ItemKind = ITEMS["intersentence"]
"""The kind of an item whose context has none."""
NUMBERS = range(1, max(kind.size for kind in ITEMS.values()) + 1)
"""The numbers of the texts that a task can show, as in the columns text_1 and label_1."""
LABELS = tuple(f"label_{number}" for number in NUMBERS)
"""The fields of forms that are the label of a text each."""


def roles_of(kinds: Iterable[Kind]) -> list[Gold]:
    """The roles that items of these kinds have, in the order of ``GOLDS``; all without a kind."""
    there = {role for kind in set(kinds) or ITEMS for role in ITEMS[kind].roles}
    return [role for role in GOLDS if role in there]


@dataclass(frozen=True)
class RoundKind:
    """A kind of round: what people do in it, and on what.

    Attributes:
        name: the name in files and commands.
        work: what people do; settings such as ``pay_label`` are named by it.
        fields: the fields of its form, in order. All forms also have ``consent``.
        needed: the fields without which an answer is not complete; of labels, those of the texts
            that the task shows.
        seconds: about how long a task takes, to tell people before they begin.
        tells: what all tables say of a task, besides its id, its context and its texts.
        writes: the kind of items that people write; None if they write none.
        shows_items: whether its tasks show items, which may be chosen by their rounds.
        keeps_terms: whether its terms keep their ids from now on, whatever happens later.
    """

    name: RoundKindName
    work: Work
    fields: tuple[str, ...]
    needed: tuple[str, ...]
    seconds: int
    tells: tuple[str, ...] = ("target", "domain")
    writes: ItemKind | None = None
    shows_items: bool = False
    keeps_terms: bool = True

    @property
    def form(self) -> str:
        """The name of the templates of its form."""
        if self.writes is None:
            return self.name
        return "filled" if self.writes.has_gap else "followed"


def _writing(name: CatKind) -> RoundKind:
    item = ITEMS[name]
    needed = (item.context, *item.columns)
    return RoundKind(name, "write", item.fields, needed, item.seconds, writes=item)


REVIEW = RoundKind(
    "review",
    "review",
    ("decision", "merge_into", "merge_into_other", "reasons", "rename"),
    ("decision",),
    seconds=30,
    tells=("term", "domain", "info"),
    keeps_terms=False,
)
VALIDATION = RoundKind(
    "validation", "label", (*LABELS, "flags"), LABELS, seconds=45, shows_items=True
)
NEUTRAL = RoundKind("neutral", "write", ("neutral",), ("neutral",), seconds=60, shows_items=True)

ROUNDS: dict[RoundKindName, RoundKind] = {
    kind.name: kind
    for kind in (
        REVIEW,
        *map(_writing, CAT_KINDS),
        VALIDATION,
        NEUTRAL,
    )
}
"""The kinds of rounds. A validation of a neutral round is a validation, and asks for other items:
see ``NEUTRAL_VALIDATION`` in ``rounds/planning.py``."""

ROUND_KINDS: tuple[RoundKindName, ...] = tuple(ROUNDS)
