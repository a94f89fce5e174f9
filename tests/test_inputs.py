"""Every file that is read is opened by one function, which refuses devices and pipes."""

import ast
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import curation
from curation.campaign.settings import read_settings
from curation.catsets.stereoset import read_cats
from curation.files import CurationError, digest, open_input, read_bytes, read_text
from curation.formats.packed import packing_of, read_lines
from curation.formats.predictions import read_predictions
from curation.formats.rows import read_rows
from curation.formats.word_vectors import read_vectors
from curation.measures.counting import read_counts
from curation.terms.dump import scan
from curation.terms.facts import FactRequest

ROOT = Path(curation.__file__).parent
METHODS = {
    *("open", "read_bytes", "read_text", "load", "fdopen", "fromfile", "memmap", "loadtxt"),
    *("read_csv", "read_excel", "read_parquet", "read_table"),
}
OPENERS = {"open", "ParquetFile", "ZipFile", "load_file", "safe_open", "load_workbook"}
"""Functions of other packages that open a file by its path; with an open file they are fine."""
GIVEN = {"file", "source", "packed", "plain", "self._open", "written"}
"""How modules call a file that is open already."""
OTHERWISE = {
    ("files", "path.open"): "open_input itself",
    ("files", "os.open"): "writes, or opens a folder",
    ("files", "open"): "writes",
    ("terminal.console", "path.open"): "writes",
    ("rounds.answers.people", "os.open"): "writes",
    ("rounds.answers.people", "os.fdopen"): "writes",
    ("rounds.workbooks", "zipfile.ZipFile"): "writes",
    ("formats.sheets", "self._archive.open"): "of an archive",
    ("formats.sheets", "super().open"): "of an archive",
    ("formats.packed", "archive.open"): "of an archive",
    ("formats.word_vectors", "archive.open"): "of an archive",
    ("work.shards", "open"): "of a file that is open already",
    ("checks.lexical", "resources.files"): "a list in another package",
    ("models.classifier", "loading.load"): "a function of ours",
    ("measures.steps", "classifier.load"): "a function of ours",
    ("models.train.loop", "cls.load"): "a function of ours",
    ("models.nsp", "load_file"): "weights, which safetensors opens by their path",
}
"""Calls that may open a file otherwise, by module, and why."""


def opened(tree: ast.AST) -> Iterator[str]:
    """The calls that open a file otherwise than by ``open_input``."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        named, first = ast.unparse(node.func), ast.unparse(node.args[0]) if node.args else ""
        last = named.rpartition(".")[2]
        method = isinstance(node.func, ast.Attribute) and last in METHODS
        is_open = first in GIVEN or "BytesIO(" in first
        if (method or last in OPENERS) and not is_open:
            yield named.partition("(")[0] if named.startswith("resources") else named


def test_every_input_is_opened_by_one_function() -> None:
    found = {
        (".".join(path.relative_to(ROOT).with_suffix("").parts), call)
        for path in ROOT.rglob("*.py")
        for call in opened(ast.parse(path.read_text("utf-8")))
    }
    assert found - OTHERWISE.keys() == set(), "use open_input, read_bytes or read_text of files.py"
    assert OTHERWISE.keys() - found == set()
    for text in ("open(path)", "path.open('rb')", "gzip.open(path)", "parquet.ParquetFile(path)"):
        assert list(opened(ast.parse(text))), text
    assert not list(opened(ast.parse("read_text(path), open_input(path), ZipFile(file)")))


@pytest.fixture(params=["device", "link", "pipe", "socket", "stdin"])
def special(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "a.csv"
    if request.param == "device":
        path = Path("/dev/zero")
    elif request.param == "link":
        path.symlink_to("/dev/zero")
    elif request.param == "pipe":
        os.mkfifo(path)
    reader, writer = os.pipe()
    if request.param == "stdin":
        path = Path(f"/dev/fd/{reader}")  # as /dev/stdin and <(...)
    with socket.socket(socket.AF_UNIX) as end:
        if request.param == "socket":
            end.bind(str(path))
        yield path
    os.close(reader)
    os.close(writer)


@pytest.mark.parametrize("read", [open_input, read_bytes, digest, lambda p: read_text(p)])
def test_what_is_not_a_regular_file_is_not_opened(
    special: Path, read: Callable[[Path], object]
) -> None:
    with pytest.raises(CurationError, match=f"^{special}: is a device or a pipe, not a file") as no:
        read(special)
    assert no.value.fix == "save what it gives as a file, and name it"


READERS: dict[str, Callable[[Path], object]] = {
    "rows": lambda path: list(read_rows(path)),
    "lines": lambda path: list(read_lines(path)),
    "packed": packing_of,
    "CATs": read_cats,
    "predictions": lambda path: list(read_predictions(path)),
    "vectors": read_vectors,
    "counts": read_counts,
    "dump": lambda path: scan([path], [FactRequest("d", ("P1",))], languages=("en",), own=("en",)),
    "settings": read_settings,
}


@pytest.mark.parametrize("name", READERS)
def test_every_reader_names_what_is_not_there_and_a_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.bin").mkdir()
    for path, says in (
        (tmp_path / "none.bin", "no such file"),
        (tmp_path / "folder.bin", "is a folder"),
    ):
        with pytest.raises(CurationError, match=says) as caught:
            READERS[name](path)
        assert str(path) in caught.value.what
        assert caught.value.fix
