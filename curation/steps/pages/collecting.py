"""What the report is made of: results of other steps as they are, and numbers that no step keeps.

Those numbers are written to ``8-pages/numbers/``, so that each number of the report is in a file.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from curation.campaign import Campaign
from curation.files import read_json
from curation.formats.table_words import FIRST, Sections, nearest, read_shipped
from curation.steps.pages import made
from curation.steps.step import Reporter, Step

if TYPE_CHECKING:
    from curation.pages.report import Report

NUMBERS = "numbers"  # the folder of numbers that the report computes


class Collected(NamedTuple):
    """The report, and the files of numbers by their path in its folder."""

    report: "Report"
    numbers: dict[str, Any]


def results(campaign: Campaign) -> dict[str, Path]:
    """The results of other steps that the report shows, by the name that templates use."""
    return {
        "agreement": campaign.decisions / "agreement.json",
        "split": campaign.decisions / "split.json",
        "statistics": campaign.measures / "statistics.json",
        "sentiment": campaign.measures / "sentiment.json",
        "keywords": campaign.measures / "keywords.json",
        "pitfalls": campaign.measures / "pitfalls.json",
        "trust": campaign.trust / "report.json",
    }


def settings(campaign: Campaign) -> dict[str, Any]:
    """What the report depends on besides files."""
    return {"language": campaign.settings.campaign.language}


def inputs(campaign: Campaign) -> list[Path]:
    """Every file that the report reads."""
    return [*results(campaign).values(), *made.inputs(campaign, hidden=False)]


def texts(language: str) -> Sections:
    """The strings of the report in a language; English where that lacks one."""
    english, base = read_shipped("report", FIRST), nearest(language)
    own = read_shipped("report", base) if base else {}
    return {section: keys | own.get(section, {}) for section, keys in english.items()}


def collect(campaign: Campaign, pipeline: Sequence[Step], reporter: Reporter) -> Collected:
    """Read and compute what the report is made of."""
    from curation.pages.report import Report

    there = {name: path for name, path in results(campaign).items() if path.exists()}
    sources = {name: (campaign.relative(path), read_json(path)) for name, path in there.items()}
    numbers: dict[str, Any] = {"made": made.numbers(campaign, hidden=False)}
    sources |= {
        name: (f"{campaign.pages.name}/{NUMBERS}/{name}.json", content)
        for name, content in numbers.items()
    }
    language = campaign.settings.campaign.language
    report = Report(
        campaign.settings.campaign.name,
        texts(language),
        language,
        sources,
    )
    return Collected(
        report, {f"{NUMBERS}/{name}.json": content for name, content in numbers.items()}
    )
