"""The files in StereoSet's format, and the table of annotations."""

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from curation.catsets.stereoset import Labels, document, item_of
from curation.files import dump_json
from curation.records import Annotation, Cat, SplitName
from curation.release.contents import SPLITS, Contents, PublishedCat


def files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of ``dev.json`` and of ``test.json``, unless the test set is sealed.

    Their labels are the counted ones. A hidden CAT has the gold label "hidden", no labels, no tier,
    and a field ``commitment``.

    Args:
        contents: what the release publishes.
    """
    splits = SPLITS[:1] if contents.sealed else SPLITS
    labels = contents.labels()
    for split in splits:
        yield f"{split}.json", dump_json(_split(contents, split, labels))


def _split(contents: Contents, split: SplitName, labels: Labels) -> dict[str, Any]:
    part = contents.part(split)
    number = sum(cat.id in contents.without_votes for cat in part)
    return document(
        ((cat.kind, _item(cat, labels)) for cat in part),
        version=contents.version,
        settings=contents.settings.model_copy(update={"without_votes": number}),
    )


def _item(cat: PublishedCat, labels: Labels) -> dict[str, Any]:
    more = {} if cat.commitment is None else {"commitment": cat.commitment}
    return item_of(cat, cat.options, labels, **more)


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
