"""Files that are recognised and not read: what they are, and what to do with them."""

import re
from pathlib import Path

from curation.file_kinds import CUT_OFF, PARQUET_FILE, PICKLE, kind_of
from curation.files import CurationError

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

_FIXES = {
    PICKLE: _CONVERT,
    "an Arrow file": _ARROW,
    "an Arrow file, as in the cache of Hugging Face datasets": _ARROW,
    "a Feather file": _ARROW,
    "a pointer of Git LFS, not the data": _LFS,
    "a web page, not the data": _AGAIN,
    "a link to a Google sheet, without the sheet": "in Google Sheets, download the sheet as CSV",
    CUT_OFF: "fetch it again, and unpack it",
    "a compressed Parquet file": _UNPACK,
}
_SHEETS = ("workbook", "spreadsheet", "OpenDocument", "old Office", "Numbers")


def refuse(path: Path, head: bytes, *, packed: bool = False) -> None:
    """Refuse a file that is of a known kind and cannot be read.

    Args:
        path: the file.
        head: its first bytes, after unpacking.
        packed: whether the file is compressed.

    Raises:
        CurationError: the file is of such a kind; the fix says what to do.
    """
    kind = kind_of(path, head, packed=packed)
    if kind == PARQUET_FILE:
        kind = "a compressed Parquet file" if packed else ""
    elif not kind and _is_old_pickle(path, head):
        kind = PICKLE
    elif not kind and path.suffix == ".py":
        kind = "a Python program, perhaps a loader of a Hugging Face dataset"
    if kind:
        name = _in_a_command(path)
        raise CurationError(
            f"{path}: is {kind}; this is not a file of items that can be read",
            _fix(kind).replace("{name}", name).replace("{stem}", name.split(".")[0]),
        )


def _fix(kind: str) -> str:
    if kind in _FIXES:
        return _FIXES[kind]
    if kind.endswith(" archive"):
        return _UNPACK
    return _CSV if any(word in kind for word in _SHEETS) else _TABLE


def _in_a_command(path: Path) -> str:
    """The name of a file for a command to copy; a placeholder if a shell could misread it."""
    return path.name if re.fullmatch(r"\w[\w. +-]*", path.name) else "FILE"


def _is_old_pickle(path: Path, head: bytes) -> bool:
    """Whether a file is a pickle as Python 2 wrote them, which only its name tells."""
    name = path.name.lower().removesuffix(".gz").removesuffix(".bz2")
    return name.endswith(_PICKLES) and head[:1] not in b"{[" and head != b""


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
