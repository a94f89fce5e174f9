"""Many people at the web platform, while its server is killed and responses are lost.

    python benchmarks/web.py [--people 200] [--seconds 200] [--kills 20]

Simulated people with 10 seconds of thinking label tasks on the real server, which is one process.
It is killed (SIGKILL) 20 times and started again, and 30 % of all responses are lost, half of them
after the server has sent them whole. The benchmark fails if an acknowledged answer is not in the
database exactly once, if a second connection ever sees more live leases plus counted answers of a
task than asked, or if fewer than 95 % of the requests that a running server answered took less than
300 ms. The people run in this process; its CPU is reported, because it shares the machine.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.crowd import Crowd, Result, simulate  # noqa: E402

LIMIT, SHARE = 0.3, 0.95


def quantile(times: Sequence[float], share: float) -> float:
    """The time within which this share of requests was answered."""
    ordered = sorted(times)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]


def report(result: Result) -> list[str]:
    """Print the figures; returns what does not hold."""
    quick = sum(time < LIMIT for time in result.times) / len(result.times)
    shown = ", ".join(
        f"{100 * s:g} %: {quantile(result.times, s):.3f} s" for s in (0.5, 0.95, 0.99)
    )
    rate = len(result.times) / result.seconds
    statuses = ", ".join(f"{status}: {n}" for status, n in sorted(result.statuses.items()))
    print(
        f"{result.seconds:.0f} s on {os.cpu_count()} cores; "
        f"the server was killed {result.kills} times"
    )
    print(f"requests answered: {len(result.times)}, {rate:.0f} a second; {statuses}")
    print(
        f"answers acknowledged: {len(result.acknowledged)}, sent again: {result.sent_again} times"
    )
    print(
        f"answers that count: {result.done}; late: {result.late}; all rows: {result.kept.total()}"
    )
    print(f"acknowledged and not there exactly once: {len(result.wrong)}")
    print(f"tasks with too many, in {result.looks} looks: {len(result.too_many)}")
    print(f"under 300 ms: {100 * quick:.1f} % of requests; {shown}")
    for who, cpu in (("people", result.generator_cpu), ("server", result.server_cpu)):
        print(f"CPU of the {who}: {cpu:.0f} s, {100 * cpu / result.seconds:.0f} % of one core")
    failed = {
        "an acknowledged answer is lost or there twice": bool(result.wrong),
        "a task had too many live leases and answers": bool(result.too_many),
        "too few requests were answered in 300 ms": quick < SHARE,
    }
    return [what for what, is_so in failed.items() if is_so]


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--think", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--dropped", type=float, default=0.3)
    given = parser.parse_args()
    crowd = Crowd(given.people, given.seconds, given.think, given.kills, given.dropped, tasks=500)
    with tempfile.TemporaryDirectory() as folder:
        failed = report(simulate(crowd, Path(folder)))
    for what in failed:
        print(f"FAILED: {what}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
