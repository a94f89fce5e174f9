"""Time of counting a corpus, beside what counts nothing but the number of words.

Writes a text of real English words as often as wordfreq has them (200 MB), as it is and packed, and
counts each by two workers; beside it ``zcat | wc -w`` in the C locale, of the same file in the same
run, which unpacks and counts on two processors, too. Two workers of Ray must find the same. Each
figure is the best of three; prints one table.

    python benchmarks/measures.py [MEGABYTES]
"""

import gzip
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 3
WORDS_A_LINE = 20


def write(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """Lines of words, the first with a capital and the last with a point; plain and packed."""
    from curation.words import frequencies

    shares = frequencies("en")
    words = np.array([word.encode() for word in shares], dtype=object)
    chances = np.array(list(shares.values()))
    rng = np.random.default_rng(1)
    plain, size = folder / "corpus.txt", 0
    with plain.open("wb") as out:
        while size < megabytes * 1e6:
            drawn = words[rng.choice(len(words), size=200_000, p=chances / chances.sum())].tolist()
            lines = (
                b" ".join(drawn[at : at + WORDS_A_LINE]).capitalize() + b".\n"
                for at in range(0, len(drawn), WORDS_A_LINE)
            )
            size += out.write(b"".join(lines))
    packed = folder / "corpus.txt.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 6))
    return plain, packed


def wc(path: Path) -> int:
    """The peer: unpack, and count words without telling them apart."""
    told = subprocess.run(
        f"zcat -f '{path}' | wc -w",
        shell=True,
        check=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    return int(told.stdout)


def ours(path: Path, **knobs: Any) -> Any:
    """Each word and how often it stands there."""
    from curation.measures.counting import count

    return count([path], language="en", **({"workers": 2} | knobs))


def best(work: Callable[..., Any], *args: Any, **knobs: Any) -> tuple[float, Any]:
    """The shortest time of some runs, and what came out."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        found = work(*args, **knobs)
        times.append(time.perf_counter() - start)
    return min(times), found


def corpus(folder: Path, megabytes: int) -> list[tuple[str, float, float]]:
    """Rows: what, seconds, and how many times as long as the peer."""
    plain, packed = write(folder, megabytes)
    rows = []
    seen = None
    for path in (plain, packed):
        peer, number = best(wc, path)
        rows.append((f"{path.name}: zcat -f | wc -w", peer, 1.0))
        seconds, found = best(ours, path)
        rows.append((f"{path.name}: count, two workers", seconds, seconds / peer))
        # wc takes «it's» for one word, as we do, and «and/or» as well, which is two.
        assert found.tokens >= number
        assert seen is None or found.counts == seen
        seen = found.counts
    start = time.perf_counter()
    on_ray = ours(packed, engine="ray")
    rows.append(("corpus.txt.gz: count, two workers of Ray", time.perf_counter() - start, 0.0))
    assert on_ray.counts == seen, "Ray found other words"
    return rows


def main() -> None:
    """Print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as name:
        rows = corpus(Path(name), megabytes)
    print(f"{megabytes} MB of English words\n")
    print(f"{'what':52}{'seconds':>9}{'ratio':>8}")
    for what, seconds, ratio in rows:
        print(f"{what:52}{seconds:9.2f}" + (f"{ratio:8.2f}" if ratio else ""))
    peak = max(resource.getrusage(who).ru_maxrss for who in (-1, 0)) / 1024
    print(f"\nthe largest process took {peak:.0f} MB")


if __name__ == "__main__":
    main()
