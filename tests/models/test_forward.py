"""How models are run: what each mechanism saves, when it is left off, and want of memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from transformers import MPNetConfig, MPNetForMaskedLM

from curation.models import faster
from curation.models.faster import PackedLinear, quicken
from curation.models.forward import Runner, Text
from curation.models.loading import Loaded, load, position_offset
from curation.models.rules import ScoringRequest
from curation.models.scoring import ModelSpec, Scorer
from support.expected import Patch, fails, raising
from support.models import Made

CAUSAL, MASKED = ("gpt2", "llama", "qwen2", "neox"), ("bert", "distilbert", "electra", "roberta")
TAKES_ROWS = (*CAUSAL, *MASKED, "albert")
TAKES_NONE = ("bloom", "mamba", "deberta", "mistral")


Open = Callable[..., Loaded]


@pytest.fixture
def opened(made: Made) -> Open:
    return lambda name, **how: load(str(made(name)), **how)


def texts(count: int = 12) -> list[Text]:
    """Some that begin alike, of several lengths, each read everywhere but at its end."""
    draw = np.random.default_rng(3)
    start = draw.integers(5, 200, size=6).tolist()
    ends = [draw.integers(5, 200, size=n % 5 + 1).tolist() for n in range(count)]
    found = [start[: 1 + n % 6] + end for n, end in enumerate(ends)]
    return [Text(ids, [(p, ids[p + 1]) for p in range(len(ids) - 1)]) for ids in found]


def scores(runner: Runner) -> Any:
    return np.concatenate(runner.log_probs(texts()))


def near(loaded: Loaded) -> Any:
    """What equals the scores of a model that is run plainly."""
    return pytest.approx(scores(Runner(loaded, plain=True)), rel=1e-5)


@pytest.mark.parametrize("name", TAKES_ROWS)
def test_packed_rows_save_and_change_nothing(opened: Open, name: str) -> None:
    plain, packed = Runner(opened(name), plain=True), Runner(opened(name))
    assert (packed.pack, packed.narrow, packed.loaded.notices) == (True, True, [])
    assert scores(packed) == pytest.approx(scores(plain), rel=1e-5)
    assert packed.tokens <= plain.tokens
    if packed.loaded.family == "causal":  # what begins alike is read once, and no last token
        assert packed.tokens < 0.8 * plain.tokens


@pytest.mark.parametrize("name", TAKES_NONE)
def test_who_cannot_take_packed_rows_is_run_plainly_and_it_is_said(opened: Open, name: str) -> None:
    tried = Runner(opened(name))
    assert (tried.pack, tried.narrow) == (False, True)
    assert "cannot read packed rows" in tried.loaded.notices[0]
    assert scores(tried) == near(opened(name))


def test_a_head_that_is_fed_otherwise_is_left_as_it_is(opened: Open) -> None:
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
    assert scores(runner) == near(opened("gpt2"))


@pytest.mark.parametrize("name", ["gpt2", "bert", "roberta", "bloom"])
def test_the_size_of_batches_changes_nothing(opened: Open, name: str) -> None:
    wanted = scores(Runner(opened(name)))
    for tokens in (1, 7, 100_000):
        found = scores(Runner(opened(name), batch_tokens=tokens))
        assert found == pytest.approx(wanted, rel=1e-5), tokens


def test_texts_beyond_local_attention_go_alone(opened: Open) -> None:
    # Mistral here sees 8 tokens back: what is longer than half of that is never packed.
    runner = Runner(opened("mistral"), plain=True)
    runner.pack = True
    assert scores(runner) == near(opened("mistral"))


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried"),
        MemoryError(),
    ],
)
def test_no_memory_halves_the_batches(opened: Open, monkeypatch: Patch, error: Exception) -> None:
    runner = Runner(opened("bert"), batch_tokens=512)
    wanted = pytest.approx(scores(runner), rel=1e-5)
    run = Runner._batch

    def scarce(self: Runner, rows: list[Any], values: Any, *, packed: bool) -> None:
        if len(rows) * len(rows[0]) > 40:
            raise error
        run(self, rows, values, packed=packed)

    monkeypatch.setattr(runner, "pack", False)
    monkeypatch.setattr(Runner, "_batch", scarce)
    assert scores(runner) == wanted
    assert runner.batch_tokens <= 40
    assert runner.loaded.notices[-1].startswith("out of memory: using batches of ")


def test_no_memory_for_one_text_is_an_error_and_others_stay(
    opened: Open, monkeypatch: Patch
) -> None:
    runner = Runner(opened("bert"))
    monkeypatch.setattr(Runner, "_batch", raising(MemoryError()))
    with fails("not enough memory for one text of"):
        runner.log_probs(texts())
    monkeypatch.setattr(Runner, "_batch", raising(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        runner.log_probs(texts())


def test_nothing_asked_gives_nothing(opened: Open) -> None:
    runner = Runner(opened("gpt2"))
    assert runner.log_probs([]) == []
    assert [len(v) for v in runner.log_probs([Text([1, 2], []), Text([3, 4], [(0, 4)])])] == [0, 1]


@pytest.fixture
def onednn(monkeypatch: Patch) -> None:
    """OneDNN's layers are taken for the faster ones."""
    monkeypatch.setattr("curation.models.faster._onednn_is_faster", lambda kind: True)


