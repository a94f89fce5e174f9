"""Does work in a fork with little memory, which is killed if it does not end."""

import json
import os
import resource
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

MEMORY = 1 << 30  # bytes that the work may take


class Flaw(NamedTuple):
    """What is wrong with how an input was treated."""

    input: str
    what: str


Tell = Callable[[Flaw], None]


def in_a_child(work: Callable[[Tell], None], *, seconds: int, memory: int = MEMORY) -> list[Flaw]:
    """Do work in a fork.

    Args:
        work: is given a function that notes a flaw.
        seconds: after so long the fork is killed.
        memory: bytes that it may take beyond what this process has.

    Returns:
        The flaws that it noted, and one more if it did not end by itself.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            limit = int(Path("/proc/self/statm").read_text().split()[0]) * 4096 + memory
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            with os.fdopen(writer, "w") as out:
                work(lambda flaw: print(json.dumps(flaw), file=out, flush=True))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    before = signal.signal(signal.SIGALRM, _stop(child))
    signal.alarm(seconds)
    with os.fdopen(reader) as lines:
        flaws = [Flaw(*json.loads(line)) for line in lines]
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    _, status = os.waitpid(child, 0)
    if status:
        flaws.append(Flaw("", f"the process ended with {os.waitstatus_to_exitcode(status)}"))
    return flaws


def _stop(child: int) -> Callable[[int, FrameType | None], None]:
    return lambda *_: os.kill(child, signal.SIGKILL)


class HangError(BaseException):
    """An input took too long; not an Exception, so that nothing handles it."""


def timed(act: Callable[[], str], *, seconds: float, wait: float) -> str:
    """What an action says, or what is wrong with it: it fails, or takes too long.

    Args:
        act: the action.
        seconds: how long it may compute; other programs on this machine do not count.
        wait: how long it may take in all.
    """
    for end in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(end, _hang)
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.setitimer(signal.ITIMER_REAL, wait)
        try:
            return act()
        finally:
            for timer in (signal.ITIMER_PROF, signal.ITIMER_REAL):
                signal.setitimer(timer, 0)
    except HangError:
        return f"more than {seconds} s:\n{traceback.format_exc()[-3000:]}"
    except Exception:
        return traceback.format_exc()[-3000:]


def _hang(*_: object) -> None:
    raise HangError
