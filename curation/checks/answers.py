"""The checks of single items, applied as answers come in."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from curation.checks import lexical, surface
from curation.checks.codes import PITFALLS, pitfall
from curation.checks.lists import lists, unchecked
from curation.records import GOLDS, Gold, Item, Pitfall, Term

REPORTED = ("block", "warn")
"""The severities reported as answers come in; notes are only useful for a whole dataset."""


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
    """The pitfalls of accepted items, in the order of the items.

    Text about the task is not checked here: the import refuses newly written items that have it.

    Args:
        items: the items.
        terms: the terms by id; every item's term must be included.
        language: language code of the texts.
        own: the team's own word lists, with the columns of ``data/words/pitfalls.csv``.
        name_target: as in ``item_form.flaws``.
        blank_alone: as in ``item_form.flaws``.
        tell: called after each item.

    Raises:
        CurationError: ``own`` cannot be read; the message names the line.
    """
    words = lists(language, own)
    if not items:
        return  # loading the lexicon takes long
    targets = dict.fromkeys((term.domain, term.text) for term in terms.values())
    lexicon, why = lexical.lexicon(words, targets)
    why |= unchecked(words)
    for item in items:
        term = terms[item.term]
        parsed = surface.read(_texts(item, term), words)
        findings = surface.check(parsed, name_target=name_target, blank_alone=blank_alone)
        for finding in (*findings, *lexical.check(parsed, lexicon)):
            code = finding.code
            if PITFALLS[code].severity in REPORTED and code not in why:
                at = None if finding.at is None else item.associations[finding.at].id
                where = f"item {item.id}"
                yield pitfall(
                    code, where, finding.detail, item=item.id, association=at, target=term.text
                )
        tell()


def _texts(item: Item, term: Term) -> surface.ItemTexts:
    """The texts of an item with its writer's intents, or its published gold labels."""
    a, b, c = item.associations
    golds: dict[str | None, Gold] = {gold: gold for gold in GOLDS}
    return surface.ItemTexts(
        item.kind,
        term.domain,
        term.text,
        item.context,
        (a.sentence, b.sentence, c.sentence),
        tuple(
            association.intent or golds.get(association.published_gold)
            for association in item.associations
        ),
        term.names,
    )
