"""The checks of a single answer, as it comes in."""

from typing import get_args

from curation.checks.codes import PITFALLS
from curation.checks.lists import Lists
from curation.checks.surface import Asked, check, unchecked
from curation.records import Gold, Item, Pitfall

SAID = ("block", "warn")
"""The severities that are worth a line beside the answers; notes are for whole datasets."""


def pitfalls(
    item: Item,
    domain: str,
    target: str,
    where: str,
    *,
    lists: Lists,
    name_target: bool = True,
    blank_alone: bool = True,
) -> list[Pitfall]:
    """What is wrong with the form of an item that was let in.

    Text about the task is not looked for: newly written items with such are refused before.

    Args:
        item: the item.
        domain: the domain of its term.
        target: the term, as the answer names it.
        where: the answer's place in the archive.
        lists: the word lists of the language; what needs one that is not there is not checked.
        name_target: as in ``rules.check_item``.
        blank_alone: as in ``rules.check_item``.
    """
    a, b, c = item.associations
    golds = tuple(one.intent or _gold(one.published_gold) for one in item.associations)
    sentences = (a.sentence, b.sentence, c.sentence)
    asked = Asked(item.kind, domain, target, item.context, sentences, golds)
    why = unchecked(lists)
    found = check(asked, lists, name_target=name_target, blank_alone=blank_alone)
    return [
        Pitfall(
            code=one.code,
            severity=about.severity,
            item=item.id,
            association=None if one.at is None else item.associations[one.at].id,
            target=target,
            where=where,
            detail=one.detail,
            mend=about.mend,
        )
        for one in found
        if (about := PITFALLS[one.code]).severity in SAID and one.code not in why
    ]


def _gold(value: str | None) -> Gold | None:
    return next((gold for gold in get_args(Gold) if gold == value), None)
