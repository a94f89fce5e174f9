"""A bias that is planted in a corpus is found in it, by sign and by order, by four measures."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import spearmanr

from curation.campaign import Campaign
from curation.formats.word_vectors import Vectors
from curation.models import tiny
from curation.models.states import StatesSpec
from curation.records import Bias
from curation.settings import TrustSettings
from curation.steps.trust.contextual import measure_contextual, measure_probe
from curation.steps.trust.files import read_groups
from curation.trust.framework import Policies, bias
from curation.trust.groups import Groups
from curation.trust.text.automated import Tally, count
from curation.trust.text.scanning import Texts
from curation.trust.vectors.cosine import vector_biases
from support import planted, trust

CLEAR = [job for job, lean in trust.LEAN.items() if abs(lean - 0.5) > 0.15]
"""The jobs with a clear direction."""


OUTSIDE = pytest.mark.outside  # a model more to train: seconds


class Case(NamedTuple):
    """A corpus with its files and groups."""

    corpus: planted.Planted
    paths: list[Path]
    campaign: Campaign
    groups: Groups


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Case]:
    """The case of k groups."""

    @cache
    def make(k: int) -> Case:
        folder = tmp_path_factory.mktemp("planted")
        corpus = planted.plant({job: trust.shares(job, k) for job in trust.LEAN}, documents=100)
        paths = planted.write(corpus, folder)
        campaign = trust.campaign_with_groups(folder, k=k)
        return Case(corpus, paths, campaign, read_groups(campaign)[0])

    return make


@pytest.fixture(scope="module")
def spec(
    case: Callable[[int], Case], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], StatesSpec]:
    """A model that is trained on the corpus of k groups."""

    @cache
    def make(k: int) -> StatesSpec:
        folder = tmp_path_factory.mktemp("tiny") / "model"
        texts = case(k).corpus.documents
        tiny.make(folder, texts, family="masked", steps=160, width=64, layers=1)
        return StatesSpec(str(folder))

    return make


def lakes(biases: list[Bias] | tuple[Bias, ...]) -> dict[str, float]:
    """How far each job leans to the lakes: p − p0."""
    found = {}
    for each in biases:
        assert each.signed is not None, (each.target, each.undefined)
        found[each.target] = each.signed[1]
    return found


def agreement(found: dict[str, float]) -> float:
    """Spearman's rho of what was found with what was planted."""
    return float(spearmanr([found[job] for job in trust.LEAN], list(trust.LEAN.values())).statistic)


def signs_are_right(found: dict[str, float], k: int) -> bool:
    """Whether the jobs with a clear direction lean to the planted side of 1 / k."""
    return all((found[job] > 0) == (trust.LEAN[job] > 1 / k) for job in CLEAR)


def sharper(shares: dict[str, tuple[float, ...]]) -> dict[str, list[float]]:
    """The same associations, but stronger: the shares squared, and normalised again."""
    return {
        job: [share**2 / sum(other**2 for other in own) for share in own]
        for job, own in shares.items()
    }


@pytest.mark.parametrize("k", [2, 3])
def test_text_counts_what_was_written(case: Callable[[int], Case], k: int) -> None:
    own = case(k)
    counts = count(Texts(own.paths, workers=1), own.groups)
    biases = Tally(counts, "en").biases(own.groups, documents=counts.documents)
    assert {each.target: each.soa for each in biases} == own.corpus.counts
    for each in biases:
        assert each.n == sum(own.corpus.counts[each.target]) + own.corpus.alone[each.target]
    assert agreement(lakes(biases)) > 0.95
    assert signs_are_right(lakes(biases), k)


@pytest.mark.parametrize("k", [2, 3])
def test_intervals_over_documents_cover_the_planted_bias(
    people: Callable[[int], Groups], tmp_path: Path, k: int
) -> None:
    groups, covered = people(k), []
    shares = {job: trust.shares(job, k) for job in trust.LEAN}
    for seed in range(12):
        corpus = planted.plant(shares, documents=60, seed=seed)
        paths = planted.write(corpus, tmp_path / str(seed), files=1)
        counts = count(Texts(paths, workers=1), groups)
        for each in Tally(counts, "en").biases(groups, documents=counts.documents):
            assert each.ci is not None
            inside = [
                pair is not None and pair[0] <= true <= pair[1]
                for pair, true in zip(each.ci, corpus.signed(each.target), strict=True)
            ]
            covered.append(all(inside))
    assert len(covered) == 96
    assert np.mean(covered) >= 0.9  # nominally 95 %; 86 of 96 or fewer have a chance of 2 %


