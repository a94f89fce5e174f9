"""The first build of each version, in ``built.jsonl``: its date and its canary never change."""

import uuid
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints, ValidationError

from curation import __version__
from curation.campaign import Campaign
from curation.files import CurationError, dump_line, read_json, read_records, refuse_links
from curation.records import Id, Record
from curation.release.contents import FACTS
from curation.steps.release import versions
from curation.text.times import now
from curation.work.run_folder import append_lines, cut_half_line

Day = Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d-\d\d$")]
FILE = "built.jsonl"


class Built(Record):
    """A line of ``built.jsonl``: the first build of a version of the release.

    ``version`` is the name of its folder. Later builds of the version use the same date (a day),
    canary and version of curation, so that they give the same bytes.
    """

    version: Id
    date: Day
    canary: Id
    curation: Id
    anonymous: bool = False


def first_builds_file(campaign: Campaign) -> Path:
    """The file with one line for each version that was built."""
    return campaign.releases / FILE


def read_first_builds(campaign: Campaign) -> list[Built]:
    """The first builds of all versions, oldest first.

    Raises:
        CurationError: a line is not a first build.
    """
    path = first_builds_file(campaign)
    return read_records(path, Built) if path.exists() else []


def first_build(campaign: Campaign, *, anonymous: bool = False) -> Built:
    """The first build of the version that the settings name; made up now if there was none.

    If the line is missing and the version's folder exists, its ``release.json`` says the same.
    Nothing is written: see ``record``.

    Args:
        campaign: the campaign; its settings name the version.
        anonymous: whether the version is anonymous.

    Raises:
        CurationError: a line of ``built.jsonl`` is damaged.
    """
    cut_half_line(first_builds_file(campaign))
    version = versions.name(campaign, anonymous=anonymous)
    for line in read_first_builds(campaign):
        if line.version == version:
            return line
    new = {
        "version": version,
        "date": now()[:10],
        "canary": str(uuid.uuid4()),
        "curation": __version__,
        "anonymous": anonymous,
    }
    try:
        return Built.model_validate(new | _in_folder(campaign.releases / version))
    except ValidationError:  # its release.json was edited
        return Built.model_validate(new)


def _in_folder(folder: Path) -> dict[str, Any]:
    """Date, canary and version of curation that a built version names; empty if it does not."""
    try:
        facts = read_json(folder / FACTS) if (folder / FACTS).exists() else {}
        known = {"date": facts["date"], "canary": facts["canary"]}
        return known | {"curation": facts["versions"]["curation"]}
    except (CurationError, KeyError, TypeError):
        return {}


def record(campaign: Campaign, build: Built) -> None:
    """Append a first build to ``built.jsonl``, unless the file has it."""
    path = first_builds_file(campaign)
    if any(line.version == build.version for line in read_first_builds(campaign)):
        return
    refuse_links(path, below=campaign.root)
    path.parent.mkdir(parents=True, exist_ok=True)
    append_lines(path, [dump_line(build)])
