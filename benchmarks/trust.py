"""Measure the time of measures of bias, and how often each check of the trust report passes.

text: ``curation trust text`` with two workers on a corpus of English text in 64 ``.gz`` files,
beside ``zcat | wc -w`` on the same files in the same run. The targets are the eight professions of
Table 3 of Bommasani & Liang (2022), then their 288 professions. The groups are their lists for
gender.

contextual: sentences per second of a processor of contextual reduction, beside a plain transformers
loop. The model is a BERT with random weights. The plain loop reads the same sentences in the order
of the text, in padded batches of 32. Both give the states of the same words, and it is checked that
they are equal.

plants: ideal and faulty measures, datasets and models (``tests/support/plants.py``) are shown to
the report. It prints how often each check passes them, and fails if one passes a fault too often,
or the ideal too rarely. 200 seeds take about nine minutes of one processor.

The text is that of 106 articles of Wikipedia and the paragraphs of WikiText-2, if they are in
``../shared/realdata``. Otherwise it is made of words that are drawn with their frequencies.

    python benchmarks/trust.py                        all, with the sizes of the documentation
    python benchmarks/trust.py text [MEGABYTES]       by default 1000
    python benchmarks/trust.py contextual [CONTEXTS]  of each word, by default 200
    python benchmarks/trust.py plants [SEEDS]         by default 200
    python benchmarks/trust.py plants SEEDS --write   the same, and write it into docs/trust.md
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
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "realdata" / "divdist"
SENTENCES = 20_000  # of made-up text
FILES = 64
RUNS = 3
LEAST = 0.3  # of the speed of zcat | wc -w
WORDS = ("she", "her", "mother", "woman", "he", "his", "father", "man")
WORDS += ("king", "queen", "captain", "soldier", "singer")
BATCH = 32
LONGEST = 350  # characters of a sentence
WIDTH, LAYERS = 384, 6


# --- the texts ----------------------------------------------------------------------------------


@cache
def texts() -> tuple[str, ...]:
    """The documents of which the corpus is made."""
    articles, paragraphs = REAL / "enwiki_gensim" / "enwiki_206.jsonl", wikitext()
    if not (articles.exists() and paragraphs.exists()):
        return made_up()
    lines = articles.read_text("utf-8").splitlines()
    rest = [text for text in paragraphs.read_text("utf-8").splitlines() if text.strip()]
    return (*(json.loads(line)["text"] for line in lines), *rest)


def wikitext() -> Path:
    """The paragraphs of WikiText-2, a document on each line."""
    return REAL / "wikitext2" / "valid.txt"


def made_up() -> tuple[str, ...]:
    """Documents of sentences whose words are drawn with their frequencies in English."""
    import numpy as np

    from curation.text.words import frequencies

    shares, rng = frequencies("en"), np.random.default_rng(1)
    chances = np.array(list(shares.values()))
    lengths = rng.integers(5, 35, SENTENCES)
    drawn = rng.choice(list(shares), size=int(lengths.sum()), p=chances / chances.sum())
    parts = np.split(drawn, np.cumsum(lengths)[:-1])
    lines = [f"{' '.join(part.tolist()).capitalize()}." for part in parts]
    return tuple(" ".join(lines[at : at + 20]) for at in range(0, len(lines), 20))


# --- text ---------------------------------------------------------------------------------------


def write_part(path: Path, size: int, seed: int) -> None:
    """Write about ``size`` bytes of text as one compressed file."""
    documents, order, written = list(texts()), random.Random(seed), 0
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
    from curation.trust.measure.groups import Groups

    lists = {name: word_list(f"{name}.txt") for name in ("female", "male")}
    listed = {word for words in lists.values() for word in words}
    return Groups("gender", lists, {word: (word,) for word in targets if word not in listed})


def word_list(name: str) -> tuple[str, ...]:
    """A list of words that comes with the project."""
    lines = (ROOT / "data" / "groups" / name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def timed(
    work: Callable[[], Any], clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Seconds, and the result."""
    start = clock()
    result = work()
    return clock() - start, result


