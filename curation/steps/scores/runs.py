"""Reading runs: what models have scored, from folders and files of predictions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from curation.records import Cat
from curation.scores import older
from curation.scores import runs as stage
from curation.scores.older import Common, Missing
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


def common_runs(runs: Sequence[Run], cats: Sequence[Cat], *, reporter: Reporter = QUIET) -> Common:
    """The runs to compare, and the CATs on which they can be compared.

    Args:
        runs: from ``current_runs``.
        cats: the CATs as they are now.
        reporter: receives a warning for each run that lacks CATs, and one that counts the CATs
            that are left out.

    Raises:
        CurationError: the runs have no CAT in common.
    """
    common = older.common(cats, runs)
    warn_of_older(common.runs, common.missing, reporter=reporter)
    by_name = {run.name: run for run in runs}
    for name in common.left_out:
        lacks = common.missing[name]
        reporter.warn(
            f"{name} is left out: it has scores of only {lacks.of - len(lacks.cats)} of {lacks.of} "
            f"CATs; {_again(by_name[name])}"
        )
    if len(common.cats) < len(cats):
        reporter.warn(
            f"the models are compared on {len(common.cats)} of {len(cats)} CATs: those that a run "
            "marked ¶ lacks are left out for all models"
        )
    return common


def warn_of_older(
    runs: Sequence[Run], missing: Mapping[str, Missing], *, reporter: Reporter = QUIET
) -> None:
    """Warn of runs that lack CATs, with the command that scores them again.

    Args:
        runs: the runs.
        missing: the CATs that runs lack, by name, as in ``older.common``.
        reporter: receives the warnings.
    """
    for run in runs:
        if lacks := missing.get(run.name):
            reporter.warn(
                f"{run.name} has no scores of {len(lacks.cats)} of {lacks.of} CATs: they were "
                "added or changed after it was scored, or scoring has not ended; "
                f"{_again(run)}"
            )


def _again(run: Run) -> str:
    return f"score it again: {older.again({'model': run.model, 'rules': run.rules, **run.about})}"
