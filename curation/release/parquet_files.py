"""The CATs as Parquet, with the fields and the order of classes of ``McGill-NLP/stereoset``.

Code that was written for that dataset reads them under another id. ``sentences`` is a struct of
lists, and a sentence's ``labels`` are one, too. The schema's metadata name the classes of integer
labels, as the library datasets writes them, so that they are known without the dataset card.
"""

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

from curation.catsets.labels import GOLD_ORDER, HIDDEN, LABEL_ORDER
from curation.files import CurationError
from curation.records import KINDS, Value
from curation.release.contents import HUB_SPLITS, SPLITS, Contents, PublishedCat

if TYPE_CHECKING:
    import pyarrow as arrow

Labels = Mapping[str, Sequence[tuple[str, Value]]]
_TEXT = {"dtype": "string", "_type": "Value"}
_GOLD = {"names": list(GOLD_ORDER), "_type": "ClassLabel"}
_LABEL = {"names": list(LABEL_ORDER), "_type": "ClassLabel"}
# Versions of datasets before 4 know «Sequence» only, and later ones read it as well.
_LABELS = {"feature": {"label": _LABEL, "human_id": _TEXT}, "_type": "Sequence"}
_SENTENCES = {"sentence": _TEXT, "id": _TEXT, "labels": _LABELS, "gold_label": _GOLD}
FEATURES: Mapping[str, Any] = {
    **dict.fromkeys(("id", "target", "bias_type", "context"), _TEXT),
    "sentences": {"feature": _SENTENCES, "_type": "Sequence"},
}
"""The fields and their types, as datasets describes them."""


def check_installed() -> None:
    """Check that Parquet can be written.

    Raises:
        CurationError: pyarrow is not installed.
    """
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise CurationError(
            "a release has Parquet files, which need pyarrow, and it is not installed",
            "pip install 'curation[parquet]'",
        ) from None


def path(kind: str, split: str) -> str:
    """The file of a kind and a split («validation» or «test»).

    >>> path("intersentence", "validation")
    'intersentence/validation-00000-of-00001.parquet'
    """
    return f"{kind}/{split}-00000-of-00001.parquet"


def files(contents: Contents) -> dict[str, bytes]:
    """A file for each kind and split that has CATs; the same pyarrow writes the same bytes.

    A hidden CAT has the gold label -1, which is no class, and no labels.

    Raises:
        CurationError: pyarrow is not installed.
    """
    check_installed()
    labels = contents.labels()
    return {
        path(kind, HUB_SPLITS[split]): _parquet(cats, labels)
        for kind in KINDS
        for split in SPLITS
        if (cats := contents.part(split, kind))
    }


def _parquet(cats: Sequence[PublishedCat], labels: Labels) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    rows = [
        {
            "id": cat.id,
            "target": cat.target,
            "bias_type": cat.domain,
            "context": cat.context,
            "sentences": _sentences(cat, labels),
        }
        for cat in cats
    ]
    buffer = BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, _schema()), buffer)
    return buffer.getvalue()


def _sentences(cat: PublishedCat, labels: Labels) -> dict[str, list[Any]]:
    votes = [labels.get(option.id, ()) for option in cat.options]
    return {
        "sentence": [option.sentence for option in cat.options],
        "id": [option.id for option in cat.options],
        "labels": [
            {
                "label": [LABEL_ORDER.index(label) for _, label in pairs],
                "human_id": [annotator for annotator, _ in pairs],
            }
            for pairs in votes
        ],
        "gold_label": [
            HIDDEN if option.gold is None else GOLD_ORDER.index(option.gold)
            for option in cat.options
        ],
    }


def _schema() -> "arrow.Schema":
    import pyarrow as arrow

    texts, integers = arrow.list_(arrow.string()), arrow.list_(arrow.int64())
    labels = arrow.list_(arrow.struct([("label", integers), ("human_id", texts)]))
    sentences = arrow.struct(
        [("sentence", texts), ("id", texts), ("labels", labels), ("gold_label", integers)]
    )
    fields = [(name, arrow.string()) for name in FEATURES if name != "sentences"]
    described = json.dumps({"info": {"features": FEATURES}})
    return arrow.schema([*fields, ("sentences", sentences)], metadata={"huggingface": described})
