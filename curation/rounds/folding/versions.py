"""Of the versions of an answer, the one that stands."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from curation.rounds.answers.parsed import Given, ParsedAnswer, Reply, Written

Refuse = Callable[[str, ParsedAnswer, str, str], None]


def newest(replies: Iterable[tuple[str, Reply]], refuse: Refuse) -> list[tuple[str, Reply]]:
    """The last version of each answer, in order of submission; the others are superseded.

    It keeps the place of the first version: it is a correction, not a second answer.

    Args:
        replies: (round, a version of an answer).
        refuse: takes the superseded.
    """
    found: dict[tuple[object, ...], tuple[str, Reply]] = {}
    several: dict[tuple[object, ...], list[Reply]] = defaultdict(list)
    for pair in replies:
        round, what = pair
        # Without a time, or from somebody else, the same id is no new version.
        whose = what.person if what.version and what.person else what.place
        kind = Written if type(what) is Written else Given
        key: tuple[object, ...] = (round, what.id, whose, what.task is None and kind)
        first = found.setdefault(key, pair)
        if first is not pair:
            several[key].append(what)
    more: list[tuple[str, Reply]] = []
    for key, whats in several.items():
        round, what = found.pop(key)
        more += [(round, last) for last in _last(round, [what, *whats], refuse)]
    return sorted((*found.values(), *more), key=lambda pair: pair[1].place)


def _last(round: str, whats: list[Reply], refuse: Refuse) -> list[Reply]:
    """The last version, after it those of a table that came with the very same time."""
    ordered = sorted(whats, key=lambda what: (what.version, what.place))
    last = ordered[-1]
    # A platform's answer has one content at a time: what came twice is there once.
    begin = (
        len(ordered) - 1
        if last.task is not None and last.version
        else next(n for n, what in enumerate(ordered) if what.version == last.version)
    )
    for what in ordered[:begin]:
        refuse(round, what, "superseded", f"a later version came at {last.version}")
    current = ordered[begin]
    earlier = tuple(what for what in ordered[:begin] if type(what) is type(current))
    first = min(what.place for what in whats)
    return [replace(current, place=first, earlier=earlier), *ordered[begin + 1 :]]
