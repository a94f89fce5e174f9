"""Edit a campaign by seeds, and check that bringing it up to date equals a clean start.

    python benchmarks/incremental.py 500
    python benchmarks/incremental.py 20 --first 100 --edits 16

``tests/pipeline/test_incremental.py`` does the same with a few seeds. A failure prints its seed,
its edits and the first file that differs; the run goes on, and fails at its end.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Parse the arguments, and play the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("seeds", type=int, help="how many sequences")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--edits", type=int, default=12, help="edits of a sequence")
    asked = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
    from support import edits

    failed, both = 0, 0
    os.fsync = lambda handle: None  # as in the tests: no power cuts
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {"CURATION_KEYS": f"{place}/keys", "OMP_NUM_THREADS": "1"}
        Path(place, "keys").mkdir()
        built = edits.build(Path(place, "campaign"))
        for seed in range(asked.first, asked.first + asked.seeds):
            with tempfile.TemporaryDirectory(dir=place) as folder:
                try:
                    both += bool(edits.play(built, Path(folder), seed, edits=asked.edits).error)
                except AssertionError as error:
                    failed += 1
                    print(error, flush=True)
    print(f"{asked.seeds} sequences: {failed} failed; in {both}, both campaigns had an error")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
