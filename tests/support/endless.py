"""Replies of services that trickle, or never end."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")


def _forever(head: bytes, part: bytes, *, pause: float = 0.02) -> Callable[[socket.socket], None]:
    """A reply that begins with ``head`` and goes on with ``part``, again and again."""

    def play(end: socket.socket) -> None:
        end.sendall(head)
        while True:
            end.sendall(part)
            time.sleep(pause)

    return play


OK, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
CLOSE = b"Connection: close\r\n"
# An empty block of deflate after the beginning of a gzip file: it unpacks to nothing.
GZIP, BLOCK = b"\x1f\x8b\x08\0\0\0\0\0\0\xff", b"\0\0\0\xff\xff"
NEVER = {
    "nothing": _forever(b"", b"", pause=60),
    "the status trickles": _forever(b"HTTP/1.1 2", b"0"),
    "a header trickles": _forever(OK + b"X: ", b"x"),
    "headers": _forever(OK, b"X: y\r\n", pause=0),
    "headers trickle": _forever(OK, b"X: y\r\n", pause=0.1),
    "go on": _forever(b"", b"HTTP/1.1 100 Continue\r\n\r\n", pause=0),
    "the body trickles": _forever(OK + b"Content-Length: 9000\r\n\r\n", b"x"),
    "a body without a length trickles": _forever(OK + b"\r\n", b" "),
    "a body without a length": _forever(OK + b"\r\n", b" " * 9000, pause=0),
    "a chunk's size trickles": _forever(CHUNKED + b"\r\n", b"0"),
    "a chunk's size trickles, and no more": _forever(CHUNKED + CLOSE + b"\r\n", b"0"),
    "chunks": _forever(CHUNKED + b"\r\n", b"1\r\nx\r\n"),
    "what follows the chunks": _forever(CHUNKED + b"\r\n0\r\n", b"X: y\r\n", pause=0),
    "what is packed is nothing": _forever(
        OK + CLOSE + b"Content-Encoding: gzip\r\n\r\n" + GZIP, BLOCK
    ),
    "chunks of nothing": _forever(
        CHUNKED + b"Content-Encoding: gzip\r\n\r\na\r\n" + GZIP + b"\r\n",
        b"5\r\n" + BLOCK + b"\r\n",
        pause=0,
    ),
}


@contextmanager
def playing(mode: str) -> Iterator[str]:
    """The address of a server whose replies are those of a mode of ``NEVER``."""
    ends: list[socket.socket] = []

    def play(end: socket.socket) -> None:
        with suppress(OSError):
            NEVER[mode](end)

    def serve() -> None:
        with suppress(OSError):
            while True:
                ends.append(there.accept()[0])
                threading.Thread(target=play, args=(ends[-1],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as there:
        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{there.getsockname()[1]}"
        there.shutdown(socket.SHUT_RDWR)
    for end in ends:
        end.close()


def within(seconds: float, act: Callable[[], T]) -> list[T]:
    """What a call gives; nothing if it does not end in time."""
    given: list[T] = []
    thread = threading.Thread(target=lambda: given.append(act()), daemon=True)
    thread.start()
    thread.join(seconds)
    return given
