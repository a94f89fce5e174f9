"""The profile ``crows`` equals CrowS-Pairs' own script, run beside it on its 1,508 pairs.

Clone github.com/nyu-mll/crows-pairs, name its folder in ``CROWS_PAIRS``, and run
``make test-outside``. Nothing of it is in the project.
"""

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models.rules import rules_for
from curation.models.scoring import ModelSpec, Scorer
from curation.records import Cat
from curation.scores.asking import questions
from support.cats import pair

FOLDER = Path(os.environ.get("CROWS_PAIRS", "/nowhere"))
PAIRS = FOLDER / "data" / "crows_pairs_anonymized.csv"
pytestmark = [
    pytest.mark.outside,
    pytest.mark.skipif(not PAIRS.exists(), reason="CROWS_PAIRS names no clone of crows-pairs"),
]
SCRIPT = """
import runpy, sys
import pandas, transformers

folder, script = sys.argv[1:3]
pandas.DataFrame.append = lambda table, row, ignore_index: pandas.concat(
    [table, pandas.DataFrame([row])], ignore_index=True
)  # pandas 2 has none
for name in ("BertTokenizer", "BertForMaskedLM"):
    made = getattr(transformers, name).from_pretrained(folder)
    getattr(transformers, name).from_pretrained = lambda _, made=made: made
sys.argv[1:] = ["--lm_model", "bert", *sys.argv[3:]]
runpy.run_path(script, run_name="__main__")
"""


def cats() -> list[Cat]:
    with PAIRS.open(encoding="utf-8") as file:
        rows: list[Any] = list(csv.DictReader(file))
    return [
        pair(row["sent_more"], row["sent_less"], name=f"{n}-", direction=row["stereo_antistereo"])
        for n, row in enumerate(rows)
    ]


def bert(folder: Path, texts: list[str], seed: int) -> Path:
    """An uncased BERT of random weights that reads long texts."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    learnt = BertWordPieceTokenizer(lowercase=True)
    learnt.train_from_iterator(texts, vocab_size=1500, show_progress=False)
    BertTokenizer(vocab=learnt.get_vocab(), do_lower_case=True).save_pretrained(folder)
    torch.manual_seed(seed)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = BertConfig(vocab_size=1500, intermediate_size=64, initializer_range=0.3, **sizes)
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("seed", [1, 2])
def test_the_profile_equals_the_original_script(tmp_path: Path, seed: int) -> None:
    every = cats()
    assert len(every) == 1508
    folder = bert(tmp_path / "bert", [a.sentence for c in every for a in c.associations], seed)
    out = tmp_path / "scores.csv"
    script = [sys.executable, "-c", SCRIPT, folder, FOLDER / "metric.py"]
    told = subprocess.run(
        [*script, "--input_file", PAIRS, "--output_file", out],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    rules = rules_for("masked", rule=None, profile="crows", kinds=["pair"])
    asks = [question.ask for cat in every for question in questions(cat)]
    found = Scorer(ModelSpec(str(folder))).score(rules["pair"], asks)
    theirs = [float(r[name]) for r in rows for name in ("sent_more_score", "sent_less_score")]
    # Sums of float32 in another order: a digit of a sum at the edge may be rounded the other way.
    assert found == pytest.approx(theirs, abs=1.001e-3, rel=0)
    same = sum(a == b for a, b in zip(found, theirs, strict=True))
    print(told, "equal to the third digit:", same, "of", len(theirs))
    assert same >= 0.98 * len(theirs)
    won = [more > less for more, less in zip(found[::2], found[1::2], strict=True)]  # type: ignore[operator]
    assert won == [row["score"] == "1" for row in rows]
    assert f"Metric score: {round(100 * sum(won) / len(won), 2)}" in told
