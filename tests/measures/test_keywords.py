"""Keywords by hand: the two statistics, what counts once, what is removed, what is not known."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curation.kinds import GOLDS
from curation.measures import counting
from curation.measures import keywords as module
from curation.measures.counting import count
from curation.measures.keywords import Reference, log_likelihood, simple_maths, wordfreq
from curation.records import Cat, Term
from curation.text.words import NotCheckedError, words
from support import cats
from support.expected import fails


def cat(number: int, context: str, *sentences: str, **about: Any) -> Cat:
    kind: Any = "intrasentence" if "BLANK" in context else "intersentence"
    made = cats.cat(context, *sentences, name=f"cat-{number}", kind=kind, **about)
    return made.model_copy(update={"term": f"term-{made.target}"})


def against(amounts: dict[str, float], language: str = "xx", total: float = 1000) -> Reference:
    return Reference("mine", language, amounts, total, True)


def of(cats: Sequence[Cat], reference: Reference | None = None, **options: Any) -> dict[str, Any]:
    """Keywords of these CATs, by default against other words, also those of a single CAT."""
    reference = reference or against({"rest": 1000})
    options = {"language": reference.language, "least": 1, **options}
    return module.keywords(cats, reference=reference, **options)


CATS = [
    cat(1, "A baker is BLANK today.", "A baker is kind today.", "A baker is rude today.",
        "A baker is algebraic today."),
    cat(2, "I met a baker.", "He was so kind.", "He was so rude.", "Snow is white."),
]  # fmt: skip


def group(found: dict[str, Any], **which: Any) -> dict[str, Any]:
    """The group that is meant, by default that of the only domain."""
    which = which or {"by": "domain"}
    (one,) = [g for g in found["groups"] if all(g[k] == v for k, v in which.items())]
    return dict(one)


def listed(found: dict[str, Any], **which: Any) -> list[str]:
    return [k["word"] for k in group(found, **which)["keywords"]]


def row(found: dict[str, Any], word: str) -> dict[str, Any]:
    (one,) = [k for k in group(found)["keywords"] if k["word"] == word]
    return dict(one)


# --- by hand ------------------------------------------------------------------------------------


def test_a_domain_by_hand() -> None:
    # «xx» has no lemmas: word forms. The text of the domain:
    #   a baker is _ today | kind | rude                        4 + 1 + 1 words
    #   i met a baker | he was so kind | he was so rude         4 + 4 + 4
    # 18 words; «algebraic» and «snow is white» are unrelated and stay out.
    found = of(CATS, against({"kind": 4, "a": 500, "he": 4, "rest": 492}), smoothing=1000)
    one = group(found)
    assert (one["tokens"], one["words"], one["cats"]) == (18, 11, 2)
    # a baker is today kind rude i met he was so: the reference lacks all but a, kind, he:
    # baker 2, is 1, today 1, rude 2, i 1, met 1, was 2, so 2
    assert one["lacking"] == {"words": 8, "tokens": 12}
    kind = row(found, "kind")
    # kind: 2 of 18, so 111,111.1 per million; 4 of 1,000, so 4,000: (111,111.1 + 1,000) / 5,000.
    assert kind["per_million"] == pytest.approx(111_111.1, abs=0.1)
    assert kind["reference_per_million"] == 4000
    assert kind["score"] == pytest.approx(22.4222, abs=1e-4)
    # G²: pooled share 6/1,018; expected 2 × [2 ln(2 / 0.10609) + 16 ln(16 / 17.8939)
    # + 4 ln(4 / 5.89391) + 996 ln(996 / 994.10609)] = 2 × [5.87342 - 1.78998 - 1.55063 + 1.89571]
    assert kind["log_likelihood"] == pytest.approx(8.857, abs=1e-3)
    assert (kind["count"], kind["cats"], kind["forms"]) == (2, 2, ["kind"])
    assert kind["examples"] == [
        {"cat": "cat-1", "text": "A baker is kind today."},
        {"cat": "cat-2", "text": "He was so kind."},
    ]
    # «a» is 2 of 18, which is less than half of all words: no keyword.
    assert "a" not in listed(found)
    assert found | {
        "unit": "word forms", "lemmatizer": None, "log_likelihood": "two corpora",
        "reference": {"name": "mine", "tokens": 1000, "words": 4, "versions": {}},
    } == found  # fmt: skip


def test_labels_have_no_contexts_and_terms_are_as_domains() -> None:
    found = of(CATS)
    by_label = {
        gold: {k["word"]: k["count"] for k in group(found, label=gold)["keywords"]}
        for gold in GOLDS
    }
    assert by_label["stereotype"] == {"kind": 2, "he": 1, "was": 1, "so": 1}
    assert by_label["anti-stereotype"] == {"rude": 2, "he": 1, "was": 1, "so": 1}
    assert by_label["unrelated"] == {"algebraic": 1, "snow": 1, "is": 1, "white": 1}
    term = group(found, by="term")
    assert (term["term"], term["target"]) == ("term-baker", "baker")
    assert term["keywords"] == group(found)["keywords"]


def test_equals_are_ranked_by_count_and_then_by_the_alphabet() -> None:
    one = group(of(CATS))
    # Six of them twice each.
    ranked = ["a", "he", "kind", "rude", "so", "was", "i", "is", "met", "today"]
    assert [(k["rank"], k["word"]) for k in one["keywords"]] == list(enumerate(ranked, 1))
    assert one["candidates"] == 10
    assert listed(of(CATS, least=2, top=2)) == ["a", "kind"]


def test_a_word_of_one_cat_alone_is_no_keyword() -> None:
    assert "rain" not in listed(of([*CATS, cat(3, "Rain.", "Rain and rain.", "No rain.", "Snow.")],
                                   least=2))  # fmt: skip


def test_both_statistics_reach_the_list() -> None:
    # «so» is often there and often elsewhere; «kind» is seldom there and nowhere else.
    often = [cat(n, "So so so.", "So so so.", "So so.", "-") for n in range(2, 5)]
    cats = [*often, *(cat(n, "So so so.", "Kind.", "-", "-") for n in range(2))]
    one = group(of(cats, against({"so": 90, "rest": 910}), top=1))
    ranks = [(k["word"], k["rank"], k["log_likelihood_rank"]) for k in one["keywords"]]
    assert ranks == [("kind", 1, 2), ("so", 2, 1)]


# --- what is removed ----------------------------------------------------------------------------


def test_targets_are_removed_from_their_domain_and_no_other() -> None:
    pytest.importorskip("simplemma")
    cats = [
        cat(1, "Norwegians ski.", "The Norwegian's skis.", "Norwegian skis.", "-",
            domain="race", target="Norwegian"),
        cat(2, "Columbians ski.", "They ski on black skis.", "Black skis.", "-",
            domain="race", target="Columbian"),
        cat(3, "They ski.", "Black skis.", "Black Norwegians.", "-",
            domain="gender", target="sister"),
    ]  # fmt: skip
    terms = [Term(id="t", text="Black people", domain="race", names=("Negroes",))]
    found = of(cats, against({"rest": 1000}, "en"), terms=terms)
    race, gender = ({"by": "domain", "domain": name} for name in ("race", "gender"))
    # Names of peoples that no list has lose their s, and those of terms without CATs count.
    assert {*listed(found, **race)} == {"they", "ski", "the", "on"}
    assert {*listed(found, **gender)} == {"they", "ski", "black", "norwegian"}
    assert {"norwegian", "norwegians", "black", "people", "negro"} <= set(found["removed"]["race"])
    assert found["removed"]["gender"] == ["sister", "sisters"]
    # What is removed still counts among all words: 8 + 8 less «-».
    assert group(found, **race)["tokens"] == 2 + 3 + 2 + 2 + 5 + 2


def test_a_term_without_cats_and_a_label_without_text_have_no_keywords() -> None:
    terms = [Term(id="t", text="smith", domain="profession")]
    found = of([cat(1, "A baker.", "Kind.", "Rude.", "…")], terms=terms)
    for which in ({"by": "label", "label": "unrelated"}, {"by": "term", "term": "t"}):
        one = group(found, **which)
        assert one["tokens"] == one["candidates"] == one["words"] == 0
        assert one["keywords"] == []
    assert group(found, by="term", term="t")["cats"] == 0
    assert of([])["groups"] == []


def test_figures_are_no_keywords() -> None:
    found = of([cat(1, "In 1984 a baker.", "In 1984.", "The 2nd.", "-")], against({"x": 1}))
    assert {*listed(found)} == {"in", "a", "the"}


# --- languages and references -------------------------------------------------------------------


def test_forms_of_a_lemma_are_one_word_on_both_sides() -> None:
    pytest.importorskip("simplemma")
    reference = against({"bakery": 3, "bakeries": 2, "bakery's": 1, "x": 994}, "en")
    found = of([cat(1, "He bakes BLANK bread.", *["He bakes bakeries bread."] * 3)], reference)
    one = row(found, "bakery")
    assert (one["reference_per_million"], one["forms"]) == (6000, ["bakeries"])
    assert found["unit"] == "lemmas"


def test_an_elided_word_is_two_where_the_reference_has_two() -> None:
    reference = against({"l": 1, "homme": 1, "x": 8}, total=10)
    found = listed(of([cat(1, "L'homme d'aujourd'hui.", "Oui.", "Non.", "-")], reference, top=9))
    assert {"homme", "l", "d'aujourd'hui"} <= set(found)
    assert "l'homme" not in found


def alike(language: str, *texts: str) -> Reference:
    """Wordfreq's words that begin as words of these texts; lemmas of all would take long."""
    pytest.importorskip("wordfreq")
    whole = wordfreq(language)
    begin = tuple(whole.spelt(word)[0] for text in texts for word in words(text, language))
    amounts = {word: share for word, share in whole.amounts.items() if word.startswith(begin)}
    return replace(whole, amounts=amounts)


