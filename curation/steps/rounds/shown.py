"""What annotators see of a round: the texts of forms and pages, and the data of each task."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.records import Round, Task
from curation.steps import read, term_files
from curation.steps.rounds import round_files
from curation.text.wording import amount


def own_texts(campaign: Campaign) -> Path:
    """The file in which a team changes texts that annotators see."""
    return campaign.rounds / "text.toml"


def texts(campaign: Campaign, round: Round | None = None) -> dict[str, Any]:
    """Every string that annotators see: the texts that ship, changed by the team's own file.

    A planned round keeps the texts that it was planned with, so that all its people read the same.

    Args:
        campaign: the campaign.
        round: a planned round; None gives the texts of a round that is planned now.

    Raises:
        CurationError: a file of texts is damaged, or has a key that is not known.
    """
    from curation.rounds import pages

    frozen = round_files.read_texts(campaign, round.name) if round else None
    if frozen is not None:
        return frozen
    settings = campaign.settings
    study = {"licence": settings.release.licence}
    return pages.texts(settings.campaign.language, own_texts(campaign), study=study)


def task_data(campaign: Campaign, round: Round, tasks: Sequence[Task]) -> list[dict[str, Any]]:
    """What leaves the campaign for each task: what people need to answer it, and nothing else."""
    from curation.rounds import pages

    shown = texts(campaign, round)
    descriptions = _descriptions(campaign, tasks) if round.kind == "review" else {}
    names = {term.id: term.text for term in read.read_terms(campaign).values()}
    return [
        pages.task_data(
            task,
            round.kind,
            texts=shown,
            info=descriptions.get(task.term, ""),
            choices=[(id, names[id]) for id in task.choices if id in names],
        )
        for task in tasks
    ]


def _descriptions(campaign: Campaign, tasks: Sequence[Task]) -> dict[str, str]:
    """By term id what a reviewer reads of it: its description, its number of statements."""
    terms = {task.term for task in tasks}
    descriptions = {}
    for candidate in term_files.selection(campaign).candidates:
        if candidate.id in terms:
            counted = amount(candidate.rolled, "statement") if candidate.item else ""
            descriptions[candidate.id] = "; ".join(filter(None, [candidate.description, counted]))
    return descriptions
