"""States of words in contexts equal those of a plain loop, one text at a time."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from curation.models.loading import load
from curation.models.states import Place, StateReader, StatesSpec, _cut, open_states
from support.expected import Patch, fails
from support.models import WINDOW, Made

TEXTS = (
    ("The lamplighter from the old harbour is kind and patient.", "lamplighter"),
    ("My neighbour the baker gets up, and the baker sings; a baker bakes.", "baker"),
    ("The", "The"),
    ("She asked whether the court jester had learnt to juggle.", "court jester"),
    ("She asked whether the court jester had learnt to juggle.", "She"),
    ("Le boulanger était là, señor Núñez aussi.", "Núñez"),
    ("제 이웃은 빵을 굽는 사람이고 노래를 부릅니다.", "이웃"),
)
FAMILIES = ("gpt2", "bert", "roberta", "llama", "xlnet", "t5", "bart", "distilbert", "mamba")
FILLER = " ".join(["the old harbour is kind and patient"] * 30)


def places(pairs: Sequence[tuple[str, str]] = TEXTS) -> list[Place]:
    return [
        Place(text, tuple(match.span() for match in re.finditer(re.escape(word), text)))
        for text, word in pairs
    ]


def slowly(folder: Path, asked: Sequence[Place], layer: int) -> NDArray[np.float64]:
    """One text at a time, as transformers' documentation shows it."""
    tokenizer: Any = AutoTokenizer.from_pretrained(folder)
    model: Any = AutoModel.from_pretrained(folder).eval()
    body = model.get_encoder() if model.config.is_encoder_decoder else model
    vectors = []
    for place in asked:
        encoded = tokenizer(place.text, return_tensors="pt", return_offsets_mapping=True)
        spans = encoded.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            hidden = body(**encoded, output_hidden_states=True).hidden_states[layer][0]
        means = []
        for start, end in place.spans:
            tokens = [n for n, (a, b) in enumerate(spans) if max(a, start) < min(b, end)]
            means.append(hidden[tokens].mean(dim=0))
        vectors.append(torch.stack(means).mean(dim=0).double().numpy())
    return np.stack(vectors)


def reader(folder: Path, **settings: Any) -> StateReader:
    return StateReader(load(str(folder), head="none", device="cpu"), **settings)


@pytest.mark.parametrize("name", FAMILIES)
def test_states_are_those_of_a_plain_loop(made: Made, name: str) -> None:
    expected = slowly(made(name), places(), -1)
    for size in (None, 1, 40):
        found = reader(made(name), batch_tokens=size).states(places())
        assert found.refused == {}
        assert np.abs(found.vectors - expected).max() < 1e-5 * max(1, np.abs(expected).max())


@pytest.mark.parametrize("name", ["gpt2", "bert", "t5"])
def test_every_layer_can_be_read(made: Made, name: str) -> None:
    for layer in range(3):
        found = reader(made(name), layer=layer).states(places())
        assert np.allclose(found.vectors, slowly(made(name), places(), layer), atol=1e-4)


def test_a_layer_that_the_model_does_not_have(made: Made) -> None:
    for layer in (3, -1):
        with fails(f"has no layer {layer}", fix="0 (embeddings) to 2"):
            reader(made("bert"), layer=layer)


def test_a_tokenizer_without_characters_is_refused(made: Made) -> None:
    loaded = load(str(made("bert")), head="none", device="cpu")

    class Slow:
        is_fast = False

    loaded.tokenizer = Slow()
    with fails("which characters", fix="fast tokenizer"):
        StateReader(loaded)


@pytest.mark.parametrize("name", ["gpt2", "roberta", "llama", "bert"])
def test_a_long_text_is_cut_around_the_word(made: Made, name: str) -> None:
    for text in (f"A potter. {FILLER}", f"{FILLER} potter {FILLER}", f"{FILLER} a potter"):
        [place] = places([(text, "potter")])
        read = reader(made(name))
        found = read.states([place])
        assert found.refused == {}
        assert np.isfinite(found.vectors).all()
        assert read.tokens <= WINDOW
        if name == "gpt2":  # what is to the right of the word does not matter
            longer = Place(text + FILLER, place.spans)
            assert np.allclose(read.states([longer]).vectors, found.vectors, atol=1e-6)


def test_each_occurrence_in_a_long_text_gets_its_own_part(made: Made) -> None:
    [place] = places([(f"A potter. {FILLER} potter", "potter")])
    read = reader(made("bert"))
    both = read.states([place]).vectors[0]
    alone = read.states([Place(place.text, (span,)) for span in place.spans]).vectors
    assert np.allclose(both, alone.mean(axis=0), atol=1e-6)
    assert not np.allclose(alone[0], alone[1], atol=1e-2)


def test_words_without_a_state_are_refused_with_a_reason(made: Made) -> None:
    text = "A potter in Ω." + "potter" * 200
    spans = [((2, 8),), ((12, 13),), ((14, len(text)),), ((1, 2),), ()]
    asked = [Place(text, each) for each in spans]
    found = reader(made("bert")).states(asked)
    assert found.refused == {1: "unknown_token", 2: "unknown_token", 3: "no_token", 4: "no_token"}
    long = reader(made("gpt2")).states(asked[2:3])
    assert long.refused == {0: "too_long"}
    assert np.isnan(long.vectors).all()


def test_a_text_is_read_once_for_all_its_words(made: Made) -> None:
    read = reader(made("bert"))
    twice = places([(TEXTS[3][0], "She"), (TEXTS[3][0], "juggle")])
    told: list[int] = []
    read.states(twice, told.append)
    assert sum(told) == 1


def test_no_memory_halves_the_batches(made: Made, monkeypatch: Patch) -> None:
    read = reader(made("bert"), batch_tokens=400)
    whole, forward = read.states(places()).vectors, read._forward

    def full(rows: Any, length: int) -> Any:
        if len(rows) > 2:
            raise RuntimeError("out of memory")
        return forward(rows, length)

    monkeypatch.setattr(read, "_forward", full)
    assert np.allclose(read.states(places()).vectors, whole, atol=1e-5)
    assert "out of memory: using batches of" in read.loaded.notices[0]
    monkeypatch.setattr(read, "_forward", lambda rows, length: full([0, 0, 0], length))
    with fails("not enough memory for one text"):
        read.states(places())


def test_a_reader_is_opened_once(made: Made) -> None:
    spec = StatesSpec(str(made("bert")), device="cpu", layer=1)
    assert open_states(spec) is open_states(spec)
    assert open_states(spec).layer == 1


def test_a_cut_never_loses_the_word() -> None:
    for left in (False, True):
        for first in range(50):
            for size in (1, 5):
                start, end = _cut(first, min(first + size, 50), 50, 7, left=left)
                assert 0 <= start <= first < min(first + size, 50) <= end <= 50
                assert end - start == 7
