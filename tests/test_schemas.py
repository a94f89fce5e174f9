"""``schemas/`` is what the modules of records say, and what the records on disk are."""

import json
from pathlib import Path

import jsonschema
import pytest

from curation import records
from curation.files import schema, schema_name, shipped


def test_the_schema_files_are_those_of_the_records() -> None:
    """If they are not: run ``make schemas``."""
    found = {path.name: path.read_bytes() for path in shipped("schemas").iterdir()}
    wanted = {schema_name(record): schema(record) for record in records.ON_DISK}
    assert found.keys() == wanted.keys()
    assert [name for name in found if found[name] != wanted[name]] == []


FILES = {
    "1-terms/counts.jsonl": "count",
    "1-terms/entities.jsonl": "entity",
    "1-terms/unreadable.jsonl": "rejection",
    "1-terms/imported.jsonl": "term",
    "1-terms/rejected.jsonl": "rejection",
    "1-terms/targets.jsonl": "term",
    "2-rounds/main/items.jsonl": "item",
    "2-rounds/main/labels.jsonl": "label",
    "2-rounds/main/rejected.jsonl": "rejection",
    "3-decisions/decisions.jsonl": "decision",
    "3-decisions/cats.jsonl": "cat",
    "3-decisions/rejected.jsonl": "rejection",
}


@pytest.mark.parametrize(("name", "record"), FILES.items())
def test_what_lies_on_disk_follows_the_schema(example: Path, name: str, record: str) -> None:
    content = json.loads(shipped("schemas", f"{record}.schema.json").read_text("utf-8"))
    validator = jsonschema.Draft202012Validator(content)
    lines = (example / name).read_text("utf-8").splitlines()
    assert lines
    for line in lines[:200]:
        validator.validate(json.loads(line))
    broken = {**json.loads(lines[0]), "stray": 1}
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(broken)
