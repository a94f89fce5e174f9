"""From what Wikidata, word lists and answers offer, and people's word, to the list of targets."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from curation.files import CurationError
from curation.records import Rejection, Term
from curation.rules import stable_id
from curation.settings import DomainSettings, TermSettings
from curation.terms.candidates import Candidate, Source, check, offers, placing
from curation.terms.edits import Edit
from curation.terms.facts import Facts, languages
from curation.terms.families import families
from curation.terms.language import head_of
from curation.terms.merging import end, join, merge_fine, settle
from curation.terms.words import Word

ALGORITHM = 2


class Selection(NamedTuple):
    """Every candidate with what became of it, the terms that were kept, edits of unknown terms."""

    candidates: list[Candidate]
    terms: list[Term]
    rejections: list[Rejection]


def new_id(domain: str, text: str) -> str:
    """A term's id: a digest of its domain and of the text under which it was first met.

    >>> new_id("profession", "baker")
    'term-5917ec1f7047c9ae702f'
    """
    return stable_id("term", domain, text)


def first_name(term: Term) -> str:
    """The text under which a term was first met.

    >>> first_name(Term(id=new_id("d", "a"), text="b", domain="d", names=("c", "a")))
    'a'
    """
    names = (term.text, *term.names)
    return next((name for name in names if new_id(term.domain, name) == term.id), term.text)


def select(
    domains: Mapping[str, DomainSettings],
    *,
    facts: Facts = Facts([], []),  # noqa: B008
    words: Mapping[str, Sequence[Word]] | None = None,
    met: Sequence[Term] = (),
    edits: Sequence[Edit] = (),
    language: str = "en",
    knobs: TermSettings | None = None,
    where: str = "edits.csv",
) -> Selection:
    """Choose the target terms (StereoSet, ACL §3: «manually filter terms that are either
    infrequent or too fine-grained»).

    People's word comes first, then what a word list or an answer names, then the rules: places,
    roots and labels; one label for several items; merging of the too fine-grained; thresholds on
    the rolled-up counts.

    Args:
        domains: settings by domain.
        facts: Wikidata's counts and entities.
        words: the word lists' words by domain.
        met: terms that answers have named, with their permanent ids.
        edits: people's word.
        language: the campaign's language code.
        knobs: settings of stage 1.
        where: the edits' file, for messages.

    Returns:
        The candidates by domain and frequency, the terms by domain and text, the rejections.

    Raises:
        CurationError: edits contradict one another; names the lines.
    """
    knobs = knobs or TermSettings()
    shown = languages(language, knobs.fallbacks)
    own = languages(language)
    entities = {entity.id: entity for entity in facts.entities}
    pools: list[_Pool] = []
    rejections: list[Rejection] = []
    for domain, settings in domains.items():
        found = offers(
            domain,
            settings,
            facts.counts,
            entities,
            own=own,
            languages=shown,
            least=knobs.least,
        )
        flaw = placing(settings, entities, knobs.generic)
        check(found, entities, flaw)
        pool = _Pool(domain, found, where)
        pools.append(pool)
        for word in (words or {}).get(domain, ()):
            pool.name(word.text, "words", family=word.family)
        pool.met([term for term in met if term.domain == domain])
        rejections += pool.edit([edit for edit in edits if edit.domain == domain])
        join(found, english=language.split("-")[0] == "en")
        ranked = [c for c in found if c.item]
        merge_fine(
            ranked,
            settings,
            entities,
            listed=[c for c in found if not c.item],
            flaw=flaw,
            own=own,
            head=head_of(language, knobs.head),
            language=language,
        )
        found += [c for c in ranked if c not in set(found)]
        settle(found)
        pool.finish()
    # What is said of a domain that the campaign has left out is not wrong, only not needed now.
    candidates = [c for pool in pools for c in sorted(pool.found, key=Candidate.order)]
    said = {name: family for pool in pools for name, family in pool.families().items()}
    kept = families([_term(c) for c in candidates if c.alive], said, language=language)
    return Selection(candidates, kept, rejections)


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


@dataclass
class _Pool:
    """A domain's candidates, and people's word on them."""

    domain: str
    found: list[Candidate]
    where: str

    def __post_init__(self) -> None:
        self.edited: list[tuple[Edit, Candidate]] = []
        self.acted: dict[Candidate, Edit] = {}
        self.by_name: dict[str, list[Candidate]] = defaultdict(list)
        for candidate in self.found:
            self.by_name[candidate.text].append(candidate)
            if candidate.form == "name":
                self.by_name[candidate.item].append(candidate)

    def find(self, *names: str) -> Candidate | None:
        """The candidate that the first of the names, a text or a Wikidata id, stands for; of
        several the likeliest.
        """
        for name in names:
            if named := self.by_name.get(name):
                return min(named, key=lambda c: (not c.said, not c.alive, *c.order()))
        return None

    def name(self, text: str, source: Source, *, family: str = "") -> Candidate:
        """A term that a list, an answer or people name: kept, whatever the rules say."""
        candidate = self.find(text)
        if candidate is None:
            candidate = Candidate(self.domain, text, source=source)
            self.found.append(candidate)
            self.by_name[text].append(candidate)
        self._keep(candidate, None)
        candidate.family = family or candidate.family
        return candidate

    def met(self, terms: Sequence[Term]) -> None:
        """The terms that answers have named. Where Wikidata's label has changed since, the text
        that answers have stays.
        """
        texts = {term.text for term in terms}
        elsewhere = [term for term in terms if term.text not in self.by_name]
        for term in elsewhere:
            candidate = self.find(*term.wikidata)
            if candidate and not candidate.said and candidate.text not in texts:
                candidate.text = term.text
                self.by_name[term.text].append(candidate)
        for term in terms:
            candidate = self.name(term.text, "answers", family=term.family or "")
            candidate.id = term.id
            # An item that is a candidate here comes along when that is joined, with its count.
            others = [qid for qid in term.wikidata if qid not in self.by_name]
            candidate.items = list(dict.fromkeys([*candidate.items, *others]))

    def edit(self, edits: Iterable[Edit]) -> list[Rejection]:
        """Apply people's word: additions and names first, then what refers to them."""
        rejections = []
        rank = {"add": 0, "keep": 0, "drop": 1, "rename": 2, "merge": 3, "": 4}
        for edit in sorted(edits, key=lambda e: rank[e.action]):
            candidate = self.find(edit.term)
            if candidate is None and edit.action == "add":
                candidate = self.name(edit.term, "edits")
            goal = self.find(edit.into) if edit.action == "merge" else None
            if candidate is None or (edit.action == "merge" and goal is None):
                missing = edit.term if candidate is None else edit.into
                rejections.append(self._unknown(edit, missing))
                continue
            self._see_if_it_contradicts(edit, candidate)
            self.edited.append((edit, candidate))
            candidate.note = edit.note or candidate.note
            if edit.action:
                self._gather(candidate, edit.term)
            if edit.action in ("add", "keep"):
                self._keep(candidate, "edited")
            elif edit.action == "drop":
                candidate.drop("edited", edit.note or "dropped")
                candidate.said = True
            elif edit.action == "rename":
                self._rename(edit, candidate)
            elif goal is not None and candidate.into is not goal:
                self._merge(edit, candidate, goal)
        return rejections

    def _see_if_it_contradicts(self, edit: Edit, candidate: Candidate) -> None:
        before = self.acted.setdefault(candidate, edit) if edit.action else edit
        said = {(e.action in ("add", "keep") or e.action, e.into) for e in (before, edit)}
        if len(said) > 1:
            raise CurationError(
                f"{self.where} lines {before.line} and {edit.line}: {before.action} and "
                f"{edit.action} for {candidate.text!r}",
                "delete one of the lines",
            )

    def _gather(self, candidate: Candidate, name: str) -> None:
        """What is said of a text holds for all items of that label."""
        for other in self.by_name[name]:
            if other is not candidate and other.alive and not other.said and other.text == name:
                other.join(candidate, "same_label")

    def _keep(self, candidate: Candidate, reason: str | None) -> None:
        candidate.said, candidate.status, candidate.into = True, "kept", None
        candidate.reason, candidate.detail = reason, ""

    def _rename(self, edit: Edit, candidate: Candidate) -> None:
        other = self.find(edit.into)
        if other is not None and other.alive and other is not candidate:
            raise CurationError(
                f"{self.where} line {edit.line}: {edit.into!r} is a term already",
                "choose another name, or write merge",
            )
        # What stood in for a missing label was never its text.
        text = edit.into if candidate.reason == "no_label" else candidate.text
        self._keep(candidate, "edited")
        candidate.id = candidate.id or self._id(candidate, text)
        candidate.names.append(text)
        candidate.text = edit.into
        self.by_name[edit.into].append(candidate)

    def _merge(self, edit: Edit, candidate: Candidate, goal: Candidate) -> None:
        if end(goal) is candidate:
            raise CurationError(
                f"{self.where} line {edit.line}: {edit.term!r} and {edit.into!r} are merged into "
                "each other",
                "delete one of the lines",
            )
        if goal.status == "dropped" and goal.reason == "edited":
            raise CurationError(
                f"{self.where} line {edit.line}: merges into {edit.into!r}, which another line "
                "drops",
                "merge into a term that stays",
            )
        if goal.into is None:
            self._keep(goal, "edited")
        candidate.said = True
        candidate.merge(end(goal), "edited", edit.note or "merged")
        candidate.into = goal
        end(goal).names += [candidate.text, *candidate.names]

    def _unknown(self, edit: Edit, name: str) -> Rejection:
        return Rejection(
            code="unknown_term",
            detail=f"no term {name!r} in domain {self.domain!r}",
            where=f"{self.where} line {edit.line}",
            record=edit._asdict(),
        )

    def finish(self) -> None:
        """Give every candidate its id; where another has it already, a digest with its item."""
        texts: dict[str, Candidate] = {}
        for candidate in self.found:
            candidate.id = candidate.id or self._id(candidate, candidate.text)
            if candidate.alive and texts.setdefault(candidate.text, candidate) is not candidate:
                lines = [e.line for e, c in self.edited if c.text == candidate.text]
                raise CurationError(
                    f"{self.where} line {max(lines)}: {candidate.text!r} is a term already",
                    "rename one of the two, or write merge",
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
        """People's families by term id.

        Raises:
            CurationError: two lines give one term two families.
        """
        said: dict[str, Edit] = {}
        # Of what was merged the family goes along, but its own word counts first.
        for edit, candidate in sorted(self.edited, key=lambda pair: pair[1].into is not None):
            last = end(candidate)
            if not edit.family or not last.alive:
                continue
            before = said.setdefault(last.id, edit)
            if before.family != edit.family and last is candidate:
                raise CurationError(
                    f"{self.where} lines {before.line} and {edit.line}: two families for "
                    f"{candidate.text!r}",
                    "delete one of the lines",
                )
        return {name: edit.family for name, edit in said.items()}
