"""Select the target terms from Wikidata's facts, word lists and answers, with manual edits."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from curation.records import Rejection, Term
from curation.settings import DomainSettings, TermSettings
from curation.terms.candidates import Candidate, check, offers, placing
from curation.terms.editing import Editor
from curation.terms.edits import Edit
from curation.terms.facts import Facts, languages
from curation.terms.families import families
from curation.terms.language import head_of
from curation.terms.merging import join, merge_fine, one_family, settle
from curation.terms.pool import Pool, new_id
from curation.terms.words import Word

ALGORITHM = 4


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


def select(
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
    shown = languages(language, general.fallbacks)
    own = languages(language)
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
