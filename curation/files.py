"""Read and write records and tables: schema checks, atomic writes.

Errors of reading name the file, the line and the field. A file that is being written is never
visible half done.
"""

import errno
import hashlib
import json
import os
import platform
import re
import shutil
import stat
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar, get_type_hints

import orjson

from curation.text.wording import hide_secrets

if TYPE_CHECKING:
    import pandas as pd

    from curation.records import Record


class Column:
    """A growing column of a table; each distinct text is stored once, with codes for the rows."""

    def __init__(self, name: str, annotation: Any) -> None:
        self.is_id = name == "id"
        self.plain = self.is_id or annotation in (bool, int, float, float | None)
        self.number = annotation in (float, float | None)
        self.values: list[Any] = []
        self.codes: list[Any] = []
        self.code_of: dict[str | None, int] = {None: -1}

    def add(self, values: list[Any]) -> None:
        """Append the values of some rows."""
        if self.plain:
            self.values += values
            return
        import numpy as np

        known = self.code_of
        for value in dict.fromkeys(values):
            known.setdefault(value, len(known) - 1)
        codes = map(known.__getitem__, values)
        self.codes.append(np.fromiter(codes, dtype=np.int32, count=len(values)))

    def whole(self) -> Any:
        """The column: an array of numbers, a series or a categorical."""
        import numpy as np
        import pandas as pd

        if self.number:
            return np.array(self.values, dtype=float)  # None becomes NaN
        if self.plain:
            return pd.Series(self.values, dtype=object if self.is_id else None)
        texts = pd.Index(list(self.code_of)[1:], dtype=object)
        codes = np.concatenate(self.codes) if self.codes else np.array([], dtype=np.int32)
        return pd.Categorical.from_codes(codes, texts)


DAY = 86_400  # seconds
_HERE = f"{zlib.crc32(platform.node().encode()):08x}"
_NAME = re.compile(r"\..+\.([0-9a-f]{8})-(\d+)\.tmp", re.DOTALL)


def beside(path: Path) -> Path:
    """The temporary path of a file or folder while it is written."""
    return path.with_name(f".{path.name}.{_HERE}-{os.getpid()}.tmp")


def sweep(folder: Path, *, below: bool = True) -> None:
    """Delete what killed commands left in a folder. Call it only under the folder's lock.

    Args:
        folder: the folder.
        below: also look in the folders in it.
    """
    for path in list(folder.rglob(".*.tmp") if below else folder.glob(".*.tmp")):
        if _abandoned(path, locked=True):
            _delete(path)


def sweep_beside(path: Path) -> None:
    """Delete what killed commands left in the folder of a file. This needs no lock."""
    for left in path.parent.glob(".*.tmp"):
        if _abandoned(left, locked=False):
            _delete(left)


def _delete(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _abandoned(path: Path, *, locked: bool) -> bool:
    """Whether a file is a temporary file of ours that no process is writing any more.

    Whether a process of another machine still runs is unknown, so its file must be a day old.
    """
    name = _NAME.fullmatch(path.name)
    if name is None:
        return False
    machine, process = name.groups()
    if machine == _HERE:
        return not _runs(int(process)) or (locked and int(process) == os.getpid())
    try:
        return time.time() - path.stat().st_mtime > DAY
    except FileNotFoundError:  # another command has just deleted it
        return False


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


LONGEST = 1_000  # characters of an error that are shown: it may quote what is in a file


class CurationError(Exception):
    """An error that the user can fix: ``what`` is wrong, and the ``fix``.

    Python shows both in a traceback; ``str`` gives ``what`` alone. Passwords and keys in addresses
    are left out of both, and what is beyond ``LONGEST`` characters.
    """

    def __init__(self, what: str, fix: str = "") -> None:
        texts = (hide_secrets(text) for text in (what, fix))
        what, fix = (t if len(t) <= LONGEST else f"{t[:LONGEST]} …" for t in texts)
        super().__init__(what)
        self.what = what
        self.fix = fix
        if fix:
            self.add_note(f"fix: {fix}")

    def __reduce__(self) -> tuple[type["CurationError"], tuple[str, str]]:
        return type(self), (self.what, self.fix)  # without this, pickling would lose the fix


def schema_name(record: "type[Record]") -> str:
    """The name of a record type's file in ``schemas/``.

    >>> from curation.records import CatAssociation
    >>> schema_name(CatAssociation)
    'cat_association.schema.json'
    """
    return re.sub(r"(?<!^)(?=[A-Z])", "_", record.__name__).lower() + ".schema.json"


def schema(record: "type[Record]") -> bytes:
    """The JSON Schema of a record type, as in ``schemas/``."""
    content = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **record.model_json_schema(),
    }
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


