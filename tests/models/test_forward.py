"""How models are run: what each mechanism saves, when it is left off, and want of memory."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MPNetConfig, MPNetForMaskedLM

from curation.files import CurationError
from curation.models import faster
from curation.models.faster import PackedLinear, quicken
from curation.models.forward import Runner, Text
from curation.models.loading import Loaded, load, position_offset
from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from support.models import MAKERS

TAKES_ROWS = (
    "gpt2",
    "llama",
    "qwen2",
    "neox",
    "bert",
    "distilbert",
    "electra",
    "roberta",
    "albert",
)
TAKES_NONE = ("bloom", "mamba", "deberta", "mistral")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    return cache(lambda name: MAKERS[name](tmp_path_factory.mktemp("models") / name))


@pytest.fixture
def opened(made: Callable[[str], Path]) -> Callable[[str], Loaded]:
    return lambda name: load(str(made(name)))


def texts(count: int = 12) -> list[Text]:
    """Some that begin alike, of several lengths, each read everywhere but at its end."""
    draw = np.random.default_rng(3)
    start = draw.integers(5, 200, size=6).tolist()
    ends = [draw.integers(5, 200, size=n % 5 + 1).tolist() for n in range(count)]
    found = [start[: 1 + n % 6] + end for n, end in enumerate(ends)]
    return [Text(ids, [(p, ids[p + 1]) for p in range(len(ids) - 1)]) for ids in found]


def flat(values: list[Any]) -> Any:
    return np.concatenate(values)


@pytest.mark.parametrize("name", TAKES_ROWS)
def test_packed_rows_save_and_change_nothing(opened: Callable[[str], Loaded], name: str) -> None:
    plain, packed = Runner(opened(name), plain=True), Runner(opened(name))
    assert (packed.pack, packed.narrow) == (True, True)
    assert packed.loaded.notices == []
    wanted = flat(plain.log_probs(texts()))
    assert flat(packed.log_probs(texts())) == pytest.approx(wanted, rel=1e-5)
    assert packed.tokens <= plain.tokens
    if packed.loaded.family == "causal":  # what begins alike is read once, and no last token
        assert packed.tokens < 0.8 * plain.tokens


@pytest.mark.parametrize("name", TAKES_NONE)
def test_who_cannot_take_packed_rows_is_run_plainly_and_it_is_said(
    opened: Callable[[str], Loaded], name: str
) -> None:
    plain, tried = Runner(opened(name), plain=True), Runner(opened(name))
    assert not tried.pack
    assert tried.narrow
    assert "cannot read packed rows" in tried.loaded.notices[0]
    wanted = flat(plain.log_probs(texts()))
    assert flat(tried.log_probs(texts())) == pytest.approx(wanted, rel=1e-5)


def test_a_head_that_is_fed_otherwise_is_left_as_it_is(opened: Callable[[str], Loaded]) -> None:
    loaded = opened("gpt2")
    head = loaded.model.lm_head

    class Sums(torch.nn.Module):
        """Takes the whole batch's mean into account, so that rows cannot be left out."""

        def forward(self, x: Any) -> Any:
            return head(x - x.mean(0, keepdim=True) * (x.dim() == 2))

    loaded.model.lm_head = Sums()
    runner = Runner(loaded)
    assert not runner.narrow
    assert any("projected at every position" in text for text in loaded.notices)
    wanted = flat(Runner(opened("gpt2"), plain=True).log_probs(texts()))
    assert flat(runner.log_probs(texts())) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "bert", "roberta", "bloom"])
@pytest.mark.parametrize("tokens", [1, 7, 100_000])
def test_the_size_of_batches_changes_nothing(
    opened: Callable[[str], Loaded], name: str, tokens: int
) -> None:
    wanted = flat(Runner(opened(name)).log_probs(texts()))
    found = flat(Runner(opened(name), batch_tokens=tokens).log_probs(texts()))
    assert found == pytest.approx(wanted, rel=1e-5)


