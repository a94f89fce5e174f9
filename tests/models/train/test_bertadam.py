"""BertAdam against hand arithmetic, and where it differs from AdamW."""

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models.train.corpus import read_corpus
from curation.models.train.next_sentence import BertAdam, NextSentenceTrainer, train
from curation.models.train.settings import NextSentenceSettings
from support.expected import Patch
from support.topics import tiny_bert, write_corpus
from support.trainings import Training


def test_two_steps_are_those_of_hand_arithmetic() -> None:
    # w = 1, rate 0.1, decay 0.01.
    # g = 0.5: m = 0.1 · 0.5 = 0.05, v = 0.001 · 0.25 = 0.00025, √v = 0.0158114,
    #   w = 1 − 0.1 (0.05 / 0.0158124 + 0.01 · 1) = 1 − 0.1 · 3.1720777 = 0.6827922.
    # g = −1: m = 0.9 · 0.05 − 0.1 = −0.055, v = 0.999 · 0.00025 + 0.001 = 0.00124975,
    #   √v = 0.0353518, w = 0.6827922 − 0.1 (−0.055 / 0.0353528 + 0.0068279)
    #   = 0.6827922 − 0.1 (−1.5557465 + 0.0068279) = 0.8376841.
    weight = torch.nn.Parameter(torch.tensor([1.0], dtype=torch.float64))
    optimizer = BertAdam([{"params": [weight], "weight_decay": 0.01}], lr=0.1)
    for gradient, expected in ((0.5, 0.6827922), (-1.0, 0.8376841)):
        weight.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        assert float(weight.detach()) == pytest.approx(expected, abs=1e-7)


def test_its_first_step_is_larger_than_adamws_by_the_missing_bias_correction() -> None:
    # AdamW's first step is the rate, whatever the gradient; here it is 0.1 / √0.001 = 3.162 times
    # that. √v is 1000 times the epsilon, so that matters in the fourth digit only.
    steps = []
    for kind in (BertAdam, torch.optim.AdamW):
        weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        weight.grad = torch.tensor([0.03], dtype=torch.float64)
        kind([{"params": [weight], "weight_decay": 0.0}], lr=0.1).step()
        steps.append(-float(weight.detach()))
    assert steps[0] / steps[1] == pytest.approx(3.162, abs=4e-3)


def test_a_weight_without_a_gradient_stays() -> None:
    weight = torch.nn.Parameter(torch.ones(2))
    BertAdam([{"params": [weight], "weight_decay": 0.01}], lr=0.1).step()
    assert weight.tolist() == [1, 1]


def test_a_training_takes_it_and_clips_each_gradient(tmp_path: Path, monkeypatch: Patch) -> None:
    corpus = read_corpus([write_corpus(tmp_path / "a.txt", 10, 6)])
    usual = {"length": 32, "batch": 40, "epochs": 1, "held_out": 0.2}
    usual["model"] = str(tiny_bert(tmp_path / "bert"))
    run = Training(train, NextSentenceSettings, corpus, tmp_path, usual)
    clipped, made = list[int](), list[Any]()
    clip = lambda parts, most: clipped.append(len(parts))  # noqa: E731
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clip)
    finish = NextSentenceTrainer._finish
    monkeypatch.setattr(NextSentenceTrainer, "_finish", lambda run: made.append(run) or finish(run))
    for optimizer in ("bertadam", "adamw"):
        assert run(optimizer, optimizer=optimizer)["settings"]["optimizer"] == optimizer
    assert [type(run.optimizer) for run in made] == [BertAdam, torch.optim.AdamW]
    weights = len(list(made[0].model.parameters()))
    assert clipped == [*([1] * weights), weights]  # one step each
    decays = [[group["weight_decay"] for group in run.optimizer.param_groups] for run in made]
    assert decays == [[0.01, 0.0], [0.01, 0.0]]
