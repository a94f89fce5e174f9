"""Counts with their nouns, and the first of many texts, as messages show them."""

import difflib
from collections.abc import Iterable


def amount(n: int, noun: str, plural: str = "") -> str:
    """A count with its noun in the singular or plural.

    Args:
        n: the count; it is shown with commas between thousands.
        noun: the noun in the singular; words before it stay as they are.
        plural: the plural, if it does not end in s, es or ies.

    >>> amount(1, "item"), amount(2, "more answer"), amount(1200, "query")
    ('1 item', '2 more answers', '1,200 queries')
    >>> amount(0, "batch"), amount(2, "person", "people")
    ('0 batches', '2 people')
    """
    if n == 1:
        return f"1 {noun}"
    if not plural and noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = f"{noun[:-1]}ies"
    elif not plural:
        plural = noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")
    return f"{n:,} {plural}"


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """A fix that names what a name is like; ``otherwise`` if it is like nothing known.

    >>> did_you_mean("wehn", ["when", "who"], "see the docs")
    "did you mean 'when'?"
    """
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else otherwise


def some(texts: Iterable[str], most: int) -> str:
    """The first of some texts, and how many more there are.

    >>> some(["a", "b", "c"], 2), some(["a", "b"], 2)
    ('a, b and 1 more', 'a, b')
    """
    every = list(texts)
    more = len(every) - most
    return ", ".join(every[:most]) + (f" and {more} more" if more > 0 else "")
