"""Plots of models: dots with intervals on one axis, dots over the surface of icat, pairs, sizes.

The functions only find places. Each keeps the numbers that it shows, so that the plot can name
their file and key. In lists of dots x is in per cent of the width, elsewhere in pixels.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from math import log10
from typing import Any, NamedTuple

from curation.kinds import CAT_KINDS
from curation.pages.bars import Scale
from curation.pages.sourced import Sourced, raw

EVEN = 50.0  # the ss of a model that prefers neither
LANE = 28.0  # pixels, the height of a row
SMALL = 360.0  # the width of a plot that fits a phone
RULES = ("rule_text", "says", "rules")  # what says by which rule an entry is scored
Path = Sequence[str]
Ticks = list[tuple[float, str]]


class Dot(NamedTuple):
    """A dot with its interval from ``low`` to ``high``; None if there is none.

    ``hollow``: it rests on few terms or CATs. ``side``: stereotype or anti, if an ss is surely on
    this side of 50; unrelated, if it may be 50; "" for other numbers. ``second``: it is not the
    first of its row.
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
    dots: list[Dot]
    value: Sourced


class Dots(NamedTuple):
    """Rows over one axis. ``even``: where 50 is, None if it is not on the axis or means nothing."""

    rows: list[Row]
    ticks: Ticks
    even: float | None


def at(entry: Any, path: Iterable[Any]) -> Any:
    """The value behind some keys; None if there is none."""
    for key in path:
        if entry is None or key not in raw(entry):
            return None
        entry = entry[key]
    return entry


