"""Baselines of a source."""

from pathlib import Path
from typing import Any

from curation.files import CurationError
from curation.stats.metrics import Ties
from curation.steps.measures import SENTIMENT, VADER
from curation.steps.reporter import QUIET, Reporter
from curation.steps.scores.outdated import is_up_to_date, warn_if_outdated
from curation.steps.scores.surface import baseline_results, read_sentiment
from curation.steps.source import Source


def baselines(
    source: Source,
    *,
    tier: int | None = None,
    ties: Ties = "half",
    sentiment: Path | None = None,
    reporter: Reporter = QUIET,
) -> list[dict[str, Any]]:
    """IdealLM, StereotypedLM, RandomLM, and baselines that use the surface of texts only.

    Args:
        source: the CATs.
        tier: the lowest tier of the CATs, which is copied to the results.
        ties: how ties count, as in ``metrics.comparisons``.
        sentiment: a file of predictions with the sentiment of each sentence, higher being more
            positive. By default the scores that the step sentiment kept, if the campaign's settings
            name a classifier; otherwise VADER, for English.
        reporter: receives warnings.

    Returns:
        One per baseline: ``metrics.results``, ``flags``, ``tier`` and ``original_targets`` (of the
        source). Baselines that use the surface also have ``says``, ``why`` and ``beyond_chance``,
        as in ``baselines.measured``.

    Raises:
        CurationError: the file does not give the sentiment of each sentence, or the sentiment that
            the step kept is out of date.
    """
    warn_if_outdated(source, reporter)
    if source.campaign and not sentiment and source.campaign.settings.measures.sentiment != VADER:
        kept = source.campaign.measures / "sentiment_scores.json"
        sentiment = kept if kept.exists() else None
        if sentiment and not is_up_to_date(source.campaign, SENTIMENT):
            raise CurationError(
                f"{kept}: the sentiment of the sentences is out of date",
                "run «curation measures sentiment», or give a file with --sentiment",
            )
    values = read_sentiment(sentiment, source.cats, reporter=reporter) if sentiment else None
    found = baseline_results(source.cats, language=source.language, ties=ties, sentiment=values)
    about = {"tier": tier, "original_targets": source.original_targets}
    return [{**result, **about} for result in found]
