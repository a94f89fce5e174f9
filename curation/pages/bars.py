"""The scale of plots; bars with parts, a step line of days, and a strip of dots.

Plots are SVG, which templates write; the functions only find places, in per cent of the width.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import islice
from typing import Any, NamedTuple

from curation.pages.sourced import raw

LEAST = 0.6  # per cent of the width: what is there can be seen
FIRST = 4  # the parts of a stage that are shown one by one
COLUMNS = 50  # dots side by side in a strip


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


class Part(NamedTuple):
    """A part of a bar: where it begins, and how long it is; in per cent of the width."""

    begin: float
    length: float


class Dot(NamedTuple):
    """A dot of a strip: its place in per cent of the width, and how many dots are below it."""

    place: float
    level: int


class Days(NamedTuple):
    """A step line: its path in a plot of 100 by 100, and the day with the most answers."""

    path: str
    top: Any
    on: str
    first: str
    last: str


def stack(amounts: Iterable[Any]) -> list[Part]:
    """The parts of a bar of full width, one after the other.

    >>> stack([3, 1])
    [Part(begin=0.0, length=75.0), Part(begin=75.0, length=25.0)]
    """
    numbers = [raw(amount) for amount in amounts]
    whole, begin, parts = sum(numbers) or 1, 0.0, []
    for number in numbers:
        length = 100 * number / whole
        parts.append(Part(round(begin, 2), round(length, 2)))
        begin += length
    return parts


def first(values: Iterable[Any], most: int) -> list[Any]:
    """The first values of an array, at most ``most``."""
    return list(islice(values, most))


def shown(stage: Any) -> list[Any]:
    """What the bar of a stage shows: its first parts, and all others together."""
    parts = [part["n"] for part in first(stage["parts"], FIRST)]
    return parts + [0] * (FIRST - len(parts)) + [stage["others"]]


def strip(values: Iterable[Any], scale: Scale) -> list[Dot]:
    """A dot for each value; dots that would lie on each other are stacked."""
    levels, dots = Counter[int](), []
    for value in values:
        column = round(scale.at(raw(value)) / 100 * COLUMNS)
        dots.append(Dot(100 * column / COLUMNS, levels[column]))
        levels[column] += 1
    return dots


def step_line(rows: Sequence[Any]) -> Days:
    """The line of answers per day; days without answers lie at the bottom.

    Args:
        rows: objects with ``day``, in ISO 8601, and ``answers``; in the order of the days.
    """
    days = [date.fromisoformat(row["day"]).toordinal() for row in rows]
    highest = max(rows, key=lambda row: raw(row["answers"]))
    across = Scale(days[0], days[-1] + 1, 0, 100)
    up = Scale(0, raw(highest["answers"]), 100, 0)
    path, free = "M0 100", 0.0
    for day, row in zip(days, rows, strict=True):
        begin = max(across.at(day), free)
        free = max(across.at(day + 1), min(begin + LEAST, 100))
        path += f"H{begin:g}V{up.at(raw(row['answers'])):g}H{free:g}V100"
    ends = rows[0]["day"], rows[len(rows) - 1]["day"]
    return Days(path + "H100", highest["answers"], highest["day"], *ends)


def axis(values: Iterable[Any], low: float = 0.0, high: float | None = None) -> Scale:
    """A scale in per cent of the width, on which all values lie.

    Args:
        values: the values; None is left out.
        low: the least value of the axis, if no value is below it.
        high: the greatest, likewise; None for the greatest value.
    """
    numbers = [float(raw(value)) for value in values if value is not None]
    ends = [low, *numbers, *([] if high is None else [high])]
    least, most = min(ends), max(ends)
    return Scale(least, most if most > least else least + 1, 0, 100)


class Alphas(NamedTuple):
    """Alpha of a group: of its CATs, and of all items with enough labels, None if unknown."""

    kept: Any
    decided: Any
    ends: list[float]


def alphas(agreement: Any) -> list[Alphas]:
    """The rows of agreement.json that are shown: all CATs, each kind, each domain."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for row in agreement["measures"] if agreement else ():
        if row["measure"] == "alpha" and row["classes"] == "all" and row["value"] is not None:
            rows.setdefault((row["by"], row["group"]), {})[row["scope"]] = row
    made = []
    for by in ("overall", "kind", "domain"):
        for (kind, _), found in rows.items():
            if kind == by and "kept" in found:
                ends = [end for row in found.values() for end in _ends(row["value"], row["ci"])]
                made.append(Alphas(found["kept"], found.get("decided"), ends))
    return made


class Sentiment(NamedTuple):
    """The share of negative associations of a label; ``kind`` is None for both kinds."""

    kind: str | None
    label: str
    share: Any
    ci: Any
    ends: list[float]


def sentiments(sentiment: Any) -> list[Sentiment]:
    """The rows of sentiment.json over all domains, a row for each label."""
    return [
        Sentiment(
            row["kind"], label, found["share"], found["ci"], _ends(found["share"], found["ci"])
        )
        for row in sentiment["rows"]
        if row["domain"] is None
        for label in row["labels"]
        for found in [row["labels"][label]["negative"]]
    ]


def _ends(value: Any, ci: Any) -> list[float]:
    """A value and the ends of its interval, as far as they are known."""
    return [raw(end) for end in (value, *(ci or ())) if end is not None]
