"""Files that are recognised and not read: what they are, and what to do with them."""

import re
import zipfile
from pathlib import Path

from curation.files import CurationError

PARQUET = b"PAR1"
HEAD = 1024  # bytes that show what a file is
_PICKLES = (".pkl", ".pickle", ".p", ".joblib")

_CONVERT = (
    "convert it to Parquet. Loading a pickle runs the code in it: do this only if you trust where "
    "it comes from, in an environment of its own: "
    "python -m venv pkl && pkl/bin/pip install pandas pyarrow && pkl/bin/python -c "
    "\"import pandas; pandas.read_pickle('{name}').to_parquet('{stem}.parquet')\"; if pandas "
    "cannot load it, use an older one, with Python 3.11: "
    "pip install 'pandas<2' 'numpy<2' 'pyarrow<18'"
)
_ARROW = (
    'convert it to Parquet: python -c "from datasets import Dataset; '
    "Dataset.from_file('{name}').to_parquet('{stem}.parquet')\", or with pandas: "
    "pandas.read_feather('{name}').to_parquet('{stem}.parquet')"
)
_UNPACK = "unpack it, and name the file with the items"
_CSV = (
    "save the sheet with the items as CSV (UTF-8), and name that file; for answers of people, use "
    "«curation rounds import» or «curation import answers»"
)
_AGAIN = "get the data itself: the link «raw» or «download» of the page"
_LFS = "run «git lfs pull» in the repository, or download the file itself"
_TABLE = "export the items as JSON, CSV or Parquet"

_STARTS: tuple[tuple[bytes, str, str], ...] = (
    (b"ARROW1", "an Arrow file", _ARROW),
    (b"\xff\xff\xff\xff", "an Arrow file, as in the cache of Hugging Face datasets", _ARROW),
    (b"FEA1", "a Feather file", _ARROW),
    (b"SQLite format 3\0", "an SQLite database", _TABLE),
    (b"\xd0\xcf\x11\xe0", "a workbook of an old Excel", _CSV),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!", "a RAR archive", _UNPACK),
    (b"\xfd7zXZ", "compressed with xz", _UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", _UNPACK),
    (b"%PDF", "a PDF document", _TABLE),
    (b"\x89HDF", "an HDF5 file", _TABLE),
    (b"\x93NUMPY", "a NumPy array", _TABLE),
    (b"version https://git-lfs", "a pointer of Git LFS, not the data", _LFS),
)


def refuse(path: Path, head: bytes, *, packed: bool = False) -> None:
    """Refuse a file that is of a known kind and cannot be read.

    Args:
        path: the file.
        head: its first bytes, after unpacking.
        packed: whether the file is compressed.

    Raises:
        CurationError: the file is of such a kind; the fix says what to do.
    """
    kind, fix = _kind_of(path, head, packed=packed)
    if kind:
        name = _in_a_command(path)
        raise CurationError(
            f"{path}: is {kind}; this is not a file of items that can be read",
            fix.replace("{name}", name).replace("{stem}", name.split(".")[0]),
        )


def _in_a_command(path: Path) -> str:
    """The name of a file for a command to copy; a placeholder if a shell could misread it."""
    return path.name if re.fullmatch(r"\w[\w. +-]*", path.name) else "FILE"


def _kind_of(path: Path, head: bytes, *, packed: bool) -> tuple[str, str]:
    for start, kind, fix in _STARTS:
        if head.startswith(start):
            return kind, fix
    if packed and head.startswith(PARQUET):
        return "a compressed Parquet file", _UNPACK
    if _is_pickle(path, head):
        return "a Python pickle, which is never loaded here", _CONVERT
    if head.startswith(b"PK\x03\x04"):
        return ("a zip archive", _UNPACK) if packed else _zip(path)
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head")):
        return "a web page, not the data", _AGAIN
    if path.suffix == ".py":
        return "a Python program, perhaps a loader of a Hugging Face dataset", _TABLE
    return "", ""


def _is_pickle(path: Path, head: bytes) -> bool:
    binary = head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05")
    name = path.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return binary or (name.endswith(_PICKLES) and head[:1] not in b"{[" and head != b"")


def _zip(path: Path) -> tuple[str, str]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()[:10_000]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError):
        return "a damaged zip archive", "fetch it again, and unpack it"
    if any(name.startswith("xl/") for name in names):
        return "an Excel workbook", _CSV
    if "content.xml" in names:
        return "an OpenDocument file", _CSV
    if any(name.endswith("data.pkl") for name in names):
        return "a file of PyTorch, which contains a Python pickle", _TABLE
    return "a zip archive", _UNPACK


def refuse_address(path: Path) -> None:
    """Refuse a web address, of which ``Path`` has made one slash of two.

    Raises:
        CurationError: the path is a web address.
    """
    if path.parts[:1] in (("http:",), ("https:",), ("hf:",)) and not path.exists():
        address = str(path).replace(":/", "://", 1)
        raise CurationError(
            f"{address}: is a web address, not a file", "download the file, and name the copy"
        )


def refuse_folder(path: Path) -> None:
    """Refuse a folder, and say which file in it to name.

    Raises:
        CurationError: the path is a folder.
    """
    if not path.is_dir():
        return
    try:
        names = sorted(file.name for file in path.iterdir())
    except OSError:
        names = []
    name = _in_a_command(path)
    if "dataset_info.json" in names or "dataset_dict.json" in names:
        raise CurationError(
            f"{path}: is a folder of Hugging Face datasets (save_to_disk), not a file",
            'convert it: python -c "from datasets import load_from_disk; '
            f"load_from_disk('{name}').to_parquet('{name}.parquet')\"",
        )
    data = [name for name in names if name.endswith((".parquet", ".jsonl", ".json", ".csv"))]
    shown = f", such as {data[0]}" if data else ""
    raise CurationError(f"{path}: is a folder, not a file", f"name a file in it{shown}")
