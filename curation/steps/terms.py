"""The step ``select``: target terms and their families."""

import difflib
from collections import Counter
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import digest
from curation.manifest import Results
from curation.steps.read import facts_files, read_edits, read_met, selection, word_files
from curation.steps.reporter import Reporter

CANDIDATE_COLUMNS = (
    *("domain", "term", "status", "reason", "detail", "into", "count", "rolled_up"),
    *("source", "form", "wikidata", "description", "family", "note", "id"),
)


def settings(campaign: Campaign) -> dict[str, Any]:
    """What the choice of terms depends on; the words of lists among it, by their sha256."""
    settings = campaign.settings
    return {
        "language": settings.campaign.language,
        **settings.terms.model_dump(exclude={"contact", "endpoint"}),
        "domains": {name: domain.model_dump() for name, domain in settings.domains.items()},
        "words": {f"{d}: {name}": digest(path) for (d, name), path in word_files(campaign).items()},
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What the choice of terms reads, beside word lists."""
    names = ("imported.jsonl", "edits.csv")
    return [*facts_files(campaign), *(campaign.terms / name for name in names)]


def select(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Choose the target terms."""
    import pandas as pd

    found = selection(campaign)
    for rejection in found.rejections:
        reporter.warn(
            f"{rejection.where}: {rejection.detail}; write it exactly as in candidates.csv, or add"
        )
    _warn_of_domains(campaign, reporter)
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


def _warn_of_domains(campaign: Campaign, reporter: Reporter) -> None:
    """Say which rows of edits.csv name a domain that is misspelt."""
    domains = campaign.settings.domains
    for edit in read_edits(campaign):
        near = difflib.get_close_matches(edit.domain, domains, 1)
        if edit.domain not in domains and near:
            place = campaign.terms / "edits.csv"
            reporter.warn(
                f"{place} line {edit.line}: no domain {edit.domain!r}; is it {near[0]!r}?"
            )
