"""Families: the terms that must be on one side of the split."""

from collections.abc import Mapping, Sequence

from curation.records import Term
from curation.terms.merging import stems


def families(terms: Sequence[Term], said: Mapping[str, str], *, language: str = "en") -> list[Term]:
    """Give every term its family.

    Spelling variants and, in English, plurals are one family, across domains. Its name is what
    people said of one of them, else what one came with (a place and its demonym, gendered forms),
    else its shortest text. A term of which people named the family is in that: the same name
    joins, another parts.

    Args:
        terms: all terms of the campaign.
        said: people's families by term id.
        language: the campaign's language code.

    Returns:
        The terms in order of domain and text, each with a family.
    """
    stem = stems((t.text for t in terms), language=language)
    least: dict[str, str] = {}
    for text, root in sorted(stem.items(), key=lambda pair: (len(pair[0]), pair[0])):
        least.setdefault(root, text)
    by_id = {term.id: term for term in terms}
    named: dict[str, str] = {}
    for words in (said, {t.id: t.family for t in terms if t.family}):
        for name, family in sorted(words.items(), key=lambda pair: pair[1]):
            named.setdefault(stem[by_id[name].text], family)
    found = []
    for term in terms:
        root = stem[term.text]
        family = said.get(term.id) or term.family or named.get(root, least[root])
        found.append(term.model_copy(update={"family": family}))
    return sorted(found, key=lambda t: (t.domain, t.text, t.id))
