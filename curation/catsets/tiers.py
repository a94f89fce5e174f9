"""The CATs of a tier: on whose labels N annotators agree."""

from collections.abc import Sequence

from curation.files import CurationError
from curation.records import Cat


def of_tier(cats: Sequence[Cat], tier: int | None) -> tuple[list[Cat], int]:
    """The CATs of a tier or above (ACL footnote 2: a stricter set has four or more agree).

    Args:
        cats: the CATs.
        tier: the lowest tier; None keeps all CATs.

    Returns:
        The CATs, and how many are left out because their votes are not known.

    Raises:
        CurationError: no CAT is of that tier or above.
    """
    if tier is None:
        return list(cats), 0
    kept = [cat for cat in cats if cat.tier is not None and cat.tier >= tier]
    unknown = sum(cat.tier is None for cat in cats)
    if not kept:
        raise CurationError(
            f"no CAT of {len(cats):,} has tier {tier} or more"
            + (f"; the votes of {unknown} are not known" if unknown else ""),
            "give a lower --tier, or leave it out",
        )
    return kept, unknown


def tier_text(tier: int | None) -> str:
    """The tier in titles and captions, or "".

    >>> tier_text(4), tier_text(None)
    ('CATs of tier 4 or more', '')
    """
    return "" if tier is None else f"CATs of tier {tier} or more"