R = TypeVar("R", bound="Record")
CHUNK = 50_000  # lines to parse at once, to limit the memory for a large table


def shipped(*parts: str) -> Path:
    """The path of a file that comes with the package, below ``schemas``, ``data`` and so on."""
    here = Path(__file__).parent
    root = here / "_shipped" if (here / "_shipped").is_dir() else here.parent
    return root.joinpath(*parts)


# --- reading --------------------------------------------------------------------------------


def open_input(path: Path) -> BufferedReader:
    """Open a file to read it. Every file that is read is opened here.

    A device may never end, and a pipe may keep a command waiting. So they are refused before they
    are opened, and links to them.

    Raises:
        CurationError: the file is missing, not a regular file, or may not be read.
    """
    try:
        return _opened(path)
    except FileNotFoundError:
        raise CurationError(f"{path}: no such file", "check the path") from None
    except IsADirectoryError:
        raise CurationError(f"{path}: is a folder, not a file", "name a file in it") from None
    except PermissionError:
        fix = "give yourself permission to read it"
        raise CurationError(f"{path}: may not be read", fix) from None


def _opened(path: Path) -> BufferedReader:
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return path.open("rb")
    raise CurationError(
        f"{path}: is a device or a pipe, not a file", "save what it gives as a file, and name it"
    )


