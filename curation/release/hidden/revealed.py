"""The files that reveal the hidden gold labels of a release, with their proof."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
import pandas as pd

from curation.records import Annotation
from curation.release import data_files
from curation.release.contents import Contents, PublishedCat, PublishedOption
from curation.release.hidden.commitments import HiddenGold, reveal_rows
from curation.release.texts.render import markdown


def files(
    golds: Sequence[HiddenGold],
    contents: Contents,
    *,
    name: str,
    warning: str,
) -> dict[str, bytes]:
    """The files of a revealed folder, but for ``SHA256SUMS``.

    Args:
        golds: the hidden CATs, in the order of the release.
        contents: the campaign's CATs and annotations with their own ids. Only CATs that still have
            the texts and gold labels of the release get tiers and annotations.
        name: the benchmark's name.
        warning: the content warning.
    """
    known = {cat.id: cat for cat in contents.cats if cat.id in {gold.original for gold in golds}}
    table = _annotations(golds, contents.annotations, known)
    opened = replace(
        contents,
        cats=tuple(_opened(gold, known.get(gold.original)) for gold in golds),
        annotations=table,
        terms=(),
        without_votes=frozenset(g.id for g in golds if g.original in contents.without_votes),
    )
    return {
        "README.md": markdown(
            "revealed.md",
            name=name,
            version=contents.version,
            warning=warning,
            hidden="texts and gold labels" if golds[0].sealed else "gold labels",
            cats=len(golds),
            labels=len(table),
        ).encode(),
        "annotations.csv": table.to_csv(index=False, lineterminator="\n").encode(),
        "reveal.jsonl": b"".join(orjson.dumps(row) + b"\n" for row in reveal_rows(golds)),
        "test.json": dict(data_files.stereoset_files(opened))["test.json"],
    }


def _opened(gold: HiddenGold, cat: PublishedCat | None) -> PublishedCat:
    first, second, third = (PublishedOption(o.id, o.sentence, o.gold_label) for o in gold.sentences)
    return PublishedCat(
        *(gold.id, gold.kind, gold.bias_type, gold.target, gold.target_original, "test"),
        *(gold.context, cat.tier if cat else None, (first, second, third)),
    )


def _annotations(
    golds: Sequence[HiddenGold], table: pd.DataFrame, known: dict[str, PublishedCat]
) -> pd.DataFrame:
    """The annotations of the revealed CATs, under the ids of the release."""
    cats = {gold.original: gold.id for gold in golds if gold.original in known}
    options = {o.original: o.id for gold in golds for o in gold.sentences}
    rows = table[table["cat_id"].isin(list(cats))].reset_index(drop=True)
    return rows.assign(
        cat_id=rows["cat_id"].map(cats), association_id=rows["association_id"].map(options)
    )[list(Annotation.model_fields)]
