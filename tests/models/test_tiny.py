"""A tiny model learns its texts, is the same from the same seed, and opens as any other."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch

from curation.models import causal, masked, tiny
from curation.models.forward import Runner
from curation.models.loading import fingerprint, load
from curation.models.rules import ScoringRequest
from curation.models.tokens import surround

TEXTS = [
    f"The {who} is {what} in the {when}."
    for who in ("baker", "potter", "fiddler")
    for what in ("kind", "quick", "merry")
    for when in ("morning", "evening")
]
FAMILIES = ("causal", "masked")


def total(folder: Path, text: str) -> float:
    runner = Runner(load(str(folder)), plain=True)
    module: Any = causal if runner.loaded.family == "causal" else masked
    rule = {"causal": "ll-bos", "masked": "pll"}[runner.loaded.family]
    (found,) = module.score(runner, rule, [ScoringRequest("intrasentence", text, text)])
    return float(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_learns(tmp_path: Path, family: Any) -> None:
    raw = tiny.make(tmp_path / "raw", TEXTS, family=family, steps=0)
    made = tiny.make(tmp_path / "made", TEXTS, family=family, steps=100)
    seen, scrambled = TEXTS[0], "in baker morning kind is. the The"
    assert total(made, seen) > total(raw, seen) + 10
    # The order of words is learnt, not their number: an untrained model hardly tells.
    gain = total(made, seen) - total(made, scrambled)
    assert gain > 10
    assert gain > total(raw, seen) - total(raw, scrambled) + 5


@pytest.mark.parametrize("family", FAMILIES)
def test_it_opens_as_what_it_is(tmp_path: Path, family: Any) -> None:
    folder = tiny.make(tmp_path / "m", TEXTS, family=family, steps=0, width=16, layers=3)
    loaded = load(str(folder))
    config = loaded.model.config
    assert (loaded.family, loaded.window) == (family, 128)
    assert (config.hidden_size, config.num_hidden_layers) == (16, 3)
    assert config.vocab_size == len(loaded.tokenizer) <= 500
    assert loaded.tokenizer.is_fast
    around = surround(loaded.tokenizer)
    if family == "causal":
        assert around == ([], [])  # nothing is put before a text, as with GPT-2
        assert loaded.tokenizer.bos_token_id == loaded.tokenizer.eos_token_id == 0
    else:
        ids = loaded.tokenizer.convert_tokens_to_ids([tiny.CLS, tiny.SEP])
        assert around == ([ids[0]], [ids[1]])
        assert loaded.tokenizer.mask_token == tiny.MASK
        pair = loaded.tokenizer("kind", "merry")
        assert sorted(set(pair["token_type_ids"])) == [0, 1]


def test_bytes_leave_no_text_unknown_and_pieces_do(tmp_path: Path) -> None:
    strange = "빵 🍞 ŵ"
    by_bytes = load(str(tiny.make(tmp_path / "c", TEXTS, steps=0))).tokenizer
    assert by_bytes.decode(by_bytes(strange)["input_ids"]) == strange
    by_pieces = load(str(tiny.make(tmp_path / "m", TEXTS, family="masked", steps=0))).tokenizer
    assert by_pieces.unk_token_id in by_pieces(strange)["input_ids"]
    few = tiny.make(tmp_path / "few", TEXTS, family="masked", steps=0, vocabulary=60)
    assert len(load(str(few)).tokenizer) <= 60 < len(by_pieces)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_weights_on_any_threads(tmp_path: Path, family: Any) -> None:
    def made(name: str, seed: int, threads: int = 1) -> tuple[str, bytes]:
        torch.set_num_threads(threads)
        folder = tiny.make(tmp_path / name, TEXTS, family=family, steps=3, seed=seed)
        assert torch.get_num_threads() == threads
        return fingerprint(folder), (folder / "model.safetensors").read_bytes()

    before = torch.get_num_threads()
    first, second, other, threads = made("a", 1), made("b", 1), made("c", 2), made("d", 1, 2)
    torch.set_num_threads(before)
    assert first == second == threads
    assert (first[0] != other[0], first[1] != other[1]) == (True, True)


@pytest.mark.parametrize("family", FAMILIES)
def test_few_texts_will_do_in_silence(
    tmp_path: Path, family: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tiny.make(tmp_path / "m", ["kind"], family=family, steps=2)
    assert capfd.readouterr() == ("", "")
    assert math.isfinite(total(folder, "kind"))