def text(megabytes: int) -> Iterator[str]:
    """The lines of the table of text."""
    from curation.trust.measure.automated import count
    from curation.trust.measure.scanning import Texts

    anchors = [line.split(",")[0] for line in word_list("anchors.csv")[1:]]
    sets = {"8 targets": gender(anchors), "288 targets": gender(word_list("professions.txt"))}
    with tempfile.TemporaryDirectory() as name:
        paths = write_corpus(Path(name), megabytes)
        packed = sum(path.stat().st_size for path in paths) / 1e6
        kind = "real" if wikitext().exists() else "made-up"
        yield f"text: {megabytes} MB of {kind} text in {FILES} files of {packed:.0f} MB in all\n"
        yield f"{'what':44}{'seconds':>9}{'MB/s':>8}{'ratio':>8}"
        best: dict[str, float] = {}
        for _ in range(RUNS):  # in turns, so that a busy machine slows all of them
            for label, work in {
                "zcat | wc -w": lambda: count_words(paths),
                **{
                    f"text-automated, two workers, {label}": (
                        lambda groups=groups: count(Texts(paths, workers=2), groups)
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


# --- contextual ---------------------------------------------------------------------------------


def contextual(most: int) -> Iterator[str]:
    """The lines of the table of contextual reduction."""
    from curation.models import tiny
    from curation.trust.measure.scanning import Texts
    from curation.trust.measure.states import sample_contexts

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "text.txt"
        source = wikitext().read_text("utf-8") if wikitext().exists() else "\n".join(made_up())
        path.write_text(source, "utf-8")
        texts = Texts([path], window=1, workers=1)
        sample = sample_contexts(texts, WORDS, most=most, seed=1)
        contexts = [each for each in sample.contexts if len(each.text) <= LONGEST]
        contexts.sort(key=lambda each: source.find(each.text))
        model = tiny.make(
            folder / "model",
            source.splitlines(),
            family="masked",
            steps=0,
            width=WIDTH,
            layers=LAYERS,
            vocabulary=20_000,
        )
        yield from beside_a_plain_loop(model, [each.place for each in contexts])


def beside_a_plain_loop(model: Path, places: list[Any]) -> Iterator[str]:
    """The rates of both ways to read the same states."""
    import numpy as np
    import torch
    from transformers import AutoModel, AutoTokenizer

    from curation.models.loading import load
    from curation.models.states import StateReader

    sentences = len({place.text for place in places})
    threads = torch.get_num_threads()
    yield f"contextual: {sentences} sentences, {len(places)} words, {threads} threads"
    reader = StateReader(load(str(model), head="none", device="cpu"))
    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    network: Any = AutoModel.from_pretrained(model).eval()
    reader.states(places[:64])  # warm up
    plainly(tokenizer, network, places[:64])
    fast = slow = 0.0
    for _ in range(RUNS):  # in turns, so that other work on the machine slows both
        seconds, ours = timed(lambda: reader.states(places).vectors, time.process_time)
        fast += seconds / RUNS
        seconds, plain = timed(lambda: plainly(tokenizer, network, places), time.process_time)
        slow += seconds / RUNS
    gap = float(np.abs(ours - plain).max())
    assert gap < 1e-4, f"the states differ by {gap}"
    yield "sentences per second of a processor:"
    yield f"curation    {sentences / fast:8.1f}"
    yield f"plain loop  {sentences / slow:8.1f}, batches of {BATCH}"
    yield f"ratio       {slow / fast:8.2f}; the states differ by at most {gap:.1e}"


def plainly(tokenizer: Any, model: Any, places: Sequence[Any]) -> Any:
    """The states of words, each sentence once, as transformers' documentation shows it."""
    import numpy as np
    import torch

    sentences = list(dict.fromkeys(place.text for place in places))
    own: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        own.setdefault(place.text, []).append(number)
    vectors = np.zeros((len(places), model.config.hidden_size))
    for start in range(0, len(sentences), BATCH):
        batch = sentences[start : start + BATCH]
        encoded = tokenizer(batch, return_tensors="pt", padding=True, return_offsets_mapping=True)
        spans = encoded.pop("offset_mapping").tolist()
        with torch.inference_mode():
            hidden = model(**encoded).last_hidden_state.numpy()
        for row, text in enumerate(batch):
            for number in own[text]:
                means = []
                for a, b in places[number].spans:
                    tokens = [n for n, (c, d) in enumerate(spans[row]) if max(a, c) < min(b, d)]
                    means.append(hidden[row][tokens].mean(axis=0))
                vectors[number] = np.mean(means, axis=0)
    return vectors


# --- plants -------------------------------------------------------------------------------------

DOCS = ROOT / "docs" / "trust.md"
BEGIN, END = "<!-- plants: written by benchmarks/trust.py -->", "<!-- end of plants -->"


def plants(seeds: int) -> Iterator[str]:
    """The table of the shares of passes; it is also written into the documentation if asked for.

    Raises:
        SystemExit: a bound is broken.
    """
    sys.path.append(str(ROOT / "tests"))
    from support import verdicts

    shown = [(scene, each) for scene in verdicts.SCENES for each in verdicts.references_of(scene)]
    with ProcessPoolExecutor(2) as pool:
        parts = pool.map(passes_of, *zip(*shown, strict=True), [seeds] * len(shown))
        found = {key: counts for part in parts for key, counts in part.items()}
    known = {
        name: verdicts.table_5_power(rho, groups, seeds)
        for name, (rho, groups) in verdicts.TABLE_5.items()
    }
    lines = [*of_passes(found, seeds), "", *of_table_5(known)]
    yield from lines
    wrong = [*verdicts.broken(found, seeds)]
    wrong += [f"{name}: not as its power says" for name, each in known.items() if not each.fits]
    if "--write" in sys.argv:
        before, _, rest = DOCS.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        text = "\n".join(lines)
        DOCS.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", "utf-8")
    if wrong:
        raise SystemExit("\n".join(["", "broken bounds:", *wrong]))


def passes_of(scene: str, reference: str, seeds: int) -> dict[tuple[str, str], dict[str, int]]:
    """The passes of the checks of a scene with a reference, in a process of its own."""
    sys.path.append(str(ROOT / "tests"))
    from support import verdicts

    return verdicts.passes(seeds, scene, reference)


def of_passes(found: dict[tuple[str, str], dict[str, int]], seeds: int) -> Iterator[str]:
    """The table in per cent, and under it what «other» is and why some faults are not seen."""
    from support.plants import FAULTS, IDEAL
    from support.verdicts import CANNOT_SEE, NOT_THERE, OTHER, OTHERS

    columns = (IDEAL, *FAULTS, OTHER)
    yield f"| check | reference | {' | '.join(columns)} |"
    yield f"|---|---|{'---:|' * len(columns)}"
    blind, absent = dict[str, dict[str, None]](), dict[str, dict[str, None]]()
    rows = dict[str, dict[str, list[str]]]()  # those of a check below each other
    for (check, reference), counts in found.items():
        cells = rows.setdefault(check, {}).setdefault(reference, [])
        for plant in columns:
            if plant in counts:
                cells.append(f"{100 * counts[plant] / seeds:.3g}")
            elif why := CANNOT_SEE.get(check, {}).get(plant):
                cells.append("blind")
                blind.setdefault(f"{plant}: {why}", {})[check] = None
            else:
                cells.append("–")
                if why := NOT_THERE.get(check, {}).get(plant):
                    absent.setdefault(why, {})[check] = None
    for check, by_reference in rows.items():
        for reference, cells in by_reference.items():
            yield f"| {check} | {reference} | {' | '.join(cells)} |"
    yield ""
    yield "*blind*: the check cannot see this fault, by design."
    yield ""
    yield from (f"- {why} ({', '.join(checks)})" for why, checks in blind.items())
    yield ""
    yield "*–*: there is no such fault. Only methods that reduce bias are fitted on words; and"
    yield ""
    yield from (f"- {why} ({', '.join(checks)})" for why, checks in absent.items())
    yield ""
    yield "*other*: one more fault."
    yield ""
    yield from (f"- {check}: {what}" for check, what in OTHERS.items())


def of_table_5(known: dict[str, Any]) -> Iterator[str]:
    """How often a correlation of Table 5 passes, beside its power."""
    from support.verdicts import TABLE_5

    yield "| correlation of Table 5 | rho | passes `predictive signed` | power |"
    yield "|---|---:|---:|---:|"
    for name, each in known.items():
        power = f"{100 * each.least:.1f} to {100 * each.most:.1f}"
        yield f"| {name} | {TABLE_5[name][0]:g} | {100 * each.share:.1f} | {power} |"


# --- all ----------------------------------------------------------------------------------------

PARTS: dict[str, tuple[Callable[[int], Iterator[str]], int]] = {
    "text": (text, 1000),
    "contextual": (contextual, 200),
    "plants": (plants, 200),
}
"""What is measured, with its size if none is given."""


def main() -> None:
    """Print the tables."""
    chosen = sys.argv[1:2] or list(PARTS)
    for name in chosen:
        measure, size = PARTS[name]
        for line in measure(int(sys.argv[2]) if len(sys.argv) > 2 else size):
            print(line, flush=True)


if __name__ == "__main__":
    main()
