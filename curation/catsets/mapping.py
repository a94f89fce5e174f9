"""Mapping files: how to read a set of CATs whose columns, labels or domains have other names."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic import field_validator as check_field

from curation.catsets.entries import NAMES, key_of, plain
from curation.files import CurationError, read_text
from curation.formats.table_words import read_label
from curation.formats.toml_files import line_of, read_toml, shipped_table
from curation.kinds import GOLDS, ITEMS, Gold, Kind
from curation.records import VALUES, Fields, Value

DOCS = "see «Mapping files» in docs/datasets.md"
ORDER = ", ".join(f'"{gold}"' for gold in GOLDS)
_Place = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f]+$", max_length=4000)]
_Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Code = Annotated[str, StringConstraints(pattern=r"^([a-z]{2,3}(-[A-Za-z0-9]+)*)?$", max_length=35)]
_MEANT = shipped_table("catsets", "mapping.toml")
"""For keys of which pydantic's message says little: what is wrong, and the fix."""
_MAY_SHARE = {"target", "target_original"}  # our columns that may be the same column of a file


class MappingFile(BaseModel):
    """A mapping file.

    Attributes:
        files: the data files, relative to the mapping file.
        kind: the kind of all items; by default a column says it, or BLANK in the context.
        domain: the domain of all items; by default a column says it.
        blank: what marks the gap in contexts, beside BLANK.
        language: language code of the texts.
        columns: the column of the file for each of our names.
        labels: our label for each of theirs.
        domains: our domain for each of theirs.
        kinds: our kind for each of theirs.
        order: the gold label of each option of a column ``choices``.
        options: whether options are whole sentences or words that fill BLANK.
        differing: «most»: if the rows of a CAT differ in a text, take the most frequent one.
        repeated: «count»: a pair that is there several times counts as often.
        raters: in a table of answers, the columns that each have the labels of one rater.
        skip: ids of items to leave out; «bad»: in gold files, leave out those that are not CATs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    files: Annotated[tuple[_Place, ...], Field(min_length=1, max_length=1000)]
    kind: Kind | None = None
    domain: _Name | None = None
    blank: tuple[_Name, ...] = ()
    language: _Code = ""
    columns: dict[str, _Name] = {}
    labels: dict[str, Value] = {}
    domains: dict[str, _Name] = {}
    kinds: dict[str, Kind] = {}
    order: tuple[Gold, ...] | None = None
    options: Literal["words", "sentences"] | None = None
    differing: Literal["most"] | None = None
    repeated: Literal["count"] | None = None
    raters: Annotated[tuple[_Name, ...], Field(max_length=1000)] = ()
    skip: Annotated[tuple[str, ...], Field(max_length=1_000_000)] | Literal["bad"] = ()

    @check_field("files", "blank", mode="before")
    @classmethod
    def _one_or_more(cls, files: Any) -> Any:
        if isinstance(files, list) and (twice := [f for f in files if files.count(f) > 1]):
            raise ValueError(f"names {str(twice[0])[:80]!r} twice")
        return (files,) if isinstance(files, str) else files

    @check_field("order", mode="before")
    @classmethod
    def _in_our_words(cls, order: Any) -> Any:
        if not isinstance(order, list):
            return order
        ours = [read_label(name) if isinstance(name, str) else None for name in order]
        if all(sorted(map(str, ours)) != sorted(kind.roles) for kind in ITEMS.values()):
            raise ValueError(f"must name each of {ORDER} once")
        return ours

    @check_field("skip", mode="before")
    @classmethod
    def _ids(cls, skip: Any) -> Any:
        listed = isinstance(skip, list) and all(isinstance(name, str) for name in skip)
        if not listed and skip != "bad":
            raise ValueError('must be a list of ids, or "bad"')
        return tuple(skip) if listed else skip

    @check_field("labels", mode="before")
    @classmethod
    def _our_labels(cls, labels: Any) -> Any:
        if not isinstance(labels, dict):
            return labels
        ours: dict[str, Value] = {}
        for theirs, name in labels.items():
            label = read_label(name) if isinstance(name, str) else None
            if label is None:
                raise ValueError(f"{str(name)[:80]!r} is not one of {', '.join(VALUES)}")
            if ours.setdefault(key_of(theirs), label) != label:
                raise ValueError(f"{theirs[:80]!r} is there twice; case does not matter")
        return ours

    @check_field("domains", "kinds", mode="before")
    @classmethod
    def _without_case(cls, ours: Any) -> Any:
        if not isinstance(ours, dict):
            return ours
        return {key_of(theirs): name for theirs, name in ours.items()}


def read_mapping(path: Path) -> MappingFile:
    """Read a mapping file.

    Raises:
        CurationError: it is not TOML, has an unknown key, or a value is not allowed; the message
            names the line.
    """
    content = read_toml(path, fix=DOCS)
    data_files = content.get("files")
    if "campaign" in content and not data_files:
        raise CurationError(
            f"{path}: not a mapping file: it has the settings of a campaign",
            "leave out --gold, and name the campaign's folder with -c",
        )
    content = _our_columns(path, content)
    try:
        return MappingFile.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        keys = [str(key) for key in first["loc"]][:2]
        keys = keys if isinstance(content.get(keys[0]), dict) else keys[:1]
        message, fix = first["msg"].removeprefix("Value error, "), DOCS
        if first["type"] == "extra_forbidden":
            message, fix = "no such key", _near(keys[0], MappingFile.model_fields)
        elif first["type"] == "missing":
            message, fix = "is missing", 'name the data file: files = ["data.csv"]'
        elif first["type"] != "value_error" and keys[0] in _MEANT:
            message, fix = _MEANT[keys[0]].values()
        raise mapping_error(path, keys, message, fix) from None


def mapping_error(path: Path, keys: list[str], message: str, fix: str) -> CurationError:
    """The error of a value in a mapping file, with its line."""
    depth = 1 if len(keys) > 1 else 0
    text = read_text(path)
    line = line_of(text, keys, depth=depth) or line_of(text, keys[:1], depth=1)
    named = ".".join(key[:80] for key in keys)
    return CurationError(f"{path}{line}, {named}: {message}", fix)


def _our_columns(path: Path, content: Fields) -> Fields:
    """The content with our names of columns; other spellings and aliases are accepted."""
    columns = content.get("columns")
    if not isinstance(columns, dict):
        return content
    ours = {plain(other): name for name, others in NAMES.items() for other in (name, *others)}
    chosen: Fields = {}
    first: dict[Any, str] = {}  # the first of our names for each column of the file
    for name, column in columns.items():
        if plain(name) not in ours:
            raise mapping_error(
                path, ["columns", name], "not a name of a column here", _near(name, NAMES)
            )
        own = ours[plain(name)]
        if own in chosen:
            raise mapping_error(
                path, ["columns", name], f"«{own}» is there twice", "delete one of the lines"
            )
        other = first.setdefault(str(column), own)
        if other != own and {other, own} != _MAY_SHARE:
            raise mapping_error(
                path,
                ["columns", name],
                f"«{column}» is also the column of «{other}»",
                "name another column",
            )
        chosen[own] = column
    return {**content, "columns": chosen}


def _near(name: str, known: Any) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"
