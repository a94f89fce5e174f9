"""What the chat models of a folder answered, whether they have a score or not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_json
from curation.scores.choice.summary import PARTS, answers_row

CHOICE = "choice.json"


def read_answers(scores: Path) -> list[dict[str, Any]]:
    """The answers of every chat model that has a run in a folder of scores.

    Args:
        scores: the folder of MODEL/RULE/choice.json.

    Returns:
        Rows of ``choice.summary.answers_row``, by the name of the run.

    Raises:
        CurationError: a file is not a report of answers; names the file.
    """
    rows = [_row(path) for path in sorted(scores.glob(f"*/*/{CHOICE}"))]
    return sorted(rows, key=lambda row: str(row["run"]))


def _row(path: Path) -> dict[str, Any]:
    report, folder = read_json(path), path.parent
    run = read_json(folder / "run.json") if (folder / "run.json").exists() else {}
    known = run.get("model") if isinstance(run, Mapping) else None
    model = str(known or folder.parent.name.replace("--", "/"))
    try:
        if not set(PARTS) <= set(report):
            raise KeyError
        return answers_row(report, run=f"{model}/{folder.name}", model=model)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise CurationError(
            f"{path}: is not a report of a chat model's answers",
            "run «curation scores models» for this model again: it writes the file again, and asks "
            "nothing twice",
        ) from None
