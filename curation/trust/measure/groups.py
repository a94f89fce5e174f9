"""Groups, targets and references: what a measure of bias is given (Definition 2.1, section 3).

It needs no numpy: every command knows groups, and only measures compute.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from curation.files import CurationError

_LONGEST = 200  # characters of a word, as of any name in records
_SUM = 1e-5  # by how much the shares of a reference may differ from 1


@dataclass(frozen=True)
class Groups:
    """The inputs of a measure: ordered groups and targets with their words, and the reference.

    Attributes:
        name: the name in ``[groups.NAME]``.
        words: the words of each group, in the order of the groups; k ≥ 2 groups.
        targets: the words of each target.
        references: the reference p0 of each target, one share per group; None for uniform.
        anchors: targets and the group that each is known to favour, for face validity.
        outcomes: targets and the groups' shares in the world, for predictive validity.
        frequencies: how often targets occur in what was measured.
        frequencies_by_year: the same by year, for runs of a year.
        history: the groups' shares in the world by year and target.
    """

    name: str
    words: Mapping[str, tuple[str, ...]]
    targets: Mapping[str, tuple[str, ...]]
    references: Mapping[str, tuple[float, ...]] | None = None
    anchors: Mapping[str, str] = field(default_factory=dict)
    outcomes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    frequencies: Mapping[str, float] = field(default_factory=dict)
    frequencies_by_year: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    history: Mapping[int, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the groups, in order."""
        return tuple(self.words)

    def reference(self, target: str) -> tuple[float, ...] | None:
        """The reference of a target; None if the references lack it."""
        if self.references is None:
            return (1 / len(self.words),) * len(self.words)
        return self.references.get(target)

    def check(self) -> None:
        """Check that these inputs can be measured.

        Raises:
            CurationError: there are fewer than two groups; there is no target; a group or a target
                has no word; a word has more than 200 characters; two groups share a word; a
                target's word is in a group's list; a reference does not have one share for each
                group, or the shares do not sum to 1; the same of an outcome and of history; a
                frequency is not a positive number.
        """
        where = f"[groups.{self.name}]"
        if len(self.words) < 2:
            raise CurationError(f"{where}: has one group only", "give two or more lists of words")
        if not self.targets:
            raise CurationError(f"{where}: there are no targets", "list them, one on each line")
        owner: dict[str, str] = {}
        for kind, lists in (("group", self.words), ("target", self.targets)):
            for name, words in lists.items():
                if not words:
                    raise CurationError(f"{where}: the {kind} «{name}» has no words", "add a word")
                for word in (name, *words)[kind == "group" :]:
                    if (n := len(word)) > _LONGEST:
                        says = f"has {n:,} characters, and {_LONGEST} are the most"
                        what = f"{where}: «{word[:40]}…» {says}"
                        raise CurationError(what, "write one word on each line")
        for group, words in self.words.items():
            for word in words:
                if (other := owner.setdefault(word.casefold(), group)) != group:
                    raise CurationError(
                        f"{where}: «{word}» is in the lists of «{other}» and «{group}»",
                        "a word can belong to one group only: remove it from one of the lists",
                    )
        for target, words in self.targets.items():
            if own := [word for word in words if word.casefold() in owner]:
                raise CurationError(
                    f"{where}: the target «{target}» is in the list of the group "
                    f"«{owner[own[0].casefold()]}», so it would be associated with itself",
                    f"remove «{own[0]}» from the targets or from the group's list",
                )
        tables = [("reference", self.references or {}), ("outcome", self.outcomes)]
        tables += [(f"history, {year}", each) for year, each in self.history.items()]
        for name, table in tables:
            for target, shares in table.items():
                check_shares(shares, groups=len(self.words), where=f"{where}, {name} of «{target}»")
        for counts in (self.frequencies, *self.frequencies_by_year.values()):
            for target, count in counts.items():
                check_count(count, where=f"{where}, frequency of «{target}»")


def check_shares(shares: tuple[float, ...], *, groups: int, where: str) -> None:
    """Check that shares are a distribution over the groups.

    Raises:
        CurationError: there is not one share from 0 to 1 per group, or they do not sum to 1.
    """
    if len(shares) != groups or not all(0 <= share <= 1 for share in shares):
        raise CurationError(
            f"{where}: needs one share from 0 to 1 for each of the {groups} groups",
            "write shares such as 0.25, one in the column of each group",
        )
    total = math.fsum(shares)
    if abs(total - 1) > _SUM:
        raise CurationError(
            f"{where}: the shares sum to {total:g}, not to 1",
            "divide each share by their sum, if these are all groups that you compare",
        )


def check_count(count: float, *, where: str) -> None:
    """Check that a frequency is a positive number.

    Raises:
        CurationError: it is not.
    """
    if not 0 < count < math.inf:
        raise CurationError(
            f"{where}: the count {count:g} is not positive",
            "write how often the target occurs, or remove the line if it does not occur",
        )
