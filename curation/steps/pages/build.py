"""The step ``pages``: ``8-pages/report.html`` and the folder beside it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from curation.campaign import Campaign
from curation.steps.pages import collecting
from curation.steps.step import Reporter, Step
from curation.work.manifest import Results

REPORT = "report.html"


class MadePages(NamedTuple):
    """The report: its page, and all files of it by their path in its folder."""

    page: Path
    files: list[str]


def _work(
    pipeline: Sequence[Step], campaign: Campaign, results: Results, reporter: Reporter
) -> dict[str, int]:
    from curation.pages.report import files

    made = collecting.collect(campaign, pipeline, reporter)
    for name, content in made.numbers.items():
        results.json(name, content)
    written = 0
    for path, data in files(made.report):
        results.lines(path, [data])
        written += 1
    return {"files": written}


def pages_step(pipeline: Sequence[Step]) -> Step:
    """The step, which tells of all steps before it."""
    return Step(
        "pages",
        "the report",
        lambda c: c.pages,
        "pages.report",
        collecting.settings,
        collecting.inputs,
        partial(_work, pipeline),
    )
