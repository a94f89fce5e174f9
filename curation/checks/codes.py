"""Known pitfalls of such data: each code's severity, its meaning and its fix.

The severities:

- ``block``: wrong in any dataset; it stops a release. These checks are certain and do not depend on
  which packages are installed.
- ``warn``: fix it, or at least know about it.
- ``note``: worth a look. A check is also a note if less than half of its hits are right
  (docs/measures.md has the precision of each).
"""

from typing import Literal, NamedTuple

from curation.files import shipped
from curation.formats.toml_files import read_toml
from curation.kinds import ItemKind
from curation.records import Pitfall, Severity

Unit = Literal["cat", "option", "target", "domain", "dataset"]


class About(NamedTuple):
    """The description of a pitfall code.

    Attributes:
        severity: block, warn or note.
        unit: what is counted.
        says: what a hit means.
        fix: what to do about it.
        languages: the languages in which it can be checked.
        has_gap: whether only kinds of CATs with a gap can have it, or only others; None for all.
        role: the gold label that an association must have for it; "" if it needs none.
        labelled: whether a count depends on gold labels, or on who gave them.
    """

    severity: Severity
    unit: Unit
    says: str
    fix: str
    languages: str = "any"
    has_gap: bool | None = None
    role: str = ""
    labelled: bool = False

    def concerns(self, kind: ItemKind) -> bool:
        """Whether a CAT of this kind can have it."""
        return self.has_gap in (None, kind.has_gap) and (not self.role or self.role in kind.roles)


CASED = "with capital letters"
JOINED = "that join affixes"
PITFALLS = {
    code: About(**entry)
    for code, entry in read_toml(
        shipped("data", "checks", "pitfalls.toml"), fix="see checks/codes.py for its keys"
    ).items()
}
"""Every code, in the order in which a report lists them."""


def pitfall(
    code: str,
    where: str,
    detail: str,
    *,
    item: str | None = None,
    association: str | None = None,
    target: str | None = None,
) -> Pitfall:
    """The record of one hit, with the severity and fix of its code.

    Args:
        code: one of ``PITFALLS``.
        where: the place for a reader, such as a file and line or an item.
        detail: what is wrong there.
        item: the item's id; None for the dataset or a target.
        association: the association's id; None for the whole item.
        target: the term's text.
    """
    about = PITFALLS[code]
    # There may be tens of thousands, and all parts are valid already: validation would cost time.
    return Pitfall.model_construct(
        code=code,
        severity=about.severity,
        item=item,
        association=association,
        target=target,
        where=where,
        detail=detail,
        fix=about.fix,
    )
