"""Reading runs: what models have scored, from folders and files of predictions."""

from collections.abc import Sequence
from pathlib import Path

from curation.records import Cat
from curation.scores import runs as stage
from curation.scores.runs import Run
from curation.steps.reporter import QUIET, Reporter
from curation.wording import amount


def read_runs(
    scores: Path | None, predictions: Sequence[str] = (), *, reporter: Reporter = QUIET
) -> list[Run]:
    """Read all runs of a folder, and files of predictions as runs.

    Args:
        scores: the folder of MODEL/RULE/scores.jsonl; None reads the predictions only.
        predictions: ``NAME=FILE`` or ``NAME@RULES=FILE``, as in ``runs.read_predictions_run``.
        reporter: receives a warning for each run that is left out.

    Raises:
        CurationError: the folder has no runs, or a file is not valid.
    """
    declared = [stage.read_predictions_run(named) for named in predictions]
    runs = stage.read_runs(scores, skipped=reporter.warn) if scores else []
    return [*runs, *declared]


def current_runs(
    runs: Sequence[Run], cats: Sequence[Cat], *, reporter: Reporter = QUIET
) -> list[Run]:
    """The runs without the scores of texts that have changed since.

    Args:
        runs: from ``read_runs``.
        cats: the CATs as they are now.
        reporter: receives a warning for each run with outdated scores.
    """
    kept, outdated = stage.current(runs, cats)
    for name, count in outdated.items():
        reporter.warn(
            f"{name}: the texts of {amount(count, 'score')} changed since they were scored; score "
            "this "
            "model again"
        )
    return kept
