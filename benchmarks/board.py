"""Measure the time of a board, from its creation to the pages of a closed test set.

A campaign of made-up CATs is imported and released with hidden labels. Then every command of
«curation board» that runs no model runs in a process of its own: create, submit and check of
made-up predictions of three models, score, build, rotate and verify. How long models take is
measured by ``benchmarks/scoring.py``.

Limit: all commands of the board together take at most twice as long as ``release build`` in the
same run; with --quick at most four times, because the start of ten processes counts more. Seconds
are those of processors, so that other work on the machine does not count.

    python benchmarks/board.py [--cats 5400] [--quick]

5,400 CATs are enough for three rows. The exit code is 1 if the limit is missed.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from release import run

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support import publishing

QUICK, TERMS = 400, 24
MODELS = ("small", "tall", "wide")
NAME = "Ann Example"


def measured(root: Path, cats: int) -> list[tuple[str, float, float]]:
    """Run all commands: what was run, seconds of processors, and seconds on the clock."""
    from curation.board.folder import open_board
    from curation.board.submitting import (
        public_cats,
    )

    campaign, board = root / "campaign", root / "board"
    publishing.write_items(root / "published.json", cats, terms=TERMS)
    publishing.campaign(campaign)
    run("import", "stereoset", root / "published.json", "-c", campaign)
    run("decisions", "split", "-c", campaign)
    rows = []

    def timed(*words: str | Path) -> None:
        wall, spent, _ = run(*words)
        rows.append((" ".join(map(str, words[:2])), spent, wall))

    def submit(name: str) -> None:
        words = [f"bakery/{name}@ll-bos_conditional={root / name}.json", "--revision", "v1"]
        words += ["--dtype", "float32", "--by", NAME, "--board", str(board)]
        timed("board", "submit", "--predictions", *words)

    timed("release", "build", "--hide", "labels", "-c", campaign)
    timed("board", "create", board, "--release", "0.1.0", "-c", campaign)
    settings = board / "board.toml"
    text = settings.read_text("utf-8")
    assert "submitters = []" in text
    settings.write_text(text.replace("submitters = []", f'submitters = ["{NAME}"]'), "utf-8")
    public = public_cats(open_board(board).open_set)
    for seed, name in enumerate(MODELS):
        publishing.write_predictions(root / f"{name}.json", public, seed=seed)
        submit(name)
    timed("board", "check", *sorted((board / "submissions").glob("*.json")))
    timed("board", "score", "--board", board, "-c", campaign)
    timed("board", "build", "--board", board)
    timed("board", "rotate", "--yes", "--board", board, "-c", campaign)
    timed("board", "build", "--board", board)
    timed("board", "verify", board)
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cats", type=int, default=5400)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} CATs")
    given = parser.parse_args()
    cats, limit = (QUICK, 4) if given.quick else (given.cats, 2)
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), cats)
    (_, build, _), *others = rows
    print(f"{cats:,} CATs")
    print(f"{'':20}{'processor s':>12}{'clock s':>9}{'ratio':>7}")
    for name, spent, wall in rows:
        print(f"{name:20}{spent:12.2f}{wall:9.2f}{spent / build:7.2f}")
    total = sum(spent for _, spent, _ in others)
    print(f"{'the board':20}{total:12.2f}{'':9}{total / build:7.2f}  limit {limit}")
    sys.exit(total > limit * build)


if __name__ == "__main__":
    main()
