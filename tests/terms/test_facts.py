"""Facts: the order of languages, ancestors in a graph with circles, one order."""

from curation.records import Count
from curation.terms.facts import best, in_order, wiki, wikidata_codes, with_ancestors
from support.selected import facts


def test_a_languages_codes_go_from_near_to_far() -> None:
    assert wikidata_codes("pt-BR", ["es", "en"]) == ("pt-br", "pt", "mul", "es", "en")
    assert wikidata_codes("en", ["en"]) == ("en", "mul")  # each once
    assert wiki("zh-Hant") == "zh"


def test_the_nearest_text_that_is_none_empty() -> None:
    labels = {"de": "Bäcker", "mul": "", "en": "baker"}
    assert best(labels, ("id", "mul", "en")) == "baker"
    assert best(labels, ("id",)) is None


def test_what_lies_above_ends_where_a_circle_closes() -> None:
    parents = {"a": ["b", "c"], "b": ["d"], "d": ["b", "a"], "x": ["y"]}
    assert with_ancestors(["a"], lambda qid: parents.get(qid, ())) == {"a", "b", "c", "d"}
    assert with_ancestors([], parents.__getitem__) == set()


def test_facts_have_one_order_whatever_brought_them() -> None:
    found = facts({"Q10": ("a", 3), "Q9": ("b", 3), "Q2": ("c", 1), "Q1": ("d", 7)})
    other = [Count(domain="c", property="P140", item="Q1", count=1)]
    ordered = in_order([*found.counts, *other], found.entities)
    # By domain; then the most frequent; Q9 before Q10, for ids are numbers.
    assert [(c.domain, c.item) for c in ordered.counts] == [
        ("c", "Q1"), ("d", "Q1"), ("d", "Q9"), ("d", "Q10"), ("d", "Q2"),
    ]  # fmt: skip
    assert [e.id for e in ordered.entities] == ["Q1", "Q2", "Q9", "Q10"]
    assert in_order([*other, *found.counts[::-1]], found.entities[::-1]) == ordered
