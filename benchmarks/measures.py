"""Measure the time of all measures, and of counting the words of a corpus.

20,000 made-up CATs of real words go through every measure. Then two workers count a text of
English words, drawn with wordfreq's frequencies (200 MB), plain and compressed. For comparison,
``zcat | wc -w`` in the C locale reads the same file in the same run; it also uses two processors,
but counts only the total number of words. Two Ray workers must find the same counts. Times of the
corpus are the best of three.

    python benchmarks/measures.py [MEGABYTES]
"""

import gzip
import os
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
CATS = 20_000
LIMIT = 30  # seconds for all pitfalls


def write(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """Write lines of words that begin with a capital and end with a point; plain and compressed."""
    from curation.text.words import frequencies

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
    """For comparison: unpack, and count all words together."""
    done = subprocess.run(
        f"zcat -f '{path}' | wc -w",
        shell=True,
        check=True,
        capture_output=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    return int(done.stdout)


def ours(path: Path, **options: Any) -> Any:
    """Count how often each word occurs."""
    from curation.measures.counting import count

    return count([path], language="en", **({"workers": 2} | options))


def best(work: Callable[..., Any], *args: Any, **options: Any) -> tuple[float, Any]:
    """The shortest time of ``RUNS`` runs, and the result of the last."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        found = work(*args, **options)
        times.append(time.perf_counter() - start)
    return min(times), found


def corpus(folder: Path, megabytes: int) -> list[tuple[str, float, float]]:
    """Rows: what was run, seconds, and the ratio to the time of wc."""
    plain, packed = write(folder, megabytes)
    rows = []
    seen = None
    for path in (plain, packed):
        peer, number = best(wc, path)
        rows.append((f"{path.name}: zcat -f | wc -w", peer, 1.0))
        seconds, found = best(ours, path)
        rows.append((f"{path.name}: count, two workers", seconds, seconds / peer))
        # Like wc we count «it's» as one word; wc also counts «and/or» as one, we count two.
        assert found.tokens >= number
        assert seen is None or found.counts == seen
        seen = found.counts
    start = time.perf_counter()
    on_ray = ours(packed, engine="ray")
    rows.append(("corpus.txt.gz: count, two workers of Ray", time.perf_counter() - start, 0.0))
    assert on_ray.counts == seen, "Ray found other words"
    return rows


def made_up(count: int) -> list[Any]:
    """CATs of both kinds on 200 targets, of English words drawn with wordfreq's frequencies."""
    from curation.kinds import GOLDS
    from curation.records import Cat, CatAssociation
    from curation.text.words import frequencies

    shares = frequencies("en")
    listed = [word for word in shares if word.isalpha()]
    chances = np.array([shares[word] for word in listed])
    rng = np.random.default_rng(2)
    drawn = iter(rng.choice(listed, size=count * 40, p=chances / chances.sum()).tolist())
    targets = [word.capitalize() for word in listed[3000:3200]]

    def drawn_words(size: int) -> str:
        return " ".join(next(drawn) for _ in range(size))

    cats = []
    for n in range(count):
        target, intra = targets[n % len(targets)], n % 2 == 0
        context = f"The {target} {drawn_words(4)}{' BLANK' if intra else ''}."
        texts = [drawn_words(1) if intra else f"{drawn_words(7).capitalize()}." for _ in GOLDS]
        if intra:
            texts = [context.replace("BLANK", text) for text in texts]
        a, b, c = (
            CatAssociation(id=f"{n}-{gold}", sentence=text, gold=gold)
            for gold, text in zip(GOLDS, texts, strict=True)
        )
        cats.append(
            Cat(
                id=f"cat-{n}", kind="intrasentence" if intra else "intersentence",
                domain=f"domain {n % len(targets) % 4}", term=f"term-{target}", target=target,
                family=target, split="test", context=context, associations=(a, b, c),
            )
        )  # fmt: skip
    return cats


def written(cats: list[Any]) -> tuple[list[Any], dict[str, Any]]:
    """The same CATs as items that were imported, and their terms."""
    from curation.records import Association, Item, Term

    terms = {cat.term: Term(id=cat.term, text=cat.target, domain=cat.domain) for cat in cats}
    items = []
    for cat in cats:
        a, b, c = (
            Association(id=a.id, sentence=a.sentence, intent=a.gold) for a in cat.associations
        )
        items.append(
            Item(id=cat.id, kind=cat.kind, term=cat.term, context=cat.context,
                 associations=(a, b, c), round="main")
        )  # fmt: skip
    return items, terms


def measures(count: int) -> list[tuple[str, float]]:
    """Rows: each measure of ``count`` CATs, and its seconds; one-time loading has its own row."""
    from curation.checks import lexical
    from curation.measures import keywords, pitfalls, sentiment, statistics

    cats = made_up(count)
    rows = []

    def row(what: str, work: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        found = work()
        rows.append((what, time.perf_counter() - start))
        return found

    row("statistics", lambda: statistics.statistics(cats, language="en"))
    felt = row("VADER", lambda: sentiment.by_vader(cats, language="en"))
    row("sentiment, shares and test", lambda: sentiment.sentiment(cats, felt))
    reference = keywords.wordfreq("en")
    row("lemmas of wordfreq, once", lambda: reference.by_lemma)
    row("keywords", lambda: keywords.keywords(cats, language="en", reference=reference))
    found = row("pitfalls", lambda: pitfalls.pitfalls(cats, language="en"))
    assert found.cats == count
    items, terms = written(cats)
    places = row(
        "checks of imported items", lambda: list(lexical.item_pitfalls(items, terms, language="en"))
    )
    assert places, "made-up words should have pitfalls"
    return rows


def peak() -> float:
    """The peak memory of this process, in MB."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line
    )
    return int(line.split()[1]) / 1024


def main() -> None:
    """Print the tables."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rows = measures(CATS)
    print(f"{CATS:,} made-up CATs, one process; pitfalls may take {LIMIT} seconds\n")
    print(f"{'measure':52}{'seconds':>9}{'CATs/s':>9}")
    for what, seconds in rows:
        print(f"{what:52}{seconds:9.2f}{CATS / seconds:9.0f}")
    print(f"{'all of them':52}{sum(seconds for _, seconds in rows):9.2f}")
    over = dict(rows)["pitfalls"] > LIMIT
    print(f"\npeak memory {peak():.0f} MB" + ("; * pitfalls took too long" if over else ""))
    with tempfile.TemporaryDirectory() as name:
        counted = corpus(Path(name), megabytes)
    print(f"\n{megabytes} MB of English words\n")
    print(f"{'what':52}{'seconds':>9}{'ratio':>8}")
    for what, seconds, ratio in counted:
        print(f"{what:52}{seconds:9.2f}" + (f"{ratio:8.2f}" if ratio else ""))


if __name__ == "__main__":
    main()
