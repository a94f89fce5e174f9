"""Artefact baselines: each rule by hand, what cannot be checked and why."""

import math
import socket
import subprocess
import sys

import pytest

from curation.stats import artefacts as module
from curation.stats.artefacts import NotCheckedError, artefacts, length, overlap, unigram
from curation.text.item_form import options
from curation.text.words import Sentiment
from support.cats import cat, intra

VADER = "SentimentLM (VADER)"
NAMES = ["UnigramLM", "LongestLM", "ShortestLM", "FirstLM", "LastLM", "OverlapLM", VADER]

INTRA = intra("The baker is BLANK today.", "kind", "grumpy", "purple")
INTER = cat("The baker opens early.", "He sells cakes.", "The baker sleeps.", "Snow is cold.")


def english(name: str) -> module.Scores | None:
    """What a rule gives to ``INTER``."""
    return {one.name: one.scores for one in artefacts([INTER], language="en")}[name]


def unlisted(*words: str, language: str = "en") -> float:
    """The score of the last of three words in a BLANK."""
    return unigram([intra("The baker said BLANK to us.", *words)], language=language)["c2"]


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[arg-type]


# --- which there are -------------------------------------------------------------------------


def test_all_are_checked_in_english() -> None:
    two = [INTRA, cat(INTER.context, *(a.sentence for a in INTER.associations), name="d")]
    inter = {"d0", "d1", "d2"}
    for language in ("en", "en-GB"):
        found = artefacts(two, language=language)
        assert [one.name for one in found] == NAMES
        for one in found:
            assert (one.why, bool(one.says)) == ("", True)
            assert set(one.scores or ()) == inter | (
                set() if one.name == "OverlapLM" else {"c0", "c1", "c2"}
            )


def test_rules_for_english_are_not_checked_in_another_language() -> None:
    german = [intra("Der Bäcker ist BLANK.", "freundlich", "müde", "lila")]
    found = artefacts(german, language="de")
    assert [one.name for one in found] == NAMES
    reasons = {one.name: one.why for one in found if one.scores is None}
    assert reasons == {
        "OverlapLM": "its lists of pronouns and stop words are English, the texts are in «de»",
        VADER: "VADER's lexicon is English, but the texts are in «de»: "
        "use the scores of a classifier",
    }
    assert all(one.why == "" for one in found if one.scores is not None)


# --- frequency -------------------------------------------------------------------------------


def test_unigram_is_the_mean_log_frequency_of_what_differs() -> None:
    import wordfreq

    def log(word: str) -> float:
        return math.log(wordfreq.word_frequency(word, "en"))

    two = intra("The baker is BLANK today.", "very kind", "kind", "Purple")
    found = unigram([two], language="en")
    assert found["c0"] == pytest.approx((log("very") + log("kind")) / 2)
    assert found["c1"] == pytest.approx(log("kind"))
    assert found["c2"] == pytest.approx(log("purple"))
    assert found["c0"] > found["c1"] > found["c2"]  # the mean: a second word costs nothing
    inter = unigram([INTER], language="en")
    assert inter["c2"] == pytest.approx((log("snow") + log("is") + log("cold")) / 3)


def test_a_word_that_is_not_listed_has_the_least_frequency_of_such_a_list() -> None:
    # English has a large list, down to 1e-8; Hungarian a small one, down to 1e-6.
    assert unlisted("kind", "nice", "zzqxv") == pytest.approx(math.log(1e-8))
    assert unlisted("szép", "jó", "zzqxv", language="hu") == pytest.approx(math.log(1e-6))
    # An option without a word counts as unlisted and does not break.
    assert unlisted("hello", "goodbye", "…!") == pytest.approx(math.log(1e-8))


def test_texts_in_another_language_than_declared_are_not_scored() -> None:
    with pytest.raises(NotCheckedError, match="«en» has only 1 of 3 words: is it the language"):
        unlisted("kind", "zzqxv", "qqvvx")
    with pytest.raises(NotCheckedError, match="has only 0 of 0 words"):
        unlisted("…", "!!", "?")


