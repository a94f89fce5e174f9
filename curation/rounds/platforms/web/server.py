"""The server of the web platform: one process, one database, until it is told to stop.

TLS is the work of a proxy on this machine, which tells the scheme of a request. The log has the
names of pages and status codes, and never an address: neither a person nor a secret can be in it.
"""

import errno
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import h11
import uvicorn
from filelock import FileLock, Timeout
from uvicorn.protocols.http.h11_impl import H11Protocol

from curation.files import CurationError
from curation.rounds.platforms.web.app import make_app
from curation.rounds.platforms.web.arriving import checking
from curation.rounds.platforms.web.database import LEAST_FREE
from curation.rounds.platforms.web.forms import Services
from curation.rounds.platforms.web.store import Store

PROXY = "127.0.0.1"
GRACE = 10  # seconds in which requests that have come whole are answered at the end
WHOLE = 20.0  # seconds in which a request must come, with its body
TAKEN = 60.0  # seconds for which a reader may take nothing of a response
CLOSING = 1.0  # seconds in which a closed connection must take the rest
MOST, OF_ADDRESS = 500, 200  # connections at once, in all and from one address, such as a room
BACKLOG = 100  # connections taken in one step: a process can have 1,024 files


def run(
    database: Path,
    services: Services,
    *,
    host: str,
    port: int,
    lock: Path,
    ready: Callable[[], None],
    stop: threading.Event | None = None,
) -> None:
    """Serve the pages until SIGINT or SIGTERM; requests that have begun are answered first.

    Args:
        database: the database of the campaign.
        services: what the server may ask of the campaign.
        host: the address of this machine to listen on.
        port: the port.
        lock: the file that a running server locks; a second one refuses to start.
        ready: called once, when the pages can be opened.
        stop: ends the server as well, when it is set.

    Raises:
        CurationError: another server runs on this campaign, the port is in use, the disk has no
            space, or the database cannot be read. Nothing listens then.
    """
    with _only_one(lock), listening(host, port) as sockets:
        if (free := shutil.disk_usage(database.parent).free) < LEAST_FREE:
            raise CurationError(
                f"{database.parent}: only {free // 2**20} MiB of the disk are free",
                f"free at least {LEAST_FREE // 2**20} MiB, so that no answer is lost",
            )
        store = Store(database)
        try:
            with checking(store, services):
                _Server(_config(store, services), ready, stop).run(sockets=sockets)
        finally:
            store.close()


class _Server(uvicorn.Server):
    """Uvicorn's server, which says when it is ready and, once stopped, lets its caller go on."""

    def __init__(
        self, config: uvicorn.Config, ready: Callable[[], None], stop: threading.Event | None
    ) -> None:
        super().__init__(config)
        self._ready, self._stop = ready, stop

    async def on_tick(self, counter: int) -> bool:
        """End the server if it is to stop; called several times a second."""
        self.should_exit = self.should_exit or (self._stop is not None and self._stop.is_set())
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say that requests are answered."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal; unlike uvicorn's own, do not raise it once more afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


class _Connection(H11Protocol):
    """A connection that a slow client cannot keep: uvicorn itself waits for requests for ever.

    If there are too many, that one is closed which has waited longest for the rest of a request or
    for the next one.

    Attributes:
        since: since when it waits; None while its request is answered.
    """

    since: float | None = None
    _request: Any = None
    _reader: Any = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()
        every: list[Any] = [*self.connections]
        host = self.client and self.client[0]
        if len(every) <= MOST:
            every = [one for one in every if one.client and one.client[0] == host != PROXY]
            if len(every) <= OF_ADDRESS:
                return
        min((one for one in every if one.since is not None), key=lambda one: one.since).end()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """Begin or end the time of a request."""
        waits = self.conn.their_state in (h11.IDLE, h11.SEND_BODY)
        begun = waits and self.timeout_keep_alive_task is None
        if not (begun and self._request):
            self.since = self.loop.time() if waits else None
        if begun and not self._request:
            self._request = self.loop.call_later(WHOLE, self.end)
        elif not begun and self._request:
            self._request = self._request.cancel()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reader = self.loop.call_later(TAKEN, self.end)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._reader = self._reader and self._reader.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for timer in filter(None, (self._request, self._reader)):
            timer.cancel()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self.loop.call_later(CLOSING, self.end)

    def shutdown(self) -> None:
        """Close it at the end of the server, unless it is about to be answered."""
        super().shutdown()
        if self.since is not None or self._reader:
            rest = self.transport.get_write_buffer_size()
            self.loop.call_later(CLOSING if rest else 0, self.end)

    def end(self) -> None:
        """Close it, whatever its client still has to send or to take."""
        self.since = None
        self.connections.discard(self)  # before others are counted that came at the same moment
        self.transport.abort()


def _config(store: Store, services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(store, services),
        http=_Connection,
        backlog=BACKLOG,
        access_log=False,
        log_config=None,
        server_header=False,
        forwarded_allow_ips=PROXY,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=GRACE,
        h11_max_incomplete_event_size=16 * 1024,
        ws="none",
        lifespan="off",
    )


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold the lock of the server of a campaign."""
    holder = FileLock(lock, timeout=0, mode=0o600)
    try:
        with holder:
            yield
    except Timeout:
        raise CurationError(
            f"{lock.parent}: another server already serves the rounds of this campaign",
            "use that one, or end it with Ctrl-C first",
        ) from None


@contextmanager
def listening(host: str, port: int) -> Iterator[list[socket.socket]]:
    """The sockets of an address, bound before anything else is done.

    Raises:
        CurationError: it is not an address of this machine, or the port cannot be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        raise CurationError(
            f"{host!r} is not an address of this machine", "use --host 127.0.0.1 or 0.0.0.0"
        ) from None
    family, kind, number, _, address = found[0]
    listener = socket.socket(family, kind, number)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as error:
            raise _cannot_listen(host, port, error) from None
        listener.set_inheritable(True)
        yield [listener]
    finally:
        with suppress(OSError):
            listener.close()


def _cannot_listen(host: str, port: int, error: OSError) -> CurationError:
    if error.errno == errno.EADDRINUSE:
        return CurationError(
            f"port {port} of {host} is already in use", "end what uses it, or choose another --port"
        )
    if error.errno == errno.EACCES:
        return CurationError(f"you may not listen on port {port}", "choose a --port above 1023")
    return CurationError(
        f"cannot listen on {host}, port {port}: {error.strerror}",
        "use --host 127.0.0.1, or another address of this machine",
    )
