"""From what Wikidata, word lists and answers offer, and people's word, to the list of targets."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.records import Rejection, Term
from curation.settings import DomainSettings, TermSettings
from curation.terms.candidates import Candidate, check, offers, placing
from curation.terms.edits import Edit
from curation.terms.facts import Facts, languages
from curation.terms.families import families
from curation.terms.language import head_of
from curation.terms.merging import join, merge_fine, one_family, settle
from curation.terms.pool import Pool, new_id
from curation.terms.words import Word

ALGORITHM = 3


class Selection(NamedTuple):
    """Every candidate with what became of it, the terms that were kept, edits of unknown terms."""

    candidates: list[Candidate]
    terms: list[Term]
    rejections: list[Rejection]


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
    """Choose the target terms (StereoSet, ACL §4.1: «manually filter terms that are either
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
    pools: list[Pool] = []
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
        pool = Pool(domain, found, where, language)
        pools.append(pool)
        for word in (words or {}).get(domain, ()):
            pool.name(word.text, "words", family=word.family, also=word.also)
        pool.met([term for term in met if term.domain == domain])
        rejections += pool.edit([edit for edit in edits if edit.domain == domain])
        join(found, language=language)
        ranked = [c for c in found if c.item]
        known = len(ranked)
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
        found += ranked[known:]  # what lies above and was not counted
        settle(found)
        one_family(found)
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
