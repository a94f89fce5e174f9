"""Targets that are function words, or in several domains."""

import pytest

from curation.checks.lists import lists
from curation.files import read_text, shipped
from curation.formats.tables import read_csv
from curation.measures.pitfalls import function_words, in_several_domains, pitfalls
from curation.records import Cat
from support.cats import intra
from support.written import beside


def on(target: str, *, domain: str = "gender", context: str = "", name: str = "c") -> Cat:
    context = context or f"{target} is BLANK."
    return intra(context, "a", "b", "c", name=name, domain=domain, target=target)


def flagged(language: str, *targets: str) -> list[str]:
    cats = [on(target, name=f"c{n}") for n, target in enumerate(targets)]
    return [target for _, target, _, _ in function_words(cats, lists(language))]


WORDS = beside(__file__, "function_words.toml")


@pytest.mark.parametrize("language", WORDS)
def test_function_words_and_groups(language: str) -> None:
    words, groups = (WORDS[language][name].split() for name in ("words", "groups"))
    assert flagged(language, *groups) == []
    assert flagged(language, *words) == words


def test_a_target_of_several_words_is_one_if_all_of_them_are() -> None:
    pronouns = ["he himself", "they who"]
    assert flagged("en", *pronouns, "the nurse", "self-made man") == pronouns


def test_the_pronouns_among_the_papers_terms_are_the_only_function_words() -> None:
    terms = [
        row["term"]
        for name in ("gender", "profession", "race", "religion")
        for path in [shipped("data", "words", f"{name}.csv")]
        for _, row in read_csv(read_text(path), path)[1]
    ]
    assert len(terms) > 300
    pronouns = {"he", "him", "his", "himself", "she", "her", "hers", "herself"}
    assert set(flagged("en", *terms)) == pronouns


def test_english_words_count_if_the_targets_were_not_translated() -> None:
    ours, other = "Ele chega BLANK.", "Ela chega himself BLANK."
    cats = [on("himself", context=text, name=text) for text in (ours, ours + "!", other)]
    assert [t for _, t, _, _ in function_words(cats, lists("pt"))] == ["himself"]
    assert list(function_words(cats[2:], lists("pt"))) == []


def test_a_language_without_a_list_is_not_checked() -> None:
    report = pitfalls([on("on")], language="cs")
    rows = {row.code: row for row in report.table}
    words, votes = rows["function_word"], rows["no_votes"]
    assert words.count is words.of is votes.count is None
    assert words.why == "no list 'function_word' for «cs»: add one to your own word lists"
    assert votes.why == "only a campaign knows who labelled its CATs"


def test_a_target_in_two_domains_is_named_with_both() -> None:
    targets = [
        ("Film-Maker", "profession"), ("filmmaker", "race"), ("filmmaker", "race"),
        ("baker", "profession"), ("Baker", "profession"),
    ]  # fmt: skip
    cats = [on(target, domain=domain, name=f"c{n}") for n, (target, domain) in enumerate(targets)]
    assert list(in_several_domains(cats, "en")) == [
        ("profession", "Film-Maker", "target_in_domains",
         "'Film-Maker' is in 'profession' (1 CAT) and 'race' as 'filmmaker' (2 CATs)"),
        ("race", "filmmaker", "target_in_domains",
         "'filmmaker' is in 'profession' as 'Film-Maker' (1 CAT) and 'race' (2 CATs)"),
    ]  # fmt: skip
    report = pitfalls(cats, language="cs", without_votes={"c1", "gone"})
    rows = {row.code: row for row in report.table}
    assert (rows["target_in_domains"].count, rows["target_in_domains"].of) == (2, 4)
    assert (rows["no_votes"].count, rows["no_votes"].of) == (1, 5)


def test_accents_make_another_word_outside_english() -> None:
    cats = [on("romá", domain="a", name="a"), on("roma", domain="b", name="b")]
    assert list(in_several_domains(cats, "es")) == []
    assert len(list(in_several_domains(cats, "en"))) == 2
