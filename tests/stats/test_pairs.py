"""ss of pairs: a share of pairs with groups as clusters, by direction, worked out by hand."""

import math

import numpy as np
import pytest
from scipy.special import stdtr

from curation.stats.artefacts import artefacts, unigram
from curation.stats.intervals import clustered, clustered_share_interval, t_quantile, wilson
from curation.stats.metrics import comparisons, pooled_kinds, results
from curation.stats.tests import paired_tests
from curation.text.words import frequencies
from support.boards import cat
from support.pairs import pair, scores

W, L, T = (2.0, 1.0), (1.0, 2.0), (1.0, 1.0)  # the stereotype wins, loses, ties

# x: two pairs, both won; y: one won, one lost; z: one lost. Each has its direction.
PAIRS = [
    pair("p", "x"),
    pair("q", "x", direction="antistereo"),
    pair("r", "y"),
    pair("s", "y", direction="antistereo"),
    pair("t", "z", domain="religion"),
]
SCORES = scores(p=W, q=W, r=W, s=L, t=L)


def test_ss_is_the_share_of_pairs_and_lms_and_icat_are_absent() -> None:
    found = results(comparisons(PAIRS, SCORES), model="m")
    whole = found["overall"]
    # Of five pairs three; the mean over groups would be (100 + 50 + 0) / 3 = 50.
    assert (whole["ss"], whole["cats"], whole["terms"], whole["ties"]) == (60.0, 5, 3, 0)
    assert not {"lms", "icat", "lms_ci", "icat_ci"} & whole.keys()
    assert found["kinds"]["pair"]["overall"] == whole
    assert found["kinds"]["pair"]["domains"]["age"]["ss"] == 75.0  # 3 of 4
    assert found["kinds"]["pair"]["terms"]["age/y"]["ss"] == 50.0


def test_the_interval_is_that_of_clusters_of_unequal_size() -> None:
    # Weights 0.4, 0.4, 0.2: Σ w² = 0.36, so 1 / 0.36 = 2.78 clusters and df 1.78.
    # Residuals won − 0.6 · pairs: 0.8, −0.2, −0.6; by 5 (1 − w): 0.8/3, −0.2/3, −0.6/4.
    variance = ((0.8 / 3) ** 2 + (0.2 / 3) ** 2 + 0.15**2) * 2 / 3
    expected = wilson(0.6, 0.24 / variance, t_quantile(0.95, 1 / 0.36 - 1))
    whole = results(comparisons(PAIRS, SCORES), model="m")["overall"]
    assert whole["ss_ci"] == pytest.approx([100 * end for end in expected])
    assert (whole["few_terms"], whole["too_wide"]) == (True, [])


def test_values_by_direction() -> None:
    found = results(comparisons(PAIRS, SCORES), model="m")["kinds"]["pair"]["directions"]
    assert list(found) == ["stereo", "antistereo"]
    stereo, other = found["stereo"], found["antistereo"]
    assert (stereo["ss"], stereo["cats"], stereo["terms"]) == (pytest.approx(200 / 3), 3, 3)
    assert (other["ss"], other["cats"], other["terms"]) == (50.0, 2, 2)


def test_pairs_without_a_direction_have_none() -> None:
    plain = [pair("p", "x", direction=None)]
    assert "directions" not in results(comparisons(plain, SCORES), model="m")["kinds"]["pair"]


def test_official_ties_stay_in_the_denominator_as_not_stereotyped() -> None:
    two = [pair("p", "x"), pair("q", "y")]
    tied = scores(p=W, q=T)
    half = results(comparisons(two, tied), model="m")["overall"]
    official = results(comparisons(two, tied, ties="official"), model="m")["overall"]
    assert (half["ss"], half["ties"]) == (75.0, 1)
    assert (official["ss"], official["ties"]) == (50.0, 1)


def test_one_cluster_that_decides_has_no_interval() -> None:
    sizes = np.array([8.0, 1.0, 1.0])  # 1 / (0.64 + 0.01 + 0.01) = 1.5 clusters
    assert clustered(np.array([4.0, 1.0, 0.0]), sizes) is None
    assert clustered_share_interval(np.array([4.0, 1.0, 0.0]), sizes) is None
    assert clustered(np.array([4.0]), np.array([8.0])) is None
    both = clustered_share_interval(np.array([3.0, 3.0]), np.array([3.0, 3.0]))
    assert both == wilson(1.0, 6, t_quantile(0.95, 1))  # all won: n is the number of pairs


