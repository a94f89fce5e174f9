"""All files of a release, from its contents and its facts."""

import hashlib
import io
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from curation.files import dump_json
from curation.records import Cat, CatAssociation
from curation.release import parquet_files, tables
from curation.release.contents import SPLITS, Contents, DataFile
from curation.release.facts import Facts

ALGORITHM = 6
SUMS = "SHA256SUMS"
FACTS = "release.json"
ERRATA = "errata.jsonl"

Tell = Callable[[str, int, int], None]


def files(
    contents: Contents,
    facts: Facts,
    *,
    errata: bytes = b"",
    tell: Tell = lambda stage, done, total: None,
) -> dict[str, bytes]:
    """All files of a release by their path in its folder.

    Args:
        contents: what it publishes.
        facts: what it says about itself; ``canonical`` is filled in here.
        errata: the lines of ``errata.jsonl``; empty if there is no earlier version.
        tell: called with the stage and how much of it is done.
    """
    parts: list[tuple[str, Callable[[], Mapping[str, bytes]]]] = [
        ("StereoSet's format", lambda: _stereoset(contents)),
        ("Parquet", lambda: parquet_files.files(contents)),
        ("tables", lambda: tables.files(contents)),
        ("errata", lambda: {ERRATA: errata} if errata else {}),
    ]
    data: dict[str, bytes] = {}
    for number, (_, part) in enumerate(parts):
        tell("files", number, len(parts) + 1)
        data |= part()
    tell("files", len(parts), len(parts) + 1)
    facts = facts.model_copy(update={"canonical": tables.canonical(data)})
    every = {**data, **_described(contents, facts, describe(contents, data))}
    tell("files", len(parts) + 1, len(parts) + 1)
    return {**every, SUMS: sums(every)}


def _described(contents: Contents, facts: Facts, data: tuple[DataFile, ...]) -> dict[str, bytes]:
    """Tasks, texts and metadata."""
    return {
        **_made("lm_eval", "files", contents, facts, one=""),
        **(_made("card", "card", facts, data, one="README.md") or _readme(contents, facts)),
        **_made("statement", "statement", facts, one="STATEMENT.md"),
        "LICENSE": facts.licence.text.encode(),
        **_made("citation", "citation", facts, one="CITATION.cff"),
        **_made("croissant", "croissant", facts, data, one="croissant.json"),
        **_made("datapackage", "datapackage", facts, data, one="datapackage.json"),
        FACTS: dump_json(facts.model_dump(mode="json")),
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
    return {**cats, tables.ANNOTATIONS: len(contents.annotations)}.get(path)


def sums(files: Mapping[str, bytes]) -> bytes:
    """The content of ``SHA256SUMS``, in the order of paths; ``sha256sum -c`` reads it."""
    lines = (f"{hashlib.sha256(files[path]).hexdigest()}  {path}\n" for path in sorted(files))
    return "".join(lines).encode()


# --- until the parts are there ------------------------------------------------------------------


def _made(module: str, function: str, *given: Any, one: str) -> Mapping[str, bytes]:
    """What a part gives: a mapping of files, or the content of ``one`` file."""
    name = f"curation.release.{module}"
    part = getattr(import_module(name), function, None) if find_spec(name) else None
    if part is None:
        return {}
    made = part(*given)
    return {one: made} if one else made


def _cats(contents: Contents) -> list[Cat]:
    return [
        Cat(
            id=cat.id,
            kind=cat.kind,
            domain=cat.domain,
            term=cat.target,
            target=cat.target,
            family=cat.target,
            split=cat.split,
            context=cat.context,
            associations=tuple(  # type: ignore[arg-type]
                CatAssociation(id=o.id, sentence=o.sentence, gold=o.gold)  # type: ignore[arg-type]
                for o in cat.options
            ),
            tier=cat.tier,
            target_original=cat.target_original,
        )
        for cat in contents.cats
    ]


def _stereoset(contents: Contents) -> Mapping[str, bytes]:
    from curation.release import stereoset_files as stereoset

    if own := getattr(stereoset, "files", None):
        return own(contents)  # type: ignore[no-any-return]
    files = stereoset.split_files(
        _cats(contents),
        contents.annotations,
        version=contents.version,
        settings=contents.settings,
        without_votes=contents.without_votes,
    )
    return {name: dump_json(content) for name, content in files.items()}


def _readme(contents: Contents, facts: Facts) -> Mapping[str, bytes]:
    from curation.release import card

    blocking = (p for p in facts.pitfalls if p.accepted and p.severity == "block" and p.count)
    text = card.readme(
        _cats(contents),
        contents.annotations,
        name=facts.name,
        version=facts.version,
        language=facts.language,
        licence=facts.licence.name,
        warning=facts.warning,
        decisions=card.how_decided(facts.decisions),
        accepted={p.code: p.count or 0 for p in blocking},
        other_licences=facts.other_licences,
        without_votes=contents.without_votes,
    )
    return {"README.md": text.encode()}
