"""The file of the web platform's database: how it is opened, changed and read.

The server and the owner's commands open the same SQLite file at the same time. Every change is one
transaction, which is on disk before its method returns (WAL, ``synchronous=FULL``): what a person
is told to be received survives a crash. The tables are in ``schema.sql``.
"""

import hmac
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from curation.files import CurationError, read_text, refuse_links

APPLICATION = 0x63757277
"""SQLite's application id of this kind of file."""
LEAST_FREE = 64 * 2**20
"""How many bytes of the disk must be free before anything is taken."""
WAIT = 30.0
"""How many seconds a change waits for another one."""


class NoSpaceError(CurationError):
    """The disk has no space for another answer."""


_READ_ONLY = (
    "cannot be opened or written to",
    "give yourself permission to write the file and its folder",
)
_DAMAGED = (
    "is damaged, or not a database",
    "put back a copy with its -wal file; answers that were pulled are in the archive",
)
_BUSY = (
    f"another program has kept it busy for {WAIT:.0f} seconds",
    "end that program, or try again later",
)
PROBLEMS = {
    "SQLITE_FULL": (
        "the disk has no space for more answers",
        f"free at least {LEAST_FREE // 2**20} MiB; people can then send again what they have",
    ),
    **dict.fromkeys(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"), _READ_ONLY),
    **dict.fromkeys(("SQLITE_CORRUPT", "SQLITE_NOTADB"), _DAMAGED),
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_LOCKED"), _BUSY),
    "SQLITE_CONSTRAINT": ("this person was erased just now", "open the link again"),
}
"""What is wrong and how to fix it, by the beginning of the name of SQLite's result."""


class Database:
    """The open database. Methods may be called from several threads.

    Args:
        path: the file; it is created with mode 600 if it is missing.

    Raises:
        CurationError: the file is not such a database, or cannot be written to. All methods raise
            it if the file cannot be read or written; ``NoSpaceError`` if the disk is full.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock, self._read_lock = threading.Lock(), threading.Lock()
        refuse_links(path, below=path.parent)
        with self._errors():
            path.touch(mode=0o600)
            path.chmod(0o600)
            # Reading does not wait until a change is on disk.
            self._db, self._reader = self._connect(), self._connect()
            try:
                self._prepare()
            except BaseException:
                self.close()
                raise
        self._secret = bytes.fromhex(self.fact("secret"))

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._path, timeout=WAIT, isolation_level=None, check_same_thread=False
        )
        db.row_factory = sqlite3.Row
        for pragma in ("synchronous=FULL", "secure_delete=ON", "foreign_keys=ON"):
            db.execute(f"PRAGMA {pragma}")
        return db

    def _prepare(self) -> None:
        """Check that the file is a whole database of this kind; make the tables of a new one."""
        db = self._db
        # In this order, because another program may make the tables now.
        has_tables = db.execute("SELECT 1 FROM sqlite_schema").fetchone() is not None
        kind = db.execute("PRAGMA application_id").fetchone()[0]
        if kind == APPLICATION:
            if db.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise self._explained("SQLITE_CORRUPT")
            self._keep_log()  # a backup that was put back keeps none
        elif has_tables:
            raise CurationError(
                f"{self._path}: is a database of another program",
                "move it away, or put the right file back",
            )
        else:
            self._make()

    def _make(self) -> None:
        """Make the tables, or wait until another program has made them."""
        self._keep_log()
        schema = read_text(Path(__file__).with_name("schema.sql"))
        secret = f"INSERT OR IGNORE INTO facts VALUES ('secret', '{secrets.token_hex(32)}')"
        mark = f"PRAGMA application_id={APPLICATION}"
        self._db.executescript(f"BEGIN IMMEDIATE; {schema} {secret}; {mark}; COMMIT;")

    def _keep_log(self) -> None:
        """Write changes into a log first (WAL), now and from now on."""
        for wait in (*[0.05] * 100, None):
            try:
                self._db.execute("PRAGMA journal_mode=WAL")  # fails at once if the file is in use
                break
            except sqlite3.OperationalError:
                if wait is None:
                    raise
                time.sleep(wait)

    def close(self) -> None:
        """Close the file."""
        with self._lock, self._read_lock:
            self._reader.close()
            self._db.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the database into errors that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise self._explained(getattr(error, "sqlite_errorname", ""), error) from error
        except PermissionError:
            raise self._explained("SQLITE_PERM") from None

    def _explained(self, name: str, detail: object = "") -> CurationError:
        """The error for a result of SQLite, by its name."""
        known = (texts for begins, texts in PROBLEMS.items() if name.startswith(begins))
        what, fix = next(known, (f"cannot be used ({detail})", "check the disk"))
        kind = NoSpaceError if name.startswith("SQLITE_FULL") else CurationError
        return kind(f"{self._path}: {what}", fix)

    @contextmanager
    def change(self, *, always: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction; it is on disk at the end, or nothing of it is.

        Args:
            always: also if the disk is nearly full.
        """
        if not always and shutil.disk_usage(self._path.parent).free < LEAST_FREE:
            raise self._explained("SQLITE_FULL")
        with self._lock, self._errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, sql: str, *values: object) -> list[sqlite3.Row]:
        """What a query gives; it does not wait for changes."""
        with self._read_lock, self._errors():
            return self._reader.execute(sql, values).fetchall()

    def one(self, sql: str, *values: object) -> Any:
        """The first column of the first row; None if there is no row."""
        rows = self.rows(sql, *values)
        return rows[0][0] if rows else None

    def fact(self, name: str) -> str:
        """A fact, such as ``address``, the public address of the server; empty if not known."""
        return str(self.one("SELECT value FROM facts WHERE name = ?", name) or "")

    def set_fact(self, name: str, value: str) -> None:
        """Keep a fact."""
        with self.change() as db:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def digest(self, *parts: str) -> str:
        """A keyed digest of some words, 32 hexadecimal digits; only this database can make it."""
        return hmac.digest(self._secret, "\x1f".join(parts).encode(), "sha256").hex()[:32]

    def _empty_log(self) -> None:
        """Move all changes into the file, so that nothing deleted stays in its log."""
        with self._lock, self._errors():
            busy = self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        if busy:
            raise CurationError(
                f"{self._path}-wal: still has what was erased, because another program reads it",
                "repeat this; end the server first if it happens again",
            )


def digest_of(cookie: str) -> str:
    """What is kept of a cookie."""
    return sha256(cookie.encode()).hexdigest()
