"""Numbers that know the file and the place in it that they come from.

Everything that a page says comes from JSON files. ``wrap`` gives a file's content: what is taken
out of it is wrapped, too, and remembers its way. Texts stay texts. Templates print numbers with the
filters of this module, which write where each comes from:
``<data value="62.59" data-file="8-pages/numbers/scores.json" data-key="/runs/0/lms">62.6</data>``.
So a reader can look up every number, and no number can be printed that is in no file.
"""

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

NONE = "–"  # what is printed for a number that is not defined


class Sourced:
    """A number, an object or an array of a JSON file.

    ``_raw`` is the value, ``_file`` the file's path in the campaign, ``_key`` the place in it as a
    JSON pointer (RFC 6901). These begin with «_», because in templates ``node.name`` is the value
    ``name`` of an object.
    """

    __slots__ = ("_file", "_key", "_raw")

    def __init__(self, raw: Any, file: str, key: str = "") -> None:
        self._raw, self._file, self._key = raw, file, key

    def __getitem__(self, name: str | int) -> Any:
        """The value of an object or array; texts, true, false and null are not wrapped."""
        step = str(name).replace("~", "~0").replace("/", "~1")
        return wrap(self._raw[name], self._file, f"{self._key}/{step}")

    def __iter__(self) -> Iterator[Any]:
        """The values of an array, or the names of an object."""
        if isinstance(self._raw, dict):
            return iter(self._raw)
        return (self[index] for index in range(len(self._raw)))

    def __len__(self) -> int:
        return len(self._raw)

    def __bool__(self) -> bool:
        return bool(self._raw)

    def __eq__(self, other: object) -> bool:
        return bool(self._raw == raw(other))

    def __hash__(self) -> int:
        return hash((self._file, self._key))

    def __html__(self) -> str:
        """A whole number; any other needs a filter, which says how it is rounded."""
        if not isinstance(self._raw, int):
            raise TypeError(f"{self._file}#{self._key}: print it with a filter")
        return number(self)


def wrap(value: Any, file: str, key: str = "") -> Any:
    """A value of a JSON file, with the place that it comes from."""
    is_plain = value is None or isinstance(value, str | bool)
    return value if is_plain else Sourced(value, file, key)


def raw(value: Any) -> Any:
    """A value without its place."""
    return value._raw if isinstance(value, Sourced) else value


def pairs(node: Sourced) -> Iterator[tuple[str, Any]]:
    """The names and values of an object."""
    return ((name, node[name]) for name in node)


def place(node: Sourced, of: str = "", times: float = 1) -> Markup:
    """The attributes that say where a number comes from, for an element of a plot.

    Args:
        node: the number, or what is counted.
        of: "length" if the number of values is shown, else "".
        times: what the number in the file is multiplied with, such as 100 for per cent.
    """
    made = Markup('data-file="{}" data-key="{}"').format(node._file, node._key)
    made += Markup(' data-of="{}"').format(of) if of else ""
    return made + (Markup(' data-times="{:g}"').format(times) if times != 1 else "")


def number(node: Sourced | None, digits: int = 0, *, times: float = 1, sign: bool = False) -> str:
    """A number with its place, rounded to ``digits`` after the point; «–» for None.

    >>> str(number(wrap(0.523, "a.json", "/x"), 1, times=100))
    '<data value="52.3" data-file="a.json" data-key="/x" data-times="100">52.3</data>'
    """
    if node is None:
        return NONE
    value = node._raw * times
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    attributes = place(node, times=times)
    return Markup('<data value="{:.10g}" {}>{}</data>').format(value, attributes, text)


def count(node: Sourced) -> str:
    """How many values an object or array has, with its place."""
    attributes = place(node, "length")
    return Markup('<data value="{}" {}>{:,}</data>').format(len(node), attributes, len(node))


def span(ends: Sourced | None, digits: int = 1, *, times: float = 1) -> str:
    """An interval with the places of its ends, as «49.8 to 55.0»; «–» for None."""
    if ends is None:
        return NONE
    low, high = (number(end, digits, times=times) for end in ends)
    made = Markup('<bdi dir="ltr">{}\u202fto\u202f{}</bdi>').format(low, high)
    return made if low != NONE else NONE


def fill(text: str, **values: Any) -> Markup:
    """A sentence of the language file with its ``{placeholders}`` filled, numbers with their place.

    >>> str(fill("{n} <b>", n=wrap(3, "a.json", "/n")))
    '<data value="3" data-file="a.json" data-key="/n">3</data> &lt;b&gt;'
    """
    return Markup.escape(text).format(**values)


def votes(node: Sourced | None) -> str:
    """Numbers of votes in one element, as «4 · 1 · 0»; «–» if there are none."""
    if node is None:
        return NONE
    shown = " · ".join(f"{n}" for n in node._raw)
    return Markup("<span {}>{}</span>").format(place(node, "values"), shown)


def within(html: str, node: Sourced) -> Markup:
    """Elements of one file, in one that names the file for all of them."""
    name = Markup(' data-file="{}"').format(node._file)
    return Markup("<div{}>{}</div>").format(name, Markup(html.replace(name, "")))  # noqa: S704


FILTERS = {
    "within": within,
    "votes": votes,
    "fill": fill,
    "number": number,
    "count": count,
    "span": span,
    "pairs": pairs,
    "place": place,
    "raw": raw,
}
"""What templates take, by name."""
