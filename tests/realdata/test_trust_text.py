"""Bias in real English text: the fast counts are those of splitting and comparing everything."""

import json
from collections import Counter
from pathlib import Path

from curation.trust.measure.automated import Tally, count
from curation.trust.measure.scanning import Texts
from support import contexts as slow
from support import gnews
from support.realdata import needs

REAL = gnews.FOLDER
ARTICLES = REAL / "enwiki_gensim" / "enwiki_206.jsonl"
PARAGRAPHS = REAL / "wikitext2" / "valid.txt"
pytestmark = needs(REAL)


def test_articles_and_paragraphs() -> None:
    lists = gnews.paper_lists("female", "male")
    listed = {word for each in lists.values() for word in each}
    professions = [word for word in gnews.shipped_list("professions") if word not in listed]
    groups = gnews.groups(lists, professions)
    counts = count(Texts([ARTICLES, PARAGRAPHS], workers=1), groups)
    assert counts.read == (106, 2461)
    results = {bias.target: bias for bias in Tally(counts, "en").biases(groups)}
    assert results["businessman"].soa == (1, 13)
    assert results["actress"].soa[0] > results["actor"].soa[0]  # type: ignore[operator]


def test_the_fast_counts_are_the_slow_ones(tmp_path: Path) -> None:
    targets = ("author", "king", "scientist", "poet", "prime minister")
    groups = gnews.groups(gnews.paper_lists("female", "male"), targets)
    articles = ARTICLES.read_text("utf-8").splitlines()[::12]
    paragraphs = PARAGRAPHS.read_text("utf-8").splitlines()[:300]
    path = tmp_path / "some.jsonl"
    lines = [*articles, *(json.dumps({"text": text}) for text in paragraphs)]
    path.write_text("\n".join(lines), "utf-8")
    counts = count(Texts([path], workers=1), groups)
    contexts, rows = slow.count([json.loads(line)["text"] for line in lines], groups)
    mine = Counter({(t, tuple(sorted(ws))): n for (t, ws), n in counts.contexts.items()})
    assert (mine, counts.documents) == (contexts, rows)
    assert mine.total() > 40