def test_texts_beyond_local_attention_go_alone(made: Callable[[str], Path]) -> None:
    # Mistral here sees 8 tokens back: what is longer than half of that is never packed.
    runner = Runner(load(str(made("mistral"))), plain=True)
    runner.pack = True
    wanted = flat(Runner(load(str(made("mistral"))), plain=True).log_probs(texts()))
    assert flat(runner.log_probs(texts())) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_without_memory_batches_are_halved(
    opened: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    runner = Runner(opened("bert"), batch_tokens=512)
    wanted = flat(runner.log_probs(texts()))
    run = Runner._batch

    def scarce(self: Runner, rows: list[Any], values: Any, *, packed: bool) -> None:
        if len(rows) * len(rows[0]) > 40:
            raise error
        run(self, rows, values, packed=packed)

    monkeypatch.setattr(runner, "pack", False)
    monkeypatch.setattr(Runner, "_batch", scarce)
    assert flat(runner.log_probs(texts())) == pytest.approx(wanted, rel=1e-5)
    assert runner.batch_tokens <= 40
    assert runner.loaded.notices[-1].startswith("out of memory: using batches of ")


def test_one_text_that_finds_no_memory_is_an_error_and_others_are_raised_as_they_are(
    opened: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = Runner(opened("bert"))
    for error, expected in (
        (MemoryError(), (CurationError, "not enough memory for one text of")),
        (RuntimeError("a bug"), (RuntimeError, "a bug")),
    ):

        def fail(*_: Any, error: Exception = error, **__: Any) -> None:
            raise error

        monkeypatch.setattr(Runner, "_batch", fail)
        with pytest.raises(expected[0], match=expected[1]):
            runner.log_probs(texts())


def test_nothing_asked_gives_nothing(opened: Callable[[str], Loaded]) -> None:
    runner = Runner(opened("gpt2"))
    assert runner.log_probs([]) == []
    assert [len(v) for v in runner.log_probs([Text([1, 2], []), Text([3, 4], [(0, 4)])])] == [0, 1]


def test_layers_are_swapped_and_scores_stay(
    opened: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.models.faster._onednn_is_faster", lambda kind: True)
    for name in ("gpt2", "bert", "llama", "mamba", "albert"):
        wanted = flat(Runner(opened(name), plain=True).log_probs(texts()))
        loaded = opened(name)
        quicken(loaded)
        swapped = [m for m in loaded.model.modules() if isinstance(m, PackedLinear)]
        assert swapped, name
        assert loaded.about["linear"] == "onednn, packed"
        assert flat(Runner(loaded).log_probs(texts())) == pytest.approx(wanted, rel=1e-5)


def test_a_block_that_reaches_into_its_layers_keeps_them(
    opened: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curation.models.faster._onednn_is_faster", lambda kind: True)
    loaded = opened("mamba")
    quicken(loaded)
    kinds = {n.rpartition(".")[2]: type(m) for n, m in loaded.model.named_modules()}
    assert kinds["dt_proj"] is torch.nn.Linear  # its weight is taken out and multiplied by hand
    assert kinds["out_proj"] is PackedLinear


@pytest.mark.parametrize("how", ["told not to", "not there", "wrong"])
def test_without_the_private_operation_nothing_is_swapped(
    opened: Callable[[str], Loaded], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    wanted = flat(Runner(opened("gpt2"), plain=True).log_probs(texts()))
    trial = faster._onednn_is_faster.__wrapped__  # not what an earlier trial found
    monkeypatch.setattr("curation.models.faster._onednn_is_faster", trial)
    if how == "not there":

        def gone(*_: Any) -> None:
            raise AttributeError("_reorder_linear_weight")

        monkeypatch.setattr("curation.models.faster._pack", gone)
    if how == "wrong":
        monkeypatch.setattr(PackedLinear, "forward", lambda self, x: torch.zeros(1))
    loaded = opened("gpt2")
    quicken(loaded, private=how != "told not to")
    assert loaded.about["linear"] == "torch"
    assert not [m for m in loaded.model.modules() if isinstance(m, PackedLinear)]
    assert flat(Runner(loaded).log_probs(texts())) == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_a_text_that_just_fits_is_scored_either_way(made: Callable[[str], Path], name: str) -> None:
    # Its last token is only asked for, so a window takes one token more than it has places.
    asks = [
        ScoringRequest("intersentence", "The baker sings. " * n, "He is kind.") for n in (1, 30)
    ]
    found = [
        Scorer(ModelSpec(str(made(name)), plain=p)).score("conditional", asks)
        for p in (False, True)
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-5)


@pytest.mark.parametrize(("name", "packs"), [("gpt2", True), ("bert", True), ("bloom", False)])
def test_in_16_bits_rounding_hides_nothing(
    made: Callable[[str], Path], name: str, packs: bool
) -> None:
    runner = Runner(load(str(made(name)), dtype="bfloat16"))
    assert runner.pack is packs
    plain = Runner(load(str(made(name)), dtype="bfloat16"), plain=True)
    wanted, found = (flat(one.log_probs(texts())) for one in (plain, runner))
    assert np.abs(found - wanted).max() < 0.5  # bfloat16 has three digits


def test_positions_that_begin_beyond_padding_are_known(tmp_path: Path) -> None:
    config = MPNetConfig(
        vocab_size=300,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        initializer_range=0.4,
    )
    model = MPNetForMaskedLM(config).eval()  # its module has the function, not its embeddings
    assert position_offset(model) == config.pad_token_id + 1
