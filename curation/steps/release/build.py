"""The steps ``release`` and ``anonymous``: the published folder, and one for anonymous review.

First everything is checked and computed, then the line of ``built.jsonl`` is written, and then the
folder, which appears as a whole.
"""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

from curation.campaign import Campaign
from curation.files import read_bytes, read_text, writing
from curation.release.facts import Licence, Statement
from curation.release.texts.licences import OWN, licence
from curation.steps.decisions import AGREEMENT, FILTER, SPLIT
from curation.steps.measures import PITFALLS, SENTIMENT, STATISTICS
from curation.steps.release import accepting, changes, first_builds, statement, versions
from curation.steps.release.collecting import collect, measured
from curation.steps.release.hidden import hiding
from curation.steps.reporter import Reporter
from curation.steps.rounds.fold import ANSWERS
from curation.steps.step import Step
from curation.steps.terms import SELECT
from curation.steps.trust.report import TRUST
from curation.text.wording import amount
from curation.work.engine import uncollected
from curation.work.manifest import Results, file_names


def settings(campaign: Campaign) -> dict[str, Any]:
    """What a release depends on."""
    settings = hiding.as_built(campaign).settings
    return {
        **settings.release.model_dump(),
        "name": settings.campaign.name,
        "language": settings.campaign.language,
        "seed": settings.campaign.seed,
        "dev": settings.split.dev,
        "keep": settings.split.keep,
        "warning": collect.warning(campaign),
        "decisions": settings.decisions.model_dump(),
        "rounds": settings.rounds.model_dump(),
        "sentiment": settings.measures.sentiment,
        "packages": measured.package_versions(campaign),
    }


def inputs(campaign: Campaign) -> list[Path]:
    """What a release reads."""
    own = (*statement.inputs(campaign), campaign.releases / OWN)
    return list(dict.fromkeys((*collect.inputs(campaign), *changes.inputs(campaign), *own)))


def anonymous_settings(campaign: Campaign) -> dict[str, Any]:
    """What an anonymous release depends on."""
    return {**settings(campaign), "anonymous": True}


def release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the published folder."""
    with uncollected():
        return _build(campaign, results, reporter, anonymous=False)


def anonymous_release(campaign: Campaign, results: Results, reporter: Reporter) -> dict[str, int]:
    """Write the folder for anonymous review."""
    with uncollected():
        return _build(campaign, results, reporter, anonymous=True)


def _build(
    campaign: Campaign, results: Results, reporter: Reporter, *, anonymous: bool
) -> dict[str, int]:
    from curation.release import build, differences
    from curation.release.anonymous import anonymous as anonymize
    from curation.steps.release import repeats

    campaign = hiding.as_built(campaign)
    accepting.check_settings(campaign)
    collected = collect.contents(campaign, reporter)
    accepting.check_content(campaign, collected.cats)
    first = first_builds.first_build(campaign, anonymous=anonymous)
    answers = statement.read_statement(campaign)
    facts = collect.facts(
        campaign,
        collected,
        first,
        licence=_licence(campaign, answers, first.date),
        statement=answers,
        open_questions=[question.key for question in statement.open_questions(answers)],
        reporter=reporter,
    )
    collected.cats.clear()  # they take more memory than all that follows
    whole = collected.contents
    contents, golds = hiding.hide(campaign, whole, results, reporter)
    facts = hiding.public_facts(campaign, facts, whole, contents, golds, results, reporter)
    before = [place.name for place in changes.earlier(campaign)]
    near, _ = repeats.near_public(campaign, whole.cats, versions=before)
    for place in near if contents.sealed else ():
        if place.cats:
            reporter.warn(
                f"{amount(place.cats, 'sealed CAT')} nearly repeat public CATs of {place.place}, "
                "so their texts are known; «curation release near» lists them"
            )
    since = changes.changes(campaign, contents, whole if contents.sealed else None)
    facts = facts.model_copy(update={"near": near, "changes": since[0] if since else None})
    if anonymous:
        facts = anonymize(facts, statement.secrets(campaign))
    with reporter.stages() as tell:
        errata_lines = differences.errata_text(since[1]).encode() if since else b""
        staged = results.new_folder(versions.name(campaign, anonymous=anonymous))
        for path, data in build.files(contents, facts, errata_lines=errata_lines, tell=tell):
            (staged / path).parent.mkdir(parents=True, exist_ok=True)
            with writing(staged / path) as file:
                file.write(data)
            del data
    if anonymous:
        _check_anonymous(staged, statement.secrets(campaign), reporter)
    versions.check_unchanged(campaign, staged, anonymous=anonymous)
    first_builds.record(campaign, first)
    return {
        "cats": len(contents.cats) + len(contents.sealed),
        "labels_in": collected.labels_in,
        "labels_of_dropped_items": collected.labels_of_dropped_items,
        "annotations": len(contents.annotations),
        "without_votes": len(contents.without_votes),
        "hidden": sum(cat.commitment is not None for cat in contents.cats) + len(contents.sealed),
        "models": len({(row.model, row.rules) for row in facts.scores}),
        "open_questions": len(facts.open),
    }


def _licence(campaign: Campaign, statement: Statement, date: str) -> Licence:
    path = campaign.releases / OWN
    own = read_text(path) if path.exists() else ""
    holders = [author.name for author in statement.authors]
    return licence(campaign.settings.release.licence, own, holders=holders, year=date[:4])


def _check_anonymous(staged: Path, secrets: Collection[str], reporter: Reporter) -> None:
    """Check that no file names the team; warns of words that may be part of a name.

    Raises:
        CurationError: a file has a name, an address or a link.
    """
    from curation.release.anonymous import doubts, refusal, scan

    places = scan({name: read_bytes(staged / name) for name in file_names(staged)}, secrets)
    if error := refusal(places):
        raise error
    if text := doubts(places):
        reporter.warn(text)


NEEDS = (SELECT, ANSWERS, FILTER, AGREEMENT, SPLIT, STATISTICS, SENTIMENT, PITFALLS)
RELEASE = Step(
    "release",
    "the published folder",
    lambda c: c.releases,
    "release.build",
    settings,
    inputs,
    release,
    needs=NEEDS,
    blocked=versions.blocked,
    delete=None,
    takes=(TRUST,),
    fixed=versions.taken,
)
ANONYMOUS = Step(
    "anonymous",
    "a folder for anonymous review",
    lambda c: c.releases,
    "release.build",
    anonymous_settings,
    inputs,
    anonymous_release,
    needs=NEEDS,
    blocked=partial(versions.blocked, anonymous=True),
    delete=None,
    takes=(TRUST,),
    fixed=partial(versions.taken, anonymous=True),
)
"""Not in ``STEPS``: only «curation release build --anonymous» runs it."""
