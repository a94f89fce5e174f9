"""Reading runs: what models have scored, from folders and files of predictions."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from curation.files import CurationError
from curation.records import KINDS, Cat
from curation.scores import incomplete
from curation.scores import runs as stage
from curation.scores.incomplete import Common, Missing
from curation.scores.runs import Run
from curation.steps.reporter import QUIET, Reporter
from curation.text.wording import amount


def read_runs(
    scores: Path | None,
    predictions: Sequence[str] = (),
    *,
    lower_is_likelier: Sequence[str] = (),
    partial: bool = False,
    reporter: Reporter = QUIET,
) -> list[Run]:
    """Read all runs of a folder, and files of predictions as runs.

    Args:
        scores: the folder of MODEL/RULE/scores.jsonl; None reads the predictions only.
        predictions: ``NAME=FILE`` or ``NAME@RULES=FILE``, as in ``runs.read_predictions_run``.
        lower_is_likelier: the NAMEs of predictions that are perplexities or losses.
        partial: leave out predictions that are not finite numbers.
        reporter: receives a warning for each run that is left out.

    Raises:
        CurationError: the folder has no runs, a file is not valid, or ``lower_is_likelier`` has a
            name that no predictions have.
    """
    declared = [
        stage.read_predictions_run(named, lower_is_likelier=lower_is_likelier, partial=partial)
        for named in predictions
    ]
    names = dict.fromkeys(run.model for run in declared)
    known = {*names, *(f"{name}@{kind}" for name in names for kind in KINDS)}
    if others := [name for name in lower_is_likelier if name not in known]:
        raise CurationError(
            f"--lower-is-likelier {others[0]}: no predictions have this name",
            f"use one of: {', '.join(names)}"
            if names
            else "name a file with --predictions NAME=FILE",
        )
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
    by_choice = {run.name for run in runs if run.by_choice}
    for name, count in outdated.items():
        texts, since = (
            (amount(count, "CAT"), "the model was asked")
            if name in by_choice
            else (amount(count, "score"), "they were scored")
        )
        reporter.warn(f"{name}: the texts of {texts} changed since {since}; score this model again")
    return kept


def common_runs(
    runs: Sequence[Run],
    cats: Sequence[Cat],
    *,
    partial: bool = False,
    reporter: Reporter = QUIET,
) -> Common:
    """The runs to compare, and the CATs on which they can be compared.

    Args:
        runs: from ``current_runs``.
        cats: the CATs as they are now.
        partial: accept predictions that lack CATs of a kind that they have.
        reporter: receives a warning for each run that lacks CATs, and one that counts the CATs
            that are left out.

    Raises:
        CurationError: the runs have no CAT in common; or predictions lack CATs, and ``partial`` is
            not set.
    """
    common = incomplete.common(cats, runs)
    for run in () if partial else common.runs:
        lacks = common.missing.get(run.name)
        if lacks and run.refused is None:
            first = next(
                a.id
                for cat in cats
                for a in cat.associations
                if cat.id in lacks.cats and a.id not in run.scores
            )
            raise CurationError(
                f"{run.where}: no prediction for id {first} ({len(lacks.cats)} of "
                f"{amount(lacks.of, 'CAT')} have a sentence without one)",
                "score every sentence, or give --partial to compare all models on the CATs that "
                "all of them have",
            )
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
        lacks = missing.get(run.name)
        if lacks and run.refused is None:
            numbers = f", {lacks.bad} of them because a score is not a finite number"
            reporter.warn(
                f"{run.name} has no complete scores of {len(lacks.cats)} of {lacks.of} CATs"
                + (numbers if lacks.bad else "")
            )
        elif lacks:
            reporter.warn(
                f"{run.name} has no scores of {len(lacks.cats)} of {lacks.of} CATs: they were "
                "added or changed after it was scored, or scoring has not ended; "
                f"{_again(run)}"
            )


def _again(run: Run) -> str:
    return (
        f"score it again: {incomplete.again({'model': run.model, 'rules': run.rules, **run.about})}"
    )
