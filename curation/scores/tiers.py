"""CATs by tier: how many annotators agree on the label that fewest agree on."""

from collections.abc import Sequence

from curation.files import CurationError
from curation.records import Cat


def of_tier(cats: Sequence[Cat], tier: int | None) -> tuple[list[Cat], int]:
    """The CATs of a tier or above (ACL footnote 2: a stricter set has four or more agree).

    Args:
        cats: the CATs.
        tier: the least tier; None takes all CATs.

    Returns:
        The CATs, and how many were left out because their votes are not known.

    Raises:
        CurationError: no CAT is of that tier.
    """
    if tier is None:
        return list(cats), 0
    found = [cat for cat in cats if cat.tier is not None and cat.tier >= tier]
    unknown = sum(cat.tier is None for cat in cats)
    if not found:
        raise CurationError(
            f"none of the {len(cats)} CATs has tier {tier} or more"
            + (f"; of {unknown} the votes are not known" if unknown else ""),
            "give a lower --tier, or leave it out",
        )
    return found, unknown


def tier_text(tier: int | None) -> str:
    """What titles and captions say of it, or "".

    >>> tier_text(4), tier_text(None)
    ('CATs of tier 4 or more', '')
    """
    return "" if tier is None else f"CATs of tier {tier} or more"
