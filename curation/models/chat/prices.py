"""What a chat model's tokens cost."""

import math
from typing import NamedTuple

from curation.files import CurationError


class Prices(NamedTuple):
    """Prices of a million tokens, in any currency."""

    tokens_in: float
    tokens_out: float

    def cost(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of these tokens.

        >>> Prices(0.5, 2).cost(3_000_000, 500_000)
        2.5
        """
        return (tokens_in * self.tokens_in + tokens_out * self.tokens_out) / 1e6


def price(text: str) -> float:
    """A price of a million tokens.

    Raises:
        CurationError: it is not a number, or is negative or not finite.

    >>> price("0.15")
    0.15
    """
    fix = "give the price of a million tokens as a number, such as 0.15, without a currency"
    try:
        value = float(text)
    except ValueError:
        raise CurationError(f"{text[:40]!r} is not a price", fix) from None
    if not math.isfinite(value):
        raise CurationError(f"{text[:40]!r} is not a finite number", fix)
    if value < 0:
        raise CurationError(f"{text[:40]!r} is negative", fix)
    return value