def test_a_language_is_found_under_another_code_and_serbian_in_both_its_scripts() -> None:
    for code, word in (("hr", "lijep"), ("no", "snill"), ("pt-BR", "bonito")):
        assert unlisted(word, word, word, language=code) > math.log(1e-6)
    found = unigram([intra("X BLANK Y", "добар", "dobar", "dobro")], language="sr")
    assert found["c0"] == found["c1"] > math.log(1e-6)


@pytest.mark.parametrize("code", ["af", "sw", "xx"])
def test_a_language_without_a_list_takes_no_neighbour(code: str) -> None:
    # Left to itself wordfreq would take Dutch for Afrikaans.
    with pytest.raises(NotCheckedError, match=f"no list of word frequencies for «{code}»"):
        unigram([INTRA], language=code)


@pytest.mark.parametrize(
    ("code", "package"), [("ja", "MeCab"), ("zh", "jieba"), ("zh-Hant", "jieba")]
)
def test_text_without_words(monkeypatch: pytest.MonkeyPatch, code: str, package: str) -> None:
    for name in ("wordfreq.mecab", "wordfreq.chinese"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    without(monkeypatch, package)
    found, *_ = artefacts([cat("今日は。", "雨。", "雪。", "猫。")], language=code)
    assert (found.name, found.scores) == ("UnigramLM", None)
    for part in (f"cannot split «{code}» into words", package, "pip install 'wordfreq[cjk]'"):
        assert part in found.why


@pytest.mark.parametrize(
    ("package", "name"), [("wordfreq", "UnigramLM"), ("vaderSentiment", VADER)]
)
def test_a_missing_package_is_named(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str
) -> None:
    without(monkeypatch, package)
    found = artefacts([INTRA, INTER], language="en")
    assert {one.name: one.why for one in found if one.scores is None} == {
        name: f"the package {package} is not installed: pip install 'curation[language]'"
    }


# --- length and order ------------------------------------------------------------------------


def test_length_is_in_characters() -> None:
    # «He sells cakes.» 15, «The baker sleeps.» 17, «Snow is cold.» 13
    characters = {"c0": 15.0, "c1": 17.0, "c2": 13.0}
    assert length([INTER]) == english("LongestLM") == characters
    assert english("ShortestLM") == {name: -size for name, size in characters.items()}
    # grumpy and purple have six letters
    assert length([INTRA])["c1"] == length([INTRA])["c2"]


def test_order_is_that_of_the_file() -> None:
    assert module.order([INTER]) == english("LastLM") == {"c0": 1.0, "c1": 2.0, "c2": 3.0}
    assert english("FirstLM") == {"c0": -1.0, "c1": -2.0, "c2": -3.0}


def test_no_cats_have_no_scores() -> None:
    assert length([]) == module.order([]) == module.negativity([], language="en") == {}
    with pytest.raises(NotCheckedError, match="intersentence CATs, and there are none"):
        overlap([], language="en")


# --- overlap ---------------------------------------------------------------------------------


def points(context: str, *sentences: str) -> list[int]:
    """What each option gets without the tie-break."""
    one = cat(context, *sentences)
    step = 1 + max(map(len, sentences))
    return [int(overlap([one], language="en")[f"c{n}"]) // step for n in range(3)]


@pytest.mark.parametrize(
    ("context", "sentences", "expected"),
    [
        # he: 1; «cake» of the context's «cakes»: 1; the baker and cakes: 2, «the» is a stop word
        ("The baker sold cakes to the mayor.",
         ["He was tired.", "A cake fell.", "The baker likes the cakes."], [1, 1, 2]),
        # two pronouns: 1; baker twice: 1; pronoun and baker: 2
        ("The baker sang.", ["He saw himself.", "Baker to baker.", "The baker gave it away."],
         [1, 1, 2]),
        # he and they stand in the context; «there» and «shed» hold he
        ("He said they sang.", ["They sing.", "There is a shed.", "We sing."], [1, 0, 0]),
        # contractions and capitals
        ("The BAKER isn’t here.", ["She’s busy.", "It isn't the baker's.", "Don't!"], [1, 2, 0]),
    ],
)  # fmt: skip
def test_overlap_counts_once(context: str, sentences: list[str], expected: list[int]) -> None:
    assert points(context, *sentences) == expected


def test_ties_of_overlap_go_to_the_longer_option_only() -> None:
    three = ("He sings.", "She is singing.", "The baker laughs at it all.")
    one = cat("The baker opens early.", *three)
    # 9, 15 and 27 characters; step 28; points 1, 1 and 2 (baker, it)
    assert overlap([one], language="en") == {"c0": 28.0 + 9, "c1": 28.0 + 15, "c2": 2 * 28.0 + 27}
    # However much longer, fewer points never win.
    long = cat("The baker sang.", "She did.", "A " + "very " * 500 + "cold day.", "Snow fell.")
    found = overlap([long], language="en")
    assert found["c0"] > found["c1"] > found["c2"]
    # Same points, same length: a tie.
    same = overlap([cat("The baker sang.", "He did.", "It hid.", "Snow.")], language="en")
    assert same["c0"] == same["c1"] > same["c2"]


def test_overlap_leaves_intrasentence_cats_alone() -> None:
    d = cat("The baker sang.", "He did.", "It hid.", "Snow.", name="d")
    assert set(overlap([INTRA, d], language="en")) == {"d0", "d1", "d2"}
    with pytest.raises(NotCheckedError, match="there are none"):
        overlap([INTRA], language="en")


def test_the_s_of_glass_and_gas_is_not_a_plural() -> None:
    assert module.content_words("Glass, gas and cats") == {"glass", "gas", "cat"}
    assert not module.STOP_WORDS & module.PRONOUNS


# --- sentiment -------------------------------------------------------------------------------


def test_vader_finds_the_negative_likelier() -> None:
    one = cat("The baker opens.", "He is horrible.", "He is wonderful.", "He stands there.")
    found = module.negativity([one], language="en")
    assert found["c0"] > found["c2"] > found["c1"]
    assert found["c2"] == 0.0  # no word of the lexicon


def test_given_sentiment_is_reversed_in_any_language(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"c0": 0.25, "c1": -1, "c2": 0.0, "other": 9.0}
    without(monkeypatch, "vaderSentiment")  # it needs no package
    found = module.negativity([INTER], language="de", sentiment=given)
    assert found == {"c0": -0.25, "c1": 1.0, "c2": 0.0}
    every = artefacts([INTER], language="de", sentiment=Sentiment("bakery/mood", given))
    (german,) = (one for one in every if one.name == "SentimentLM (bakery/mood)")
    assert (german.scores, german.why) == (found, "")


def test_given_sentiment_that_lacks_an_association_is_an_error() -> None:
    with pytest.raises(KeyError, match="c2"):
        artefacts([INTER], language="en", sentiment=Sentiment("x", {"c0": 0.0, "c1": 0.0}))


# --- what differs ----------------------------------------------------------------------------


def test_options_are_the_words_in_the_blank_or_the_whole_sentences() -> None:
    assert options(INTRA) == ["kind", "grumpy", "purple"]
    assert options(INTER) == ["He sells cakes.", "The baker sleeps.", "Snow is cold."]


def test_vader_does_not_reach_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refused)
    found = artefacts([INTRA, INTER], language="en")
    assert all(one.scores is not None for one in found)


def test_importing_the_module_loads_no_optional_package() -> None:
    code = """import sys, curation.stats.artefacts
print(sorted({'wordfreq', 'vaderSentiment'} & set(sys.modules)))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
