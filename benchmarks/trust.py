"""Measure the time of measures of bias.

Text: ``curation trust text`` with two workers on a corpus of real English text in 64 ``.gz`` files,
beside ``zcat | wc -w`` on the same files in the same run. The corpus is made of 106 articles of
Wikipedia and the paragraphs of WikiText-2, repeated in random order. The targets are the eight
professions of Table 3 of Bommasani & Liang (2022), then their 288 professions; the groups are their
lists for gender.

    python benchmarks/trust.py [text [MEGABYTES]]
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

REAL = Path(__file__).parents[2] / "shared" / "realdata" / "divdist"
FILES = 64
RUNS = 3
LEAST = 0.3  # of the speed of zcat | wc -w


# --- text ---------------------------------------------------------------------------------------


def texts() -> list[str]:
    """The documents of which the corpus is made."""
    articles = (REAL / "enwiki_gensim" / "enwiki_206.jsonl").read_text("utf-8").splitlines()
    paragraphs = (REAL / "wikitext2" / "valid.txt").read_text("utf-8").splitlines()
    return [json.loads(line)["text"] for line in articles] + [p for p in paragraphs if p.strip()]


def write_part(path: Path, size: int, seed: int) -> None:
    """Write about ``size`` bytes of text as one compressed file."""
    documents, order, written = texts(), random.Random(seed), 0
    with gzip.open(path, "wt", 6, encoding="utf-8") as file:
        while written < size:
            order.shuffle(documents)
            for text in documents:
                written += file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                if written >= size:
                    break


def write_corpus(folder: Path, megabytes: int) -> list[Path]:
    """Write the corpus."""
    paths = [folder / f"part-{number:02d}.jsonl.gz" for number in range(FILES)]
    size = megabytes * 1_000_000 // FILES
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(write_part, paths, [size] * FILES, range(FILES)))
    return paths


def count_words(paths: Sequence[Path]) -> int:
    """For comparison: unpack, and count all words together."""
    done = subprocess.run(
        ["bash", "-c", 'zcat "$@" | wc -w', "wc", *map(str, paths)],
        check=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    return int(done.stdout)


def gender(targets: Sequence[str]) -> Any:
    """The groups of the paper with these targets."""
    from curation.trust.groups import Groups

    lists = {name: word_list(f"{name}.txt") for name in ("female", "male")}
    listed = {word for words in lists.values() for word in words}
    return Groups("gender", lists, {word: (word,) for word in targets if word not in listed})


def word_list(name: str) -> tuple[str, ...]:
    """A list of words that comes with the project."""
    lines = (Path(__file__).parents[1] / "data" / "groups" / name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def text(megabytes: int) -> Iterator[str]:
    """The lines of the table of text."""
    from curation.trust.text.automated import count

    anchors = [line.split(",")[0] for line in word_list("anchors.csv")[1:]]
    sets = {"8 targets": gender(anchors), "288 targets": gender(word_list("professions.txt"))}
    with tempfile.TemporaryDirectory() as name:
        paths = write_corpus(Path(name), megabytes)
        packed = sum(path.stat().st_size for path in paths) / 1e6
        yield f"text: {megabytes} MB of text in {FILES} files of {packed:.0f} MB in all\n"
        yield f"{'what':44}{'seconds':>9}{'MB/s':>8}{'ratio':>8}"
        best: dict[str, float] = {}
        for _ in range(RUNS):  # in turns, so that a busy machine slows all of them
            for label, work in {
                "zcat | wc -w": lambda: count_words(paths),
                **{
                    f"text-automated, two workers, {label}": (
                        lambda groups=groups: count(paths, groups, workers=2)
                    )
                    for label, groups in sets.items()
                },
            }.items():
                seconds, _result = timed(work)
                best[label] = min(seconds, best.get(label, seconds))
    peer = best["zcat | wc -w"]
    for label, seconds in best.items():
        slow = "" if peer / seconds >= LEAST else f"  * below {LEAST}"
        yield f"{label:44}{seconds:9.2f}{megabytes / seconds:8.0f}{peer / seconds:8.2f}{slow}"


# --- all ----------------------------------------------------------------------------------------

PARTS: dict[str, tuple[Callable[[int], Iterator[str]], int]] = {"text": (text, 1000)}
"""What is measured, with its size if none is given."""


def main() -> None:
    """Print the tables."""
    if not REAL.is_dir():
        sys.exit(f"the real data is not at {REAL}")
    chosen = sys.argv[1:2] or list(PARTS)
    for name in chosen:
        measure, size = PARTS[name]
        for line in measure(int(sys.argv[2]) if len(sys.argv) > 2 else size):
            print(line, flush=True)


if __name__ == "__main__":
    main()
