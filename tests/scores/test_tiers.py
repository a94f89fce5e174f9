"""CATs of a tier or above; those whose votes are not known are counted."""

from types import SimpleNamespace
from typing import Any

import pytest

from curation.files import CurationError
from curation.scores.tables import of_tier

CATS: list[Any] = [SimpleNamespace(tier=tier) for tier in (3, 4, 5, None)]


def test_cats_of_a_tier_or_above() -> None:
    assert of_tier(CATS, None) == (CATS, 0)
    assert of_tier(CATS, 3) == (CATS[:3], 1)
    assert of_tier(CATS, 4) == (CATS[1:3], 1)
    assert of_tier(CATS[:3], 5) == (CATS[2:3], 0)


def test_no_cat_of_a_tier_is_an_error() -> None:
    with pytest.raises(CurationError, match="no CAT of 4 has tier 6 or more; the votes of 1"):
        of_tier(CATS, 6)
