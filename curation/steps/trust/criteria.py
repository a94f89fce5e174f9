"""The criteria of measures, and those of a dataset and its scores, from the files of a campaign."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from curation.bias import Criterion
from curation.campaign import Campaign
from curation.files import CurationError
from curation.sentiment import Sentiment
from curation.steps.measures import VADER
from curation.steps.reporter import Reporter
from curation.steps.source import Source
from curation.steps.trust.dataset import dataset_input, measure_values
from curation.steps.trust.runs import TrustRun
from curation.trust.groups import Groups
from curation.trust_settings import TrustSettings

Tell = Callable[[str, int, int], None]


def of_measures(
    runs: Sequence[TrustRun],
    groups: Mapping[str, Groups],
    settings: TrustSettings,
    *,
    seed: int,
) -> list[Criterion]:
    """The criteria of the measures of bias.

    Args:
        runs: their runs.
        groups: the groups of these runs, by name.
        settings: the thresholds.
        seed: of random draws.
    """
    from curation.trust.protocol.measured import MeasureRun
    from curation.trust.protocol.measures import measure_criteria

    measured = [
        MeasureRun(run.name, run.measure, run.groups, run.biases, run.evidence) for run in runs
    ]
    return measure_criteria(measured, groups, settings, seed=seed)


def of_dataset(
    source: Source,
    *,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
    runs: Sequence[TrustRun] = (),
    groups: Mapping[str, Groups] | None = None,
    settings: TrustSettings,
    seed: int,
    reporter: Reporter,
    tell: Tell,
) -> list[Criterion]:
    """The criteria of a dataset of CATs and of its scores.

    Args:
        source: the CATs, and the folder of their models' runs.
        predictions: ``NAME=FILE``, as in ``steps.scores.runs.read_runs``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        runs: runs of bias measures, to compare the ss of terms with.
        groups: tables of groups with outcomes of the terms, by name.
        settings: the thresholds.
        seed: of random draws.
        reporter: where warnings go.
        tell: called with the stage, and how much of it is done.
    """
    from curation.trust.protocol.dataset.criteria import dataset_criteria

    data = dataset_input(
        source,
        predictions=predictions,
        lower_is_likelier=lower_is_likelier,
        groups=groups,
        measures=measure_values(runs),
        sentiment=_sentiment(source, reporter),
        reporter=reporter,
    )
    return dataset_criteria(data, settings, seed=seed, tell=tell)


def _sentiment(source: Source, reporter: Reporter) -> Sentiment | None:
    """The sentiment that the campaign's classifier gave; None for VADER, and for gold files."""
    from curation.steps.scores.surface import read_sentiment

    paths = sentiment_files(source.campaign) if source.campaign else []
    if not any(path.exists() for path in paths):
        return None
    try:
        return read_sentiment(paths[0], source.cats)
    except CurationError as error:  # it is older than the CATs
        reporter.warn(f"{error.what}; run «curation measures sentiment» for SentimentLM")
        return None


def sentiment_files(campaign: Campaign) -> list[Path]:
    """The classifier's sentiment of each association; no file if the setting is VADER."""
    if campaign.settings.measures.sentiment == VADER:
        return []
    return [campaign.measures / "sentiment_scores.json"]
