"""Contexts of targets and groups: the fast counts are those of splitting and comparing everything,
in any form of corpus and by any number of workers."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from curation.stats.intervals import share_interval
from curation.trust.measure import automated, scanning
from curation.trust.measure.automated import Counts, Tally
from curation.trust.measure.framework import Policies
from curation.trust.measure.groups import Groups
from curation.trust.measure.scanning import Texts
from curation.work import shards as reading
from curation.work.engine import Engine
from support import contexts as slow
from support.expected import fails
from support.written import beside

RAY = pytest.mark.ray
GROUPS = Groups(
    "size",
    {"tall": ("tower", "giant", "tall ship"), "short": ("dwarf", "pebble")},
    {"baker": ("baker", "bakers"), "sailor": ("sailor", "tall sailor"), "miller": ("miller",)},
)
TEXTS = [
    "The baker saw a giant. It rained. The pebble fell. A sailor slept. The end was near.",
    "Dr. Baker met a Tower! Then the tall ship came. The tall sailor waved; nobody else did.",
    "Too short. A baker and a giant.",
    "",
    "One\n\nbaker here\n \ntwo giants; a giant\n\nthree",
    "Bakers! Bakers? BAKERS… the dwarf left. The giant (and the baker) stayed.",
    "The sailor is here. Nobody else is. Nothing more.",
]


def count(folder: Path, texts: Sequence[str], **options: Any) -> Counts:
    """The counts of documents as records of a file."""
    path = folder / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
    return automated.count(Texts([path], **{"workers": 1, **options}), GROUPS)


def named(counts: Counts) -> Counter[tuple[str, tuple[str, ...]]]:
    return Counter(
        {(target, tuple(sorted(words))): n for (target, words), n in counts.contexts.items()}
    )


# --- counts -------------------------------------------------------------------------------------


def test_contexts_by_hand(tmp_path: Path) -> None:
    counts = count(tmp_path, TEXTS[:4])
    assert named(counts) == {
        ("baker", ("giant", "pebble")): 1,  # sentences 1 to 3
        ("sailor", ("pebble",)): 2,  # 2 to 4, 3 to 5
        ("baker", ("tall ship", "tower")): 1,  # «Dr.» does not end a sentence
        ("sailor", ("tall ship", "tower")): 1,
    }
    assert counts.documents == {("sailor", (0, 2)): 1, ("baker", (1, 0)): 1, ("sailor", (1, 0)): 1}
    assert (counts.read, counts.short) == ((3,), (1,))
    assert set(Tally(counts, "en").lexicon.names) == {"giant", "pebble", "tower", "tall ship"}


PIECES = (
    *("baker", "Bakers", "sailor", "tall", "ship", "giant", "Dwarf", "pebble", "the", "İt", "I"),
    *("tall-ship", "giant's", "giant’s", "bak\xader", "«Giant»", "(pebble.)", "baker.Giant"),
    "e.g.",
    *(".", "!", "…", "?»", '"', "—", "Dr.", "U.S.", "A.", "3.", "* ", "\0", "\x01", "e\u0301."),
    *(" ", " ", " ", "\n", "\n\n", "\n \n", "\r\n\r\n", "\t", "\u00a0", "\u2028", "\x1f"),
    "\n\n\n\n",
)
CUT = "\x02"  # between documents
DOCUMENTS = st.lists(st.sampled_from((*PIECES, CUT, CUT)), max_size=80).map(
    lambda pieces: "".join(pieces).replace("\0", " ").split(CUT)
)


@given(DOCUMENTS, st.sampled_from(["en", "tr", "de"]), st.integers(1, 4))
@example(TEXTS, "en", 3)
@example(["\n\n\nbaker.\n\n\nGiant"], "en", 1)
def test_counts_are_those_of_splitting_all(texts: list[str], language: str, window: int) -> None:
    prepared = automated.lists(GROUPS, language)
    counted, rows, *sizes = automated.count_documents([texts], prepared=prepared, window=window)
    found = {(target, tuple(sorted(words))): number for (target, words), number in counted.items()}
    assert (found, rows) == slow.count(texts, GROUPS, language=language, window=window)
    lengths = [len(slow.sentences(text, language)) for text in texts]
    short = [length for length in lengths if 0 < length < window]
    assert sizes == [sum(map(bool, lengths)), len(short)]


def write(folder: Path, name: str) -> Path:
    """The texts in the form that the name says; without line breaks for lines."""
    path = folder / name
    if name.endswith(".parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": [*TEXTS * 4, None]}), path, row_group_size=3)
        return path
    lines = [json.dumps({"text": text}) if ".jsonl" in name else text for text in TEXTS * 4]
    data = "\n".join(lines).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.fixture
def finely_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a few bytes were many."""
    for name, value in (("BLOCK", 200), ("LEAST", 100), ("LARGEST", 500)):
        monkeypatch.setattr(reading, name, value)
    for name, value in (("BATCH", 150), ("DISTINCT", 5)):
        monkeypatch.setattr(scanning, name, value)


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.usefixtures("finely_cut")
def test_every_form_of_corpus_gives_the_same(tmp_path: Path, name: str) -> None:
    wanted = slow.count(TEXTS * 4, GROUPS)
    path = write(tmp_path, name)
    assert len(reading.shards([path], language="en", field="text", workers=3, documents=True)) > 2
    counts = automated.count(Texts([path], workers=1), GROUPS)
    assert (named(counts), counts.documents) == wanted
    assert counts.read == (24,)


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
@pytest.mark.usefixtures("finely_cut")
def test_a_line_of_text_is_a_document_that_is_not_cut(tmp_path: Path, name: str) -> None:
    texts = [line for text in TEXTS * 4 for line in text.split("\n")]
    counts = automated.count(Texts([write(tmp_path, name)], workers=1), GROUPS)
    assert (named(counts), counts.documents) == slow.count(texts, GROUPS)


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=RAY)])
def test_workers_change_nothing(tmp_path: Path, engine: Engine) -> None:
    paths = [write(tmp_path, name) for name in ("a.jsonl.gz", "b.txt")]
    told: list[int] = []
    several = automated.count(Texts(paths, engine=engine, workers=2), GROUPS, tell=told.append)
    assert several == automated.count(Texts(paths, workers=1), GROUPS)
    assert sum(told) == sum(path.stat().st_size for path in paths)