@pytest.mark.parametrize("k", [2, 3])
def test_vectors_trained_on_the_corpus(case: Callable[[int], Case], k: int) -> None:
    own = case(k)
    words, array = planted.embed(own.corpus.documents)
    biases = vector_biases(Vectors(tuple(words), array), own.groups, Policies(), confidence=0.95)
    found = lakes(biases)
    assert agreement(found) > 0.9
    assert signs_are_right(found, k)
    for each in biases:  # intervals are over the words of the groups
        if each.target in ("weaver", "sailor"):
            assert each.ci is not None
            assert each.ci[1] is not None
            assert each.ci[1][0] * each.ci[1][1] > 0


@pytest.mark.parametrize(("k", "least"), [(2, 0.8), pytest.param(3, 0.5, marks=OUTSIDE)])
def test_reduction_of_a_model_trained_on_the_corpus(
    case: Callable[[int], Case],
    spec: Callable[[int], StatesSpec],
    tmp_path: Path,
    k: int,
    least: float,
) -> None:
    own = case(k)
    settings = TrustSettings(samples=20, negative="shift")  # cosines of states may be negative
    campaign = trust.campaign_with_groups(tmp_path, k=k, trust=settings)
    with tiny.one_thread():
        [(run, _)] = measure_contextual(campaign, spec(k), own.paths)
    found = lakes(run.biases)
    assert agreement(found) >= least
    assert found["weaver"] < 0 < found["sailor"]
    for each in run.biases:  # intervals are over documents
        assert each.ci is not None
        assert each.ci[1] is not None
        assert each.ci[1][0] <= found[each.target] <= each.ci[1][1]


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=OUTSIDE)])
def test_a_probe_of_a_model_trained_on_the_corpus(
    case: Callable[[int], Case], spec: Callable[[int], StatesSpec], k: int
) -> None:
    own = case(k)
    with tiny.one_thread():
        [(run, _)] = measure_probe(own.campaign, spec(k), own.paths)
    found = lakes(run.biases)
    assert agreement(found) > 0.8
    assert signs_are_right(found, k)
    for each in run.biases:  # intervals are over documents
        assert each.ci is not None
        assert each.ci[1] is not None
        assert each.ci[1][0] <= found[each.target] <= each.ci[1][1]
        if each.target in ("weaver", "sailor"):
            assert each.ci[1][0] * each.ci[1][1] > 0


def test_amplification_telescopes(case: Callable[[int], Case]) -> None:
    own = case(3)
    counts = count(Texts(own.paths, workers=1), own.groups)
    text = {each.target: each for each in Tally(counts, "en").biases(own.groups)}
    words, array = planted.embed(own.corpus.documents)
    vectors = vector_biases(Vectors(tuple(words), array), own.groups, Policies())
    stronger = planted.plant(sharper(own.corpus.shares))
    for each in vectors:
        first, last = text[each.target], stronger.counts[each.target]
        assert first.p is not None
        assert each.p is not None
        names = own.groups.names
        on_text = bias(each.target, each.soa, groups=names, reference=first.p, n=1)
        on_vectors = bias(each.target, last, groups=names, reference=each.p, n=1)
        whole = bias(each.target, last, groups=names, reference=first.p, n=1)
        assert on_text.signed is not None
        assert on_vectors.signed is not None
        assert np.add(on_text.signed, on_vectors.signed) == pytest.approx(whole.signed, abs=1e-12)
        assert whole.l1 is not None
        assert on_text.l1 is not None
        assert on_vectors.l1 is not None
        assert whole.l1 <= on_text.l1 + on_vectors.l1 + 1e-12


def test_a_stronger_corpus_amplifies(case: Callable[[int], Case], tmp_path: Path) -> None:
    own = case(2)
    shares = {
        job: np.array(s) ** 2 / np.sum(np.array(s) ** 2) for job, s in own.corpus.shares.items()
    }
    stronger = planted.plant(shares, documents=100, seed=1)
    values = []
    for paths in (own.paths, planted.write(stronger, tmp_path)):
        counts = count(Texts(paths, workers=1), own.groups)
        values.append({b.target: b.l1 or 0 for b in Tally(counts, "en").biases(own.groups)})
    clear = [job for job in CLEAR if job not in ("weaver", "sailor")]  # these are near the end
    assert all(values[1][job] > values[0][job] for job in clear)
