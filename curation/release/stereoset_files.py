"""The files in StereoSet's format, and the table of annotations."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import pandas as pd

from curation.records import Annotation, Cat
from curation.release.contents import SPLITS
from curation.stereoset import FileSettings, dataset


def split_files(
    cats: Sequence[Cat],
    annotations: pd.DataFrame,
    *,
    version: str,
    settings: FileSettings,
    without_votes: Collection[str] = (),
) -> dict[str, dict[str, Any]]:
    """The content of ``dev.json`` and ``test.json``.

    Args:
        cats: the CATs, in the order of the files.
        annotations: rows of ``records.Annotation``; only the counted ones are included.
        version: the release's version.
        settings: how the CATs were checked; a reader checks them in the same way.
        without_votes: ids of the CATs that have no votes; each file gets the number of its own.
    """
    labels: dict[str, list[tuple[str, str]]] = defaultdict(list)
    counted = annotations[annotations["counted"]]
    for association, annotator, label in zip(
        counted["association_id"], counted["annotator"], counted["label"], strict=True
    ):
        labels[association].append((annotator, label))
    files = {}
    for split in SPLITS:
        part = [cat for cat in cats if cat.split == split]
        number = sum(cat.id in without_votes for cat in part)
        own = settings.model_copy(update={"without_votes": number})
        files[f"{split}.json"] = dataset(part, labels, version=version, settings=own)
    return files


def annotations(cats: Sequence[Cat], labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of the published CATs as a long table with one row per label.

    Writers' intents are not included, even if they counted as labels.

    Args:
        cats: the published CATs.
        labels: rows of ``records.Label`` with the column ``code`` of ``filter.count``.

    Returns:
        The columns of ``records.Annotation``, in order of submission.
    """
    published = {a.id: cat.id for cat in cats for a in cat.associations}
    tiers = pd.Series({cat.id: cat.tier for cat in cats}, dtype="Int64")
    rows = labels[labels["association"].isin(list(published))]
    association = rows["association"].astype(object)
    table = pd.DataFrame(
        {
            "cat_id": association.map(published),
            "association_id": association,
            "annotator": rows["annotator"].astype(object),
            "label": rows["value"].astype(object),
            "round": rows["round"].astype(object),
            "counted": (rows["code"] == "").to_numpy(),
            "tier": association.map(published).map(tiers),
        }
    )
    return table[list(Annotation.model_fields)].reset_index(drop=True)
