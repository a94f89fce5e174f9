"""Text files that may be compressed, read line by line with bounds on what is unpacked.

A file of some megabytes can unpack to gigabytes, by accident or on purpose. So a line has a largest
length, and a compressed file may not unpack to far more than text ever does.
"""

import bz2
import gzip
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from curation.files import CurationError, open_input

LONGEST = 16 << 20  # bytes of a line at most
FREE = 128 << 20  # bytes that any file may unpack to
RATIO = 50  # beyond these, how many bytes one compressed byte may give; text gives 3 to 10
PACKINGS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2"}  # the first bytes of compressed files
_UNPACK: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}


def read_lines(path: Path, *, longest: int = LONGEST, packing: str = "") -> Iterator[bytes]:
    """The lines of a file, with their line ends; nothing if the file is empty.

    Args:
        path: the file.
        longest: the largest number of bytes of a line.
        packing: how the file is compressed: .gz or .bz2; by default it is not.

    Raises:
        CurationError: the file is missing, may not be read or cannot be decompressed; a line is too
            long, or far more is unpacked than text would give.
    """
    size = number = 0
    try:
        with ExitStack() as stack:
            file = stack.enter_context(open_input(path))
            most = FREE + RATIO * path.stat().st_size
            if packing:
                file = stack.enter_context(_UNPACK[packing](file))
            while line := file.readline(longest + 1):
                number += 1
                if len(line) > longest:
                    raise too_long(f"{path} line {number}", longest)
                size += len(line)
                if size > most and packing:
                    raise too_packed(path, size)
                yield line
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise CurationError(
            f"{path} line {number + 1}: cannot be decompressed: {error}", "download the file again"
        ) from None


def packing_of(path: Path) -> str:
    """How a file is compressed, by its first bytes: .gz, .bz2, or "" if it is not.

    Raises:
        CurationError: the file is missing or may not be read.
    """
    with open_input(path) as file:
        first = file.read(3)
    return next((name for mark, name in PACKINGS.items() if first.startswith(mark)), "")


def too_long(where: str, longest: int) -> CurationError:
    """The error of a text that is longer than it may be."""
    return CurationError(
        f"{where}: more than {longest >> 20} MiB without a line break",
        "check that the file is text, and add line breaks",
    )


def too_packed(path: Path | str, size: int) -> CurationError:
    """The error of a file that unpacks to far more than text would."""
    return CurationError(
        f"{path}: unpacks to more than {size >> 20} MiB, far more than a text of its size would",
        f"check where the file comes from; if it is right, unpack it and name the unpacked file "
        f"(up to {RATIO} times the compressed size is read)",
    )