def read_bytes(path: Path) -> bytes:
    """The bytes of a file; errors are those of ``open_input``."""
    with open_input(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """The text of a file: UTF-8 with or without a byte order mark, or UTF-16 with one.

    Raises:
        CurationError: the file is empty or in another encoding; the message names line and byte.
    """
    return decode_text(read_bytes(path), path)


def decode_text(data: bytes, path: Path) -> str:
    """The bytes of a file as a text; see ``read_text``."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if wide:
            raise CurationError(
                f"{path}: invalid UTF-16 at byte {error.start}",
                "it may have been cut off; save it as UTF-8 or fetch it again",
            ) from None
        line = data.count(b"\n", 0, error.start) + 1
        raise CurationError(
            f"{path} line {line}: byte 0x{data[error.start]:02x} is not UTF-8",
            f"save the file as UTF-8 (in Excel: «CSV UTF-8»), or convert it with iconv{_how(data)}",
        ) from None
    if not text.strip():
        raise CurationError(f"{path}: is empty", "it may have been cut off; fetch or export again")
    return text


def _how(data: bytes) -> str:
    """How to convert bytes that are not UTF-8, as far as they show it."""
    lines = [line for line in data.splitlines() if not line.isascii()]
    right = sum(line.decode("utf-8", "ignore").encode() == line for line in lines)
    if 2 * right > len(lines):
        return f"; {right} other lines are UTF-8, so correct the wrong ones by hand"
    mixed = f"; lines that are UTF-8 now: {right}, check these" if right else ""
    return f"; it may be {_windows_or_mac(data)}{mixed}"


def _windows_or_mac(data: bytes) -> str:
    try:
        data.decode("cp1252")
    except UnicodeDecodeError:  # bytes that only the other one has
        return "of an old Mac: «iconv -f MACINTOSH -t UTF-8»"
    return "of Windows in Western Europe: «iconv -f CP1252 -t UTF-8»"


def read_json(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        CurationError: the file is not JSON, or was cut off; the message names line and column.
    """
    return parsed_json(read_text(path), path)


def parsed_json(text: str, path: Path, *, line: int = 0) -> Any:
    """The content of a text in JSON; NaN and Infinity are read, too.

    Args:
        text: the content of the file, or one line of it.
        path: the file, for errors.
        line: the number of the line, if the text is one.

    Raises:
        CurationError: the text is not JSON, or was cut off; the message names line and column.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        with suppress(ValueError, RecursionError):
            content = json.loads(text)  # Python also accepts NaN and Infinity
            json.dumps(content, ensure_ascii=False).encode()  # refuses lone surrogates
            return content
        cut = error.pos >= len(text.rstrip())
        problem = "the file ends in the middle" if cut and not line else f"not JSON ({error.msg})"
        fix = "correct the file at this position, or export it again"
        if line:
            fix = "each line must be one complete JSON object; the file may have been cut off"
        elif cut:
            fix = "it was probably cut off: fetch it again"
        raise CurationError(
            f"{path} line {line or error.lineno} column {error.colno}: {problem}", fix
        ) from None


def _lines(path: Path) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a JSONL file in chunks, each with the number of its first line."""
    first, chunk = 1, []
    with open_input(path) as file:
        for number, line in enumerate(file, 1):
            chunk.append(line)
            if len(chunk) == CHUNK:
                yield first, chunk
                first, chunk = number + 1, []
    if chunk:
        yield first, chunk


def count_lines(path: Path) -> int:
    """The number of lines, and so of records, in a JSONL file."""
    with open_input(path) as file:
        return sum(1 for _ in file)


def _bad_line(path: Path, number: int, line: bytes, record: "type[Record]") -> CurationError | None:
    from pydantic import ValidationError

    where = f"{path} line {number}"
    try:
        record.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        if first["type"] == "json_invalid":
            fix = "the line may be cut off; restore the file, or make it again"
            return CurationError(f"{where}: not a JSON record", fix)
        fix = f"see schemas/{schema_name(record)} for the fields of a {record.__name__}"
        return CurationError(f"{where}, field {field!r}: {first['msg']}", fix)
    return None


def read_records(path: Path, record: type[R], *, missing_ok: bool = False) -> list[R]:
    """All records of a JSONL file, checked.

    Args:
        path: the file.
        record: the type of its records.
        missing_ok: a file that does not exist has no records.

    Raises:
        CurationError: a line is not a valid record; the message names file, line and field.
    """
    return [] if missing_ok and not path.exists() else list(each_record(path, record))


def each_record(path: Path, record: type[R], *, whole_lines: bool = False) -> Iterator[R]:
    """As ``read_records``, one by one; ``whole_lines`` leaves out a half line at the end."""
    from pydantic import TypeAdapter, ValidationError

    validate = TypeAdapter(record).validate_json
    for first, lines in _lines(path):
        if whole_lines and not lines[-1].endswith(b"\n"):
            del lines[-1]
        for number, line in enumerate(lines, first):
            try:
                yield validate(line)
            except ValidationError:
                _raise_first_bad(path, number, [line], record)


def _one_a_line(lines: list[bytes]) -> bool:
    return all(line.strip()[:1] == b"{" and line.rstrip()[-1:] == b"}" for line in lines)


def _raise_first_bad(path: Path, first: int, lines: list[bytes], record: "type[Record]") -> None:
    for number, line in enumerate(lines, first):
        if error := _bad_line(path, number, line, record):
            raise error
    raise CurationError(
        f"{path} line {first}: not one record per line", "write each record on its own line"
    )


def read_table(paths: Sequence[Path], record: "type[Record]") -> "pd.DataFrame":
    """JSONL files of many small records as one table, checked as a whole.

    Args:
        paths: the files.
        record: the type of their records.

    Returns:
        One column per field, in the record's order. Text columns, except ``id``, are categories.

    Raises:
        CurationError: a line is not a valid record; the message names file, line and field.
    """
    import pandas as pd
    from pydantic import TypeAdapter, ValidationError

    checks = {
        name: TypeAdapter(list[hint])  # type: ignore[valid-type]
        for name, hint in get_type_hints(record, include_extras=True).items()
        if name in record.model_fields
    }
    names = checks.keys()
    defaults = {n: f.get_default() for n, f in record.model_fields.items()}
    columns = {name: Column(name, field.annotation) for name, field in record.model_fields.items()}
    for path, first, lines in ((p, *chunk) for p in paths for chunk in _lines(p)):
        values: dict[str, list[Any]] = {}
        try:
            rows = orjson.loads(b"[" + b",".join(lines) + b"]")
            if all(row.keys() == names for row in rows):
                values = {name: [row[name] for row in rows] for name in names}
            else:
                values = {n: [r.get(n, default) for r in rows] for n, default in defaults.items()}
            fits = len(rows) == len(lines) and _one_a_line(lines)
            fits = fits and all(row.keys() <= names for row in rows)
            for name, check in checks.items():
                check.validate_python(values[name], strict=True)
        except (orjson.JSONDecodeError, AttributeError, TypeError, ValidationError):
            fits = False
        if not fits:
            _raise_first_bad(path, first, lines, record)
        for name, column in columns.items():
            column.add(values[name])
    return pd.DataFrame({name: column.whole() for name, column in columns.items()})


# --- writing --------------------------------------------------------------------------------


def digest(path: Path) -> str | None:
    """The sha256 of a file in hex, or None if there is no file, or the path cannot be one.

    Raises:
        CurationError: it is a device or a pipe.
    """
    found = hash_file(path)
    return found and found.sha256


class Hashed(NamedTuple):
    """The sha256 of a file in hex, and how many lines it has."""

    sha256: str
    lines: int


def hash_file(path: Path) -> Hashed | None:
    """What ``digest`` gives, and the number of lines, as ``count_lines`` gives it."""
    sha256, lines, last = hashlib.sha256(), 0, b"\n"
    try:
        with _opened(path) as file:
            while chunk := file.read(1 << 18):
                sha256.update(chunk)
                lines, last = lines + chunk.count(b"\n"), chunk[-1:]
        return Hashed(sha256.hexdigest(), lines + (last != b"\n"))
    except ValueError:  # a NUL in the path
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG):
            return None
        raise


