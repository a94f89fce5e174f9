"""Texts in tables for people: no spreadsheet runs them, and our import reads them back."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curation.formats.rows import read_rows
from curation.formats.tables import DELIMITERS, csv_text, restore_cell, safe

LIVE = ("=", "+", "-", "@", "\t", "\r", "＝", "＠")


@pytest.mark.parametrize("sign", LIVE)
def test_a_text_that_begins_with_a_sign_gets_an_apostrophe(sign: str) -> None:
    text = f'{sign}HYPERLINK("http://example.invalid")'
    assert safe(text) == f"'{text}"
    assert safe(f"'{text}") == f"''{text}"
    assert restore_cell(safe(text)) == text
    assert restore_cell(safe(f"'{text}")) == f"'{text}"


@pytest.mark.parametrize("cell", [-0.5, -3, None, True, "", "'tis", "it's = 1", "1-2", "'"])
def test_numbers_and_other_texts_stay(cell: object) -> None:
    assert safe(cell) is cell


TEXTS = st.text(st.sampled_from([*"=+-@'\t\r\n ,;|\"ab\ufeff", "＝", "ي", "日"]), max_size=12)


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(TEXTS | st.text(max_size=8), min_size=1, max_size=4),
    d=st.sampled_from(DELIMITERS),
)
def test_every_text_is_written_safe_and_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], d: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    rows = [{"number": str(n), "text": text} for n, text in enumerate(texts)]
    table = csv_text([["number", "text"], *(row.values() for row in rows)], delimiter=d)  # type: ignore[list-item]
    path.write_text(table, "utf-8", newline="")
    written = list(csv.reader(io.StringIO(table, newline=""), delimiter=d))
    assert not any(cell.lstrip().startswith(LIVE) for row in written[1:] for cell in row)
    assert [row for _, row in read_rows(Path(path))] == rows
