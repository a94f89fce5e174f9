"""Stage 1 in a line: facts from a small table, and the selection made from them."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from curation.campaign.settings import DomainSettings, TermSettings
from curation.records import Count, Entity, Term
from curation.terms.candidates import Candidate
from curation.terms.facts import Facts
from curation.terms.lists import EDIT_COLUMNS, Edit, Word, read_edits
from curation.terms.select import Selection, new_id, select_terms

DOMAIN = "d"
GENERAL = ("fallbacks", "head", "generic", "least")  # of [terms]; all others are the domain's


def facts(
    table: Mapping[str, Sequence[Any]], *, unseen: Mapping[str, int] | None = None, code: str = "en"
) -> Facts:
    """Facts of a domain ``d`` that asks for P106: ``facts({"Q1": ("actor", 100, ["Q9"])})``.

    Args:
        table: for each item its label, its count and, where there, its parents and the other
            fields of its entity. A label is in the language ``code``; None: there is none.
        unseen: counts of items that were not looked up.
        code: the language of labels that are plain text.
    """
    entities = []
    for item, row in table.items():
        label, _, parents, more = (*row, *((), {})[len(row) - 2 :])
        labels = label if isinstance(label, dict) else {code: label} if label else {}
        fields = {k: tuple(v) if isinstance(v, list) else v for k, v in more.items()}
        entities.append(Entity(id=item, labels=labels, parents=tuple(parents), **fields))
    stated = {item: row[1] for item, row in table.items() if row[1]} | (unseen or {})
    counts = [Count(domain=DOMAIN, property="P106", item=i, count=n) for i, n in stated.items()]
    return Facts(counts, entities)


class Chosen(NamedTuple):
    """A selection, so that a test can say in one line what became of all."""

    selection: Selection

    def __getitem__(self, text: str) -> Candidate:
        """The first candidate of a text."""
        return next(c for c in self.selection.candidates if c.text == text)

    @property
    def fates(self) -> dict[str, str]:
        """What became of each candidate; later ones of the same text are named with their item."""
        found: dict[str, str] = {}
        for c in self.selection.candidates:
            into = f" {c.into.text}" if c.into and c.status == "merged" else ""
            reason = f" {c.reason}" if c.status != "kept" else ""
            found[f"{c.text} {c.item}" if c.text in found else c.text] = c.status + reason + into
        return found

    @property
    def kept(self) -> dict[str, int]:
        """The kept terms' statements, rolled up, the most frequent first."""
        return {c.text: c.rolled for c in self.selection.candidates if c.alive}

    @property
    def ends(self) -> dict[str, str | int]:
        """The statements of each kept term, and what became of each other candidate."""
        return {**self.fates, **self.kept}

    @property
    def families(self) -> dict[str, str | None]:
        """The terms' families."""
        return {t.text: t.family for t in self.selection.terms}

    @property
    def ids(self) -> dict[str, str]:
        """The terms' ids."""
        return {t.text: t.id for t in self.selection.terms}

    def term(self, text: str) -> Term:
        """The term of a text."""
        return next(t for t in self.selection.terms if t.text == text)


def _edits(lines: Sequence[str]) -> list[Edit]:
    """Rows of an ``edits.csv`` from its second line on, without the domain."""
    rows = [dict(zip(EDIT_COLUMNS[1:], line.split(","), strict=False)) for line in lines]
    return read_edits([(n, {"domain": DOMAIN, **row}) for n, row in enumerate(rows, 2)], "E")


def choose(
    table: Mapping[str, Sequence[Any]] | Facts,
    *,
    edits: Sequence[str] = (),
    met: Mapping[str, Sequence[str]] | Sequence[str] = (),
    words: Sequence[str] | Mapping[str, str] = (),
    also: Mapping[str, Sequence[str]] | None = None,
    language: str = "en",
    **options: Any,
) -> Chosen:
    """Select from a table of facts: ``choose({"Q1": ("actor", 100)}, top=1).kept``.

    Args:
        table: as of ``facts``, labels in the campaign's language; or facts.
        edits: people's word: ``term,action,into,family,note``.
        met: texts that answers have named, with their items where given.
        words: a word list, with families where given.
        also: second spellings of its words.
        language: the campaign's language.
        options: settings of the domain, and of [terms].
    """
    general = {name: options.pop(name) for name in GENERAL if name in options}
    items = met if isinstance(met, Mapping) else dict.fromkeys(met, ())
    listed = words if isinstance(words, Mapping) else dict.fromkeys(words, "")
    return Chosen(
        select_terms(
            {DOMAIN: DomainSettings(properties=("P106",), **options)},
            facts=table if isinstance(table, Facts) else facts(table, code=language.lower()),
            words={
                DOMAIN: [
                    Word(word, family, "list", tuple((also or {}).get(word, ())))
                    for word, family in listed.items()
                ]
            },
            met=[
                Term(id=new_id(DOMAIN, text), text=text, domain=DOMAIN, wikidata=tuple(of))
                for text, of in items.items()
            ],
            edits=_edits(edits),
            language=language,
            settings=TermSettings(**general),
            where="E",
        )
    )
