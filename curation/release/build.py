"""All files of a release, from its contents and its facts; and those that reveal gold labels."""

import hashlib
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import orjson

from curation.files import dump_json
from curation.release import data_files, harness_files, metadata
from curation.release.texts import card
from curation.release.texts.render import markdown
from curation.released import contents as layout
from curation.released.columns import column_names
from curation.released.commitments import HiddenGold, published_gold, reveal_rows
from curation.released.contents import SPLITS, Contents, DataFile, PublishedCat, PublishedOption
from curation.released.facts import Facts

Tell = Callable[[str, int, int], None]


def files(
    contents: Contents,
    facts: Facts,
    *,
    errata_lines: bytes = b"",
    tell: Tell = lambda stage, done, total: None,
) -> Iterator[tuple[str, bytes]]:
    """Make all files of a release one by one, so that only one is in memory.

    Args:
        contents: what it publishes.
        facts: what it says about itself; ``canonical`` and ``Hidden.sealed`` are filled in here.
            The canonical hash is the sha256 of the JSONL files in ``cats/``, joined in order of
            name: ``cat cats/*.jsonl | sha256sum`` gives the same. It depends on the CATs only, so
            two versions with the same hash have the same CATs in the same order.
        errata_lines: the lines of ``errata.jsonl``; empty if there is no earlier version.
        tell: called with the stage and how much of it is done.

    Returns:
        Path in the release's folder and bytes of each file.
    """
    errata = [(layout.ERRATA, errata_lines)] if errata_lines else []
    parts = [
        make(contents)
        for make in (data_files.stereoset_files, data_files.parquet_files, data_files.flat_files)
    ]
    data: dict[str, DataFile] = {}
    canonical = hashlib.sha256()
    for number, part in enumerate([*parts, errata]):
        tell("files", number, len(parts) + 2)
        for path, content in part:
            data[path] = DataFile.of(path, content, _rows(contents, path, content))
            if path.startswith("cats/") and path.endswith(".jsonl"):
                canonical.update(content)
            yield path, content
            del content
    tell("files", len(parts) + 1, len(parts) + 2)
    facts = facts.model_copy(update={"canonical": canonical.hexdigest()})
    if facts.hidden and layout.SEALED in data:
        sealed = {"sealed": data[layout.SEALED].sha256}
        facts = facts.model_copy(update={"hidden": facts.hidden.model_copy(update=sealed)})
    about = [data[path] for path in sorted(data)]
    described = {
        **harness_files.lm_eval_files(contents, facts),
        layout.CARD: card.card(facts, about),
        layout.STATEMENT: card.statement(facts),
        layout.LICENSE: facts.licence.text.encode(),
        layout.CITATION: metadata.citation(facts),
        layout.CROISSANT: metadata.croissant(facts, about),
        layout.DATAPACKAGE: metadata.datapackage(facts, about),
        layout.FACTS: dump_json(facts.model_dump(mode="json")),
    }
    yield from described.items()
    tell("files", len(parts) + 2, len(parts) + 2)
    every = [*data.values(), *(DataFile.of(*file) for file in described.items())]
    yield layout.SUMS, "".join(f"{f.sha256}  {f.path}\n" for f in sorted(every)).encode()


def _rows(contents: Contents, path: str, content: bytes) -> int | None:
    """How many CATs, annotations, terms or errata a file has."""
    if path.endswith(".parquet"):
        from pyarrow.parquet import ParquetFile

        return int(ParquetFile(io.BytesIO(content)).metadata.num_rows)
    if path.endswith(".jsonl"):
        return content.count(b"\n")
    cats = {f"{split}.json": len(contents.part(split)) for split in SPLITS}
    return {**cats, layout.ANNOTATIONS: len(contents.annotations)}.get(path)


# --- the folder that reveals hidden gold labels ---------------------------------------------------


def revealed_files(
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
    originals = {gold.original: gold.id for gold in golds}
    known = {cat.id: cat for cat in contents.cats if cat.id in originals}
    # The annotations of the CATs, under the ids of the release.
    options = {o.original: o.id for gold in golds for o in gold.sentences}
    every = contents.annotations
    rows = every[every["cat_id"].isin(list(known))].reset_index(drop=True)
    ids = {"cat_id": originals, "association_id": options}
    table = rows.assign(**{column: rows[column].map(new) for column, new in ids.items()})
    table = table[column_names("annotations")]
    without = frozenset(gold.id for gold in golds if gold.original in contents.without_votes)
    cats = tuple(_opened(gold, known.get(gold.original)) for gold in golds)
    opened = replace(contents, cats=cats, annotations=table, terms=(), without_votes=without)
    return {
        layout.CARD: markdown(
            "revealed.md",
            name=name,
            version=contents.version,
            warning=warning,
            hidden="texts and gold labels" if golds[0].sealed else "gold labels",
            cats=len(golds),
            labels=len(table),
        ).encode(),
        layout.ANNOTATIONS: table.to_csv(index=False, lineterminator="\n").encode(),
        layout.REVEAL: b"".join(orjson.dumps(row) + b"\n" for row in reveal_rows(golds)),
        "test.json": dict(data_files.stereoset_files(opened))["test.json"],
    }


def _opened(gold: HiddenGold, cat: PublishedCat | None) -> PublishedCat:
    options = tuple(PublishedOption(o.id, o.sentence, o.gold_label) for o in gold.sentences)
    tier = cat.tier if cat else None
    return published_gold(gold, "test", tier=tier, options=options, commitment=None)
