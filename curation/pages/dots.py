"""Pictures of models: dots with intervals on one axis, dots over the surface of icat, pairs.

The functions only find places. Each keeps the numbers that it shows, so that the picture can name
their file and key. Widths are in pixels of a narrow telephone; such a picture is never much larger.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from math import log10
from typing import Any, NamedTuple

from curation.pages.charts import Scale
from curation.pages.sourced import Sourced, raw
from curation.records import KINDS

EVEN = 50.0  # the ss of a model that prefers neither
LANE = 28.0  # pixels, the height of a row


class Mark(NamedTuple):
    """A dot at ``x`` with its interval from ``low`` to ``high``; None if there is none.

    ``hollow``: it rests on few terms or CATs. ``side`` of 50 on which an ss surely lies:
    stereotype, anti, or unrelated if it may be 50; "" for other numbers. ``second``: it is not
    the first of its row.
    """

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hollow: bool = False
    side: str = ""
    second: bool = False


class Row(NamedTuple):
    """A row of dots: its name, what stands beside it, the dots, and the number on the right."""

    name: str
    mark: str
    dots: list[Mark]
    value: Sourced


class Dots(NamedTuple):
    """Rows of dots over one axis, in per cent of its length.

    ``even`` is where 50 lies, None if it is not on the axis or means nothing.
    """

    rows: list[Row]
    ticks: list[tuple[float, str]]
    even: float | None


def at(entry: Any, path: Iterable[Any]) -> Any:
    """What lies behind some keys; None if there is nothing."""
    for key in path:
        if entry is None or key not in raw(entry):
            return None
        entry = entry[key]
    return entry


def short(name: str, length: int) -> str:
    """A name that fits, without what is before its last slash.

    >>> short("made-up/a-model-with-a-very-long-name", 12)
    'a-model-wit…'
    """
    name = name.rpartition("/")[2] or name
    return name if len(name) <= length else f"{name[: length - 1]}…"


def dots(
    entries: Iterable[Any],
    *paths: Sequence[str],
    sort: bool = True,
    name: str = "label",
    show: str = "",
    reach: Sequence[float] = (),
) -> Dots:
    """A row of dots for each entry, the highest first value on top.

    Args:
        entries: objects with a name, perhaps ``mark``.
        paths: where the value of each dot of a row is; beside it lies its interval, ``NAME_ci``.
            Entries without any value are left out.
        sort: whether rows are sorted by their first value.
        name: the key of the name.
        show: the key of the number on the right; "" for the first value.
        reach: values that the axis must have.
    """
    found = []
    for entry in entries:
        values = [(at(entry, path), at(entry, (*path[:-1], f"{path[-1]}_ci"))) for path in paths]
        main = next((value for value, _ in values if value is not None), None)
        if main is not None:
            found.append((entry, values, main))
    if sort:
        found.sort(key=lambda each: -raw(each[2]))
    numbers = [*reach, *(n for _, values, _ in found for pair in values for n in _numbers(*pair))]
    scale = _around(numbers or [0, 100], 2, 98)
    rows = []
    for entry, values, main in found:
        marks = []
        for number, ((value, ends), path) in enumerate(zip(values, paths, strict=True)):
            if value is None:
                continue
            y = LANE / 2 + (8 * number / (len(paths) - 1) - 4 if len(paths) > 1 else 0)
            own = [scale.at(raw(end)) for end in ends] if ends else [None, None]
            few = any(at(entry, (*path[:-1], name)) for name in ("few_terms", "few_cats"))
            side = _side(raw(ends)) if path[-1] == "ss" else ""
            marks.append(Mark(scale.at(raw(value)), y, own[0], own[1], few, side, number > 0))
        mark = str(at(entry, ["mark"]) or "")
        rows.append(Row(str(entry[name]), mark, marks, entry[show] if show else main))
    is_on = scale.low <= EVEN <= scale.high and paths[0][-1] != "icat"
    ticks = [(scale.at(tick), f"{tick:g}") for tick in scale.ticks(5)]
    return Dots(rows, ticks, scale.at(EVEN) if is_on else None)


def _side(ends: Sequence[float] | None) -> str:
    if ends is None or ends[0] <= EVEN <= ends[1]:
        return "unrelated"
    return "stereotype" if ends[0] > EVEN else "anti"


def span_of(entries: Iterable[Any], paths: Iterable[Sequence[str]], name: str) -> list[float]:
    """The ends of all intervals of a measure in these cells, so that several axes can be alike."""
    known = [at(entry, (*path, f"{name}_ci")) for entry in entries for path in paths]
    numbers = [raw(end) for ends in known if ends for end in ends]
    return [min(numbers), max(numbers)] if numbers else []


def _numbers(value: Any, ends: Any) -> Iterator[float]:
    yield from () if value is None else [raw(value)]
    yield from map(raw, ends or ())


def _around(values: Sequence[float], begin: float, end: float, step: float = 5) -> Scale:
    """A scale from 0 to 100 that has all values, with ends at multiples of ``step``."""
    low = max(0.0, step * (min(values) // step))
    high = min(100.0, -step * (-max(values) // step))
    return Scale(low, max(high, low + step), begin, end)


def kind_paths(*name: str) -> list[list[str]]:
    """Where a value of each kind of CAT is; without a name, where its cell is."""
    return [["kinds", kind, "overall", *name] for kind in KINDS]


def cells(
    entries: Iterable[Any], *paths: Sequence[str], name: str = "label"
) -> list[tuple[str, str, str, Any]]:
    """The cells of a table: whose each is, the rules, the marks, and the cell itself.

    Args:
        entries: as for ``dots``.
        paths: where the cells are; with several, each is named after its domain or kind.
        name: the key of the name.
    """
    found = []
    for entry, path in product(entries, paths):
        if (cell := at(entry, path)) is None:
            continue
        of = [*path, at(entry, ["kind"])] if name != "label" else path
        part = next((step for step in reversed(of) if step != "overall"), "")
        own = f"{entry[name]}, {part}" if len(paths) > 1 or name != "label" else str(entry[name])
        rule = next((at(entry, [key]) for key in RULES if at(entry, [key])), "")
        found.append((own, str(rule), str(at(entry, ["mark"]) or ""), cell))
    return found


RULES = ("rule_text", "says", "rules")  # what says by which rule an entry is scored


# --- the surface of icat -------------------------------------------------------------------------


class Point(NamedTuple):
    """A model on the surface, its intervals, and where its name stands; "" for nowhere."""

    mark: Mark
    top: float | None
    bottom: float | None
    name: str
    x: float
    anchor: str


class Surface(NamedTuple):
    """lms upwards, ss to the right, lines of equal icat, and models as points."""

    width: float
    height: float
    lines: list[tuple[str, float, float, str]]
    points: list[Point]
    across: list[tuple[float, str]]
    upwards: list[tuple[float, str]]
    even: float


SURFACE = (720.0, 420.0, 44.0, 10.0, 34.0)  # width, height, left, top and right, bottom
STEPS = 60  # of a contour line
CROSSES = 8  # with more models than this, intervals would hide the points


def surface(entries: Iterable[Any], base: Sequence[str]) -> Surface:
    """Models over lines of equal icat = lms · min(ss, 100 − ss) / 50 (ACL, Figure 2).

    Args:
        entries: objects with ``label``.
        base: where the cell with lms and ss is.
    """
    cells = [(entry, cell) for entry in entries if (cell := at(entry, base))]
    width, height, left, top, bottom = SURFACE
    lms, ss = ([raw(cell[name]) for _, cell in cells] for name in ("lms", "ss"))
    reach = max(10.0, *(abs(value - EVEN) + 3 for value in ss))
    x = _around([EVEN - reach, EVEN + reach], left, width - top)
    y = _around([min(*lms, 90.0) - 3, 100.0], height - bottom, top)
    few = len(cells) <= CROSSES
    taken: list[tuple[float, float, float]] = []
    places = [(x.at(raw(cell["ss"])), y.at(raw(cell["lms"]))) for _, cell in cells]
    points = []
    for (entry, cell), (own_x, own_y) in zip(cells, places, strict=True):
        across, up = (
            [scale.at(raw(end)) for end in ends] if few and ends else [None, None]
            for ends, scale in ((cell["ss_ci"], x), (cell["lms_ci"], y))
        )
        name = short(str(entry["label"]), 24) + str(at(entry, ["mark"]) or "")
        place, anchor = _beside(name, (own_x, own_y), places, taken, width)
        mark = Mark(own_x, own_y, across[0], across[1])
        points.append(Point(mark, up[1], up[0], name if anchor else "", place, anchor))
    return Surface(
        width,
        height,
        list(_contours(x, y)),
        points,
        [(x.at(tick), f"{tick:g}") for tick in x.ticks(8)],
        [(y.at(tick), f"{tick:g}") for tick in y.ticks(8)],
        x.at(EVEN),
    )


def _beside(
    name: str,
    own: tuple[float, float],
    points: Sequence[tuple[float, float]],
    taken: list[tuple[float, float, float]],
    width: float,
) -> tuple[float, str]:
    """Where a name stands and how it is anchored; "" if each place is taken by others."""
    x, y = own
    long = 6.6 * len(name)
    for anchor, begin in (("start", x + 8), ("end", x - 8 - long)):
        box = (begin, begin + long, y)
        free = all(
            b < box[0] or a > box[1] or abs(line - y) > 11
            for a, b, line in (*taken, *((p - 5, p + 5, q) for p, q in points if (p, q) != own))
        )
        if free and begin > SURFACE[2] and begin + long < width:
            taken.append(box)
            return (x + 8 if anchor == "start" else x - 8), anchor
    return 0, ""


def _contours(x: Scale, y: Scale) -> Iterator[tuple[str, float, float, str]]:
    """Lines of equal icat, to the left and to the right of 50: the path and its value's place."""
    for value, side in product(range(10, 100, 10), (-1, 1)):
        places = []
        for n in range(STEPS + 1):
            ss = EVEN + side * (x.high - EVEN) * n / STEPS
            least = min(ss, 100 - ss)
            if least > 0 and y.low <= (lms := EVEN * value / least) <= y.high:
                places.append((x.at(ss), y.at(lms)))
        if len(places) > 1:
            joined = " ".join(f"{'L' if n else 'M'}{a:g} {b:g}" for n, (a, b) in enumerate(places))
            yield joined, *places[-1], str(value) if side > 0 else ""


