"""Bias in real English text: the fast counts are those of splitting and comparing everything."""

import json
from collections import Counter
from pathlib import Path

import pytest

from curation.files import shipped
from curation.trust.groups import Groups
from curation.trust.text.automated import Tally, count
from curation.trust.text.scanning import Texts
from support import contexts as slow

REAL = Path(__file__).parents[3] / "shared" / "realdata" / "divdist"
pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif(not REAL.is_dir(), reason="the data is not on this machine"),
]


def words(name: str) -> tuple[str, ...]:
    lines = shipped("data", "groups", name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


def test_articles_and_paragraphs() -> None:
    lists = {name: words(f"{name}.txt") for name in ("female", "male")}
    listed = {word for each in lists.values() for word in each}
    professions = [word for word in words("professions.txt") if word not in listed]
    targets = {word: (word,) for word in professions}
    groups = Groups("gender", lists, targets)
    articles = REAL / "enwiki_gensim" / "enwiki_206.jsonl"
    paragraphs = REAL / "wikitext2" / "valid.txt"
    counts = count(Texts([articles, paragraphs], workers=1), groups)
    assert counts.read == (106, 2461)
    results = {bias.target: bias for bias in Tally(counts, "en").biases(groups)}
    assert results["businessman"].soa == (1, 13)
    assert results["actress"].soa[0] > results["actor"].soa[0]  # type: ignore[operator]


def test_the_fast_counts_are_the_slow_ones(tmp_path: Path) -> None:
    lists = {name: words(f"{name}.txt") for name in ("female", "male")}
    targets = {word: (word,) for word in ("author", "king", "scientist", "poet", "prime minister")}
    groups = Groups("gender", lists, targets)
    articles = (REAL / "enwiki_gensim" / "enwiki_206.jsonl").read_text("utf-8").splitlines()[::12]
    paragraphs = (REAL / "wikitext2" / "valid.txt").read_text("utf-8").splitlines()[:300]
    path = tmp_path / "some.jsonl"
    lines = [*articles, *(json.dumps({"text": text}) for text in paragraphs)]
    path.write_text("\n".join(lines), "utf-8")
    counts = count(Texts([path], workers=1), groups)
    contexts, rows = slow.count([json.loads(line)["text"] for line in lines], groups)
    mine = Counter({(t, tuple(sorted(ws))): n for (t, ws), n in counts.contexts.items()})
    assert (mine, counts.documents) == (contexts, rows)
    assert mine.total() > 40
