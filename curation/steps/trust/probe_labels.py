"""Read people's labels of passages to train a probe on: a CSV file with a row for each answer."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from curation.bias import Passage
from curation.files import CurationError, read_text
from curation.text_tables import read_csv
from curation.times import read_time
from curation.trust.groups import Groups
from curation.trust.text.locating import locate
from curation.trust.text.passages import LabelledPassage
from curation.trust.text.scanning import Scanner, scanner

COLUMNS = ("passage", "text", "target", "group", "annotator", "submitted_at")
NONE = {"", "none"}
"""How a table says that the target is associated with no group."""


class _Answers(NamedTuple):
    """A passage, the line of its first row, and (time, label) by annotator."""

    text: str
    target: str
    line: int
    by_annotator: dict[str, tuple[str, str | None]]


def read_labelled(
    path: Path, groups: Groups, *, language: str, warn: Callable[[str], None] = lambda text: None
) -> list[LabelledPassage]:
    """Labelled passages of the targets: the group that most annotators chose.

    The label is none if no group has more than half of the annotators. Of several answers of an
    annotator to a passage, the latest counts. Rows of other targets are left out.

    Args:
        path: a CSV file with the columns of ``COLUMNS``.
        groups: targets and groups.
        language: of the texts.
        warn: receives a message if texts do not mention their target.

    Raises:
        CurationError: the file is missing or has no such columns; a row has an unknown group or
            no text, or contradicts another row; no passage is left.
    """
    if not path.exists():
        raise CurationError(f"{path}: no such file", "name the CSV file with the labels")
    columns, rows = read_csv(read_text(path), path)
    if missing := [name for name in COLUMNS if name not in columns]:
        raise CurationError(
            f"{path}: no column «{missing[0]}»", f"name the columns {', '.join(COLUMNS)}"
        )
    answers: dict[str, _Answers] = {}
    for line, row in rows:
        cells = {name: str(row.get(name) or "").strip() for name in COLUMNS}
        if cells["target"] in groups.targets:
            _add(answers, cells, groups, f"{path} line {line}", line)
    labelled, silent = [], 0
    own = {
        target: scanner(tuple(words), language, wanted=None, window=1)
        for target, words in groups.targets.items()
        if any(each.target == target for each in answers.values())
    }
    for name, each in answers.items():
        found = _labelled(name, each, own[each.target])
        silent += found is None
        labelled += [found] if found else []
    if silent:
        warn(f"{path}: {silent} of {len(answers)} texts do not mention their target; left out")
    if not labelled:
        raise CurationError(
            f"{path}: has no passage of the targets of [groups.{groups.name}]",
            "write the targets as in the list of targets, in texts that mention them",
        )
    return labelled


def _add(
    answers: dict[str, _Answers], cells: dict[str, str], groups: Groups, where: str, line: int
) -> None:
    for name in ("passage", "text", "annotator"):
        if not cells[name]:
            raise CurationError(f"{where}: «{name}» is empty", "fill it in")
    label: str | None = cells["group"]
    if cells["group"].lower() in NONE:
        label = None
    elif label not in groups.words:
        raise CurationError(
            f"{where}: there is no group «{label}»",
            f"use none or one of: {', '.join(groups.words)}",
        )
    try:
        time = read_time(cells["submitted_at"])
    except ValueError as error:
        raise CurationError(
            f"{where}: submitted_at: {error}", "write times such as 2026-01-31T12:00:00Z"
        ) from None
    known = answers.setdefault(cells["passage"], _Answers(cells["text"], cells["target"], line, {}))
    if (known.text, known.target) != (cells["text"], cells["target"]):
        raise CurationError(
            f"{where}: the passage «{cells['passage']}» has another text or target in line "
            f"{known.line}",
            "give each passage and target an id of its own",
        )
    before: Any = known.by_annotator.get(cells["annotator"])
    if before is None or before[0] <= time:
        known.by_annotator[cells["annotator"]] = (time, label)


def _labelled(name: str, answers: _Answers, words: Scanner) -> LabelledPassage | None:
    """A passage with its first mention of the target; None if there is none."""
    places = locate(words, answers.text).places
    if not places:
        return None
    votes = Counter(label for _, label in answers.by_annotator.values())
    label, number = votes.most_common(1)[0]
    passage = Passage(id=name, text=answers.text, target=answers.target)
    majority = label if 2 * number > votes.total() else None
    return LabelledPassage(passage, places[0].start, places[0].end, majority)
