"""Bias in real English text: the fast counts are those of splitting and comparing everything."""

from curation.trust.measure.automated import Tally, count
from curation.trust.measure.scanning import Texts
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