def test_equal_clusters_have_the_interval_of_a_mean_of_clusters() -> None:
    won = np.array([1.0, 2.0, 2.0, 0.0, 1.0])
    of = clustered(won, np.full(5, 2.0))
    assert of is not None
    assert (of.ratio, of.df) == (pytest.approx(0.6), pytest.approx(4))
    assert of.variance == pytest.approx((won / 2).var(ddof=1) / 5)


def test_pairs_stay_apart_from_means_over_terms() -> None:
    triple = cat("c", "x")
    mixed = {**SCORES, "cs": 3.0, "ca": 2.0, "cu": 1.0}
    found = results(comparisons([*PAIRS, triple], mixed), model="m")
    assert list(found["kinds"]) == ["intrasentence", "pair"]
    assert found["overall"] == found["kinds"]["intrasentence"]["overall"]
    assert (found["overall"]["lms"], found["overall"]["cats"]) == (100.0, 1)
    assert found["kinds"]["pair"]["overall"]["ss"] == 60.0
    assert pooled_kinds(["pair", "intersentence"]) == ["intersentence"]
    assert pooled_kinds(["pair"]) == ["pair"]


def test_the_difference_of_two_models_is_of_shares_of_pairs() -> None:
    a, b = {"ss": np.array([100.0, 50.0, 0.0])}, {"ss": np.array([50.0, 50.0, 100.0])}
    (test,) = paired_tests(a, b, cats=5, sizes=np.array([2.0, 2.0, 1.0]))  # type: ignore[arg-type]
    # Of five pairs 3 and 3: the difference 0. Differences of clusters, summed: 100, 0, −100.
    assert (test.a_value, test.b_value, test.difference) == (60.0, 60.0, 0.0)
    error = math.sqrt(((100 / 3) ** 2 + (100 / 4) ** 2) * 2 / 3)
    half = t_quantile(0.95, 1 / 0.36 - 1) * error
    assert test.ci == pytest.approx([-half, half])
    assert test.p == pytest.approx(1.0)
    (test,) = paired_tests(a, {"ss": np.zeros(3)}, cats=5, sizes=np.array([2.0, 2.0, 1.0]))  # type: ignore[arg-type]
    variance = ((80 / 3) ** 2 + (20 / 3) ** 2 + 15**2) * 2 / 3  # as the interval's, in points
    assert test.p == pytest.approx(2 * stdtr(1 / 0.36 - 1, -60 / math.sqrt(variance)))


def test_two_models_that_differ_alike_or_on_one_group_have_no_interval() -> None:
    a, b = {"ss": np.array([100.0, 100.0])}, {"ss": np.array([0.0, 0.0])}
    (test,) = paired_tests(a, b, cats=4, sizes=np.array([2.0, 2.0]))  # type: ignore[arg-type]
    assert (test.difference, test.ci, test.p) == (100.0, None, 0.5)  # the sign test: 2 / 2²
    (test,) = paired_tests(a, b, cats=9, sizes=np.array([8.0, 1.0]))  # type: ignore[arg-type]
    assert (test.difference, test.ci, test.p) == (100.0, None, None)


# --- what knows nothing ---------------------------------------------------------------------


def test_frequency_is_that_of_the_words_that_differ() -> None:
    one = pair("p", "x", "The old man was late.", "The elderly man was late!")
    shares = frequencies("en")
    assert unigram([one], language="en") == {
        "ps": math.log(shares["old"]),
        "pa": math.log(shares["elderly"]),
    }
    two = pair("q", "x", "An old man sang.", "A young man sang.")
    value = unigram([one, two], language="en")["qs"]
    assert value == pytest.approx((math.log(shares["an"]) + math.log(shares["old"])) / 2)


def test_rules_for_contexts_are_not_for_pairs() -> None:
    one = pair("p", "x", "Old people sing.", "Young people sing.")
    found = {each.name: each for each in artefacts([one], language="en")}
    assert found["OverlapLM"].scores is None
    assert found["LongestLM"].scores == {"ps": 16.0, "pa": 18.0}
    only = artefacts([one], language="en", only=("LongestLM",))
    assert [each.name for each in only] == ["LongestLM"]
