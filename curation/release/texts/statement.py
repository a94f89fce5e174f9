"""The data statement of a release: what its users must know of its people, texts and purpose.

The sections are those of data statements (Bender and Friedman 2018, versions 2 and 3); the
questions under them are those that datasheets ask (Gebru et al. 2021). The wording is curation's,
in ``data/release/templates/STATEMENT.md.jinja``. Facts that are recorded are filled in, and the
team answers the rest (``questions``).
"""

from collections import defaultdict

from curation.records import KINDS
from curation.release.texts.questions import SECTIONS
from curation.release.texts.render import markdown
from curation.released.facts import Facts


def statement(facts: Facts) -> bytes:
    """STATEMENT.md: the data statement with the datasheet's questions.

    Args:
        facts: what the release says about itself; unanswered questions are in bold.
    """
    kept = {(row.domain, row.kind): row for row in facts.retention}
    total = kept.pop(("all", "all"), None)
    kinds = list(dict.fromkeys(kind for _, kind in kept))
    labelled = facts.total - facts.without_votes
    compared = [a.cats for a in facts.agreement if (a.scope, a.classes) == ("kept", "all")]
    wrote = (*KINDS, "import")
    readings = defaultdict(list)  # the rounds with the same texts are together
    for made in (made for made in facts.rounds if made.read or made.consent_text):
        readings[made.read, made.consent_text].append(made)
    unchecked = defaultdict(list)
    for row in facts.pitfalls:
        if row.count is None:
            unchecked[row.why or "no reason is recorded"].append(row.code)
    text = markdown(
        "STATEMENT.md",
        facts=facts,
        sections=SECTIONS,
        undecided=total.open if total else 0,
        retention_kinds=kinds,
        retention={
            d: [kept.get((d, kind)) for kind in kinds] for d in dict.fromkeys(d for d, _ in kept)
        },
        texts_imported=any(made.kind in wrote for made in facts.rounds)
        and not any(facts.people.get(kind) for kind in wrote),
        partly_agreed=bool(compared) and max(compared) < labelled,
        unchecked=unchecked,
        baseline_rows=[row for base in facts.baselines for row in base.rows],
        other_scores=[row for row in facts.scores if row not in facts.main_scores],
        readings=list(readings.values()),
    )
    return text.encode()