# --- pairs and sizes -----------------------------------------------------------------------------


SMALL = 360.0  # the width of a picture that fits a telephone


class Cell(NamedTuple):
    """The verdict on a pair of models."""

    x: float
    y: float
    verdict: str


class Pairs(NamedTuple):
    """A triangle of pairs: each model has a row, a column, and its name where these meet."""

    width: float
    height: float
    names: list[tuple[str, float, float]]
    cells: list[Cell]
    side: float


def triangle(entries: Iterable[Any], pairs: Iterable[Any], path: Sequence[str]) -> Pairs:
    """The verdicts on all pairs of models in one measure, the highest value first.

    Args:
        entries: the models with ``run`` and ``label``.
        pairs: with ``a``, ``b`` and the test of each measure.
        path: where the measure is in an entry; its last step is the measure's name.
    """
    ordered = sorted(entries, key=lambda entry: -raw(at(entry, path)))
    side = min(24.0, max(14.0, (SMALL - 120) / len(ordered)))
    place = {entry["run"]: number for number, entry in enumerate(ordered)}
    cells = []
    for pair in pairs:
        first, last = sorted((place[pair["a"]], place[pair["b"]]))
        x, y = side * (first + 0.5), side * (last + 0.5)
        cells.append(Cell(round(x, 2), round(y, 2), str(pair[path[-1]]["verdict"])))
    names = [
        (short(str(entry["label"]), 20), round(side * n + 3, 2), round(side * (n + 0.5), 2))
        for n, entry in enumerate(ordered)
    ]
    width = max(SMALL, side * len(ordered) + 110)
    return Pairs(round(width, 2), round(side * len(ordered) + 4, 2), names, cells, round(side, 2))


