"""All files of a release, from its contents and its facts."""

import hashlib
import io
from collections.abc import Callable, Mapping

from curation.files import dump_json
from curation.release import layout
from curation.release.contents import SPLITS, Contents, DataFile
from curation.release.data import parquet_files, stereoset_files, tables
from curation.release.facts import Facts
from curation.release.harnesses import lm_eval
from curation.release.metadata import citation, croissant, datapackage
from curation.release.texts import card, statement

ALGORITHM = 8

Tell = Callable[[str, int, int], None]


def files(
    contents: Contents,
    facts: Facts,
    *,
    errata_lines: bytes = b"",
    tell: Tell = lambda stage, done, total: None,
) -> dict[str, bytes]:
    """All files of a release by their path in its folder.

    Args:
        contents: what it publishes.
        facts: what it says about itself; ``canonical`` is filled in here.
        errata_lines: the lines of ``errata.jsonl``; empty if there is no earlier version.
        tell: called with the stage and how much of it is done.
    """
    parts: list[tuple[str, Callable[[], Mapping[str, bytes]]]] = [
        ("StereoSet's format", lambda: stereoset_files.files(contents)),
        ("Parquet", lambda: parquet_files.files(contents)),
        ("tables", lambda: tables.files(contents)),
        ("errata", lambda: {layout.ERRATA: errata_lines} if errata_lines else {}),
    ]
    data: dict[str, bytes] = {}
    for number, (_, part) in enumerate(parts):
        tell("files", number, len(parts) + 1)
        data |= part()
    tell("files", len(parts), len(parts) + 1)
    facts = facts.model_copy(update={"canonical": tables.canonical(data)})
    every = {**data, **_described(contents, facts, describe(contents, data))}
    tell("files", len(parts) + 1, len(parts) + 1)
    return {**every, layout.SUMS: sums(every)}


def _described(contents: Contents, facts: Facts, data: tuple[DataFile, ...]) -> dict[str, bytes]:
    """Tasks, texts and metadata."""
    return {
        **lm_eval.files(contents, facts),
        layout.CARD: card.card(facts, data),
        layout.STATEMENT: statement.statement(facts),
        layout.LICENSE: facts.licence.text.encode(),
        layout.CITATION: citation.citation(facts),
        layout.CROISSANT: croissant.croissant(facts, data),
        layout.DATAPACKAGE: datapackage.datapackage(facts, data),
        layout.FACTS: dump_json(facts.model_dump(mode="json")),
    }


def describe(contents: Contents, data: Mapping[str, bytes]) -> tuple[DataFile, ...]:
    """The descriptions of data files, in the order of their paths.

    Args:
        contents: what the release publishes.
        data: the files by path.
    """
    return tuple(
        DataFile.of(path, content, _rows(contents, path, content))
        for path, content in sorted(data.items())
    )


def _rows(contents: Contents, path: str, content: bytes) -> int | None:
    """How many CATs, annotations, terms or errata a file has."""
    if path.endswith(".parquet"):
        from pyarrow.parquet import ParquetFile

        return int(ParquetFile(io.BytesIO(content)).metadata.num_rows)
    if path.endswith(".jsonl"):
        return content.count(b"\n")
    cats = {f"{split}.json": len(contents.part(split)) for split in SPLITS}
    return {**cats, layout.ANNOTATIONS: len(contents.annotations)}.get(path)


def sums(files: Mapping[str, bytes]) -> bytes:
    """The content of ``SHA256SUMS``, in the order of paths; ``sha256sum -c`` reads it."""
    lines = (f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files))
    return "".join(lines).encode()
