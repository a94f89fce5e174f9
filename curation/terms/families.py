"""Families: groups of terms that must be in the same split."""

from collections.abc import Mapping, Sequence

from curation.records import Term
from curation.terms.merging import stems


def families(
    terms: Sequence[Term], edited: Mapping[str, str], *, language: str = "en"
) -> list[Term]:
    """Give every term its family.

    Spelling variants and, in English, plurals are one family, across domains. The family's name is
    the one from a manual edit of a member, else the one that a member already has (a place and its
    demonym, gendered forms), else the shortest text. A term with a manual edit is always in the
    family that the edit names, so an edit can join families or split one.

    Args:
        terms: all terms of the campaign.
        edited: the families from manual edits, by term id.
        language: the campaign's language code.

    Returns:
        The terms, sorted by domain and text, each with a family.
    """
    stem = stems((t.text for t in terms), language=language)
    least: dict[str, str] = {}
    for text, root in sorted(stem.items(), key=lambda pair: (len(pair[0]), pair[0])):
        least.setdefault(root, text)
    by_id = {term.id: term for term in terms}
    named: dict[str, str] = {}
    for by_term in (edited, {t.id: t.family for t in terms if t.family}):
        for term_id, family in sorted(by_term.items(), key=lambda pair: pair[1]):
            named.setdefault(stem[by_id[term_id].text], family)
    with_family = []
    for term in terms:
        root = stem[term.text]
        family = edited.get(term.id) or term.family or named.get(root, least[root])
        with_family.append(term.model_copy(update={"family": family}))
    return sorted(with_family, key=lambda t: (t.domain, t.text, t.id))
