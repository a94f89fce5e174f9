"""Damaged Parquet files are read or refused, and never end the process."""

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pyarrow as arrow
import pyarrow.parquet as parquet
import pytest

from curation.files import CurationError
from curation.formats.parquet import TextColumns, each_columns, read_parquet
from curation.release.anonymous import _parquet_texts
from support.child import Tell, in_a_child

TRIES = 500

TABLE = arrow.table(
    {"text": ["a kind baker", None, "rain"] * 9, "n": [*range(27)], "votes": [[1, 2], [], [3]] * 9}
)


def _written(**how: object) -> bytes:
    file = io.BytesIO()
    parquet.write_table(TABLE, file, **how)
    return file.getvalue()


def _texts(path: Path) -> object:
    with TextColumns(path, "text") as columns:
        return list(columns.rows(["text"]))


READERS: dict[str, Callable[[Path], object]] = {
    "rows": read_parquet,
    "columns": lambda path: list(each_columns(path)),
    "texts": _texts,
    "check of anonymity": lambda path: list(_parquet_texts(path.read_bytes())),
}


def test_a_text_that_the_dictionary_lacks_is_an_error(tmp_path: Path) -> None:
    path, data = tmp_path / "a.parquet", _written(compression="none")

    about = int.from_bytes(data[-8:-4], "little")
    for at in range(4, len(data) - 8 - about):
        for bit in (1, 4, 64):
            path.write_bytes(data[:at] + bytes([data[at] ^ bit]) + data[at + 1 :])
            try:
                _texts(path)
            except CurationError as error:
                if "a.parquet: cannot be read as Parquet: Dictionary ind" in error.what:
                    return
    raise AssertionError("no change of a bit leads out of the dictionary")


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_description_does_not_end_the_process(tmp_path: Path, name: str) -> None:
    valid = [_written(), _written(row_group_size=5), _written(use_dictionary=False)]

    def work(tell: Tell) -> None:
        for seed in range(TRIES):
            random, path = Random(seed), tmp_path / f"{seed}.parquet"
            data = bytearray(random.choice(valid))
            about = int.from_bytes(data[-8:-4], "little")  # the size of the description at the end
            data[random.randrange(len(data) - 8 - about, len(data) - 8)] ^= 1 << random.randrange(8)
            path.write_bytes(data)
            with suppress(CurationError):
                READERS[name](path)
            path.unlink()

    flaws = in_a_child(work, seconds=300)
    assert not flaws, (flaws, [path.name for path in tmp_path.iterdir()])
