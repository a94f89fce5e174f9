"""The record of one hit of a pitfall."""

from curation.checks.codes import PITFALLS
from curation.records import Pitfall


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
