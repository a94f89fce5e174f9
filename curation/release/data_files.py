"""The data files of a release: Parquet, StereoSet's format, JSONL and CSV."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import orjson
import pandas as pd

from curation.catsets.entries import GOLD_ORDER, LABEL_ORDER
from curation.catsets.stereoset import Labels, document, item_of
from curation.files import dump_json
from curation.formats.parquet import check_installed
from curation.kinds import CAT_KINDS, GOLD_COLUMNS
from curation.records import Cat, Value
from curation.released.columns import Feature, Table, column_names, features
from curation.released.contents import (
    ANNOTATIONS,
    HUB_SPLITS,
    SEALED,
    SPLITS,
    TERMS,
    WHOLE,
    Contents,
    PublishedCat,
    PublishedTerm,
    flat_path,
    parquet_path,
)

if TYPE_CHECKING:
    import pyarrow as arrow

    Rows = pd.DataFrame | Sequence[Mapping[str, Any]]


def stereoset_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of ``dev.json`` and of ``test.json``, unless the test set is sealed.

    There is neither if StereoSet's format does not have a kind of the CATs (``Contents.kinds``).
    Their labels are the counted ones. A hidden CAT has the gold label "hidden", no labels, no tier,
    and a field ``commitment``.

    Args:
        contents: what the release publishes.
    """
    labels = contents.labels()
    splits = SPLITS[:1] if contents.sealed else SPLITS
    for split in splits if contents.in_stereoset else ():
        part = contents.part(split)
        number = sum(cat.id in contents.without_votes for cat in part)
        settings = contents.settings.model_copy(update={"without_votes": number})
        items = ((cat.kind, _item(cat, labels)) for cat in part)
        content = document(items, version=contents.version, settings=settings)
        yield f"{split}.json", dump_json(content)


def _item(cat: PublishedCat, labels: Labels) -> dict[str, Any]:
    more = {} if cat.commitment is None else {"commitment": cat.commitment}
    return item_of(cat, [option[:3] for option in cat.options], labels, **more)


def annotations(cats: Sequence[Cat], labels: pd.DataFrame) -> pd.DataFrame:
    """The labels of the published CATs as a long table with one row per label.

    Writers' intents are not included, even if they counted as labels.

    Args:
        cats: the published CATs.
        labels: rows of ``records.Label`` with the column ``code`` of ``filter.count``.

    Returns:
        The columns of the table, in order of submission.
    """
    published = {a.id: cat.id for cat in cats for a in cat.associations}
    tiers = pd.Series({cat.id: cat.tier for cat in cats}, dtype="Int64")
    rows = labels[labels["association"].isin(list(published))]
    texts = rows[["association", "annotator", "value", "round"]].astype(object)
    table = texts.rename(columns={"association": "association_id", "value": "label"})
    table["cat_id"] = table["association_id"].map(published)
    table["counted"] = (rows["code"] == "").to_numpy()
    table["tier"] = table["cat_id"].map(tiers)
    return table[column_names("annotations")].reset_index(drop=True)


def flat_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """A file of CATs for each kind and split that has any, the annotations and the terms.

    A sealed test set is in ``sealed.jsonl``: id, kind, domain and commitment of each CAT.

    Returns:
        Path and bytes of each; the files of CATs are in order of path.
    """
    for kind in sorted(CAT_KINDS):
        for split in SPLITS:
            if cats := contents.part(split, kind):
                yield flat_path(kind, split), b"".join(map(_line, map(row, cats)))
    table = BytesIO()  # a text would take several times the memory while it is made
    contents.annotations.to_csv(table, index=False, lineterminator="\n")
    yield ANNOTATIONS, table.getvalue()
    del table
    yield TERMS, b"".join(_line(term_row(term)) for term in contents.terms)
    if contents.sealed:
        yield SEALED, b"".join(_line(cat._asdict()) for cat in contents.sealed)


def _line(row: Mapping[str, Any]) -> bytes:
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def row(cat: PublishedCat) -> dict[str, Any]:
    """A line of ``cats/``; a hidden CAT has its options and its commitment."""
    shown = {option.gold: option.sentence for option in cat.options}
    values = cat._asdict() | {name: shown.get(gold) for name, gold in GOLD_COLUMNS.items()}
    values["options"] = [{"id": option.id, "sentence": option.sentence} for option in cat.options]
    names = column_names("cats" if cat.commitment is None else "hidden", [cat.kind])
    return {name: values[name] for name in names}


