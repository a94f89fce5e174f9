"""``python -m curation``, and the command ``curation``."""

import os
import sys
import threading
import time
from contextlib import suppress

from curation.work import interrupts


def main() -> None:
    """Run the command line. Loading it takes a moment, in which it can be stopped, too."""
    stopped = None
    try:
        with interrupts.stoppable():
            from curation.cli import main as run

            run()
    except interrupts.Stopped as stop:
        stopped = interrupts.Stopped(stop.signal)  # without its traceback, which keeps files open
    if stopped:
        _leave(stopped)


def _leave(stopped: interrupts.Stopped) -> None:
    """Say in one line that the command was stopped, and end the process."""
    with suppress(OSError, ValueError):  # nobody may be reading any more
        sys.stdout.flush()
    with suppress(OSError, ValueError):
        sys.stderr.write(f"stopped by {stopped}: you can run the same command again\n")
        sys.stderr.flush()
    others = [t for t in threading.enumerate() if t is not threading.main_thread() and not t.daemon]
    until = time.monotonic() + 2
    for thread in others:
        thread.join(max(0, until - time.monotonic()))
    if any(thread.is_alive() for thread in others):
        os._exit(stopped.status)  # they wait for a server, and nothing that they do is needed
    sys.exit(stopped.status)


if __name__ == "__main__":
    main()
