"""Files that are recognised and not read are named, with what to do."""

import gzip
import io
import pickle
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.feather
import pytest
from openpyxl import Workbook

from curation.catsets.reading import read_dataset
from curation.catsets.stereoset import read_cats, read_entries, read_gold_file
from support import catsets
from support.expected import fails
from support.written import beside


class Bomb:
    """Shows if a pickle is loaded."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, ("raise SystemExit('a pickle was loaded')",)


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("dev.json"), io.BytesIO())
    return buffer.getvalue()


def zipped(name: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(name, "x")
    return buffer.getvalue()


def written(write: Callable[[io.BytesIO], object]) -> bytes:
    buffer = io.BytesIO()
    write(buffer)
    return buffer.getvalue()


TABLE = pyarrow.table({"id": ["1"]})


def stream(buffer: io.BytesIO) -> None:
    with pyarrow.ipc.new_stream(buffer, TABLE.schema) as writer:
        writer.write_table(TABLE)


FEATHER = written(lambda b: pyarrow.feather.write_feather(TABLE, b, compression="uncompressed"))
FILES: dict[str, tuple[bytes, str, str]] = {
    "a.pkl": (pickle.dumps(Bomb()), "a Python pickle, which is never loaded",
              "read_pickle('a.pkl')"),
    "old.pkl": (pickle.dumps([1], 0), "a Python pickle", "to_parquet('old.parquet')"),
    "b.pkl.gz": (gzip.compress(pickle.dumps(Bomb())), "a Python pickle", "only if you trust"),
    "c.json": (pickle.dumps(Bomb()), "a Python pickle", "runs the code in it"),
    "d.arrow": (written(stream), "an Arrow file", "Dataset.from_file('d.arrow')"),
    "e.feather": (FEATHER, "an Arrow file", "to_parquet('e.parquet')"),
    "f.zip": (zipped("dev.json"), "a zip archive", "unpack it"),
    "g.xlsx": (written(Workbook().save), "an Excel workbook",
               "save the sheet with the items as CSV"),
    "h.ods": (zipped("content.xml"), "an OpenDocument file", "as CSV"),
    "i.pt": (zipped("x/data.pkl"), "a file of PyTorch", "export"),
    "j.tar": (tar(), "a tar archive", "unpack it"),
    "k.tar.gz": (gzip.compress(tar()), "a tar archive", "unpack it"),
    "l.db": (b"SQLite format 3\0" + b"\0" * 90, "an SQLite database", "export"),
    "m.json": (b"version https://git-lfs.github.com/spec/v1\noid x\n", "Git LFS", "git lfs pull"),
    "n.json": (b"\n<!DOCTYPE html>\n<html>", "a web page", "«raw»"),
    "q'; x.pkl": (pickle.dumps(Bomb()), "a Python pickle", "read_pickle('FILE')"),
    "r.parquet.gz": (gzip.compress(b"PAR1 PAR1"), "a compressed Parquet file", "unpack it"),
    "o.py": (b"import datasets\n", "a Python program", "export"),
    "s.xlsx": (b"\xd0\xcf\x11\xe0" + "EncryptedPackage".encode("utf-16-le"),
               "a workbook with a password", "as CSV"),
    "t.xlsb": (zipped("xl/workbook.bin"), "a binary workbook", "as CSV"),
    "u.docx": (zipped("word/document.xml"), "a Word document", "export"),
    "p.zip": (b"PK\x03\x04cut", "a damaged zip archive", "fetch it again"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_not_read_is_named(tmp_path: Path, name: str) -> None:
    content, kind, fix = FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    for read in (read_cats, read_entries, read_gold_file):
        with fails(kind, name, fix=fix):
            read(path)


def test_a_parquet_file_that_is_cut_off(tmp_path: Path) -> None:
    path = catsets.LAYOUTS["hf.parquet"](tmp_path / "a.parquet")
    whole = path.read_bytes()
    for end in (4, 200, len(whole) - 1):
        path.write_bytes(whole[:end])
        with fails("a.parquet: cannot be read as Parquet: the file en"):
            read_cats(path)
    path.write_bytes(whole[:200] + whole[-8:])
    with fails("a.parquet: cannot be read as Parquet"):
        read_cats(path)


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = catsets.LAYOUTS["hf.parquet"](tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with fails("needs pyarrow", fix="pip install 'curation[parquet]'"):
        read_cats(path)


def test_a_folder_names_the_file_in_it(tmp_path: Path) -> None:
    catsets.LAYOUTS["hf.jsonl"](tmp_path / "data.jsonl")
    with fails("is a folder", fix="such as data.jsonl"):
        read_dataset(tmp_path)
    (tmp_path / "dataset_info.json").write_text("{}", "utf-8")
    with fails("a folder of Hugging Face datasets", fix="load_from_disk"):
        read_dataset(tmp_path)


OTHERS = beside(__file__)


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_that_is_not_a_set_of_cats_is_named(tmp_path: Path, name: str) -> None:
    content, kind, fix = OTHERS[name].values()
    write = catsets.write_csv if name.endswith(".csv") else catsets.write_json
    write = catsets.write_lines if name.endswith(".jsonl") else write
    path = write(tmp_path / name, content)
    with fails("not a StereoSet file, and not another set", kind, fix=fix):
        read_dataset(path)


def test_pairs_with_a_context_are_sent_to_the_layout_of_pairs(tmp_path: Path) -> None:
    about = {"id": "1", "domain": "craft", "target": "baker", "context": "The baker is BLANK."}
    rows = [about | {"sentence": f"The baker is {gold}.", "gold_label": gold} for gold in "xy"]
    choices = catsets.write_lines(tmp_path / "b.jsonl", [about | {"choices": ["kind", "rude"]}])
    for path in (catsets.write_csv(tmp_path / "a.csv", rows), choices):
        with fails(fix="both sentences of a pair into one row, without a context"):
            read_dataset(path)


def test_the_settings_of_a_campaign_are_not_a_mapping_file(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text('[campaign]\nid = "c-12345"\n', "utf-8")
    with fails("it has the settings of a campaign", fix="-c"):
        read_dataset(path)


def test_objects_written_as_python_text(tmp_path: Path) -> None:
    row = {"id": "1", "target": "x", "context": "c", "sentences": "{'id': array(['1'])}"}
    path = catsets.write_csv(tmp_path / "a.csv", [row])
    with fails("has Python objects as text", fix="to_parquet or to_json instead of to_csv"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("context,target\na,b,c\n", "a.csv line 2: has 3 cells, and the header has 2"),
        ('context,target\n"a,b\n', "a.csv line 2: "),
        ("context,context\na,b\n", "a.csv line 1: the column 'context' is there twice"),
        ('{"id": "1"}\n{"id": \n', "a.csv line 2 column"),
        ("\n\n", "a.csv: is empty"),
    ],
)
def test_a_damaged_table_names_the_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text, "utf-8")
    with fails(says):
        read_dataset(path)


def test_a_web_address_is_not_a_file() -> None:
    fix = "download the file, and name the copy"
    with fails("https://example.org/dev.json: is a web", fix=fix):
        read_dataset(Path("https://example.org/dev.json"))
