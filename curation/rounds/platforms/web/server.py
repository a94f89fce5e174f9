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

import uvicorn
from filelock import FileLock, Timeout

from curation.files import CurationError
from curation.rounds.platforms.web.app import make_app
from curation.rounds.platforms.web.arriving import checking
from curation.rounds.platforms.web.forms import Services
from curation.rounds.platforms.web.store import LEAST_FREE, Store

PROXY = "127.0.0.1"
GRACE = 10  # seconds in which requests that have begun are answered


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
        self.should_exit = self.should_exit or (self._stop is not None and self._stop.is_set())
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
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


def _config(store: Store, services: Services) -> uvicorn.Config:
    return uvicorn.Config(
        make_app(store, services),
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
