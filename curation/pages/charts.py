"""What all plots share: the scale of an axis. Plots are SVG, which templates write."""

import math
from typing import NamedTuple


class Scale(NamedTuple):
    """An axis: values from ``low`` to ``high`` lie from ``begin`` to ``end`` in the plot."""

    low: float
    high: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        """The place of a value, rounded to hundredths; values beyond an end are at the end.

        >>> Scale(0, 100, 0, 300).at(50)
        150.0
        """
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(self.begin + share * (self.end - self.begin), 2)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values on the axis, at most ``most``.

        >>> Scale(38, 72, 0, 300).ticks()
        [40, 50, 60, 70]
        """
        least = (self.high - self.low) / most
        power = 10 ** math.floor(math.log10(least))
        step = next(n * power for n in (1, 2, 5, 10, 20) if n * power >= least)
        first = math.ceil(self.low / step)
        return [round(step * n, 10) for n in range(first, math.floor(self.high / step) + 1)]
