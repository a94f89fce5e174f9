"""The step ``select``: target terms and their families."""

import difflib
from collections import Counter
from typing import TYPE_CHECKING

from curation.campaign import Campaign
from curation.cli.console import warn
from curation.manifest import Results
from curation.steps.read import (
    read_edits,
    read_met,
    selection,
)
from curation.steps.reporter import Reporter

if TYPE_CHECKING:
    pass


CANDIDATE_COLUMNS = (
    *("domain", "term", "status", "reason", "detail", "into", "count", "rolled_up"),
    *("source", "form", "wikidata", "description", "family", "note", "id"),
)


def select(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Choose the target terms."""
    import pandas as pd

    found = selection(campaign)
    for rejection in found.rejections:
        warn(
            f"{rejection.where}: {rejection.detail}; write it exactly as in candidates.csv, or add"
        )
    _warn_of_domains(campaign)
    rows = [
        (
            *(c.domain, c.text, c.status, c.reason, c.detail, c.into and c.into.text),
            *((c.count, c.rolled) if c.item else (None, None)),
            *(c.source, c.form, " ".join(c.items), c.description, c.family, c.note, c.id),
        )
        for c in found.candidates
    ]
    table = pd.DataFrame(rows, columns=CANDIDATE_COLUMNS, dtype=object)
    results.lines("candidates.csv", [table.to_csv(index=False, lineterminator="\n").encode()])
    results.records("targets.jsonl", found.terms)
    results.records("rejected.jsonl", found.rejections)
    status, edits = Counter(c.status for c in found.candidates), read_edits(campaign)
    met, domains = read_met(campaign), campaign.settings.domains
    return {
        "candidates": len(found.candidates),
        "kept": status["kept"],
        "merged": status["merged"],
        "dropped": status["dropped"],
        "terms_of_other_domains": sum(term.domain not in domains for term in met),
        "edits_in": len(edits),
        "edits_of_other_domains": sum(edit.domain not in domains for edit in edits),
        "edits_refused": len(found.rejections),
    }


def _warn_of_domains(campaign: Campaign) -> None:
    """Say which rows of edits.csv name a domain that is misspelt."""
    domains = campaign.settings.domains
    for edit in read_edits(campaign):
        near = difflib.get_close_matches(edit.domain, domains, 1)
        if edit.domain not in domains and near:
            place = campaign.terms / "edits.csv"
            warn(f"{place} line {edit.line}: no domain {edit.domain!r}; is it {near[0]!r}?")
