"""XLNet: what is masked is hidden from every position, however texts are laid out."""

from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models import masked
from curation.models.forward import Row, Text
from curation.models.loading import Loaded, load
from curation.models.rules import ScoringRequest
from curation.models.xlnet import XLNetRunner, repair
from support.expected import Patch
from support.models import Made
from support.reference import EMPTY, INTER, INTRA, codes, reference

ATTRIBUTE = ("attribute-acl", "attribute-arxiv", "attribute-code")
PLL = ("pll", "pll-shared", "pll-word-l2r")
Wanted = dict[str, list[float | None]]
ASKS = dict.fromkeys(ATTRIBUTE, INTRA) | dict.fromkeys(PLL, (*INTRA[:5], *INTER[:5]))


@pytest.fixture(scope="module")
def folder(made: Made) -> Path:
    return made("xlnet")


@pytest.fixture
def loaded(folder: Path) -> Loaded:
    return load(str(folder), device="cpu")


@pytest.fixture(scope="module")
def wanted(folder: Path) -> Wanted:
    return {rule: [reference(folder, rule, ask) for ask in asks] for rule, asks in ASKS.items()}


@pytest.mark.parametrize("settings", [{}, {"plain": True}, {"batch_tokens": 1}], ids=str)
def test_scores_are_those_of_the_reference(
    loaded: Loaded, wanted: Wanted, settings: dict[str, Any]
) -> None:
    runner = XLNetRunner(loaded, **settings)
    assert runner.pack is runner.narrow is not settings.get("plain", False)
    for rule, asks in ASKS.items():
        assert masked.score(runner, rule, asks) == pytest.approx(wanted[rule], rel=1e-5), rule
        assert masked.score(runner, rule, []) == []
    assert loaded.notices == []


def test_a_hidden_token_tells_nobody_what_it_is(loaded: Loaded) -> None:
    """Straight through the model: two hidden places, whatever stands there, same probabilities."""
    runner = XLNetRunner(loaded)
    mask = loaded.tokenizer.mask_token_id
    [found] = runner.log_probs([Text([20, mask, 30, mask, 40, 4, 3], [(1, 50), (3, 60)])])
    sight = torch.zeros(1, 7, 7)
    sight[0, :, [1, 3]] = 1
    target = torch.zeros(1, 2, 7)
    target[0, 0, 1] = target[0, 1, 3] = 1
    for first, second in ((50, 60), (mask, 70), (80, 90)):
        logits = loaded.model(
            input_ids=torch.tensor([[20, first, 30, second, 40, 4, 3]]),
            token_type_ids=torch.tensor([[0, 0, 0, 0, 0, 0, 2]]),
            perm_mask=sight,
            target_mapping=target,
        ).logits.log_softmax(-1)
        straight = [float(logits[0, 0, 50]), float(logits[0, 1, 60])]
        assert found.tolist() == pytest.approx(straight, rel=1e-5)


def test_the_end_token_is_a_segment_of_its_own(loaded: Loaded) -> None:
    text = Text([20, loaded.tokenizer.mask_token_id, 30, 4, 3], [(1, 50)])
    texts = [text, *(text._replace(types=types) for types in ([0, 0, 0, 0, 2], [0] * 5))]
    untold, told, other = XLNetRunner(loaded).log_probs(texts)
    assert untold.tolist() == told.tolist()
    assert untold.tolist() != pytest.approx(other.tolist(), rel=1e-3)


def test_only_what_is_asked_is_projected(loaded: Loaded) -> None:
    runner, shapes = XLNetRunner(loaded), []
    loaded.model.lm_loss.register_forward_hook(lambda _, args, out: shapes.append(out.shape))
    masked.score(runner, "attribute-acl", INTRA[:1])
    start, the = (len(loaded.tokenizer.tokenize(text)) for text in ("The court jester", "The"))
    assert list(map(tuple, shapes)) == [(start - the, loaded.model.config.vocab_size)]


def test_a_model_that_mixes_texts_gets_padded_rows(
    loaded: Loaded, wanted: Wanted, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(Row, "mask", lambda row: torch.ones(len(row), len(row)).bool().numpy())
    runner = XLNetRunner(loaded)
    assert (runner.pack, runner.narrow) == (False, True)
    assert "packed" in loaded.notices[0]
    found = masked.score(runner, "attribute-acl", INTRA)
    assert found == pytest.approx(wanted["attribute-acl"], rel=1e-5)


def test_an_unknown_output_layer_is_projected_everywhere(
    loaded: Loaded, wanted: Wanted, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(loaded.model, "get_output_embeddings", lambda: None)
    found = masked.score(XLNetRunner(loaded), "pll", ASKS["pll"])
    assert found == pytest.approx(wanted["pll"], rel=1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_other_dtypes(folder: Path, wanted: Wanted, dtype: str) -> None:
    loaded = load(str(folder), device="cpu", dtype=dtype)
    runner = XLNetRunner(loaded)
    assert loaded.about["dtype"] == dtype
    assert runner.pack
    # bfloat16 has 8 bits of mantissa: a log-probability near 10 is good to some hundredths
    found = masked.score(runner, "pll", ASKS["pll"][:5])
    assert found == pytest.approx(wanted["pll"][:5], rel=0.01)


def test_a_mended_model_can_be_run_before_there_is_a_runner(folder: Path) -> None:
    loaded = load(str(folder), device="cpu", dtype="bfloat16")
    with pytest.raises(RuntimeError, match="BFloat16"):  # else there is nothing left to fix
        loaded.model(input_ids=torch.tensor([[20, 30, 40]]))
    for _ in range(2):
        repair(loaded)
        assert loaded.model(input_ids=torch.tensor([[20, 30, 40]])).logits.isfinite().all()


def test_refusals(loaded: Loaded, folder: Path) -> None:
    runner = XLNetRunner(loaded)
    for rule in ("attribute-acl", "pll-shared"):
        assert codes(masked.score(runner, rule, EMPTY[::2])) == ["nothing_to_score"] * 2
        assert [reference(folder, rule, ask) for ask in EMPTY[::2]] == [None, None]
    loaded.tokenizer.model_max_length = 12
    asks = [INTER[0], ScoringRequest("intersentence", "He", "is.")]
    assert codes(masked.score(runner, "pll", asks)) == ["too_long", "scored"]