def test_wordfreq_has_known_shares_and_no_size() -> None:
    reference = alike("en", "xqzzy kind")
    cats = [cat(n, "The xqzzy thing.", "Xqzzy.", "Kind.", "-") for n in range(2)]
    found = of(cats, reference, language="en-US")
    assert (found["reference"]["tokens"], found["log_likelihood"]) == (None, "known shares")
    one = row(found, "xqzzy")
    # Four of ten words; unknown, so 0 per million: (400,000 + 10) / 10.
    assert (one["reference_per_million"], one["score"]) == (0, pytest.approx(40_001))
    # G² takes the smallest share that is listed, p: 2 (4 ln(0.4 / p) + 6 ln(0.6 / (1 - p)))
    p = reference.least
    wanted = 2 * (4 * math.log(0.4 / p) + 6 * math.log(0.6 / (1 - p)))
    assert one["log_likelihood"] == pytest.approx(wanted)


@pytest.mark.long
@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("de", "Straße"), ("de", "Füße"), ("de", "heißt"), ("el", "άνθρωπος"), ("tr", "İSTANBUL"),
        ("tr", "IŞIK"), ("ro", "şi"),  # with the wrong mark, as old keyboards write it
        ("sr", "када"), ("ar", "كِتَاب"), ("he", "שָׁלוֹם"), ("hi", "हिन्दी"), ("bn", "বাংলা"),
        ("ta", "தமிழ்"), ("fa", "می\u200cشود"), ("ca", "pel·lícula"),
    ],
)  # fmt: skip
def test_a_common_word_is_found_however_it_is_spelt(language: str, word: str) -> None:
    pytest.importorskip("simplemma")
    cats = [cat(n, f"{word} xqzzy", *[word] * 3) for n in range(2)]
    found = of(cats, alike(language, word), language=language)
    assert group(found)["lacking"] == {"words": 1, "tokens": 2}  # xqzzy alone
    assert row(found, "xqzzy")["reference_per_million"] == 0


