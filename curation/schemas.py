"""The JSON Schema of each record on disk, as in ``schemas/``."""

import re

import orjson

from curation.records import Record


def schema_name(record: type[Record]) -> str:
    """The name of a record type's file in ``schemas/``.

    >>> from curation.records import CatAssociation
    >>> schema_name(CatAssociation)
    'cat_association.schema.json'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).lower() + ".schema.json"


def schema(record: type[Record]) -> bytes:
    """The JSON Schema of a record type, as in ``schemas/``."""
    content = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **record.model_json_schema(),
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"
