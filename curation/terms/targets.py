"""From the terms that were met, and what people said of them, to ``targets.jsonl``."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from curation.files import CurationError
from curation.records import Rejection, Term
from curation.rules import spelling_key, stable_id

ALGORITHM = 1
EDIT_COLUMNS = ("domain", "term", "family", "note")
ALIASES = {"target": "term", "bias_type": "domain"}


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
        CurationError: the columns are others, a row names no term, or two rows contradict; names
            the line.
    """
    edits: list[Edit] = []
    said: dict[tuple[str, str], Edit] = {}
    for line, given in rows:
        row = {ALIASES.get(k.casefold(), k.casefold()): (v or "").strip() for k, v in given.items()}
        missing = [name for name in ("domain", "term") if name not in row]
        if missing:
            raise CurationError(
                f"{where}: no column {missing[0]!r}; it has {', '.join(given)}",
                f"name the columns {', '.join(EDIT_COLUMNS)}",
            )
        edit = Edit(line, row["domain"], row["term"], row.get("family", ""))
        if not edit.domain or not edit.term:
            raise CurationError(
                f"{where} line {line}: names no domain and term", "fill both, or delete the line"
            )
        before = said.setdefault((edit.domain, edit.term), edit)
        if before.family != edit.family:
            raise CurationError(
                f"{where} lines {before.line} and {line}: two families for {edit.term!r}",
                "delete one of the lines",
            )
        edits.append(edit)
    return edits


class Targets(NamedTuple):
    """The terms with their families, and the edits that name none of them."""

    terms: list[Term]
    rejections: list[Rejection]


def targets(
    met: Iterable[Term], edits: Iterable[Edit], *, language: str = "en", where: str = "edits.csv"
) -> Targets:
    """Give every term its family: the terms that must be on one side of the split.

    Spelling variants and, in English, plurals are one family, across domains. Its name is what
    ``edits.csv`` says for one of them, else what one came with, else its shortest text. A term
    with a family of its own in ``edits.csv`` is in that: the same name joins, another parts.

    Args:
        met: terms from every source; of the same id the first counts.
        edits: people's word; it wins.
        language: the campaign's language code.
        where: the edits' file, for rejections.

    Returns:
        The terms in order of domain and text, each with a family; and the edits of unknown terms.
    """
    by_id: dict[str, Term] = {}
    for term in met:
        by_id.setdefault(term.id, term)
    by_text = {(term.domain, term.text): term.id for term in by_id.values()}
    said: dict[str, str] = {}
    rejections: list[Rejection] = []
    for edit in edits:
        name = by_text.get((edit.domain, edit.term))
        if name is None:
            rejections.append(
                Rejection(
                    code="unknown_term",
                    detail=f"no term {edit.term!r} in domain {edit.domain!r}",
                    where=f"{where} line {edit.line}",
                    record=edit._asdict(),
                )
            )
        elif edit.family:
            said[name] = edit.family
    variants = _variants([t.text for t in by_id.values()], english=language.split("-")[0] == "en")
    named: dict[str, str] = {}
    for words in (said, {t.id: t.family for t in by_id.values() if t.family}):
        for name, family in sorted(words.items(), key=lambda pair: pair[1]):
            named.setdefault(variants[by_id[name].text], family)
    found = []
    for term in by_id.values():
        variant = variants[term.text]
        family = said.get(term.id) or term.family or named.get(variant, variant)
        found.append(term.model_copy(update={"family": family}))
    return Targets(sorted(found, key=lambda t: (t.domain, t.text, t.id)), rejections)


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
