"""Which version of an edited answer counts."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from curation.rounds.answers.parsed import Given, ParsedAnswer, Reply, Written

Refuse = Callable[[str, ParsedAnswer, str, str], None]


def newest(replies: Iterable[tuple[str, Reply]], refuse: Refuse) -> list[tuple[str, Reply]]:
    """The last version of each answer, in order of submission; earlier versions are superseded.

    The last version keeps the place of the first: it is a correction, not a second answer. If an
    answer to a task has ``updated_at`` and no ``submitted_at``, it is a later version of the
    person's answers to that task that have no time.

    Args:
        replies: pairs of round and version of an answer.
        refuse: called with each superseded version.
    """
    newest_of: dict[tuple[object, ...], tuple[str, Reply]] = {}
    several: dict[tuple[object, ...], list[Reply]] = defaultdict(list)
    pairs = list(replies)
    updated = {
        (round, answer.id, answer.person)
        for round, answer in pairs
        if answer.task is not None and answer.version and not answer.place.submitted_at
    }
    for pair in pairs:
        round, answer = pair
        # Without a time, or from somebody else, an answer with the same id is not a new version.
        timed = answer.version or (
            bool(updated)
            and answer.task is not None
            and (round, answer.id, answer.person) in updated
        )
        whose = answer.person if timed and answer.person else answer.place
        kind = Written if type(answer) is Written else Given
        key: tuple[object, ...] = (round, answer.id, whose, answer.task is None and kind)
        first = newest_of.setdefault(key, pair)
        if first is not pair:
            several[key].append(answer)
    more: list[tuple[str, Reply]] = []
    for key, versions in several.items():
        round, answer = newest_of.pop(key)
        more += [(round, last) for last in _last(round, [answer, *versions], refuse)]
    return sorted((*newest_of.values(), *more), key=lambda pair: pair[1].place)


def _last(round: str, versions: list[Reply], refuse: Refuse) -> list[Reply]:
    """The last version, then the versions of a table that have exactly the same time."""
    ordered = sorted(versions, key=lambda answer: (answer.version, answer.place))
    last = ordered[-1]
    # An answer on a platform has one content at a time: one that came twice counts once.
    begin = (
        len(ordered) - 1
        if last.task is not None and last.version
        else next(n for n, answer in enumerate(ordered) if answer.version == last.version)
    )
    for answer in ordered[:begin]:
        refuse(round, answer, "superseded", f"a later version came at {last.version}")
    current = ordered[begin]
    earlier = tuple(answer for answer in ordered[:begin] if type(answer) is type(current))
    first = min(answer.place for answer in versions)
    return [replace(current, place=first, earlier=earlier), *ordered[begin + 1 :]]
