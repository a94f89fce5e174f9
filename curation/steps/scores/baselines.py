"""Baselines of a source, and the results of a file of predictions."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError
from curation.records import Cat
from curation.scores import baselines as stage
from curation.scores.flags import flags_of
from curation.stats.artefacts import artefacts
from curation.stats.metrics import Ties, check_predictions, comparisons, results
from curation.steps.measures import VADER
from curation.steps.reporter import QUIET, Reporter
from curation.steps.scores.outdated import is_up_to_date, warn_if_outdated
from curation.steps.source import Source
from curation.stereoset import read_predictions
from curation.wording import amount


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
        One per baseline: ``metrics.results``, ``flags`` and ``tier``. Baselines that use the
        surface also have ``says``, ``why`` and ``beyond_chance``, as in ``baselines.measured``.

    Raises:
        CurationError: the file does not give the sentiment of each sentence, or the sentiment that
            the step kept is out of date.
    """
    warn_if_outdated(source, reporter)
    if source.campaign and not sentiment and source.campaign.settings.measures.sentiment != VADER:
        kept = source.campaign.measures / "sentiment_scores.json"
        sentiment = kept if kept.exists() else None
        if sentiment and not is_up_to_date(source.campaign, "sentiment"):
            raise CurationError(
                f"{kept}: the sentiment of the sentences is out of date",
                "run «curation measures sentiment», or give a file with --sentiment",
            )
    values = None
    if sentiment:
        values, unknown = check_predictions(
            source.cats, list(read_predictions(sentiment)), where=str(sentiment)
        )
        if unknown:
            reporter.warn(
                f"{sentiment}: {amount(unknown, 'score')} with ids that are not in these CATs"
            )
    measured = stage.measured(
        source.cats,
        artefacts(source.cats, language=source.language, sentiment=values),
        ties=ties,
    )
    return [
        {**result, "flags": flags_of(result), "tier": tier}
        for result in (*stage.baselines(source.cats), *measured)
    ]


def score_predictions(
    path: Path,
    every: Sequence[Cat],
    *,
    cats: Sequence[Cat] | None = None,
    tier: int | None = None,
    ties: Ties = "half",
    model: str = "",
    reporter: Reporter = QUIET,
) -> dict[str, Any]:
    """lms, ss and icat of a file of predictions.

    Args:
        path: the predictions; a higher score means likelier.
        every: the CATs that the predictions are for.
        cats: compute the results on these CATs only; by default on all.
        tier: the lowest tier of the CATs, which is copied to the results.
        ties: how ties count, as in ``metrics.comparisons``.
        model: the model's name; by default the file's name without «predictions_».
        reporter: receives warnings.

    Returns:
        ``metrics.results``, with ``flags`` and ``tier``.

    Raises:
        CurationError: a prediction is missing, repeated or not a finite number.
    """
    scores, unknown = check_predictions(every, list(read_predictions(path)), where=str(path))
    if unknown:
        found = amount(unknown, "prediction has an id that is", "predictions have ids that are")
        reporter.warn(f"{path}: {found} not in the gold file")
    table = comparisons(every if cats is None else cats, scores, ties=ties)
    result = results(table, model=model or path.stem.removeprefix("predictions_"))
    return {**result, "flags": flags_of(result), "tier": tier}
