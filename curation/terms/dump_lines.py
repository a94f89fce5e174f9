"""The lines of a dump file, compressed or not: one thread decompresses while another reads."""

import bz2
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, BinaryIO, NamedTuple

from isal import igzip, isal_zlib

from curation.files import CurationError, open_input

BLOCK = 1 << 20  # bytes to decompress at once: more would not fit into the processor's cache
AHEAD = 4  # blocks that are being read or wait to be read
LONGEST = 32 << 20  # bytes of a line at most; Wikidata's longest entities have about a tenth of it
FETCH = "it was probably cut off: fetch it again"
COMMA = 0x2C
PACKINGS = {b"\x1f\x8b": ".gz", b"BZh": ".bz2"}


class _Block(NamedTuple):
    """Whole lines, in ``data[:end]``; ``read`` is the number of bytes read from the file."""

    data: bytearray
    end: int
    read: int


class Lines:
    """The lines of a dump file, without line ends and without the commas between entities.

    Each line is a view that is valid only until the next line is requested. The lines can be read
    once.

    Attributes:
        path: the file.
        cut: after all lines were read, whether the last one had no line end.
    """

    def __init__(self, path: Path, tell: Callable[[int], None] | None = None) -> None:
        """Prepare the reader; the file is not opened yet.

        Args:
            path: a JSON file, plain or compressed with gzip (any number of members) or bzip2.
            tell: called with the number of bytes read from the file since the last call.
        """
        self.path = path
        self.cut = False
        self._tell = tell or (lambda _: None)
        self._full: SimpleQueue[_Block | Exception | None] = SimpleQueue()
        self._free: SimpleQueue[bytearray | None] = SimpleQueue()

    def __iter__(self) -> Iterator[memoryview]:
        """The lines.

        Raises:
            CurationError: the file is missing, may not be read, ends in the middle, is damaged, or
                has no lines.
        """
        for _ in range(AHEAD):
            self._free.put(bytearray(BLOCK))
        thread = Thread(target=self._unpack, daemon=True)
        thread.start()
        try:
            while (block := self._full.get()) is not None:
                if isinstance(block, Exception):
                    raise block
                yield from self._lines(block)
                self._free.put(block.data if len(block.data) == BLOCK else bytearray(BLOCK))
                self._tell(block.read)
        finally:
            self._free.put(None)
            thread.join()

    def _lines(self, block: _Block) -> Iterator[memoryview]:
        data, end = block.data, block.end
        view, find, start = memoryview(data), data.find, 0
        while start < end:
            stop = find(b"\n", start, end)
            if stop < 0:
                stop, self.cut = end, True
            yield view[start : stop - 1 if data[stop - 1] == COMMA else stop]
            start = stop + 1

    def _unpack(self) -> None:
        """Decompress the file into blocks and hand them over; runs in the thread."""
        try:
            with open_input(self.path) as packed, _unpacked(self.path, packed) as plain:
                self._fill(packed, plain)
            self._full.put(None)
        except EOFError as error:
            self._full.put(CurationError(f"{self.path}: ends in the middle ({error})", FETCH))
        except (igzip.BadGzipFile, isal_zlib.error) as error:  # type: ignore[misc]
            self._full.put(_damaged(self.path, error))
        except OSError as error:  # errors of the system have a number, errors of bz2 do not
            self._full.put(error if error.errno else _damaged(self.path, error))
        except Exception as error:
            self._full.put(error)

    def _fill(self, packed: BinaryIO, plain: Any) -> None:
        rest, reported = b"", 0  # rest: the start of a line whose end is not decompressed yet
        while (data := self._free.get()) is not None:
            if len(data) < 2 * len(rest):
                data = bytearray(2 * len(rest))
            end = len(rest)
            with memoryview(data) as view:
                view[:end] = rest
                while end < len(data) and (got := plain.readinto(view[end:])):
                    end += got
                whole = end if end < len(data) else data.rfind(b"\n") + 1
                rest = bytes(view[whole:end])
            if len(rest) > LONGEST:
                raise CurationError(
                    f"{self.path}: is not a Wikidata JSON dump: a line has over {LONGEST} bytes",
                    "use the dump with one entity per line, latest-all.json.gz",
                )
            read = packed.tell()
            self._full.put(_Block(data, whole, read - reported))
            reported = read
            if end < len(data):
                return


def sizes(paths: Sequence[Path]) -> list[int]:
    """The size of each file in bytes.

    Raises:
        CurationError: a file is missing, empty or a folder, may not be read, or is given twice.
    """
    file_sizes = []
    for path in paths:
        with open_input(path) as file:
            file_sizes.append(file.seek(0, 2))
        if not file_sizes[-1]:
            raise CurationError(f"{path}: is empty", FETCH)
    for place, path in enumerate(paths):
        if any(path.samefile(other) for other in paths[:place]):
            raise CurationError(f"{path}: is given twice", "name each file once")
    return file_sizes


def _unpacked(path: Path, packed: BinaryIO) -> Any:
    """The decompressed content; the first bytes show the compression, whatever the file's name."""
    first = packed.read(3)
    packed.seek(0)
    packing = next((name for mark, name in PACKINGS.items() if first.startswith(mark)), "")
    if path.suffix in PACKINGS.values() and path.suffix != packing:
        raise CurationError(f"{path}: is not {path.suffix} data", "fetch it again, or rename it")
    if packing == ".gz":
        return igzip.open(packed)  # type: ignore[no-untyped-call]
    return bz2.open(packed) if packing == ".bz2" else packed


def _damaged(path: Path, error: Exception) -> CurationError:
    return CurationError(f"{path}: is damaged ({error})", "fetch it again")