def refuse_links(path: Path, *, below: Path) -> None:
    """Refuse to write to a symbolic link, or into a folder below ``below`` that is one.

    Otherwise people who send you a campaign could choose which of your files is written to.
    Reading through links is allowed.

    Raises:
        CurationError: the path, or a folder on the way to it, is a link.
    """
    for part in (path, *path.parents):
        if part == below:
            return
        if part.is_symlink():
            raise CurationError(
                f"{part}: is a link, and nothing is written through links",
                "replace it by the file or folder that it names, or delete it",
            )


def open_plain(path: Path, mode: Literal["rb+", "ab"]) -> Any:
    """Open a file to change it or to append to it, without a buffer; never through a link.

    Raises:
        CurationError: the file is a link.
    """
    refuse_links(path, below=path.parent)
    no_link = getattr(os, "O_NOFOLLOW", 0)
    return open(  # Path.open has no opener
        path, mode, buffering=0, opener=lambda name, flags: os.open(name, flags | no_link, 0o666)
    )


@contextmanager
def staging(path: Path, *, private: bool = False) -> Iterator[Any]:
    """Write a file under a temporary name; an incomplete file is deleted.

    Args:
        path: the file.
        private: only its owner may read the file.

    Raises:
        CurationError: the path is a link, a folder or a device, or cannot be in its folder.
    """
    refuse_links(path, below=path.parent)
    if path.exists() and not path.is_file():  # otherwise /dev/null would be replaced by a file
        kind = "a folder" if path.is_dir() else "a device or a pipe"
        raise CurationError(f"{path}: is {kind}, not a file", "name a file")
    hidden, mode = beside(path), 0o600 if private else 0o666
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        last = next(part for part in path.parents if part.exists() or part.is_symlink())
        raise CurationError(f"{last}: is not a folder", "name a folder, or move it away") from None
    try:
        hidden.unlink(missing_ok=True)
        # x: never into a file or a link that somebody put there. Path.open has no opener.
        with open(hidden, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
    except BaseException as error:
        with suppress(OSError):  # such as a disk that cannot be written to
            hidden.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(path)  # the user does not know the temporary file
        raise


@contextmanager
def writing(path: Path, *, private: bool = False) -> Iterator[Any]:
    """Write a file that replaces the old one only when it is complete; see ``staging``."""
    try:
        with staging(path, private=private) as file:
            yield file
        os.replace(beside(path), path)
    except BaseException:  # also if the command is interrupted between the two
        with suppress(OSError):
            beside(path).unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(folder: Path) -> None:
    """Make the file names in a folder survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def dump_line(record: "Record") -> bytes:
    """A record as one JSON line."""
    return orjson.dumps(record.model_dump(mode="python")) + b"\n"


def dump_json(content: Any, *, indent: bool = True) -> bytes:
    """Plain data, named tuples and paths as JSON; NaN and infinity become null."""
    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(content, _plain, options) + b"\n"
    except orjson.JSONEncodeError:  # a file name that is not UTF-8
        text = json.dumps(content, ensure_ascii=False, default=os.fspath)
        text = text.encode("utf-8", "replace").decode()
        return orjson.dumps(json.loads(text), option=options) + b"\n"


def _plain(content: Any) -> Any:
    as_dict = getattr(content, "_asdict", None)
    return as_dict() if as_dict else os.fspath(content)


def printable(text: str) -> str:
    r"""A text, such as a file name, with bytes that are not UTF-8 as escapes.

    >>> printable(os.fsdecode(b"caf\xe9")) == r"caf\udce9"
    True
    """
    return text.encode("utf-8", "backslashreplace").decode()
