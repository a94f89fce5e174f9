"""A next-sentence head learns, goes on after a kill, and serves the rule nsp; and BertAdam."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models import nsp
from curation.models.loading import load
from curation.models.rules import ScoringRequest
from curation.models.train import next_sentence
from curation.models.train.corpus import Corpus, read_corpus
from curation.models.train.next_sentence import BertAdam, NextSentenceTrainer
from curation.models.train.settings import NextSentenceSettings as Settings
from curation.models.train.settings import Progress, rate_at, warmup_steps
from support.expected import Patch, fails, raising
from support.models import Made
from support.strike import KilledError, half_written, kill_at
from support.topics import tiny_bert, write_corpus
from support.trainings import Training, same, weights
from support.written import beside

TABLES = beside(__file__)

LEARNS = {"length": 32, "batch": 32, "lr": 2e-3, "epochs": 20, "held_out": 0.2}
train = NextSentenceTrainer.train
SHORT = {"length": 32, "batch": 16, "epochs": 2, "held_out": 0.2, "lr": 1e-3}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("base") / "tiny-bert")


@pytest.fixture(scope="module")
def still(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without dropout in its body."""
    folder = tmp_path_factory.mktemp("still") / "tiny-bert"
    return tiny_bert(folder, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Ten articles of six sentences: eight to learn from, so 40 pairs an epoch, 3 steps of 16."""
    return read_corpus([write_corpus(tmp_path_factory.mktemp("corpus") / "a.txt", 10, 6)])


@pytest.fixture
def run(bert: Path, small: Corpus, tmp_path: Path) -> Training:
    return Training(train, Settings, small, tmp_path, {"model": str(bert), **SHORT})


@pytest.fixture(scope="module")
def whole(
    bert: Path, small: Corpus, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """A training that nobody disturbs: its folder and its report. Nobody may change it."""
    root = tmp_path_factory.mktemp("whole")
    run = Training(train, Settings, small, root, {"model": str(bert), **SHORT})
    return cache(lambda **changed: (root / str(changed), run(str(changed), **changed)))


# --- learning -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def learnt(still: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    root = tmp_path_factory.mktemp("learnt")
    corpus = read_corpus([write_corpus(root / "a.txt")])
    return root / "out", train(Settings(model=str(still), **LEARNS), corpus, root / "out")


def test_a_small_model_learns_which_sentences_follow(learnt: Any) -> None:
    _, report = learnt
    # At best 95 %: a sentence of another article is of the same topic one time in ten.
    assert report["held_out_accuracy"] > 90
    assert report["epochs"][0]["held_out_accuracy"] < 80
    assert report["epochs"][-1]["loss"] < 0.4 < report["epochs"][0]["loss"]


def test_scores_prefer_what_follows(learnt: Any) -> None:
    runner = nsp.load_next_sentence(str(learnt[0]))
    for context, follows, other in (
        ("she likes bread", "he sells bread", "he sells rain"),
        ("he counts chess", "he draws chess", "he draws hens"),
        ("she finds boats", "she needs boats", "she needs soup"),
    ):
        asks = [ScoringRequest("intersentence", context, sentence) for sentence in (follows, other)]
        better, worse = nsp.score(runner, "nsp", asks)
        assert better > -0.7 > worse  # type: ignore[operator]  # log of a half


def test_the_report_says_what_was_done(learnt: Any, still: Path) -> None:
    out, report = learnt
    assert json.loads((out / "training.json").read_bytes()) == report
    # 100 articles of 8 sentences, 20 held out: 80 · 7 = 560 pairs, 20 · 7 = 140; 560 / 32 = 17.5,
    # so 18 steps an epoch, 360 in twenty; a tenth of them is fewer than 50.
    assert (report["pairs_an_epoch"], report["pairs_held_out"]) == (560, 140)
    assert (report["steps"], report["warmup_steps"]) == (360, 50)
    assert (report["articles"], report["articles_held_out"], report["sentences"]) == (100, 20, 800)
    assert report["settings"]["model"] == "tiny-bert"  # no folder of this machine
    assert str(still.parent) not in json.dumps(report)
    assert report["base"]["revision"].startswith("sha256:")
    assert report["paper_held_out_accuracy"] == [92.5, 98.5]
    assert (report["precision"], report["pool"], report["continued"]) == ("float32", "first", 0)
    assert len(report["epochs"]) == 20
    assert len(report["corpus"][0]["sha256"]) == 64
    assert report["versions"]["torch"] == torch.__version__
    assert not (out / "checkpoint.pt").exists()


@pytest.mark.parametrize("name", ["gpt2", "roberta", "xlnet", "albert", "deberta"])
def test_every_family_can_be_trained(made: Made, run: Training, name: str, tmp_path: Path) -> None:
    report = run(model=str(made(name)), length=64, epochs=1)
    family = load(str(made(name)), head="none").family
    assert (report["family"], report["pool"]) == (family, nsp.POOLS[family])
    runner = nsp.load_next_sentence(str(tmp_path))
    asks = [ScoringRequest("intersentence", "she likes bread", "he sells soup")]
    assert nsp.score(runner, "nsp", asks)[0] < 0  # type: ignore[operator]
    assert runner.loaded.family == family


def test_an_encoder_decoder_model_gets_no_head(made: Made, run: Training) -> None:
    run.fails("encoder-decoder", model=str(made("t5")))


def test_frozen_bodies_alone_stay_as_they_are(bert: Path, whole: Any, run: Training) -> None:
    told: list[Progress] = []
    run(freeze=True, tell=told.append)
    before = weights(bert)
    frozen, trained = weights(run.root), weights(whole()[0])
    assert all(torch.equal(before[name], frozen[name]) for name in before)
    name = "model encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(before[name], trained[name])
    # Begun, three steps and an epoch's end, twice.
    assert [(t.step, t.loss is None, t.accuracy is None) for t in told] == [
        (0, True, True),
        *[(step, False, True) for step in (1, 2, 3)],
        (3, False, False),
        *[(step, False, True) for step in (4, 5, 6)],
        (6, False, False),
    ]


def test_a_batch_in_parts_is_the_same_batch(still: Path, run: Training, monkeypatch: Patch) -> None:
    # Dropout alone would draw differently, so the head has none here.
    monkeypatch.setattr(next_sentence, "Head", lambda width: nsp.Head(width, dropout=0.0))
    losses = []
    for parts in (1, 3, 16):
        report = run(f"{parts}", model=str(still), accumulate=parts)
        losses.append([epoch["loss"] for epoch in report["epochs"]])
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert losses[2] == pytest.approx(losses[0], abs=1e-5)
    assert losses[0][0] != losses[0][1]


def test_16_bits_train_on_a_cpu(run: Training) -> None:
    report = run(precision="bfloat16")
    assert report["precision"] == "bfloat16"
    assert 0 <= report["held_out_accuracy"] <= 100
    assert {part.dtype for part in weights(run.root).values()} == {torch.float32}


def test_a_limit_holds_on_both_sides(run: Training) -> None:
    report = run(limit=7)
    # Two articles of six sentences are held out: 10 pairs, of which 7 are taken.
    assert (report["pairs_an_epoch"], report["pairs_held_out"], report["steps"]) == (7, 7, 2)


def test_so_many_pairs_are_tested_on(run: Training) -> None:
    # An article of six sentences has 5 pairs: 7 test pairs take two of the ten articles, whatever
    # the share and the limit say; the other eight have 40 pairs, of which 16 are learnt from.
    report = run(held_out=0.5, epochs=1, test_pairs=7, limit=16)
    assert (report["articles_held_out"], report["pairs_held_out"]) == (2, 7)
    assert report["pairs_an_epoch"] == 16
    assert report["held_out_accuracy"] in [pytest.approx(100 * right / 7) for right in range(8)]


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "freeze"), [(2, False), (3, False), (4, False), (5, False), (4, True)]
)
def test_a_killed_training_ends_like_a_whole_one(
    whole: Any, run: Training, step: int, *, freeze: bool
) -> None:
    changed = {"freeze": freeze, "optimizer": "bertadam" if step == 4 else "adamw"}
    changed["checkpoint_every"] = 2
    run.kill(step, **changed)
    with fails("has not ended"):
        nsp.load_next_sentence(str(run.root))
    told: list[Progress] = []
    report = run(tell=told.append, **changed)
    # Checkpoints: after step 2, at the first epoch's end (3), after step 4. What tells of a step
    # comes before its checkpoint.
    assert told[0].step == {2: 0, 3: 2, 4: 3, 5: 4}[step]
    folder, wanted = whole(**changed)
    assert same(folder, run.root)
    assert report["epochs"] == wanted["epochs"]
    assert report["continued"] == (told[0].step > 0)


def test_dropout_differs_from_seed_to_seed(whole: Any, run: Training) -> None:
    # Or the test above could not see that the state of random numbers is brought back.
    state = torch.get_rng_state()
    run("2", seed=2)
    run("again", seed=1)
    assert not same(whole()[0], run.root / "2")
    assert same(whole()[0], run.root / "again")
    assert torch.equal(state, torch.get_rng_state())  # nobody else's draws are touched


def test_a_training_that_has_ended_is_not_done_again(run: Training) -> None:
    report = run()
    assert run(tell=kill_at(1)) == report
    run.kill(1, restart=True)
    assert not (run.root / "head.json").exists()  # what is half new does not pass for a model


def test_a_kill_while_the_model_is_written(whole: Any, run: Training, monkeypatch: Patch) -> None:
    def half(folder: Path, *_: Any, **__: Any) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(next_sentence, "save_next_sentence", half)
        with pytest.raises(KilledError):
            run()
    half_written(run.root / "checkpoint.pt").write_bytes(b"half")
    run()
    assert same(whole()[0], run.root)
    assert not list(run.root.glob("*.tmp"))


@pytest.mark.parametrize(("change", "says"), TABLES["other_settings_are_an_error"])
def test_other_settings_are_an_error(run: Training, change: dict[str, Any], says: str) -> None:
    run.kill(2, checkpoint_every=1)
    run.fails(says, "--restart", **change)
    told: list[Progress] = []
    run(restart=True, tell=told.append, **change)
    assert told[0].step == 0


def test_how_often_checkpoints_are_written_may_change(run: Training) -> None:
    run.kill(2, checkpoint_every=1)
    assert run(checkpoint_every=9)["continued"] == 1


def test_another_corpus_or_model_is_an_error(still: Path, run: Training, tmp_path: Path) -> None:
    longer = read_corpus([write_corpus(tmp_path / "b.txt", 11, 6)])
    run.kill(2, "out", checkpoint_every=1)
    run.fails("other settings (the corpus)", out="out", corpus=longer)
    run.fails("other settings (the model's files)", out="out", model=str(still))


def test_a_damaged_checkpoint_is_an_error(run: Training) -> None:
    run.kill(2, checkpoint_every=1)
    path = run.root / "checkpoint.pt"
    for content in (path.read_bytes()[:1000], b"not a checkpoint", b""):
        path.write_bytes(content)
        run.fails("checkpoint.pt: cannot be read", "--restart")


def test_a_folder_of_something_else_is_left_alone(run: Training) -> None:
    (run.root / "thesis.tex").write_text("dear", "utf-8")
    for restart in (False, True):
        run.fails("contains thesis.tex", restart=restart)
    assert (run.root / "thesis.tex").read_text("utf-8") == "dear"


# --- what does not go ---------------------------------------------------------------------------


@pytest.mark.parametrize(("change", "says"), TABLES["settings_that_do_not_go_are_errors"])
def test_settings_that_do_not_go_are_errors(
    run: Training, change: dict[str, Any], says: str
) -> None:
    run.fails(says, **change)


def test_other_faults_are_not_hidden(run: Training, monkeypatch: Patch) -> None:
    monkeypatch.setattr(nsp.PairRunner, "logits", raising(RuntimeError("something else")))
    with pytest.raises(RuntimeError, match="something else"):
        run()


# --- the schedule -------------------------------------------------------------------------------


def test_the_rate_rises_and_falls_in_straight_lines() -> None:
    # 100 steps, 20 of them warming up: 1/20, 2/20 … 1, then 80/80, 79/80 … 1/80.
    rates = [rate_at(step, steps=100, warmup=20) for step in range(100)]
    assert rates[:20] == [n / 20 for n in range(1, 21)]
    assert rates[20:] == [n / 80 for n in range(80, 0, -1)]
    assert rate_at(0, steps=3, warmup=0) == 1


def test_warm_up_is_a_tenth_within_bounds() -> None:
    # A tenth of 499 is 49; of 500, 50; of 5,000, 500; and no more than half of 99 and of one.
    steps = [0, 1, 99, 100, 499, 500, 4_990, 5_000, 10**6]
    assert [warmup_steps(n) for n in steps] == [0, 0, 49, 50, 50, 50, 499, 500, 500]


# --- BertAdam -------------------------------------------------------------------------------------


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


def test_a_training_takes_it_and_clips_each_gradient(run: Training, monkeypatch: Patch) -> None:
    clipped, made = list[int](), list[Any]()
    clip = lambda parts, most: clipped.append(len(parts))  # noqa: E731
    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", clip)
    finish = NextSentenceTrainer._finish
    monkeypatch.setattr(NextSentenceTrainer, "_finish", lambda run: made.append(run) or finish(run))
    for optimizer in ("bertadam", "adamw"):
        report = run(optimizer, optimizer=optimizer, batch=40, epochs=1)
        assert report["settings"]["optimizer"] == optimizer
    assert [type(run.optimizer) for run in made] == [BertAdam, torch.optim.AdamW]
    weights = len(list(made[0].model.parameters()))
    assert clipped == [*([1] * weights), weights]  # one step each
    decays = [[group["weight_decay"] for group in run.optimizer.param_groups] for run in made]
    assert decays == [[0.01, 0.0], [0.01, 0.0]]
