"""Select the target terms from Wikidata's facts, word lists and answers, with manual edits."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

from curation.campaign.settings import DomainSettings, TermSettings
from curation.records import Rejection, Term
from curation.terms.candidates import Candidate, Source, check, head_of, offers, placing
from curation.terms.facts import Facts, wikidata_codes
from curation.terms.lists import Edit, Word
from curation.terms.merging import end, join, merge_fine, one_family, settle, stems
from curation.text.rules import grouped, stable_id


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
        self.by_stem = grouped((self.stems[c.text], c) for c in self.candidates)

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


Meant = tuple[Edit, Candidate, Candidate | None]
"""A line, the candidate that it is about, and the one that it is merged into."""


class Editor:
    """Applies edits to the candidates of a domain.

    Attributes:
        pool: the candidates.
        where: the path of the edits, for messages.
        edited: the edits that were applied, each with its candidate.
        rejections: the edits that were not applied, with the reason.
        notes: what users should check, although it was applied.
    """

    def __init__(self, pool: Pool, where: str) -> None:
        self.pool, self.where = pool, where
        self.edited: list[tuple[Edit, Candidate]] = []
        self.rejections: list[Rejection] = []
        self.notes: list[str] = []
        self._acted: dict[Candidate, tuple[Edit, Candidate | None]] = {}
        self._not_renamed: set[Candidate] = set()

    def edit(self, edits: Iterable[Edit]) -> None:
        """Apply manual edits: additions and renames first, then the edits that refer to them.

        A line that names an unknown term, or that contradicts another line or a term, is not
        applied: it becomes one of ``rejections``.
        """
        rank = {"add": 1, "keep": 1, "drop": 2, "rename": 3, "merge": 4, "": 5}
        edits = list(edits)

        def order(edit: Edit) -> int:
            # After an item is dropped by its id, its text refers to another candidate.
            by_id = edit.action == "drop" and re.fullmatch(r"[Qq]\d+", edit.term)
            return 0 if by_id else rank[edit.action]

        for _, group in groupby(sorted(edits, key=order), key=order):
            # Rows of one kind refer to the names before any of them, so names may be passed on.
            meant: list[Meant] = []
            for edit in group:
                candidate, goal = self._meant(edit), self._named(edit.into)
                if candidate is None or (edit.action == "merge" and goal is None):
                    missing = edit.term if candidate is None else edit.into
                    self._refuse(edit, "unknown_term", self._unknown(missing, edits))
                else:
                    meant.append((edit, candidate, goal))
            self._apply(meant)

    def _meant(self, edit: Edit) -> Candidate | None:
        """The candidate that a line is about; a term that it adds is made."""
        if edit.action not in ("add", "keep"):
            return self._named(edit.term)
        if (owner := self.pool.spellings.get(edit.term)) and edit.term != owner.text:
            # A second spelling is to be a term of its own.
            del self.pool.spellings[edit.term]
            owner.names = [name for name in owner.names if name != edit.term]
            texts = (c for c in self.pool.by_name[edit.term] if c.text == edit.term)
            return next(texts, None) or self.pool.new(edit.term, "edits")
        if edit.action == "add":
            return self.pool.find(edit.term) or self.pool.new(edit.term, "edits")
        return self.pool.find(edit.term)

    def _named(self, name: str) -> Candidate | None:
        """The candidate that a line names: for a second spelling, the term that it belongs to."""
        return self.pool.spellings.get(name) or self.pool.find(name)

    def _apply(self, meant: Sequence[Meant]) -> None:
        """Apply lines of one kind, without those that contradict other lines or terms."""
        fitting: list[Meant] = []
        for edit, candidate, goal in meant:
            before = self._acted.get(candidate)
            if edit.action and before and self._contradicts(edit, goal, *before):
                first = before[0]
                self._refuse(
                    edit,
                    "edit_conflict",
                    f"{edit.action} for {edit.term!r}, but line {first.line} has {_said(first)} "
                    "for it; delete one of the lines",
                )
                continue
            if edit.action and (before is None or before[0].action != edit.action):
                self._acted[candidate] = (edit, goal)
            fitting.append((edit, candidate, goal))
        fitting = self._without_taken_names(fitting)
        for edit, candidate, goal in fitting:
            if problem := self._problem(edit, candidate, goal):
                self._forget(edit)
                self._refuse(edit, "edit_conflict", problem)
            else:
                self._act(edit, candidate, goal)
        renamed = [(edit, candidate) for edit, candidate, _ in fitting if edit.action == "rename"]
        for edit, candidate in renamed:  # when all have ids, which are made of their texts before
            self._rename(edit, candidate)
        for edit, candidate in renamed:
            self._make_one(edit, candidate)

    def _forget(self, edit: Edit) -> None:
        """Forget a line that is not applied: it contradicts no other line."""
        self._acted = {c: pair for c, pair in self._acted.items() if pair[0] is not edit}

    def _contradicts(
        self, edit: Edit, goal: Candidate | None, before: Edit, goal_before: Candidate | None
    ) -> bool:
        """Whether a line says something else on a candidate than an earlier one."""
        if before.action == "rename" and edit.action == "merge" and edit.term == before.into:
            return False  # the renamed term is merged under its new name
        if "merge" in (edit.action, before.action):
            return edit.action != before.action or goal is not goal_before
        return (_action(edit), edit.into) != (_action(before), before.into)

    def _problem(self, edit: Edit, candidate: Candidate, goal: Candidate | None) -> str:
        """Why a line cannot be applied, and what to do; empty if it can."""
        if edit.action in ("add", "keep") and candidate.reason == "no_label":
            return (
                f"{edit.term!r} has no label in the language; use the action rename, and write its "
                "name into «into»"
            )
        if edit.action != "merge" or goal is None:
            return ""
        if end(goal) is candidate:
            return (
                f"merging {edit.term!r} into {edit.into!r} makes a circle: {edit.into!r} is "
                f"already merged into {edit.term!r}, directly or through other terms; delete this "
                "line, or another line of the circle"
            )
        if end(goal).status == "dropped" and end(goal).reason == "edited":
            return (
                f"merges into {edit.into!r}, which another line drops; merge into a term that is "
                "kept"
            )
        if goal.reason == "no_label":
            return (
                f"merges into {edit.into!r}, which has no label in the language; rename that item "
                "in a line of its own"
            )
        return ""

    def _without_taken_names(self, meant: list[Meant]) -> list[Meant]:
        """Refuse renames to a text that people gave to another term; the upper line comes first."""
        while True:
            moving = {candidate: edit for edit, candidate, _ in meant if edit.action == "rename"}
            named = grouped((edit.into, candidate) for candidate, edit in moving.items())
            taken = next(
                (
                    (edit, other)
                    for candidate, edit in sorted(moving.items(), key=lambda pair: -pair[1].line)
                    for other in (*named[edit.into], *self.pool.by_name[edit.into])
                    if other is not candidate and self._holds(other, edit, candidate, moving)
                ),
                None,
            )
            if taken is None:
                return meant
            edit, other = taken
            self._forget(edit)
            self._not_renamed |= {c for each, c, _ in meant if each is edit}
            also = f" (line {moving[other].line})" if other in moving else ""
            self._refuse(
                edit,
                "edit_conflict",
                f"renames {edit.term!r} to {edit.into!r}, which is another term already{also}; "
                "choose another name, or use the action merge",
            )
            meant = [each for each in meant if each[0] is not edit]

    def _holds(
        self, other: Candidate, edit: Edit, candidate: Candidate, moving: Mapping[Candidate, Edit]
    ) -> bool:
        """Whether another candidate has the text to which a line renames a candidate."""
        if self._same_thing(other, candidate):
            return False
        if other in moving:
            return moving[other].into == edit.into and moving[other].line < edit.line
        named = other.fixed or other in self._not_renamed
        return other.alive and named and other.text == edit.into

    def _same_thing(self, one: Candidate, other: Candidate) -> bool:
        """Whether two candidates are names of one Wikidata item."""
        items = [{c.item, *self.pool.met_items.get(c, ())} - {""} for c in (one, other)]
        return not items[0].isdisjoint(items[1])

    def _make_one(self, edit: Edit, candidate: Candidate) -> None:
        """Make one term of a renamed candidate and the others that have its new text."""
        for other in list(self.pool.by_name[edit.into]):
            if other is candidate or not (other.alive and candidate.alive):
                continue
            if other.text != edit.into:
                continue
            if not other.fixed:
                other.join(candidate, "same_label")
                if not self._same_thing(other, candidate):
                    self.notes.append(
                        f"{self.where} line {edit.line}: {edit.into!r} is also the text of "
                        f"{other.item or 'another candidate'}; both are one term now. If they are "
                        "different groups, choose another name"
                    )
                continue
            # The one that answers named first keeps its id.
            first = min(
                candidate, other, key=lambda c: self.pool.met_order.get(c, len(self.pool.met_order))
            )
            last = other if first is candidate else candidate
            last.join(first, "edited")
            last.fixed = True
            first.reason = "edited"
            first.names += [name for name in last.names if name != first.text]

    def _act(self, edit: Edit, candidate: Candidate, goal: Candidate | None) -> None:
        self.edited.append((edit, candidate))
        candidate.note = edit.note or candidate.note
        nameless = candidate.reason == "no_label"
        if edit.action == "merge" and goal is not None:
            self.pool.keep(end(goal), "edited")  # before variants of the merged term are gathered
        if edit.action:
            candidate.revive()
            self.pool.gather(candidate, edit.term)
        if edit.action in ("add", "keep"):
            self.pool.keep(candidate, "edited")
        elif edit.action == "drop":
            candidate.drop("edited", edit.note or "dropped")
            candidate.fixed = True
        elif edit.action == "rename":
            # Without a label, its text is only a placeholder.
            text = edit.into if nameless else candidate.text
            self.pool.keep(candidate, "edited")
            candidate.id = candidate.id or self.pool.fresh_id(candidate, text)
        elif goal is not None:
            self._merge(edit, candidate, goal, nameless=nameless)

    def _rename(self, edit: Edit, candidate: Candidate) -> None:
        if candidate.text != candidate.item:
            candidate.names.append(candidate.text)
        candidate.text = edit.into
        self.pool.by_name[edit.into].append(candidate)

    def _merge(self, edit: Edit, candidate: Candidate, goal: Candidate, *, nameless: bool) -> None:
        named = [] if nameless else [candidate.text]
        candidate.fixed = True
        candidate.merge(end(goal), "edited", edit.note or "merged")
        candidate.into = goal
        end(goal).names += [*named, *candidate.names]

    def _unknown(self, name: str, edits: Iterable[Edit]) -> str:
        """Why a name is unknown, and what to do."""
        problem = f"no term {name!r} in domain {self.pool.domain!r}"
        giving = next((e for e in edits if e.action == "rename" and e.into == name), None)
        if giving:
            return f"{problem}; line {giving.line} gives {giving.term!r} this name: write that name"
        return f"{problem}; copy the term from candidates.csv, or add it with the action «add»"

    def _refuse(self, edit: Edit, code: str, detail: str) -> None:
        self.rejections.append(
            Rejection(
                code=code,
                detail=detail,
                where=f"{self.where} line {edit.line}",
                record=edit._asdict(),
            )
        )

    def families(self) -> dict[str, str]:
        """The families from edits, by term id; the second of two for one term is not applied."""
        by_term: dict[str, Edit] = {}

        # A merged term passes its family on, but the family of the remaining term comes first.
        def order(pair: tuple[Edit, Candidate]) -> tuple[bool, int]:
            return pair[1].into is not None, pair[0].line

        for edit, candidate in sorted(self.edited, key=order):
            last = end(candidate)
            if not edit.family or not last.alive:
                continue
            before = by_term.setdefault(last.id, edit)
            if before.family != edit.family and last is candidate:
                self._refuse(
                    edit,
                    "edit_conflict",
                    f"family {edit.family!r} for {candidate.text!r}, but line {before.line} has "
                    f"{before.family!r}; delete one of the two families",
                )
        return {name: edit.family for name, edit in by_term.items()}


def _action(edit: Edit) -> str:
    """The action of a line; add and keep are the same."""
    return "keep" if edit.action == "add" else edit.action


def _said(edit: Edit) -> str:
    """A line's action with the term or name in «into»."""
    return f"{edit.action} into {edit.into!r}" if edit.into else edit.action


