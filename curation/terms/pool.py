"""A domain's candidates, and the word lists and answers that apply to them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from curation.records import Term
from curation.terms.candidates import Candidate, Source
from curation.terms.merging import stems
from curation.text.rules import stable_id


def new_id(domain: str, text: str) -> str:
    """A term's id: a digest of its domain and its first text.

    >>> new_id("profession", "baker")
    'term-5917ec1f7047c9ae702f'
    """
    return stable_id("term", domain, text)


@dataclass
class Pool:
    """A domain's candidates, by each of their names.

    Attributes:
        domain: the domain.
        candidates: its candidates; new ones are added.
        language: the campaign's language code.
        spellings: by second spelling of a word list, the candidate that it names.
        met_items: by candidate that answers have named, the Wikidata items that it had then.
        met_order: the order in which answers named these candidates.
    """

    domain: str
    candidates: list[Candidate]
    language: str

    def __post_init__(self) -> None:
        self.met_items: dict[Candidate, set[str]] = defaultdict(set)
        self.met_order: dict[Candidate, int] = {}
        self.spellings: dict[str, Candidate] = {}
        self.by_name: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in self.candidates:
            self.by_name[candidate.text].append(candidate)
            if candidate.form == "name":
                self.by_name[candidate.item].append(candidate)

        self.stems = stems((c.text for c in self.candidates), language=self.language)
        self.by_stem: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in self.candidates:
            self.by_stem[self.stems[candidate.text]].append(candidate)

    def find(self, *names: str) -> Candidate | None:
        """The candidate with the first known name (a text or Wikidata id), or None.

        If several candidates have the name, the most likely one.
        """
        for name in names:
            known = name.upper() if re.fullmatch(r"q\d+", name) else name
            if named := self.by_name.get(known):

                def order(c: Candidate, known: str = known) -> tuple[Any, ...]:
                    return known not in (c.text, c.item), not c.alive, not c.fixed, *c.order()

                return min(named, key=order)
        return None

    def name(
        self, text: str, source: Source, *, family: str = "", also: Iterable[str] = ()
    ) -> Candidate:
        """The candidate for a term that a list, an answer or an edit names.

        It is kept, whatever the rules say. Candidates with a spelling in ``also`` are merged into
        it.
        """
        candidate = self.find(text) or self.new(text, source)
        self.keep(candidate, None)
        candidate.family = family or candidate.family
        for spelling in also:
            candidate.names.append(spelling)
            self.gather(candidate, spelling)
            self.by_name[spelling].append(candidate)
            self.spellings[spelling] = candidate
        return candidate

    def new(self, text: str, source: Source) -> Candidate:
        """Add a candidate that no source has."""
        candidate = Candidate(self.domain, text, source=source)
        self.candidates.append(candidate)
        self.by_name[text].append(candidate)
        return candidate

    def met(self, terms: Sequence[Term]) -> None:
        """Add the terms that answers have named.

        If Wikidata's label has changed since, the text in the answers stays.
        """
        texts = {term.text for term in terms}
        for term in terms:
            named = self.by_name.get(term.text, ())
            here = [c for c in named if c.fixed or c.item in term.wikidata]
            candidate = self.find(*term.wikidata)
            if not here and candidate and not candidate.fixed and candidate.text not in texts:
                candidate.text, candidate.fixed = term.text, True
                self.by_name[term.text].append(candidate)
        for term in terms:
            if of := self.spellings.get(term.text):
                candidate = self._spelling(term.text, of)
            else:
                candidate = self.name(term.text, "answers", family=term.family or "")
            candidate.id = term.id
            self.met_items[candidate] |= {*term.wikidata}
            self.met_order.setdefault(candidate, len(self.met_order))
            # An item with a candidate here is added with its count when that candidate is merged.
            others = [qid for qid in term.wikidata if qid not in self.by_name]
            candidate.items = list(dict.fromkeys([*candidate.items, *others]))

    def _spelling(self, text: str, of: Candidate) -> Candidate:
        """Merge a second spelling that answers have named into its term, as the list says."""
        candidate = self.find(text)
        if candidate is None or candidate is of:
            candidate = self.new(text, "answers")
        if candidate.alive:
            candidate.join(of, "variant")
        return candidate

    def gather(self, candidate: Candidate, name: str) -> None:
        """Merge all candidates with this label or a variant of it into the candidate."""
        others = self.by_stem[self.stems[name]] if name in self.stems else ()
        for other in others:
            of_another = other is not candidate and other.item not in candidate.items
            if of_another and other.alive and not other.fixed:
                other.join(candidate, "same_label" if other.text == candidate.text else "variant")

    def keep(self, candidate: Candidate, reason: str | None) -> None:
        """Make a candidate a term, whatever the rules say."""
        candidate.revive()
        candidate.fixed, candidate.reason = True, reason

    def finish(self) -> None:
        """Give every candidate its id; if another one has it already, a digest with its item."""
        for candidate in self.candidates:
            candidate.id = candidate.id or self.fresh_id(candidate, candidate.text)

    def fresh_id(self, candidate: Candidate, text: str) -> str:
        """The id made of a text; if another candidate has it, a digest with the item."""
        name = new_id(self.domain, text)
        taken = (
            c is not candidate and (c.id == name or (c.alive and c.text == text))
            for c in self.by_name[text]
        )
        if any(taken):
            return stable_id("term", self.domain, text, candidate.item)
        return name
