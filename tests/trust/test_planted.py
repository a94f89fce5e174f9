"""A bias that is planted in a corpus is found in it, by sign and by order, by four measures."""

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from curation.campaign.settings import TrustSettings
from curation.formats.word_vectors import Vectors
from curation.models import tiny
from curation.models.states import StatesSpec
from curation.records import Bias
from curation.trust.measure.automated import Tally, count
from curation.trust.measure.cosine import vector_biases
from curation.trust.measure.framework import Policies
from curation.trust.measure.scanning import Texts
from curation.trust.runs.contextual import measure_contextual, measure_probe
from curation.trust.runs.files import read_groups
from support import planted, trust
from support.biases import bias

CLEAR = [job for job, lean in trust.LEAN.items() if abs(lean - 0.5) > 0.15]
"""The jobs with a clear direction."""
CLEAREST = ("weaver", "sailor")

OUTSIDE = pytest.mark.outside  # a model more to train: seconds


class Case:
    """A corpus with its files and groups, and a model that is trained on it."""

    def __init__(self, folder: Path, k: int) -> None:
        shares = {job: trust.shares(job, k) for job in trust.LEAN}
        self.k, self.folder = k, folder
        self.corpus = planted.plant(shares, documents=100)
        self.paths = planted.write(self.corpus, folder)
        self.campaign = trust.campaign_with_groups(folder, k=k)
        (self.groups,) = read_groups(self.campaign)

    @cached_property
    def spec(self) -> StatesSpec:
        folder, texts = self.folder / "model", self.corpus.documents
        tiny.make(folder, texts, family="masked", steps=160, width=64, layers=1)
        return StatesSpec(str(folder))

    @property
    def vectors(self) -> Vectors:
        """Word vectors that are trained on it."""
        words, array = planted.embed(self.corpus.documents)
        return Vectors(tuple(words), array)

    def counted(self, paths: list[Path] | None = None) -> list[Bias]:
        """What is counted in its files, or in others."""
        counts = count(Texts(paths or self.paths, workers=1), self.groups)
        return Tally(counts, "en").biases(self.groups, documents=counts.documents)


Cases = Callable[[int], Case]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """The case of k groups."""
    return cache(lambda k: Case(tmp_path_factory.mktemp("planted"), k))


def lakes(biases: Sequence[Bias]) -> dict[str, float]:
    """How far each job leans to the lakes: p − p0."""
    return {each.target: (each.signed or ())[1] for each in biases}


def ends(bias: Bias) -> tuple[float, float]:
    """The interval of the lakes' p − p0."""
    found = (bias.ci or ())[1]
    assert found is not None
    return found


def check_ends(biases: Sequence[Bias]) -> None:
    """Intervals hold their values."""
    for each in biases:
        low, high = ends(each)
        assert low <= lakes([each])[each.target] <= high


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
def test_text_counts_what_was_written(case: Cases, k: int) -> None:
    own = case(k)
    biases = own.counted()
    assert {each.target: each.soa for each in biases} == own.corpus.counts
    for each in biases:
        assert each.n == sum(own.corpus.counts[each.target]) + own.corpus.alone[each.target]
    assert agreement(lakes(biases)) > 0.95
    assert signs_are_right(lakes(biases), k)


@pytest.mark.parametrize("k", [2, 3])
def test_intervals_cover_the_planted_bias(case: Cases, tmp_path: Path, k: int) -> None:
    covered = []
    for seed in range(12):
        corpus = planted.plant(case(k).corpus.shares, documents=60, seed=seed)
        for each in case(k).counted(planted.write(corpus, tmp_path / str(seed), files=1)):
            pairs = zip(each.ci or (), corpus.signed(each.target), strict=True)
            covered.append(all(pair and pair[0] <= share <= pair[1] for pair, share in pairs))
    assert len(covered) == 96
    assert np.mean(covered) >= 0.9  # nominally 95 %; 86 of 96 or fewer have a chance of 2 %


@pytest.mark.parametrize("k", [2, 3])
def test_vectors_trained_on_the_corpus(case: Cases, k: int) -> None:
    own = case(k)
    biases = vector_biases(own.vectors, own.groups, Policies(), confidence=0.95)
    assert agreement(lakes(biases)) > 0.9
    assert signs_are_right(lakes(biases), k)
    for each in biases:  # intervals are over the words of the groups
        if each.target in CLEAREST:
            assert np.prod(ends(each)) > 0


@pytest.mark.parametrize(("k", "least"), [(2, 0.8), pytest.param(3, 0.5, marks=OUTSIDE)])
def test_reduction_of_a_trained_model(case: Cases, tmp_path: Path, k: int, least: float) -> None:
    settings = TrustSettings(samples=20, negative="shift")  # cosines of states may be negative
    campaign = trust.campaign_with_groups(tmp_path, k=k, trust=settings)
    with tiny.one_thread():
        [(run, _)] = measure_contextual(campaign, case(k).spec, case(k).paths)
    found = lakes(run.biases)
    assert agreement(found) >= least
    assert found["weaver"] < 0 < found["sailor"]
    check_ends(run.biases)  # intervals are over documents


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=OUTSIDE)])
def test_a_probe_of_a_trained_model(case: Cases, k: int) -> None:
    own = case(k)
    with tiny.one_thread():
        [(run, _)] = measure_probe(own.campaign, own.spec, own.paths)
    assert agreement(lakes(run.biases)) > 0.8
    assert signs_are_right(lakes(run.biases), k)
    check_ends(run.biases)  # intervals are over documents
    for each in run.biases:
        if each.target in CLEAREST:
            assert np.prod(ends(each)) > 0


def test_amplification_telescopes(case: Cases) -> None:
    own = case(3)
    text = {each.target: each.p for each in own.counted()}
    stronger = planted.plant(sharper(own.corpus.shares))

    def beside(target: str, strengths: Any, reference: Any) -> tuple[np.ndarray, float]:
        """p − p0 and L1, with another p as the reference."""
        found = bias(target, strengths, groups=own.groups.names, reference=reference, n=1)
        return np.array(found.signed), found.l1 or 0

    for each in vector_biases(own.vectors, own.groups, Policies()):
        name, last = each.target, stronger.counts[each.target]
        on_text, on_vectors = beside(name, each.soa, text[name]), beside(name, last, each.p)
        whole = beside(name, last, text[name])
        assert on_text[0] + on_vectors[0] == pytest.approx(whole[0], abs=1e-12)
        assert whole[1] <= on_text[1] + on_vectors[1] + 1e-12


def test_a_stronger_corpus_amplifies(case: Cases, tmp_path: Path) -> None:
    own = case(2)
    stronger = planted.plant(sharper(own.corpus.shares), documents=100, seed=1)
    before, after = (
        {each.target: each.l1 or 0 for each in own.counted(paths)}
        for paths in (own.paths, planted.write(stronger, tmp_path))
    )
    clear = [job for job in CLEAR if job not in CLEAREST]  # these are near the end
    assert all(after[job] > before[job] for job in clear)
