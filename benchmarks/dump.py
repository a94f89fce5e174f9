"""Measure the speed and memory of reading a Wikidata dump, and of programs that only unpack it.

Writes a synthetic dump in the real shape: about 8.4 KB per entity, with labels, descriptions,
aliases and sitelinks in many languages, and claims with qualifiers and references; 9 % of the
entities state P106. Like the real dump it has many gzip members. Measures two unpackers that count
lines, and our reader, in turns and each in its own process, and takes the fastest of several
passes. Prints one table. Targets on two cores: 0.6 of igzip's rate for each time that we read the
file, less CPU than zcat, and under 300 MB for any size.

    python benchmarks/dump.py [--mb 1700] [--passes 3]
"""

import argparse
import gzip
import multiprocessing as mp
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = re.findall(
    r"[a-z-]+",
    """
    en de fr es it nl pl pt ru sv ja zh ar uk cs fi hu he tr ko da nb ca eu fa id ro sr vi el bg
    hr sk sl et lv lt ga gl cy be ka hy az kk ms th hi bn ta te ml mr ur nn oc la eo mul pt-br
    zh-hans
""",
)
MEMBER = 1000  # entities per gzip member
KB = 8.4


# --- the synthetic dump ---------------------------------------------------------------------


def word(rng: random.Random) -> str:
    """A made-up word; every fifth has escaped letters, as the dump escapes non-ASCII text."""
    if rng.random() < 0.2:
        return "".join(f"\\u04{rng.randrange(0x30, 0x50):02x}" for _ in range(rng.randrange(4, 9)))
    return "".join(rng.choices("aeiourstlnmkd", k=rng.randrange(4, 11)))


def texts(pool: list[str], rng: random.Random, share: float, own: float) -> str:
    """A map of languages to texts: mostly the first text of the pool, as with names."""
    return ",".join(
        f'"{code}":{{"language":"{code}","value":"{text}"}}'
        for code in LANGUAGES
        if rng.random() < share
        for text in (rng.choice(pool) if rng.random() < own else pool[0],)
    )


def item(target: int) -> str:
    """An item as a value."""
    return (
        f'"datavalue":{{"value":{{"entity-type":"item","numeric-id":{target},"id":"Q{target}"}},'
        '"type":"wikibase-entityid"},"datatype":"wikibase-item"'
    )


def statement(rng: random.Random, number: int, name: str, value: str) -> str:
    """A statement, often with a qualifier and a reference."""
    mark = f"{rng.getrandbits(128):032x}"
    more = ""
    if rng.random() < 0.2:
        more = (
            f'"qualifiers":{{"P580":[{{"snaktype":"value","property":"P580","hash":'
            f'"{rng.getrandbits(160):040x}","datavalue":{{"value":{{"time":"+{number % 2000:04d}-01'
            '-01T00:00:00Z","timezone":0,"before":0,"after":0,"precision":9,"calendarmodel":'
            '"http:\\/\\/www.wikidata.org\\/entity\\/Q1985727"},"type":"time"},"datatype":"time"}]},'
            '"qualifiers-order":["P580"],'
        )
    tail = ""
    if rng.random() < 0.6:
        tail = (
            f',"references":[{{"hash":"{rng.choice(HASHES)}","snaks":{{"P143":[{{"snaktype":"value"'
            f',"property":"P143",{item(rng.choice((328, 48183, 8449, 10000)))}}}]}},"snaks-order":'
            '["P143"]}]'
        )
    return (
        f'{{"mainsnak":{{"snaktype":"value","property":"{name}",{value}}},"type":"statement",{more}'
        f'"id":"Q{number}${mark[:8]}-{mark[8:12]}-{mark[12:]}","rank":"normal"{tail}}}'
    )


ABOUT = [
    [" ".join(word(random.Random(n * 99 + k)) for k in range(j, j + 4)) for j in range(40)]
    for n in range(50)
]
HASHES = [f"{random.Random(1).getrandbits(160) + n:040x}" for n in range(50)]