class Selection(NamedTuple):
    """The result of a selection.

    Attributes:
        candidates: all candidates with their status.
        terms: the kept terms.
        rejections: the edits that were not applied, with the reason, by line.
        edited: the edits that were applied, each with its candidate.
        notes: what users should check, although it was applied.
    """

    candidates: list[Candidate]
    terms: list[Term]
    rejections: list[Rejection]
    edited: list[tuple[Edit, Candidate]]
    notes: list[str]


def first_name(term: Term) -> str:
    """The first text of a term, from which its id was made.

    >>> first_name(Term(id=new_id("d", "a"), text="b", domain="d", names=("c", "a")))
    'a'
    """
    names = (term.text, *term.names)
    return next((name for name in names if new_id(term.domain, name) == term.id), term.text)


def select_terms(
    domains: Mapping[str, DomainSettings],
    *,
    facts: Facts = Facts([], []),  # noqa: B008
    words: Mapping[str, Sequence[Word]] | None = None,
    met: Sequence[Term] = (),
    edits: Sequence[Edit] = (),
    language: str = "en",
    settings: TermSettings | None = None,
    where: str = "edits.csv",
) -> Selection:
    """Choose the target terms.

    StereoSet (ACL §4.1): «manually filter terms that are either infrequent or too fine-grained».
    Manual edits come first, then names in word lists and answers. Then the rules apply, in this
    order: places, roots and labels; one label of several items; merging of terms that are too
    specific; thresholds on the rolled-up counts.

    Args:
        domains: the settings of each domain.
        facts: Wikidata's counts and entities.
        words: the words of the word lists, by domain.
        met: terms that answers have named, with their permanent ids.
        edits: the manual edits.
        language: the campaign's language code.
        settings: the settings of [terms].
        where: the path of the edits, for messages.

    Returns:
        The candidates by domain and frequency, the terms by domain and text, and the edits that
        were applied or not.
    """
    general = settings or TermSettings()
    shown = wikidata_codes(language, general.fallbacks)
    own = wikidata_codes(language)
    entities = {entity.id: entity for entity in facts.entities}
    editors: list[Editor] = []
    for domain, domain_settings in domains.items():
        candidates = offers(
            domain,
            domain_settings,
            facts.counts,
            entities,
            own=own,
            languages=shown,
            least=general.least,
        )
        flaw = placing(domain_settings, entities, general.generic)
        check(candidates, entities, flaw)
        pool = Pool(domain, candidates, language)
        editor = Editor(pool, where)
        editors.append(editor)
        for word in (words or {}).get(domain, ()):
            pool.name(word.text, "words", family=word.family, also=word.also)
        pool.met([term for term in met if term.domain == domain])
        editor.edit([edit for edit in edits if edit.domain == domain])
        join(candidates, language=language)
        ranked = [c for c in candidates if c.item]
        known = len(ranked)
        merge_fine(
            ranked,
            domain_settings,
            entities,
            listed=[c for c in candidates if not c.item],
            flaw=flaw,
            own=own,
            head=head_of(language, general.head),
            language=language,
        )
        candidates += ranked[known:]  # ancestors that were not counted
        settle(candidates)
        one_family(candidates)
        pool.finish()
    # Edits of a domain that the campaign does not have now are ignored: they are not wrong.
    everything = [c for e in editors for c in sorted(e.pool.candidates, key=Candidate.order)]
    edited = {name: family for editor in editors for name, family in editor.families().items()}
    kept = families([_term(c) for c in everything if c.alive], edited, language=language)
    rejections = [rejection for editor in editors for rejection in editor.rejections]
    return Selection(
        everything,
        kept,
        sorted(rejections, key=lambda rejection: rejection.record["line"]),
        [pair for editor in editors for pair in editor.edited],
        [note for editor in editors for note in editor.notes],
    )


def _term(candidate: Candidate) -> Term:
    names = dict.fromkeys(name for name in candidate.names if name != candidate.text)
    return Term(
        id=candidate.id,
        text=candidate.text,
        domain=candidate.domain,
        family=candidate.family,
        wikidata=tuple(candidate.items),
        count=candidate.rolled if candidate.item or candidate.rolled else None,
        parents=candidate.parents,
        names=tuple(names),
        reason=candidate.reason,
    )
