"""Every check of one item, made of items as they come in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from curation.checks import lexical, surface
from curation.checks.codes import PITFALLS, pitfall
from curation.checks.lists import lists
from curation.records import Gold, Item, Pitfall, Term

ALGORITHM = 3
SAID = ("block", "warn")
"""The severities that are worth a line beside the answers; notes are for whole datasets."""


def pitfalls(
    items: Sequence[Item],
    terms: Mapping[str, Term],
    *,
    language: str,
    own: Path | None = None,
    name_target: bool = True,
    blank_alone: bool = True,
    tell: Callable[[], None] = lambda: None,
) -> Iterator[Pitfall]:
    """What is wrong with items that were let in, in their order; of each what comes first.

    Text about the task is not looked for: newly written items with such are refused before.

    Args:
        items: the items.
        terms: the terms, by id; of every item its own among them.
        language: language code of the texts.
        own: word lists of the team, with the columns of ``data/words/pitfalls.csv``.
        name_target: as in ``rules.flaws``.
        blank_alone: as in ``rules.flaws``.
        tell: called after each item.

    Raises:
        CurationError: ``own`` cannot be read; names the line.
    """
    words = lists(language, own)
    if not items:
        return  # what is known of words takes long to load
    targets = dict.fromkeys((term.domain, term.text) for term in terms.values())
    lexicon, why = lexical.lexicon(words, targets)
    why |= surface.unchecked(words)
    for item in items:
        term = terms[item.term]
        what = surface.read(_asked(item, term), words)
        found = surface.check(what, name_target=name_target, blank_alone=blank_alone)
        for one in (*found, *lexical.check(what, lexicon)):
            if PITFALLS[one.code].severity in SAID and one.code not in why:
                at = None if one.at is None else item.associations[one.at].id
                where = f"item {item.id}"
                yield pitfall(
                    one.code, where, one.detail, item=item.id, association=at, target=term.text
                )
        tell()


def _asked(item: Item, term: Term) -> surface.Asked:
    """An item as the checks take it, with what its associations are meant to be."""
    a, b, c = item.associations
    return surface.Asked(
        item.kind,
        term.domain,
        term.text,
        item.context,
        (a.sentence, b.sentence, c.sentence),
        tuple(one.intent or _gold(one.published_gold) for one in item.associations),
        term.names,
    )


def _gold(value: str | None) -> Gold | None:
    return next((gold for gold in get_args(Gold) if gold == value), None)
