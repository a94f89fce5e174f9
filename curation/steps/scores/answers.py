"""What the chat models of a folder answered, whether they have a score or not."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_json
from curation.scores.run_folder import CHOICE, read_run
from curation.scores.runs import found_runs, model_of
from curation.steps.reporter import QUIET, Reporter


def read_answers(scores: Path, *, only: Collection[str] = ()) -> list[dict[str, Any]]:
    """The answers of every chat model that has a run in a folder of scores.

    Args:
        scores: the folder of MODEL/RULE/choice.json.
        only: if not empty, only runs whose RULE is all of these.

    Returns:
        Rows of ``choice.summary.answers_row``, by the name of the run.

    Raises:
        CurationError: a file is not a report of answers; names the file.
    """
    paths = sorted(scores.glob(f"*/*/{CHOICE}"))
    rows = [_row(path) for path in paths if set(only) <= {path.parent.name}]
    return sorted(rows, key=lambda row: str(row["run"]))


def _row(path: Path) -> dict[str, Any]:
    from curation.scores.choice.report import answers_row

    report, folder = read_json(path), path.parent
    model = model_of(folder, read_run(folder))
    try:
        return answers_row(report, run=f"{model}/{folder.name}", model=model)
    except ValueError:
        raise CurationError(
            f"{path}: is not a report of a chat model's answers",
            "run «curation scores models» for this model again: it writes the file again, and asks "
            "nothing twice",
        ) from None


def all_without_score(
    scores: Path, answers: Sequence[Mapping[str, Any]], *, reporter: Reporter = QUIET
) -> bool:
    """Whether a folder has answers of chat models, and no run that has a score.

    Args:
        scores: the folder.
        answers: of ``read_answers``.
        reporter: receives a warning for each other run, if there is no score.
    """
    if not any(row["no_score"] for row in answers):
        return False
    left_out: list[str] = []
    if not all(row["no_score"] for row in answers) or found_runs(scores, skipped=left_out.append):
        return False
    for message in left_out:
        reporter.warn(message)
    return True
