"""Write the tables of columns in docs/formats.md, from data/release/columns.toml.

    python docs/make_columns.py

A table begins with one of the HEADS; everything else on the page is written by hand.
"""

import re
from pathlib import Path

from curation.released.columns import COLUMNS, TYPES, Column

PAGE = Path(__file__).with_name("formats.md")
HEADS = {
    "hub": "field in `intersentence/` and `intrasentence/`",
    "cats": "field in `cats/`",
    "sealed": "field of `sealed.jsonl`",
    "annotations": "column of `annotations.csv`",
    "terms": "field of `terms.jsonl`",
}


def row(column: Column) -> str:
    """The row of a column."""
    meaning = (column.docs or column.says).replace("|", r"\|")
    return f"| `{column.name}` | {TYPES[column.type].says} | {meaning} |"


def written(text: str) -> str:
    """The page with its tables as the columns are now.

    Raises:
        ValueError: the page does not have one of the tables.
    """
    for table, head in HEADS.items():
        more = COLUMNS["hidden"] if table == "cats" else ()
        columns = dict.fromkeys((*COLUMNS[table], *more))
        lines = [f"| {head} | type | meaning |", "|---|---|---|", *map(row, columns)]
        made = "\n".join(lines) + "\n"
        old = rf"^\| {re.escape(head)} \|.*\n(?:\|.*\n)*"
        text, count = re.subn(old, lambda _, made=made: made, text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"{PAGE}: write one line «| {head} |» for the table")
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
