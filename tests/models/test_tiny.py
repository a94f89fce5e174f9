"""A tiny model learns its texts, is the same from the same seed, and opens as any other."""

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
Family = Any


def total(folder: Path, family: Family, text: str) -> float:
    runner = Runner(load(str(folder)), plain=True)
    module, rule = (causal, "ll-bos") if family == "causal" else (masked, "pll")
    (found,) = module.score(runner, rule, [ScoringRequest("intrasentence", text, text)])  # type: ignore[attr-defined]
    return float(found)


@pytest.mark.parametrize("family", FAMILIES)
def test_it_learns(tmp_path: Path, family: Family) -> None:
    raw = tiny.make(tmp_path / "raw", TEXTS, family=family, steps=0)
    made = tiny.make(tmp_path / "made", TEXTS, family=family, steps=100)
    seen, scrambled = TEXTS[0], "in baker morning kind is. the The"
    assert total(made, family, seen) > total(raw, family, seen) + 10
    # The order of words is learnt, not their number: an untrained model hardly tells.
    gain = total(made, family, seen) - total(made, family, scrambled)
    assert gain > 10
    assert gain > total(raw, family, seen) - total(raw, family, scrambled) + 5


@pytest.mark.parametrize("family", FAMILIES)
def test_it_opens_as_what_it_is(tmp_path: Path, family: Family) -> None:
    folder = tiny.make(tmp_path / "m", TEXTS, family=family, steps=0, width=16, layers=3)
    loaded = load(str(folder))
    assert (loaded.family, loaded.window) == (family, 128)
    config = loaded.model.config
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


@pytest.mark.parametrize("family", FAMILIES)
def test_the_same_seed_gives_the_same_weights(tmp_path: Path, family: Family) -> None:
    def weights(name: str, seed: int) -> Any:
        folder = tiny.make(tmp_path / name, TEXTS, family=family, steps=3, seed=seed)
        return folder, load(str(folder)).model.state_dict()

    (first, a), (second, b), (third, c) = weights("a", 1), weights("b", 1), weights("c", 2)
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert fingerprint(first) == fingerprint(second) != fingerprint(third)
    assert not all(torch.equal(a[name], c[name]) for name in a)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_number_of_threads_changes_nothing(tmp_path: Path, family: Family) -> None:
    before = torch.get_num_threads()
    found = set()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        folder = tiny.make(tmp_path / str(threads), TEXTS, family=family, steps=3)
        found.add((folder / "model.safetensors").read_bytes())
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert len(found) == 1


def test_the_vocabulary_is_bounded(tmp_path: Path) -> None:
    loaded = load(str(tiny.make(tmp_path / "m", TEXTS, family="masked", steps=0, vocabulary=60)))
    assert len(loaded.tokenizer) <= 60


def test_few_texts_will_do(tmp_path: Path) -> None:
    for family in FAMILIES:
        folder = tiny.make(tmp_path / family, ["kind"], family=family, steps=2)  # type: ignore[arg-type]
        assert torch.isfinite(torch.tensor(total(folder, family, "kind")))


def test_it_prints_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    tiny.make(tmp_path / "m", TEXTS, steps=2)
    assert capfd.readouterr() == ("", "")
