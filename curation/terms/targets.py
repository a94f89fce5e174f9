"""From the terms that were met, and what people said of them, to ``targets.jsonl``."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.files import CurationError
from curation.records import Term
from curation.rules import spelling_key, stable_id

ALGORITHM = 1
EDIT_COLUMNS = ("domain", "term", "family", "note")


class Edit(NamedTuple):
    """One row of ``edits.csv``: people's word on a term."""

    line: int
    domain: str
    term: str
    family: str


def new_term(domain: str, text: str) -> Term:
    """A term met for the first time; its id never changes from here on.

    >>> new_term("profession", "baker").id
    'term-5917ec1f7047c9ae702f'
    """
    return Term(id=stable_id("term", domain, text), text=text, domain=domain)


def plurals(word: str) -> set[str]:
    """The regular plural forms that an English word may have.

    >>> sorted(plurals("gentleman"))
    ['gentlemanes', 'gentlemans', 'gentlemen']
    """
    forms = {word + "s", word + "es"}
    if word.endswith("y"):
        forms.add(word[:-1] + "ies")
    if word.endswith("man"):
        forms.add(word[:-2] + "en")
    return forms


def read_edits(rows: Iterable[tuple[int, Mapping[str, str]]], where: str) -> list[Edit]:
    """Check the rows of ``edits.csv``.

    Raises:
        CurationError: a row names no term.
    """
    edits = []
    for line, row in rows:
        domain, term, family = (
            (row.get(key) or "").strip() for key in ("domain", "term", "family")
        )
        if not domain or not term:
            raise CurationError(f"{where} line {line}: domain and term must be given")
        edits.append(Edit(line, domain, term, family))
    return edits


def targets(
    met: Iterable[Term], edits: Iterable[Edit], *, language: str = "en", where: str = "edits.csv"
) -> list[Term]:
    """Give every term its family: the terms that must be on one side of the split.

    A family is what ``edits.csv`` says (the same name, in any domain, is the same family), else
    the family the term came with, else its spelling variants and, in English, its plural.

    Args:
        met: terms from every source; of the same id the first counts.
        edits: people's word; it wins.
        language: the campaign's language code.
        where: the edits' file, for errors.

    Returns:
        The terms in order of domain and text, each with a family.

    Raises:
        CurationError: an edit names an unknown term.
    """
    by_id: dict[str, Term] = {}
    for term in met:
        by_id.setdefault(term.id, term)
    by_text = {(term.domain, term.text): term.id for term in by_id.values()}
    said: dict[str, str] = {}
    for edit in edits:
        if (edit.domain, edit.term) not in by_text:
            raise CurationError(
                f"{where} line {edit.line}: no term {edit.term!r} in domain {edit.domain!r}",
                "write it exactly as in targets.jsonl",
            )
        if edit.family:
            said[by_text[edit.domain, edit.term]] = edit.family
    free = [t for t in by_id.values() if t.id not in said and t.family is None]
    variants = _variants([t.text for t in free], english=language.split("-")[0] == "en")
    families = {t.id: variants[t.text] for t in free}
    families |= {t.id: t.family for t in by_id.values() if t.family is not None}
    families |= said
    return sorted(
        (t.model_copy(update={"family": families[t.id]}) for t in by_id.values()),
        key=lambda t: (t.domain, t.text, t.id),
    )


def _variants(texts: list[str], *, english: bool) -> dict[str, str]:
    """Each text's family name: the least of the texts that are variants of one another."""
    keys = {text: spelling_key(text) for text in texts}
    singular = {
        plural: key for key in keys.values() for plural in (plurals(key) if english else ())
    }
    least: dict[str, str] = {}
    stems = {text: singular.get(key, key) for text, key in keys.items()}
    for text, stem in sorted(stems.items(), key=lambda pair: (len(pair[0]), pair[0])):
        least.setdefault(stem, text)
    return {text: least[stem] for text, stem in stems.items()}