@pytest.mark.usefixtures("onednn")
@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "mamba", "albert"])
def test_layers_are_swapped_and_scores_stay(opened: Open, name: str) -> None:
    loaded = opened(name)
    quicken(loaded)
    kinds = {n.rpartition(".")[2]: type(m) for n, m in loaded.model.named_modules()}
    assert PackedLinear in kinds.values()
    if name == "mamba":
        assert kinds["dt_proj"] is torch.nn.Linear  # its weight is multiplied by hand
        assert kinds["out_proj"] is PackedLinear
    assert loaded.about["linear"] == "onednn, packed"
    assert scores(Runner(loaded)) == near(opened(name))


@pytest.mark.parametrize("how", ["told not to", "not there", "wrong"])
def test_without_the_private_operation_nothing_is_swapped(
    opened: Open, monkeypatch: Patch, how: str
) -> None:
    trial = faster._onednn_is_faster.__wrapped__  # not what an earlier trial found
    monkeypatch.setattr("curation.models.faster._onednn_is_faster", trial)
    wanted = near(opened("gpt2"))
    if how == "not there":
        gone = AttributeError("_reorder_linear_weight")
        monkeypatch.setattr("curation.models.faster._pack", raising(gone))
    if how == "wrong":
        monkeypatch.setattr(PackedLinear, "forward", lambda self, x: torch.zeros(1))
    loaded = opened("gpt2")
    quicken(loaded, private=how != "told not to")
    assert loaded.about["linear"] == "torch"
    assert not [m for m in loaded.model.modules() if isinstance(m, PackedLinear)]
    assert scores(Runner(loaded)) == wanted


@pytest.mark.parametrize("name", ["gpt2", "bloom"])
def test_a_text_that_just_fits_is_scored_either_way(made: Made, name: str) -> None:
    # Its last token is only asked for, so a window takes one token more than it has places.
    contexts = ["The baker sings. " * n for n in (1, 30)]
    asks = [ScoringRequest("intersentence", context, "He is kind.") for context in contexts]
    packed, plain = (
        Scorer(ModelSpec(str(made(name)), plain=p)).score("conditional", asks)
        for p in (False, True)
    )
    assert packed == pytest.approx(plain, rel=1e-5)


@pytest.mark.parametrize(("name", "packs"), [("gpt2", True), ("bert", True), ("bloom", False)])
def test_in_16_bits_rounding_hides_nothing(opened: Open, name: str, *, packs: bool) -> None:
    runner = Runner(opened(name, dtype="bfloat16"))
    assert runner.pack is packs
    plain = Runner(opened(name, dtype="bfloat16"), plain=True)
    assert np.abs(scores(runner) - scores(plain)).max() < 0.5  # bfloat16 has three digits


def test_positions_that_begin_beyond_padding_are_known() -> None:
    size = {"hidden_size": 32, "num_hidden_layers": 2, "intermediate_size": 64}
    config = MPNetConfig(vocab_size=300, num_attention_heads=2, initializer_range=0.4, **size)
    model = MPNetForMaskedLM(config).eval()  # its module has the function, not its embeddings
    assert position_offset(model) == config.pad_token_id + 1