def term_row(published: PublishedTerm) -> dict[str, Any]:
    """A line of ``terms.jsonl``."""
    values = published.term.model_dump() | {"split": published.split}
    values |= {kind: published.cats.get(kind, 0) for kind in CAT_KINDS}
    return {name: values[name] for name in column_names("terms")}


ClassLabels = Mapping[str, Sequence[tuple[str, Value]]]
_NO_CLASS = -1  # the gold label of a hidden CAT


def parquet_files(contents: Contents) -> Iterator[tuple[str, bytes]]:
    """Path and bytes of a file for each configuration and split that has rows.

    The same version of pyarrow writes the same bytes.

    The configurations are ``intersentence`` and ``intrasentence``; ``cats``, the CATs as in
    the flat files, by split; ``hidden``, the same for hidden CATs, whose fields are others;
    ``annotations`` and ``terms``. In the first two, a hidden CAT has the gold label -1, which is
    no class, and no labels.

    Raises:
        CurationError: pyarrow is not installed.
    """
    check_installed()
    for config, split, table, rows in _tables(contents):
        if len(rows):
            yield parquet_path(config, split), _parquet(features(table, contents.kinds), rows)


def _tables(contents: Contents) -> Iterator[tuple[str, str, Table, "Rows"]]:
    """Configuration, split, table and rows of each file, also of those without rows."""
    labels = contents.labels()
    for kind in reversed(CAT_KINDS):
        for split in SPLITS:
            cats = contents.part(split, kind)
            yield kind, HUB_SPLITS[split], "hub", [_as_on_the_hub(cat, labels) for cat in cats]
    del labels
    for split in SPLITS:
        cats = [cat for kind in CAT_KINDS for cat in contents.part(split, kind)]
        yield "cats", split, "cats", [row(cat) for cat in cats if cat.commitment is None]
        # Options are a struct of lists, as datasets stores them.
        hidden = [
            row(cat)
            | {"options": {n: [getattr(o, n) for o in cat.options] for n in ("id", "sentence")}}
            for cat in cats
            if cat.commitment is not None
        ]
        yield "hidden", split, "hidden", hidden
    yield "annotations", WHOLE, "annotations", contents.annotations
    yield "terms", WHOLE, "terms", [term_row(term) for term in contents.terms]


def _parquet(features: Mapping[str, Feature], rows: "Rows") -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    described = json.dumps({"info": {"features": features}})
    schema = arrow.schema(
        [(name, _type(feature)) for name, feature in features.items()],
        metadata={"huggingface": described},
    )
    buffer = BytesIO()
    if isinstance(rows, pd.DataFrame):
        table = arrow.Table.from_pandas(rows, schema, preserve_index=False)
        table = table.replace_schema_metadata(schema.metadata)  # without that of pandas
    else:
        table = arrow.Table.from_pylist(rows, schema)
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _type(feature: Feature) -> "arrow.DataType":
    """The type of Arrow in which datasets stores a feature: of objects in a list, lists."""
    import pyarrow as arrow

    if feature["_type"] == "ClassLabel":
        return arrow.int64()
    if feature["_type"] == "Value":
        return arrow.type_for_alias(feature["dtype"])
    inner = feature["feature"]
    if "_type" in inner:
        return arrow.list_(_type(inner))
    return arrow.struct([(name, arrow.list_(_type(part))) for name, part in inner.items()])


def _as_on_the_hub(cat: PublishedCat, labels: ClassLabels) -> dict[str, Any]:
    sentences = defaultdict[str, list[Any]](list)
    for id, sentence, gold, _ in cat.options:
        pairs = labels.get(id, ())
        label = [LABEL_ORDER.index(label) for _, label in pairs]
        votes = {"label": label, "human_id": [annotator for annotator, _ in pairs]}
        number = _NO_CLASS if gold is None else GOLD_ORDER.index(gold)
        own = {"sentence": sentence, "id": id, "labels": votes, "gold_label": number}
        for name, value in own.items():
            sentences[name].append(value)
    own = {name: getattr(cat, name) for name in ("id", "target", "context")}
    return {**own, "bias_type": cat.domain, "sentences": sentences}
