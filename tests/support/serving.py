"""A command that serves a campaign's own pages, in a process of its own."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from support.commands import ROOT
from support.label_studio import free_port

LAST = "Press Ctrl-C"


class Served(NamedTuple):
    """A command that serves pages.

    Attributes:
        port: where it listens.
        said: what it printed before it waited.
        process: its process.
        log: what it writes on standard error.
    """

    port: int
    said: str
    process: "subprocess.Popen[str]"
    log: IO[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str, str]:
        """Stop it; gives the exit status, the rest of what it printed, and its log."""
        self.process.send_signal(number)
        rest, _ = self.process.communicate(timeout=30)
        self.log.seek(0)
        return self.process.returncode, rest, self.log.read()


@contextmanager
def serving(*words: str | Path, cwd: Path | None = None) -> Iterator[Served]:
    """A command that serves pages, once it says that it does.

    Args:
        words: the command, without ``--port``.
        cwd: the folder in which it runs.
    """
    port = free_port()
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "curation", *map(str, words), "--port", str(port)],
            stdout=subprocess.PIPE, stderr=log, encoding="utf-8", cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
        )  # fmt: skip
        assert process.stdout
        try:
            said = []
            for line in process.stdout:
                said.append(line)
                if line.startswith(LAST):
                    break
            else:
                log.seek(0)
                raise AssertionError(f"it ended: {log.read()}")
            yield Served(port, "".join(said), process, log)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
