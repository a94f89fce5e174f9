"""All files of a release, from its contents and its facts."""

import hashlib
import io
from collections.abc import Callable, Iterator

from curation.files import dump_json
from curation.release import contents as layout
from curation.release import data_files, harness_files
from curation.release.contents import SPLITS, Contents, DataFile
from curation.release.facts import Facts
from curation.release.metadata import citation, croissant, datapackage
from curation.release.texts import card, statement

ALGORITHM = 9

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
        facts: what it says about itself; ``canonical`` and ``hidden.sealed`` are filled in here.
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
    described = _described(contents, facts, tuple(data[path] for path in sorted(data)))
    yield from described.items()
    tell("files", len(parts) + 2, len(parts) + 2)
    every = [*data.values(), *(DataFile.of(*file) for file in described.items())]
    yield layout.SUMS, "".join(f"{f.sha256}  {f.path}\n" for f in sorted(every)).encode()


def _described(contents: Contents, facts: Facts, data: tuple[DataFile, ...]) -> dict[str, bytes]:
    """Tasks, texts and metadata."""
    return {
        **harness_files.lm_eval_files(contents, facts),
        layout.CARD: card.card(facts, data),
        layout.STATEMENT: statement.statement(facts),
        layout.LICENSE: facts.licence.text.encode(),
        layout.CITATION: citation.citation(facts),
        layout.CROISSANT: croissant.croissant(facts, data),
        layout.DATAPACKAGE: datapackage.datapackage(facts, data),
        layout.FACTS: dump_json(facts.model_dump(mode="json")),
    }


def _rows(contents: Contents, path: str, content: bytes) -> int | None:
    """How many CATs, annotations, terms or errata a file has."""
    if path.endswith(".parquet"):
        from pyarrow.parquet import ParquetFile

        return int(ParquetFile(io.BytesIO(content)).metadata.num_rows)
    if path.endswith(".jsonl"):
        return content.count(b"\n")
    cats = {f"{split}.json": len(contents.part(split)) for split in SPLITS}
    return {**cats, layout.ANNOTATIONS: len(contents.annotations)}.get(path)
