"""The files that reveal the hidden gold labels of a release, with their proof."""

from collections.abc import Sequence
from dataclasses import replace

import orjson
import pandas as pd

from curation.formats.markdown import inline
from curation.records import Annotation
from curation.release import data_files
from curation.release.contents import Contents, PublishedCat, PublishedOption
from curation.release.hidden.commitments import HiddenGold, reveal_rows
from curation.text.wording import amount

SNIPPET = """import hashlib, hmac, json, os, sys

def lines(path):
    return [json.loads(line) for line in open(path, encoding="utf-8")]

def read(folder):
    if os.path.exists(f"{folder}/sealed.jsonl"):
        return {cat["id"]: cat for cat in lines(f"{folder}/sealed.jsonl")}
    data = json.load(open(f"{folder}/test.json", encoding="utf-8"))["data"]
    return {cat["id"]: dict(cat, kind=kind, domain=cat["bias_type"])
            for kind in data for cat in data[kind]}

def texts(cat, options):
    names = ("id", "kind", "domain", "target", "context")
    pairs = [(option["id"], option["sentence"]) for option in cat[options]]
    return [cat[name] for name in names] + pairs

release, revealed = sys.argv[1:]
public, golds = read(release), read(revealed)
for row in lines(f"{revealed}/reveal.jsonl"):
    cat, gold = public.pop(row["id"]), golds[row["id"]]
    made = hmac.new(bytes.fromhex(row["nonce"]), row["message"].encode(), hashlib.sha256)
    assert made.hexdigest() == cat["commitment"], row["id"]
    sealed = json.loads(row["message"])
    assert texts(sealed, "options") == texts(gold, "sentences"), row["id"]
    if "sentences" in cat:
        assert texts(sealed, "options") == texts(cat, "sentences"), row["id"]
    for name in ("id", "kind", "domain"):
        assert sealed[name] == cat[name], (row["id"], name)
    labels = [option["gold_label"] for option in gold["sentences"]]
    assert [option["gold_label"] for option in sealed["options"]] == labels, row["id"]
assert not public, "some hidden CATs are not revealed"
print("all commitments hold")
"""
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


def _readme(
    golds: Sequence[HiddenGold], table: pd.DataFrame, *, name: str, warning: str, version: str
) -> bytes:
    hidden = "texts and gold labels" if golds[0].sealed else "gold labels"
    text = f"""# {inline(name)} {inline(version)}: the hidden {hidden}

> {warning}

Release {inline(version)} has {amount(len(golds), "CAT")} without {hidden}, and a commitment for
each of them. These are the {hidden}, under the ids of the release.

- `test.json`: the CATs with their gold labels, in StereoSet's format. `tier` and `labels` are empty
  for a CAT that the team changed after the release.
- `annotations.csv`: {amount(len(table), "label")}, one row per label, under pseudonyms.
- `reveal.jsonl`: for each CAT its id, the message that the commitment is about, and the secret
  nonce.
- `SHA256SUMS`: check with `sha256sum -c SHA256SUMS`.

## Check that these are the gold labels of the release

A commitment is HMAC-SHA256 of the message under the nonce. The message has the CAT's id, texts and
gold labels. So the team cannot have changed a gold label after the release. Save this as `check.py`
and run `python check.py RELEASE REVEALED` with the two folders:

```python
{SNIPPET}```

It does not prove that the gold labels are right, or that nobody knew them before.
"""
    return text.encode()