def dots(
    entries: Iterable[Any],
    *paths: Path,
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
    known = [number for _, values, _ in found for value, ends in values for number in (value, ends)]
    scale = _around([*reach, *_flat(known)], 2, 98)
    rows = []
    for entry, values, main in found:
        own = []
        for number, ((value, ends), path) in enumerate(zip(values, paths, strict=True)):
            if value is not None:
                y = LANE / 2 + (8 * number / (len(paths) - 1) - 4 if len(paths) > 1 else 0)
                low, high = [scale.at(raw(end)) for end in ends] if ends else [None, None]
                few = any(at(entry, (*path[:-1], key)) for key in ("few_terms", "few_cats", "few"))
                side = _side(raw(ends)) if path[-1] == "ss" else ""
                own.append(Dot(scale.at(raw(value)), y, low, high, few, side, number > 0))
        value = entry[show] if show else main
        rows.append(Row(str(entry[name]), str(at(entry, ["mark"]) or ""), own, value))
    is_on = scale.low <= EVEN <= scale.high and paths[0][-1] in measures(shares=True)
    return Dots(rows, _ticks(scale, 5), scale.at(EVEN) if is_on else None)


def lists(
    draw: Callable[[Dots, Any], str],
    entries: Iterable[Any],
    cells: Iterable[Path],
    names: Iterable[str],
    titles: Any,
    **options: Any,
) -> list[str]:
    """A list of dots for each measure.

    Args:
        draw: the macro for a list.
        entries: as for ``dots``.
        cells: where the cell of each dot of a row is.
        names: of the measures.
        titles: the title of each list, by measure.
        **options: as for ``dots``.
    """
    every = [*entries]
    paths = {name: [[*cell, name] for cell in cells] for name in names}
    return [draw(dots(every, *own, **options), titles[name]) for name, own in paths.items()]


def span_of(entries: Iterable[Any], paths: Iterable[Path], name: str) -> list[float]:
    """The ends of all intervals of a measure in these cells, so that several axes can be alike."""
    known = _flat([at(entry, (*path, f"{name}_ci")) for entry in entries for path in paths])
    return [min(known), max(known)] if known else []


def _flat(values: Iterable[Any]) -> list[float]:
    plain = [raw(value) for value in values if value is not None]
    return [n for value in plain for n in (value if isinstance(value, list) else [value])]


def _side(ends: Sequence[float] | None) -> str:
    if ends is None or ends[0] <= EVEN <= ends[1]:
        return "unrelated"
    return "stereotype" if ends[0] > EVEN else "anti"


def _around(values: Sequence[float], begin: float, end: float, step: float = 5) -> Scale:
    """A scale from 0 to 100 that has all values, with ends at multiples of ``step``."""
    low = max(0.0, step * (min(values, default=0) // step))
    high = min(100.0, -step * (-max(values, default=100) // step))
    return Scale(min(low, 100 - step), max(high, low + step), begin, end)


def _ticks(scale: Scale, most: int) -> Ticks:
    return [(scale.at(tick), f"{tick:g}") for tick in scale.ticks(most)]


def metric_names(entries: Iterable[Any] = (), *paths: Path) -> list[str]:
    """The metrics that some cells have, in the order of tables; all without cells.

    Args:
        entries: as for ``dots``, which are the cells if there are no paths.
        paths: where the cells are.
    """
    from curation.stats.metrics import METRICS, metrics_in

    found = [at(entry, path) for entry, path in product(entries, paths or [()])]
    names: list[str] = [m.name for m in metrics_in(raw(cell) for cell in found if cell is not None)]
    return names or list(METRICS)


def measures(*cells: Any, shares: bool = False) -> list[str]:
    """``metric_names`` in the order of plots: those that tell of stereotypes come first.

    Args:
        cells: as for ``metric_names``.
        shares: whether to leave out those that are computed from others.
    """
    from curation.stats.metrics import METRICS

    metrics = [METRICS[name] for name in METRICS if name in metric_names(*cells)]
    metrics.sort(key=lambda metric: not metric.tells_gold)
    return [metric.name for metric in metrics if metric.pairs or not shares]


def kind_paths() -> list[Path]:
    """The place of the cell of each kind of CAT."""
    return [["kinds", kind, "overall"] for kind in CAT_KINDS]


def cells(
    entries: Iterable[Any], *paths: Path, name: str = "label"
) -> list[tuple[str, str, Sourced]]:
    """The rows of a table of cells: what each is of, the rules, and the cell itself.

    Args:
        entries: as for ``dots``.
        paths: where the cells are; with several, each is named after its domain or kind.
        name: the key of the name.
    """
    found = []
    for entry, path in product(entries, paths):
        if (cell := at(entry, path)) is not None:
            part = path[-1] if path and path[-1] != "overall" else path[-2] if path[1:] else ""
            part = part if len(paths) > 1 else at(entry, ["kind"])
            own = f"{entry[name]}{at(entry, ['mark']) or ''}" + (f", {part}" if part else "")
            rule = next((at(entry, [key]) for key in RULES if at(entry, [key])), "")
            found.append((own, str(rule), cell))
    return found


# --- the surface of icat -------------------------------------------------------------------------

LEFT, EDGE, BOTTOM = 44.0, 10.0, 34.0  # pixels around the surface
STEPS = 60  # of a contour line
CROSSES = 8  # with more models than this, intervals would hide the points
LETTER = 7.4  # pixels


class Point(NamedTuple):
    """A model on the surface, its intervals, and where its name stands; "" for nowhere."""

    dot: Dot
    top: float | None
    bottom: float | None
    name: str
    x: float
    anchor: str


class Surface(NamedTuple):
    """lms upwards, ss to the right, lines of equal icat with their values, models as points."""

    width: float
    height: float
    lines: list[tuple[str, float, float, str]]
    points: list[Point]
    across: Ticks
    upwards: Ticks
    even: float


def surface(entries: Iterable[Any], path: Path) -> Surface:
    """Models over lines of equal icat = lms · min(ss, 100 − ss) / 50 (ACL, Figure 2).

    Args:
        entries: objects with ``label``.
        path: where the cell with lms and ss is.
    """
    found = [(entry, cell) for entry in entries if (cell := at(entry, path))]
    width, height = 2 * SMALL, 420.0
    lms, ss = ([raw(cell[name]) for _, cell in found] for name in ("lms", "ss"))
    reach = max(10.0, *(abs(value - EVEN) + 3 for value in ss))
    x = _around([EVEN - reach, EVEN + reach], LEFT, width - EDGE)
    y = _around([min(*lms, 90.0) - 3, 100.0], height - BOTTOM, EDGE)
    places = [(x.at(a), y.at(b)) for a, b in zip(ss, lms, strict=True)]
    taken: list[tuple[float, float, float]] = []
    points = []
    for (entry, cell), place in zip(found, places, strict=True):
        across, up = (
            [scale.at(raw(end)) for end in ends] if ends and len(found) <= CROSSES else [None, None]
            for ends, scale in ((cell["ss_ci"], x), (cell["lms_ci"], y))
        )
        name = short(str(entry["label"]), 24) + str(at(entry, ["mark"]) or "")
        others = [(a - 5, a + 5, b) for a, b in places if (a, b) != place]
        begin, anchor = _beside(LETTER * len(name), place, [*others, *taken], width)
        if anchor:
            taken.append((begin, begin + LETTER * len(name), place[1]))
        text = begin + LETTER * len(name) if anchor == "end" else begin
        dot = Dot(place[0], place[1], low=across[0], high=across[1])
        points.append(Point(dot, up[1], up[0], name if anchor else "", text, anchor))
    lines = [*_contours(x, y)]
    return Surface(width, height, lines, points, _ticks(x, 8), _ticks(y, 8), x.at(EVEN))


def short(name: str, length: int) -> str:
    """A name that fits, without what is before its last slash.

    >>> short("made-up/a-model-with-a-very-long-name", 12)
    'a-model-wit…'
    """
    name = name.rpartition("/")[2] or name
    return name if len(name) <= length else f"{name[: length - 1]}…"


def _beside(
    long: float,
    own: tuple[float, float],
    taken: Sequence[tuple[float, float, float]],
    width: float,
) -> tuple[float, str]:
    """The begin of a name and its anchor; "" if other names or points are there."""
    for anchor, begin in (("start", own[0] + 8), ("end", own[0] - 8 - long)):
        free = all(b < begin or a > begin + long or abs(y - own[1]) > 11 for a, b, y in taken)
        if free and LEFT < begin < width - long:
            return begin, anchor
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
            yield _line(places), *places[-1], str(value) if side > 0 else ""


def _line(places: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in places)


# --- pairs and sizes -----------------------------------------------------------------------------


class Pairs(NamedTuple):
    """A triangle of pairs: each model has a row, a column, and its name where these meet.

    ``cells``: x, y, side and verdict of each square.
    """

    width: float
    height: float
    names: list[tuple[str, float, float]]
    cells: list[tuple[float, float, float, str]]


def triangle(entries: Iterable[Any], pairs: Iterable[Any], path: Path) -> Pairs:
    """The verdicts on all pairs of models in one measure, the highest value first.

    Args:
        entries: the models with ``run`` and ``label``.
        pairs: with ``a``, ``b`` and the test of each measure.
        path: where the measure is in an entry; its last step is the measure's name.
    """
    ordered = sorted(entries, key=lambda entry: -raw(at(entry, path)))
    step = round(min(24.0, max(14.0, (SMALL - 120) / len(ordered))), 1)
    place = {entry["run"]: number for number, entry in enumerate(ordered)}
    cells = []
    for pair in pairs:
        verdict = str(pair[path[-1]]["verdict"])
        side = step * (0.2 if verdict == "open" else 0.8)
        x, y = (step * (n + 0.5) - side / 2 for n in sorted((place[pair["a"]], place[pair["b"]])))
        cells.append((round(x, 2), round(y, 2), round(side, 2), verdict))
    names = [
        (short(str(entry["label"]), 20), round(step * n + 3, 2), round(step * (n + 0.5) + 4, 2))
        for n, entry in enumerate(ordered)
    ]
    return Pairs(max(SMALL, step * len(ordered) + 110), step * len(ordered) + 4, names, cells)


class Sizes(NamedTuple):
    """Models by their parameters: for each architecture its name, line, the name's place, dots."""

    lines: list[tuple[str, str, float, float, list[Dot]]]
    across: Ticks
    upwards: Ticks


def by_size(rows: Sequence[Any], name: str) -> Sizes:
    """A metric by the number of parameters (a logarithmic axis), within architectures.

    Args:
        rows: of a ranking's ``sizes``.
        name: of the measure.
    """
    logs = [log10(raw(row["parameters"])) for row in rows]
    x = Scale(min(logs) - 0.1, max(logs) + 0.1, 30, SMALL - 70)
    y = _around([raw(row[name]) for row in rows], 196, 8)
    of: dict[str, list[Dot]] = {}
    for row, log in zip(rows, logs, strict=True):
        of.setdefault(str(row["architecture"]), []).append(Dot(x.at(log), y.at(raw(row[name]))))
    lines, least = [], 0.0
    for architecture, own in sorted(of.items(), key=lambda each: each[1][-1].y):
        level = max(own[-1].y, least)  # names do not cover each other
        least = level + 13
        path = _line((dot.x, dot.y) for dot in own)
        lines.append((short(architecture, 12), path, own[-1].x + 7, level, own))
    sizes = [(power, times) for power, times in product(range(3, 15), (1, 2, 5))]
    ticks = [
        (x.at(log), f"{times * 10 ** (power % 3)}{'KMBT'[power // 3 - 1]}")
        for power, times in sizes
        if x.low <= (log := power + log10(times)) <= x.high
    ]
    return Sizes(lines, ticks[:: len(ticks) // 6 + 1], _ticks(y, 6))


_FOR_TEMPLATES = (at, by_size, cells, dots, kind_paths, lists, measures, metric_names)
PICTURES = {each.__name__: each for each in (*_FOR_TEMPLATES, product, span_of, surface, triangle)}
"""The functions that templates use, by name."""