class Sizes(NamedTuple):
    """Models by their parameters, those of one architecture joined by a line."""

    height: float
    lines: list[tuple[str, str, float, float, list[Mark]]]
    across: list[tuple[float, str]]
    upwards: list[tuple[float, str]]
    even: float | None


def by_size(rows: Iterable[Any], name: str) -> Sizes:
    """lms, ss or icat by the number of parameters (a logarithmic axis), within architectures.

    Args:
        rows: of a ranking's ``sizes``.
        name: of the measure.
    """
    known = list(rows)
    height, left, bottom = 220.0, 30.0, 24.0
    logs = [log10(raw(row["parameters"])) for row in known]
    x = Scale(min(logs) - 0.1, max(logs) + 0.1, left, SMALL - 70)
    y = _around([raw(row[name]) for row in known], height - bottom, 8)
    lines = []
    for architecture in dict.fromkeys(str(row["architecture"]) for row in known):
        own = [row for row in known if row["architecture"] == architecture]
        marks = [Mark(x.at(log10(raw(row["parameters"]))), y.at(raw(row[name]))) for row in own]
        path = " ".join(f"{'L' if n else 'M'}{m.x:g} {m.y:g}" for n, m in enumerate(marks))
        lines.append((short(architecture, 12), path, marks[-1].x + 7, marks[-1].y, marks))
    lines.sort(key=lambda line: line[3])
    for n, (text, path, place, level, marks) in enumerate(lines):  # names do not cover each other
        lines[n] = (text, path, place, max(level, lines[n - 1][3] + 12 if n else 0.0), marks)
    units = {
        10.0**power: f"{10 ** (power % 3)}{' KMBT'[power // 3].strip()}" for power in range(15)
    }
    fine = [
        (times * size, text.replace("1", str(times), 1))
        for (size, text), times in product(units.items(), (1, 2, 5))
    ]
    inside = [(x.at(log10(size)), text) for size, text in fine if x.low <= log10(size) <= x.high]
    is_on = y.low <= EVEN <= y.high
    upwards = [(y.at(tick), f"{tick:g}") for tick in y.ticks(6)]
    return Sizes(
        height, lines, inside[:: len(inside) // 6 + 1], upwards, y.at(EVEN) if is_on else None
    )


PICTURES = {
    "at": at,
    "by_size": by_size,
    "cells": cells,
    "dots": dots,
    "kind_paths": kind_paths,
    "span_of": span_of,
    "surface": surface,
    "triangle": triangle,
}
"""What templates take, by name."""
