"""A domain's candidates, and the word lists, answers and edits that apply to them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from curation.files import CurationError
from curation.records import Rejection, Term
from curation.rules import stable_id
from curation.terms.candidates import Candidate, Source
from curation.terms.edits import Edit
from curation.terms.merging import end, stems


def new_id(domain: str, text: str) -> str:
    """A term's id: a digest of its domain and its first text.

    >>> new_id("profession", "baker")
    'term-5917ec1f7047c9ae702f'
    """
    return stable_id("term", domain, text)


@dataclass
class Pool:
    """A domain's candidates, and the edits that were applied to them.

    Attributes:
        domain: the domain.
        candidates: its candidates; new ones are added.
        where: the path of the edits, for messages.
        language: the campaign's language code.
    """

    domain: str
    candidates: list[Candidate]
    where: str
    language: str

    def __post_init__(self) -> None:
        self.edited: list[tuple[Edit, Candidate]] = []
        self.acted: dict[Candidate, Edit] = {}
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
        candidate = self.find(text) or self._new(text, source)
        self._keep(candidate, None)
        candidate.family = family or candidate.family
        for spelling in also:
            candidate.names.append(spelling)
            self._gather(candidate, spelling)
            self.by_name[spelling].append(candidate)
            self.spellings[spelling] = candidate
        return candidate

    def _new(self, text: str, source: Source) -> Candidate:
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
            here = [c for c in self.by_name.get(term.text, ()) if c.item in term.wikidata]
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
            # An item with a candidate here is added with its count when that candidate is merged.
            others = [qid for qid in term.wikidata if qid not in self.by_name]
            candidate.items = list(dict.fromkeys([*candidate.items, *others]))

    def _spelling(self, text: str, of: Candidate) -> Candidate:
        """Merge a second spelling that answers have named into its term, as the list says."""
        candidate = self.find(text)
        if candidate is None or candidate is of:
            candidate = self._new(text, "answers")
        if candidate.alive:
            candidate.join(of, "variant")
        return candidate

    def edit(self, edits: Iterable[Edit]) -> list[Rejection]:
        """Apply manual edits: additions and renames first, then the edits that refer to them.

        Returns:
            The edits of unknown terms.

        Raises:
            CurationError: edits contradict each other; the message names the lines.
        """
        rejections: list[Rejection] = []
        rank = {"add": 1, "keep": 1, "drop": 2, "rename": 3, "merge": 4, "": 5}

        def order(edit: Edit) -> int:
            # After an item is dropped by its id, its text refers to another candidate.
            by_id = edit.action == "drop" and re.fullmatch(r"[Qq]\d+", edit.term)
            return 0 if by_id else rank[edit.action]

        for _, group in groupby(sorted(edits, key=order), key=order):
            # Rows of one kind refer to the names before any of them, so names may be passed on.
            resolved = [(edit, self.find(edit.term), self.find(edit.into)) for edit in group]
            for edit, candidate, goal in resolved:
                if candidate is None and edit.action == "add":
                    candidate = self.name(edit.term, "edits")
                if candidate is None or (edit.action == "merge" and goal is None):
                    missing = edit.term if candidate is None else edit.into
                    rejections.append(self._unknown(edit, missing))
                else:
                    self._apply(edit, candidate, goal)
        self._check_names_are_free()
        return rejections

    def _apply(self, edit: Edit, candidate: Candidate, goal: Candidate | None) -> None:
        self._check_contradiction(edit, candidate)
        self.edited.append((edit, candidate))
        candidate.note = edit.note or candidate.note
        nameless = candidate.reason == "no_label"
        if edit.action:
            candidate.revive()
            self._gather(candidate, edit.term)
        if edit.action in ("add", "keep"):
            if nameless:
                raise CurationError(
                    f"{self.where} line {edit.line}: {edit.term!r} has no label in the language",
                    "use the action rename, and write its name into «into»",
                )
            self._keep(candidate, "edited")
        elif edit.action == "drop":
            candidate.drop("edited", edit.note or "dropped")
            candidate.fixed = True
        elif edit.action == "rename":
            self._rename(edit, candidate, nameless=nameless)
        elif goal is not None:
            self._merge(edit, candidate, goal, nameless=nameless)

    def _check_contradiction(self, edit: Edit, candidate: Candidate) -> None:
        before = self.acted.setdefault(candidate, edit) if edit.action else edit
        actions = {(e.action in ("add", "keep") or e.action, e.into) for e in (before, edit)}
        if len(actions) > 1:
            raise CurationError(
                f"{self.where} lines {before.line} and {edit.line}: {before.action} and "
                f"{edit.action} for {candidate.text!r}",
                "delete one of the lines",
            )

    def _gather(self, candidate: Candidate, name: str) -> None:
        """Merge all candidates with this label or a variant of it into the candidate."""
        others = self.by_stem[self.stems[name]] if name in self.stems else ()
        for other in others:
            of_another = other is not candidate and other.item not in candidate.items
            if of_another and other.alive and not other.fixed:
                other.join(candidate, "same_label" if other.text == candidate.text else "variant")

    def _keep(self, candidate: Candidate, reason: str | None) -> None:
        candidate.revive()
        candidate.fixed, candidate.reason = True, reason

    def _check_names_are_free(self) -> None:
        for edit, candidate in reversed(self.edited):
            others = (c for c in self.by_name[edit.into] if c.alive and c.text == edit.into)
            if edit.action == "rename" and any(c is not candidate for c in others):
                raise CurationError(
                    f"{self.where} line {edit.line}: {edit.into!r} is a term already",
                    "choose another name, or use the action merge",
                )

    def _rename(self, edit: Edit, candidate: Candidate, *, nameless: bool) -> None:
        # Without a label, its text is only a placeholder.
        text = edit.into if nameless else candidate.text
        self._keep(candidate, "edited")
        candidate.id = candidate.id or self._id(candidate, text)
        candidate.names.append(text)
        candidate.text = edit.into
        self.by_name[edit.into].append(candidate)

    def _merge(self, edit: Edit, candidate: Candidate, goal: Candidate, *, nameless: bool) -> None:
        if end(goal) is candidate:
            raise CurationError(
                f"{self.where} line {edit.line}: merging {edit.term!r} into {edit.into!r} makes a "
                f"circle: {edit.into!r} is already merged into {edit.term!r}, directly or through "
                "other terms",
                "delete this line, or another line of the circle",
            )
        if goal.status == "dropped" and goal.reason == "edited":
            raise CurationError(
                f"{self.where} line {edit.line}: merges into {edit.into!r}, which another line "
                "drops",
                "merge into a term that is kept",
            )
        if goal.into is None:
            self._keep(goal, "edited")
        named = [] if nameless else [candidate.text]
        candidate.fixed = True
        candidate.merge(end(goal), "edited", edit.note or "merged")
        candidate.into = goal
        end(goal).names += [*named, *candidate.names]

    def _unknown(self, edit: Edit, name: str) -> Rejection:
        return Rejection(
            code="unknown_term",
            detail=f"no term {name!r} in domain {self.domain!r}",
            where=f"{self.where} line {edit.line}",
            record=edit._asdict(),
        )

    def finish(self) -> None:
        """Give every candidate its id; if another one has it already, a digest with its item.

        Raises:
            CurationError: two kept terms have the same text; the message names the line.
        """
        texts: dict[str, Candidate] = {}
        for candidate in self.candidates:
            candidate.id = candidate.id or self._id(candidate, candidate.text)
            if candidate.alive and texts.setdefault(candidate.text, candidate) is not candidate:
                lines = [e.line for e, c in self.edited if c.text == candidate.text]
                raise CurationError(
                    f"{self.where} line {max(lines)}: {candidate.text!r} is a term already",
                    "rename one of the two, or use the action merge",
                )

    def _id(self, candidate: Candidate, text: str) -> str:
        name = new_id(self.domain, text)
        taken = (
            c is not candidate and (c.id == name or (c.alive and c.text == text))
            for c in self.by_name[text]
        )
        if any(taken):
            return stable_id("term", self.domain, text, candidate.item)
        return name

    def families(self) -> dict[str, str]:
        """The families from edits, by term id.

        Raises:
            CurationError: two lines give one term different families.
        """
        by_term: dict[str, Edit] = {}
        # A merged term passes its family on, but the family of the remaining term comes first.
        for edit, candidate in sorted(self.edited, key=lambda pair: pair[1].into is not None):
            last = end(candidate)
            if not edit.family or not last.alive:
                continue
            before = by_term.setdefault(last.id, edit)
            if before.family != edit.family and last is candidate:
                raise CurationError(
                    f"{self.where} lines {before.line} and {edit.line}: two families for "
                    f"{candidate.text!r}",
                    "delete one of the lines",
                )
        return {name: edit.family for name, edit in by_term.items()}
