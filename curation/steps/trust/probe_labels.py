"""Read people's labels of passages to train a probe on: the table of ``text-human``, with texts."""

from pathlib import Path
from typing import NamedTuple

from curation.bias import Passage
from curation.files import CurationError
from curation.records import Rejection
from curation.steps.trust.text import label_rows
from curation.trust.groups import Groups
from curation.trust.text.human import COLUMNS, passages, read_labels
from curation.trust.text.locating import locate
from curation.trust.text.passages import LabelledPassage
from curation.trust.text.scanning import scanner

TEXT = "text"


class Labelled(NamedTuple):
    """Labelled passages, and rows that do not count with their reasons."""

    passages: list[LabelledPassage]
    refused: list[Rejection]


def read_labelled(path: Path, groups: Groups, *, language: str) -> Labelled:
    """Passages with the group that most annotators chose.

    The label is none if no group has more than half of the annotators.

    Args:
        path: a table in CSV or JSON Lines with the columns ``human.COLUMNS`` and text.
        groups: targets and groups.
        language: of the texts.

    Raises:
        CurationError: the file cannot be read or lacks a column, or no passage is left.
    """
    rows = list(label_rows(path, columns=(*COLUMNS, TEXT)))
    texts: dict[str, tuple[str, str]] = {}  # with the place of the row
    for place, row in rows:
        if text := str(row.get(TEXT) or "").strip():
            texts.setdefault(str(row.get("passage") or "").strip(), (text, place))
    read = read_labels(rows, groups)
    votes = passages(read.labels, groups)
    chosen = votes.majority()
    labelled, refused = [], list(read.refused)
    for number, (name, target) in enumerate(votes.units):
        text, place = texts.get(name, ("", str(path)))
        words = scanner(groups.targets[target], language, wanted=None, window=1)
        places = locate(words, text).places if text else []
        if not places:
            why = f"does not mention the target {target!r}" if text else "is empty in all rows"
            code = "target_missing" if text else "missing_field"
            record = {"passage": name, "target": target}
            detail = f"the text of the passage {name!r} {why}"
            refused.append(Rejection(code=code, detail=detail, where=place, record=record))
            continue
        label = groups.names[int(chosen[number].argmax())] if chosen[number].any() else None
        passage = Passage(id=name, text=text, target=target)
        labelled.append(LabelledPassage(passage, places[0].start, places[0].end, label))
    if not labelled:
        why = f", such as: {refused[0].where}: {refused[0].detail}" if refused else ""
        raise CurationError(
            f"{path}: no row is a label that can be used{why}",
            "write the targets and groups as in their lists, in texts that mention the target",
        )
    return Labelled(labelled, refused)
