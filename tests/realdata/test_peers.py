"""Scores of real CATs equal those of lm-eval and minicons.

The models are tiny and learn from these very texts: their figures say nothing, equality does.
``pytest -s -n0 tests/realdata/test_peers.py`` prints the greatest relative differences.
"""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from curation.models import tiny
from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from support import realdata
from support.peers import Worker, close

REAL = realdata.REAL / "dev_cats.jsonl"
GOLDS = ("stereotype", "anti-stereotype", "unrelated")
EACH = 60  # CATs of a kind
pytestmark = realdata.needs(REAL)
Requests = dict[str, list[ScoringRequest]]


@pytest.fixture(scope="module")
def asks() -> Requests:
    """Of each kind, three for each CAT."""
    lines = [json.loads(line) for line in REAL.read_text("utf-8").splitlines()]
    found = {}
    for kind in ("intrasentence", "intersentence"):
        of_kind = [cat for cat in lines if ("BLANK" in cat["context"]) == (kind == "intrasentence")]
        drawn = random.Random(1).sample(of_kind, EACH)
        found[kind] = [
            ScoringRequest(kind, cat["context"], cat[gold]) for cat in drawn for gold in GOLDS
        ]
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory, asks: Requests) -> Callable[[str], Path]:
    texts = [ask.text for three in asks.values() for ask in three]
    folder = tmp_path_factory.mktemp("models")
    return cache(lambda family: tiny.make(folder / family, texts, family=family, vocabulary=900))


@pytest.mark.parametrize(
    ("rule", "peer", "kind"),
    [
        ("ll-bos", "lm-eval", "intrasentence"),
        ("ll-bos", "lm-eval", "intersentence"),
        ("ll-bos", "minicons", "intrasentence"),
        ("conditional", "lm-eval", "intersentence"),
        ("conditional", "minicons-conditional", "intersentence"),
        ("pll", "minicons-pll", "intrasentence"),
        ("pll", "minicons-pll", "intersentence"),
        ("pll-word-l2r", "minicons-pll-word-l2r", "intrasentence"),
        ("pll-word-l2r", "minicons-pll-word-l2r", "intersentence"),
    ],
)
def test_scores_of_real_cats(
    asks: Requests,
    model: Callable[[str], Path],
    peers: Worker,
    rule: str,
    peer: str,
    kind: str,
) -> None:
    folder = model("masked" if rule.startswith("pll") else "causal")
    found = Scorer(ModelSpec(str(folder))).score(rule, asks[kind])
    peers.open(peer, folder)
    items: list[Any] = [ask.text for ask in asks[kind]]
    if rule == "conditional":
        items = [(ask.context, ask.sentence) for ask in asks[kind]]
    elif peer == "lm-eval":
        items = [("", text) for text in items]
    ours = [value for value in found if isinstance(value, float)]
    greatest = close(ours, peers.score(items).values)
    print(f"\n{rule}, {peer}, {kind}: {greatest:.1e}")
