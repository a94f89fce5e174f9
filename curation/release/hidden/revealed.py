"""The files that reveal the hidden gold labels of a release, with their proof."""

from collections.abc import Sequence
from dataclasses import replace
from string import Template

import orjson
import pandas as pd

from curation.files import shipped
from curation.formats.markdown import inline
from curation.formats.toml_files import read_toml
from curation.records import Annotation
from curation.release import data_files
from curation.release.contents import Contents, PublishedCat, PublishedOption
from curation.release.hidden.commitments import HiddenGold, published_gold, reveal_rows
from curation.text.wording import amount

_TEXTS = read_toml(shipped("data", "release", "revealed.toml"), fix="see its first lines")
SNIPPET = _TEXTS["program"]
"""A program that checks a revealed folder against the release, with nothing but Python."""


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
        "README.md": _readme(golds, table, name=name, warning=warning, version=contents.version),
        "annotations.csv": table.to_csv(index=False, lineterminator="\n").encode(),
        "reveal.jsonl": b"".join(orjson.dumps(row) + b"\n" for row in reveal_rows(golds)),
        "test.json": dict(data_files.stereoset_files(opened))["test.json"],
    }


def _opened(gold: HiddenGold, cat: PublishedCat | None) -> PublishedCat:
    options = tuple(PublishedOption(o.id, o.sentence, o.gold_label) for o in gold.sentences)
    tier = cat.tier if cat else None
    return published_gold(gold, "test", tier=tier, options=options, commitment=None)


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


def _readme(
    golds: Sequence[HiddenGold], table: pd.DataFrame, *, name: str, warning: str, version: str
) -> bytes:
    text = Template(_TEXTS["readme"]).substitute(
        name=inline(name),
        version=inline(version),
        hidden="texts and gold labels" if golds[0].sealed else "gold labels",
        warning=warning,
        cats=amount(len(golds), "CAT"),
        labels=amount(len(table), "label"),
        program=SNIPPET,
    )
    return text.encode()
