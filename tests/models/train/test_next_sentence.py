"""A next-sentence head learns, is gone on with after a kill, and serves the rule nsp."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file

from curation.files import CurationError
from curation.models import nsp
from curation.models.loading import load
from curation.models.rules import ScoringRequest
from curation.models.train import next_sentence
from curation.models.train.corpus import Corpus, read_corpus
from curation.models.train.next_sentence import train
from curation.models.train.settings import NextSentenceSettings as Settings
from curation.models.train.settings import Progress, rate_at, warmup_steps
from support import models as tiny
from support.strike import KilledError, half_written, kill_at
from support.topics import tiny_bert, write_corpus

LEARNS = {"length": 32, "batch": 32, "lr": 2e-3, "epochs": 20, "held_out": 0.2}
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


def weights(folder: Path) -> dict[str, Any]:
    """Of body and head."""
    head = load_file(folder / "head.safetensors")
    return {**load_file(folder / "model.safetensors"), **{f"head.{k}": v for k, v in head.items()}}


def same(one: Path, other: Path) -> bool:
    left, right = weights(one), weights(other)
    return left.keys() == right.keys() and all(torch.equal(left[k], right[k]) for k in left)


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
    told = [
        ("she likes bread", "he sells bread", "he sells rain"),
        ("he counts chess", "he draws chess", "he draws hens"),
        ("she finds boats", "she needs boats", "she needs soup"),
    ]
    for context, follows, other in told:
        asks = [ScoringRequest("intersentence", context, sentence) for sentence in (follows, other)]
        better, worse = nsp.score(runner, "nsp", asks)
        assert isinstance(better, float)
        assert isinstance(worse, float)
        assert better > -0.7 > worse  # log of a half


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
def test_every_family_can_be_trained_and_scored(name: str, small: Corpus, tmp_path: Path) -> None:
    folder = tiny.MAKERS[name](tmp_path / "base")
    wanted = Settings(model=str(folder), **{**SHORT, "length": 64, "epochs": 1})
    report = train(wanted, small, tmp_path / "out")
    family = load(str(folder), head="none").family
    assert (report["family"], report["pool"]) == (family, nsp.POOLS[family])
    runner = nsp.load_next_sentence(str(tmp_path / "out"))
    found = nsp.score(
        runner, "nsp", [ScoringRequest("intersentence", "she likes bread", "he sells soup")]
    )
    assert found[0] < 0  # type: ignore[operator]
    assert runner.loaded.family == family


def test_an_encoder_decoder_model_gets_no_head(small: Corpus, tmp_path: Path) -> None:
    folder = tiny.MAKERS["t5"](tmp_path / "base")
    with pytest.raises(CurationError, match="encoder-decoder"):
        train(Settings(model=str(folder)), small, tmp_path / "out")


def test_frozen_bodies_stay_as_they_are(bert: Path, small: Corpus, tmp_path: Path) -> None:
    told: list[Progress] = []
    train(
        Settings(model=str(bert), freeze=True, **SHORT),
        small,
        tmp_path,
        tell=told.append,
    )
    before, after = load_file(bert / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    # Begun, three steps and an epoch's end, twice.
    assert [(t.step, t.loss is None, t.accuracy is None) for t in told] == [
        (0, True, True),
        *[(step, False, True) for step in (1, 2, 3)],
        (3, False, False),
        *[(step, False, True) for step in (4, 5, 6)],
        (6, False, False),
    ]


def test_a_whole_training_changes_the_body(bert: Path, small: Corpus, tmp_path: Path) -> None:
    train(Settings(model=str(bert), **SHORT), small, tmp_path)
    before, after = load_file(bert / "model.safetensors"), load_file(tmp_path / "model.safetensors")
    name = "encoder.layer.0.attention.self.query.weight"
    assert not torch.equal(before[name], after[name])


def test_a_batch_in_parts_is_the_same_batch(
    still: Path, small: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Dropout alone would draw differently, so the head has none here.
    monkeypatch.setattr(next_sentence, "Head", lambda width: nsp.Head(width, dropout=0.0))
    reports = [
        train(
            Settings(model=str(still), accumulate=parts, **SHORT),
            small,
            tmp_path / f"{parts}",
        )
        for parts in (1, 3, 16)
    ]
    losses = [[epoch["loss"] for epoch in report["epochs"]] for report in reports]
    assert losses[1] == pytest.approx(losses[0], abs=1e-5)
    assert losses[2] == pytest.approx(losses[0], abs=1e-5)
    assert losses[0][0] != losses[0][1]


def test_16_bits_train_on_a_cpu(bert: Path, small: Corpus, tmp_path: Path) -> None:
    report = train(Settings(model=str(bert), precision="bfloat16", **SHORT), small, tmp_path)
    assert report["precision"] == "bfloat16"
    assert 0 <= report["held_out_accuracy"] <= 100
    assert all(part.dtype == torch.float32 for part in weights(tmp_path).values())


def test_a_limit_holds_on_both_sides(bert: Path, small: Corpus, tmp_path: Path) -> None:
    report = train(Settings(model=str(bert), limit=7, **SHORT), small, tmp_path)
    # Two articles of six sentences are held out: 10 pairs, of which 7 are taken.
    assert (report["pairs_an_epoch"], report["pairs_held_out"], report["steps"]) == (7, 7, 2)


def test_so_many_pairs_are_tested_on(bert: Path, small: Corpus, tmp_path: Path) -> None:
    # An article of six sentences has 5 pairs: 7 test pairs take two of the ten articles, whatever
    # the share and the limit say; the other eight have 40 pairs, of which 16 are learnt from.
    wanted = Settings(
        model=str(bert), **{**SHORT, "held_out": 0.5, "epochs": 1}, test_pairs=7, limit=16
    )
    report = train(wanted, small, tmp_path)
    assert (report["articles_held_out"], report["pairs_held_out"]) == (2, 7)
    assert report["pairs_an_epoch"] == 16
    assert report["held_out_accuracy"] in [pytest.approx(100 * right / 7) for right in range(8)]


# --- going on -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "freeze"),
    [*((step, False) for step in (1, 2, 3, 4, 5)), (2, True), (4, True)],
)
def test_a_killed_training_ends_as_if_it_had_not_been(
    bert: Path, small: Corpus, tmp_path: Path, step: int, freeze: bool
) -> None:
    optimizer = "bertadam" if step == 4 else "adamw"
    wanted = Settings(
        model=str(bert), checkpoint_every=2, freeze=freeze, optimizer=optimizer, **SHORT
    )
    whole = train(wanted, small, tmp_path / "whole")
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path / "killed", tell=kill_at(step))
    with pytest.raises(CurationError, match="has not ended"):
        nsp.load_next_sentence(str(tmp_path / "killed"))
    told: list[Progress] = []
    report = train(wanted, small, tmp_path / "killed", tell=told.append)
    # Checkpoints: after step 2, at the first epoch's end (3), after step 4. What tells of a step
    # comes before its checkpoint.
    assert told[0].step == {1: 0, 2: 0, 3: 2, 4: 3, 5: 4}[step]
    assert same(tmp_path / "whole", tmp_path / "killed")
    assert report["epochs"] == whole["epochs"]
    assert report["continued"] == (told[0].step > 0)


def test_dropout_differs_from_seed_to_seed(bert: Path, small: Corpus, tmp_path: Path) -> None:
    # Or the test above could not see that the state of random numbers is brought back.
    for seed in (1, 2):
        train(Settings(model=str(bert), seed=seed, **SHORT), small, tmp_path / f"{seed}")
    assert not same(tmp_path / "1", tmp_path / "2")
    state = torch.get_rng_state()
    train(Settings(model=str(bert), **SHORT), small, tmp_path / "again")
    assert same(tmp_path / "1", tmp_path / "again")
    assert torch.equal(state, torch.get_rng_state())  # nobody else's draws are touched


def test_a_training_that_has_ended_is_not_done_again(
    bert: Path, small: Corpus, tmp_path: Path
) -> None:
    wanted = Settings(model=str(bert), **SHORT)
    report = train(wanted, small, tmp_path)
    assert train(wanted, small, tmp_path, tell=kill_at(1)) == report


def test_a_kill_while_the_model_is_written_is_made_good(
    bert: Path, small: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = Settings(model=str(bert), **SHORT)

    def half(folder: Path, *_: Any, **__: Any) -> None:
        (folder / "model.safetensors").write_bytes(b"half")
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(next_sentence, "save_next_sentence", half)
        with pytest.raises(KilledError):
            train(wanted, small, tmp_path / "killed")
    half_written(tmp_path / "killed" / "checkpoint.pt").write_bytes(b"half")
    train(wanted, small, tmp_path / "killed")
    train(wanted, small, tmp_path / "whole")
    assert same(tmp_path / "whole", tmp_path / "killed")
    assert not list((tmp_path / "killed").glob("*.tmp"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lr": 5e-4}, r"--lr was 0\.001, is 0\.0005"),
        ({"held_out": 0.3}, r"--held-out was 0\.2, is 0\.3"),
        ({"optimizer": "bertadam"}, "--optimizer was adamw, is bertadam"),
        ({"test_pairs": 7}, "--test-pairs was None, is 7"),
        ({"seed": 2, "freeze": True}, "--freeze was False, is True; --seed was 1, is 2"),
    ],
)
def test_other_settings_are_an_error_that_says_which(
    bert: Path, small: Corpus, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    wanted = {"model": str(bert), "checkpoint_every": 1, **SHORT}
    with pytest.raises(KilledError):
        train(Settings(**wanted), small, tmp_path, tell=kill_at(2))
    with pytest.raises(CurationError, match=says) as error:
        train(Settings(**{**wanted, **change}), small, tmp_path)
    assert "--restart" in error.value.fix
    told: list[Progress] = []
    train(
        Settings(**{**wanted, **change}),
        small,
        tmp_path,
        restart=True,
        tell=told.append,
    )
    assert told[0].step == 0


def test_how_often_checkpoints_are_written_may_change(
    bert: Path, small: Corpus, tmp_path: Path
) -> None:
    wanted = {"model": str(bert), **SHORT}
    with pytest.raises(KilledError):
        train(Settings(checkpoint_every=1, **wanted), small, tmp_path, tell=kill_at(2))
    assert train(Settings(checkpoint_every=9, **wanted), small, tmp_path)["continued"] == 1


def test_another_corpus_or_model_is_an_error(
    bert: Path, still: Path, small: Corpus, tmp_path: Path
) -> None:
    wanted = Settings(model=str(bert), checkpoint_every=1, **SHORT)
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path / "out", tell=kill_at(2))
    longer = read_corpus([write_corpus(tmp_path / "b.txt", 11, 6)])
    with pytest.raises(CurationError, match=r"other settings \(the corpus\)"):
        train(Settings(model=str(bert), **SHORT), longer, tmp_path / "out")
    with pytest.raises(CurationError, match=r"other settings \(the model's files\)"):
        train(Settings(model=str(still), **SHORT), small, tmp_path / "out")


def test_restart_throws_away_what_has_ended(bert: Path, small: Corpus, tmp_path: Path) -> None:
    wanted = Settings(model=str(bert), **SHORT)
    train(wanted, small, tmp_path)
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path, restart=True, tell=kill_at(1))
    assert not (tmp_path / "head.json").exists()  # what is half new does not pass for a model


def test_a_damaged_checkpoint_is_an_error(bert: Path, small: Corpus, tmp_path: Path) -> None:
    wanted = Settings(model=str(bert), checkpoint_every=1, **SHORT)
    with pytest.raises(KilledError):
        train(wanted, small, tmp_path, tell=kill_at(2))
    path = tmp_path / "checkpoint.pt"
    for content in (path.read_bytes()[:1000], b"not a checkpoint", b""):
        path.write_bytes(content)
        with pytest.raises(CurationError, match=r"checkpoint\.pt: cannot be read") as error:
            train(wanted, small, tmp_path)
        assert "--restart" in error.value.fix


def test_a_folder_of_something_else_is_left_alone(
    bert: Path, small: Corpus, tmp_path: Path
) -> None:
    (tmp_path / "thesis.tex").write_text("dear", "utf-8")
    for restart in (False, True):
        with pytest.raises(CurationError, match=r"contains thesis\.tex"):
            train(Settings(model=str(bert), **SHORT), small, tmp_path, restart=restart)
    assert (tmp_path / "thesis.tex").read_text("utf-8") == "dear"


def test_two_trainings_in_a_folder_are_an_error(bert: Path, small: Corpus, tmp_path: Path) -> None:
    with (
        FileLock(tmp_path / ".train-nsp.lock"),
        pytest.raises(CurationError, match="another training is running"),
    ):
        train(Settings(model=str(bert), **SHORT), small, tmp_path)


# --- what does not go ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"device": "map"}, "one device"),
        ({"precision": "int8"}, "no precision «int8»"),
        ({"precision": "float16"}, "training in float16 needs a GPU"),
        ({"optimizer": "sgd"}, "no optimizer «sgd»"),
        ({"accumulate": 17}, "a batch of 16 pairs cannot be split into 17 parts"),
        ({"length": 65}, "pairs of 65 tokens"),  # the model's window is 64
        ({"length": 4}, "pairs of 4 tokens"),  # three special tokens and one of each sentence
        ({"lr": 1e30}, "the loss is"),
    ],
)
def test_settings_that_do_not_go_are_errors(
    bert: Path, small: Corpus, tmp_path: Path, change: dict[str, Any], says: str
) -> None:
    with pytest.raises(CurationError, match=says) as error:
        train(Settings(**{"model": str(bert), **SHORT, **change}), small, tmp_path)
    assert error.value.fix


def test_where_memory_runs_out_the_mend_is_more_parts(
    bert: Path, small: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(nsp.PairRunner, "logits", full)
    wanted = Settings(model=str(bert), accumulate=2, **SHORT)
    with pytest.raises(CurationError, match="out of memory with 16 pairs in 2 parts") as error:
        train(wanted, small, tmp_path)
    assert "--accumulate 4" in error.value.fix


def test_other_faults_are_not_hidden(
    bert: Path, small: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("something else")

    monkeypatch.setattr(nsp.PairRunner, "logits", broken)
    with pytest.raises(RuntimeError, match="something else"):
        train(Settings(model=str(bert), **SHORT), small, tmp_path)


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
