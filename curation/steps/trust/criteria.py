"""The criteria of measures, and those of a dataset and its scores, from the files of a campaign."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from curation.bias import Criterion
from curation.campaign import Campaign
from curation.steps.read import run_files
from curation.steps.reporter import Reporter
from curation.steps.source import Source
from curation.steps.trust.runs import TrustRun
from curation.trust.groups import Groups
from curation.trust_settings import TrustSettings

Tell = Callable[[str, int, int], None]


def dataset_files(campaign: Campaign) -> list[Path]:
    """The files of a campaign that the criteria of its dataset and scores are computed from."""
    return [
        campaign.decisions / "cats.jsonl",
        campaign.decisions / "agreement.json",
        campaign.measures / "pitfalls.json",
        *run_files(campaign),
    ]


def of_measures(
    runs: Sequence[TrustRun],
    groups: Mapping[str, Groups],
    settings: TrustSettings,
    *,
    seed: int,
    tell: Tell,
) -> list[Criterion]:
    """The criteria of the measures of bias.

    Args:
        runs: their runs.
        groups: the groups of these runs, by name.
        settings: the thresholds.
        seed: of random draws.
        tell: called with the stage, and how much of it is done.
    """
    return []


def of_dataset(
    source: Source,
    *,
    predictions: Sequence[str] = (),
    lower_is_likelier: Sequence[str] = (),
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
        settings: the thresholds.
        seed: of random draws.
        reporter: where warnings go.
        tell: called with the stage, and how much of it is done.
    """
    return []