@pytest.mark.long
def test_forms_with_a_sharp_s_are_of_one_lemma() -> None:
    pytest.importorskip("simplemma")
    reference = alike("de", "straße")
    assert {*map(reference.key, ("Straße".lower(), "straßen", "strassen"))} == {"straße"}
    forms = sum(reference.amounts[word] for word in ("straße", "straßen"))
    assert reference.by_lemma["straße"] >= forms


def test_a_counted_corpus_is_a_reference(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("kind kind rest rest rest rest rest rest rest rest\n")
    reference = module.counted(count([path], language="xx", workers=1), name="a.tsv")
    found = of(CATS, reference, least=2, smoothing=100_000)
    assert (found["reference"]["name"], found["reference"]["tokens"]) == ("a.tsv", 10)
    assert found["reference"]["versions"]["counting"] == counting.ALGORITHM
    # rude: 2 of 18 and 0 of 10: (111,111.1 + 100,000) / 100,000
    assert row(found, "rude")["score"] == pytest.approx(2.1111, abs=1e-4)


def test_languages_that_cannot_be_served_say_so() -> None:
    pytest.importorskip("wordfreq")
    with pytest.raises(NotCheckedError, match="curation measures count"):
        wordfreq("ko")
    with pytest.raises(NotCheckedError, match="no list of word frequencies for «et»"):
        wordfreq("et")
    with pytest.raises(NotCheckedError, match="into words"):
        of(CATS, against({"x": 1}, "th"))
    with fails("is in «de», but the texts are in «en»"):
        of(CATS, against({"x": 1}, "de"), language="en")


# --- the statistics -----------------------------------------------------------------------------

many = st.integers(1, 10_000)


@given(many, many, many, many)
def test_log_likelihood_is_that_of_the_whole_table(a: int, b: int, c: int, d: int) -> None:
    # The same by its other form: 2 (Σ n ln n of cells and whole, less that of the sums).
    def entropy(*values: int) -> float:
        return sum(value * math.log(value) for value in values)

    wanted = 2 * (entropy(a, b, c, d, a + b + c + d) - entropy(a + b, c + d, a + c, b + d))
    assert log_likelihood(a, a + b, c, c + d) == pytest.approx(wanted, rel=1e-6, abs=1e-5)


@given(many, st.integers(0, 10_000), st.floats(1e-3, 0.99))
def test_a_very_large_corpus_is_a_known_share(a: int, b: int, share: float) -> None:
    size = 10**11
    two = log_likelihood(a, a + b, round(share * size), size)
    assert two == pytest.approx(module.known_shares(a, a + b, share), rel=1e-3, abs=1e-3)


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(0.01, 1e4))
def test_simple_maths_is_a_ratio_of_frequencies(focus: float, reference: float, n: float) -> None:
    found = simple_maths(focus, reference, smoothing=n)
    assert found * simple_maths(reference, focus, smoothing=n) == pytest.approx(1)
    assert (found > 1) == (focus + n > reference + n)