def entity(rng: random.Random, number: int, words: list[str]) -> str:
    """One line of the dump, about 8.4 KB long."""
    name = [f"{rng.choice(words)} {rng.choice(words)}" for _ in range(8)]
    about = ABOUT[number % 50]
    stated = {"P31": [5 if rng.random() < 0.1 else 13442814 + rng.randrange(999)]}
    if rng.random() < 0.09:
        stated["P106"] = [100 + int(rng.paretovariate(0.7)) % 9000 for _ in range(1 + number % 2)]
    for code, share, objects in (("P27", 0.07, 200), ("P172", 0.01, 900), ("P140", 0.01, 90)):
        if rng.random() < share:
            stated[code] = [30 + rng.randrange(objects)]
    if number < 12_000 or rng.random() < 0.04:
        stated["P279"] = [1 + rng.randrange(max(1, number // 2))]
    claims = {
        code: [statement(rng, number, code, item(target)) for target in dict.fromkeys(targets)]
        for code, targets in stated.items()
    }
    for _ in range(rng.randrange(4, 13)):
        code = f"P{rng.randrange(300, 9000)}"
        text = (
            f'"datavalue":{{"value":"{rng.getrandbits(40)}","type":"string"}},"datatype":"string"'
        )
        claims[code] = [statement(rng, number, code, text)]
    claimed = ",".join(f'"{code}":[{",".join(rows)}]' for code, rows in claims.items())
    aliases = ",".join(
        f'"{code}":[{{"language":"{code}","value":"{rng.choice(words)} {rng.choice(words)}"}}]'
        for code in rng.sample(LANGUAGES, rng.randrange(4))
    )
    links = ",".join(
        f'"{code}wiki":{{"site":"{code}wiki","title":"{rng.choice(words)}","badges":[]}}'
        for code in rng.sample(LANGUAGES, rng.choice((0, 0, 1, 2, 9)))
    )
    return (
        f'{{"type":"item","id":"Q{number}","labels":{{{texts(name, rng, 0.52, 0.3)}}},'
        f'"descriptions":{{{texts(about, rng, 0.36, 1)}}},"aliases":{{{aliases}}},'
        f'"claims":{{{claimed}}},"sitelinks":{{{links}}},"lastrevid":{rng.getrandbits(31)}}}'
    )


def member(first: int) -> bytes:
    """A thousand lines as one gzip member."""
    rng = random.Random(first)
    words = [word(rng) for _ in range(3000)]
    lines = [entity(rng, number, words) for number in range(first, first + MEMBER)]
    return gzip.compress(("[\n" * (first == 1) + ",\n".join(lines) + ",\n").encode(), 6)


def write(path: Path, mb: float) -> None:
    """Write a dump of about ``mb`` MB of JSON."""
    members = max(2, round(mb * 1000 / KB / MEMBER))
    with path.open("wb") as file, mp.get_context("spawn").Pool() as pool:
        for data in pool.imap(member, range(1, members * MEMBER, MEMBER)):
            file.write(data)
        file.write(gzip.compress(b"]\n"))


# --- what is measured -----------------------------------------------------------------------


def igzip(path: Path) -> None:
    """The limit: unpack as fast as possible, and count lines."""
    subprocess.run(f"igzip -dc {path} | wc -l", shell=True, check=True, capture_output=True)


def zcat(path: Path) -> None:
    """The usual way: unpack with zcat, and count lines."""
    subprocess.run(f"zcat {path} | wc -l", shell=True, check=True, capture_output=True)


def first(path: Path) -> None:
    """Ours, first reading only: count objects, keep subclasses."""
    from curation.terms.dump import count_objects

    counted = count_objects(path, _asks())
    assert counted.lines > MEMBER
    assert not counted.unreadable


def whole(path: Path) -> None:
    """Ours, the whole scan: both readings, and the work between and after them."""
    from curation.terms.dump import scan
    from curation.terms.facts import wikidata_codes

    found = scan(
        [path], _asks(), languages=wikidata_codes("de", ["en"]), own=wikidata_codes("de"), least=3
    )
    assert found.facts.entities


def _asks() -> list[Any]:
    from curation.terms.facts import FactRequest

    here = (("P27", ("Q30", "Q252")),)
    return [
        FactRequest("profession", ("P106",)),
        FactRequest("race", ("P172",)),
        FactRequest("religion", ("P140",), here),
    ]


class Cost(NamedTuple):
    """Wall-clock seconds, CPU seconds, and peak memory in MB."""

    wall: float
    cpu: float
    peak: float


def cost(work: Callable[[Path], None], path: Path) -> Cost:
    """Measure a function in its own process, with its modules already loaded."""
    with mp.get_context("spawn").Pool(1) as pool:
        return pool.apply(_cost, (work, path))


def _cost(work: Callable[[Path], None], path: Path) -> Cost:
    import curation.terms.dump  # noqa: F401

    start, before = time.perf_counter(), _cpu()
    work(path)
    wall, cpu = time.perf_counter() - start, _cpu() - before
    return Cost(wall, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def _cpu() -> float:
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


WORKS: dict[str, tuple[Callable[[Path], None], int]] = {  # with how often each reads the file
    "igzip -dc | wc -l": (igzip, 1),
    "zcat | wc -l": (zcat, 1),
    "ours, first reading": (first, 1),
    "ours, both readings": (whole, 2),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mb", type=float, default=1700, help="MB of JSON")
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    if not shutil.which("igzip"):
        sys.exit("igzip is missing: apt-get install isal")
    with tempfile.TemporaryDirectory() as name:
        path, small = Path(name) / "dump.json.gz", Path(name) / "small.json.gz"
        write(path, options.mb)
        write(small, options.mb / 4)
        size = int(subprocess.run(f"zcat {path} | wc -c", shell=True, check=True,
                                  capture_output=True).stdout) / 1e6  # fmt: skip
        packed = path.stat().st_size / 1e6
        print(f"{size:.0f} MB of JSON in {packed:.0f} MB of gzip, {os.cpu_count()} processors, "
              f"fastest of {options.passes} passes\n")  # fmt: skip
        runs: dict[str, list[Cost]] = {name: [] for name in WORKS}
        for _ in range(options.passes):  # in turns, so that other load affects all of them
            for name, (work, _) in WORKS.items():
                runs[name].append(cost(work, path))
        least = {
            name: Cost(min(c.wall for c in r), min(c.cpu for c in r), max(c.peak for c in r))
            for name, r in runs.items()
        }
        limit, usual = (least[name] for name in list(WORKS)[:2])
        heads = ("wall s", "MB/s", "CPU s", "rate/igzip", "CPU/zcat", "peak MB", "¼ size")
        print(f"{'':22}" + "".join(f"{head:>11}" for head in heads))
        for name, (work, times) in WORKS.items():
            wall, cpu, peak = least[name]
            memory = f"{peak:11.0f}{cost(work, small).peak:11.0f}" if "ours" in name else ""
            cells = (wall, times * size / wall, cpu, times * limit.wall / wall)
            text = "".join(f"{cell:11.{0 if cell > 99 else 2}f}" for cell in cells)
            print(f"{name:22}{text}{cpu / times / usual.cpu:11.2f}{memory}")


if __name__ == "__main__":
    main()