LANGUAGES = beside(__file__)


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_languages(tmp_path: Path, language: str) -> None:
    case = LANGUAGES[language]
    path = tmp_path / "a.txt"
    path.write_text("\n".join(case["texts"]), "utf-8")
    groups = Groups("g", {"tall": case["tall"], "short": case["short"]}, case["targets"])
    found = automated.count(Texts([path], language, workers=1), groups).contexts
    assert {" ".join((target, *words)): n for (target, words), n in found.items()} == case["found"]


# --- results ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counts:
    return count(tmp_path_factory.mktemp("counts"), TEXTS * 5)


def test_results(counts: Counts) -> None:
    baker, sailor, miller = Tally(counts, "en").biases(GROUPS, documents=counts.documents)
    rows = [(row, n) for (target, row), n in counts.documents.items() if target == "baker"]
    soa = np.sum([np.array(row) * n for row, n in rows], axis=0)
    assert baker.soa == tuple(soa)
    assert baker.p == pytest.approx(soa / soa.sum())
    assert baker.n == sum(n for (target, _), n in counts.contexts.items() if target == "baker")
    won = np.array([row for row, n in rows for _ in range(n)], float)
    low, high = share_interval(won[:, 0], won.sum(axis=1), observations=won.sum()) or (0, 0)
    assert (baker.ci or ())[0] == pytest.approx((low - 0.5, high - 0.5))
    assert (baker.l1_ci is None, sailor.undefined) == (False, None)
    assert (miller.undefined, miller.n, miller.p) == ("missing_target", 0, None)


def test_contexts_of_a_document_are_one_observation_if_all_documents_are_alike() -> None:
    long, short = (
        automated.intervals(np.array([(size, 0)] * 20, float), (0.5, 0.5), confidence=0.95)
        for size in (9, 1)
    )
    assert long.tolist() == short.tolist()


def test_intervals_cover_a_rare_group() -> None:
    # Each document is about one group, for 95 % of them the first; documents differ in length.
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        first, sizes = rng.random(30) < 0.95, 3 * rng.geometric(0.4, 30)
        rows = np.column_stack([sizes * first, sizes * ~first]).astype(float)
        low, high = automated.intervals(rows, (0.0, 1.0), confidence=0.95)[0]
        covered += low <= 0.95 <= high
    assert covered >= 0.93 * 300


def test_other_groups_are_computed_from_the_counts(counts: Counts, tmp_path: Path) -> None:
    tally = Tally(counts, "en")
    less = Groups("size", {"short": ("dwarf",), "tall": ("giant", "tower")}, GROUPS.targets)
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 5), "utf-8")
    from_text = Tally(automated.count(Texts([path], workers=1), less), "en")
    mine = tally.biases(less, Policies())
    assert [bias.soa for bias in mine] == [bias.soa for bias in from_text.biases(less, Policies())]
    swapped = Groups("size", dict(reversed(GROUPS.words.items())), GROUPS.targets)
    for one, other in zip(
        tally.biases(GROUPS, Policies()), tally.biases(swapped, Policies()), strict=True
    ):
        assert one.soa == other.soa[::-1]
    shifted = tally.biases(GROUPS, Policies(negative="shift"), documents=counts.documents)
    assert shifted == tally.biases(GROUPS, documents=counts.documents)  # counts are not shifted
    soft = tally.biases(GROUPS, Policies(normalise="softmax"))
    assert soft[0].p != tally.biases(GROUPS, Policies())[0].p


def test_no_context_at_all(tmp_path: Path) -> None:
    counts = count(tmp_path, ["One. Two. Three."])
    found = Tally(counts, "en").biases(GROUPS, documents=counts.documents)
    assert [bias.undefined for bias in found] == ["missing_target"] * 3


# --- lists --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "target", "message"),
    [
        ("giant-size", "giant size", "x", "is the same word in texts"),
        ("giant", "dwarf", "Giant.", "is the same word in texts"),
        ("***", "dwarf", "x", "has no letters"),
    ],
)
def test_words_that_are_not_told_apart(first: str, second: str, target: str, message: str) -> None:
    words, targets = {"a": (first,), "b": (second,)}, {"t": (target,)}
    with fails(message, "[groups.g]"):
        automated.lists(Groups("g", words, targets), "en")
