"""Terms that answers name become permanent: ``1-terms/imported.jsonl``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.files import dump_line, writing
from curation.records import Term
from curation.steps import term_files

if TYPE_CHECKING:
    from curation.terms.select import Selection


def register_terms(
    campaign: Campaign,
    selection: "Selection",
    named: Iterable[tuple[str, str]],
    *,
    known_only: bool,
) -> None:
    """Keep every term that answers name, with its permanent id and its first text.

    From then on it is a term of the campaign, even if Wikidata gives it another label later or the
    thresholds of the selection would drop it.

    Args:
        campaign: the campaign; only under its lock.
        selection: its terms as they are selected now.
        named: pairs (domain, text) that answers name.
        known_only: keep only terms that are selected; others are left out.
    """
    from curation.terms.edits import COLUMNS
    from curation.terms.select import first_name, new_id

    registered = {term.id: term for term in term_files.read_met(campaign)}
    before, selected = len(registered), {term.id: term for term in selection.terms}
    ids = term_files.term_ids(selection.terms)
    candidates = {candidate.id: candidate for candidate in selection.candidates}
    for domain, text in dict.fromkeys(named):
        term = selected.get(ids.get((domain, text), ""))
        if term:
            first, candidate = first_name(term), candidates[term.id]
            # Items that have the new text of a renamed term do not belong to its first text.
            own = (candidate.item,) if candidate.item else ()
            registered.setdefault(
                term.id,
                Term(
                    id=term.id,
                    text=first,
                    domain=domain,
                    family=candidate.family,  # links to its place, its other forms
                    wikidata=term.wikidata if term.text == first else own,
                ),
            )
        if (term is None and not known_only) or (term and text not in (term.text, first)):
            name = new_id(domain, text)
            registered.setdefault(name, Term(id=name, text=text, domain=domain))
    if len(registered) > before:
        with writing(campaign.terms / "imported.jsonl") as file:
            file.writelines(map(dump_line, registered.values()))
    edits = campaign.terms / "edits.csv"
    if not edits.exists():
        with writing(edits) as file:
            file.write((",".join(COLUMNS) + "\n").encode())
