"""The steps ``release`` and ``anonymous``: the published folder, and one for anonymous review.

First everything is checked and computed, then the line of ``built.jsonl`` is written, and then the
folder, which appears as a whole.
"""

from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import read_text, writing
from curation.manifest import Results
from curation.release.facts import Facts, Licence, Statement
from curation.release.licences import OWN, licence
from curation.steps.release import (
    accepting,
    collect,
    first_builds,
    measured,
    versions,
)
from curation.steps.reporter import Reporter

STATEMENT = "statement.toml"


def settings(campaign: Campaign) -> dict[str, Any]:
    """What a release depends on."""
    settings = campaign.settings
    return {
        **settings.release.model_dump(),
        "name": settings.campaign.name,
        "language": settings.campaign.language,
        "seed": settings.campaign.seed,
        "dev": settings.split.dev,
        "warning": collect.warning(campaign),
        "decisions": settings.decisions.model_dump(),
        "rounds": settings.rounds.model_dump(),
        "sentiment": settings.measures.sentiment,
        "packages": measured.package_versions(campaign),
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What a release reads."""
    own = (campaign.releases / name for name in (STATEMENT, OWN))
    return [*collect.inputs(campaign), *own]


def anonymous_settings(campaign: Campaign) -> dict[str, Any]:
    """What an anonymous release depends on."""
    return {**settings(campaign), "anonymous": True}


def release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the published folder."""
    return _build(campaign, results, reporter, anonymous=False)


def anonymous_release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the folder for anonymous review."""
    return _build(campaign, results, reporter, anonymous=True)


def _build(
    campaign: Campaign, results: Results, reporter: Reporter, *, anonymous: bool
) -> dict[str, int]:
    from curation.release import build

    accepting.check_settings(campaign)
    collected = collect.contents(campaign, reporter)
    accepting.check_content(campaign, collected.cats)
    first = first_builds.first_build(campaign, anonymous=anonymous)
    statement, open_questions = _statement(campaign)
    facts = collect.facts(
        campaign,
        collected,
        first,
        licence=_licence(campaign, statement, first.date),
        statement=statement,
        open_questions=open_questions,
        reporter=reporter,
    )
    contents = collected.contents
    # Here come hidden gold labels, near duplicates and changes since the version before.
    if anonymous:
        facts = _anonymous(facts)
    with reporter.stages() as tell:
        content = build.files(contents, facts, tell=tell)
    if anonymous:
        _check_anonymous(content, statement)
    staged = results.new_folder(versions.name(campaign, anonymous=anonymous))
    for path, data in content.items():
        (staged / path).parent.mkdir(parents=True, exist_ok=True)
        with writing(staged / path) as file:
            file.write(data)
    versions.check_unchanged(campaign, staged, anonymous=anonymous)
    first_builds.record(campaign, first)
    return {
        "cats": len(contents.cats),
        "labels_in": collected.labels_in,
        "labels_of_dropped_items": collected.labels_of_dropped_items,
        "annotations": len(contents.annotations),
        "without_votes": len(contents.without_votes),
        "models": len({(row.model, row.rules) for row in facts.scores}),
        "open_questions": len(facts.open),
    }


def _licence(campaign: Campaign, statement: Statement, date: str) -> Licence:
    path = campaign.releases / OWN
    own = read_text(path) if path.exists() else ""
    holders = [author.name for author in statement.authors]
    return licence(campaign.settings.release.licence, own, holders=holders, year=date[:4])


# --- parts of others, until they are there ------------------------------------------------------


def _statement(campaign: Campaign) -> tuple[Statement, tuple[str, ...]]:
    """What the team says in ``statement.toml``, and the keys of its open questions."""
    return Statement(), ()


def _anonymous(facts: Facts) -> Facts:
    """The facts without names, addresses and links."""
    return facts


def _check_anonymous(files: dict[str, bytes], statement: Statement) -> None:
    """Check that no file names the team."""
