"""Sentences per second of a processor of contextual reduction, beside a plain transformers loop.

    python benchmarks/trust_contextual.py [TEXT] [--most 200] [--width 384] [--layers 6]

TEXT is a .txt file with a document on each line; by default paragraphs of WikiText-2.
The model is a BERT with random weights. The plain loop reads the same sentences in the order of the
text, in padded batches of 32. Both give the states of the same words; the script checks that they
are equal.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from curation.models import tiny
from curation.models.loading import load
from curation.models.states import Place, StateReader
from curation.trust.contextual.sampling import sample_contexts

WIKITEXT = Path(__file__).parents[2] / "shared" / "realdata" / "divdist" / "wikitext2" / "valid.txt"
WORDS = ("she", "her", "mother", "woman", "he", "his", "father", "man")
WORDS += ("king", "queen", "captain", "soldier", "singer")
BATCH = 32
ROUNDS = 3


def main() -> None:
    """Measure both, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("text", type=Path, nargs="?", default=WIKITEXT)
    parser.add_argument("--most", type=int, default=200, help="contexts of each word")
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--longest", type=int, default=350, help="characters of a sentence")
    given = parser.parse_args()
    if not given.text.is_file():
        sys.exit(f"no such file: {given.text}; name a text")
    sample = sample_contexts([given.text], WORDS, most=given.most, seed=1, workers=1)
    contexts = [each for each in sample.contexts if len(each.text) <= given.longest]
    text = given.text.read_text("utf-8")
    contexts.sort(key=lambda each: text.find(each.text))
    places = [each.place for each in contexts]
    with tempfile.TemporaryDirectory() as folder:
        model = tiny.make(
            Path(folder),
            text.splitlines(),
            family="masked",
            steps=0,
            width=given.width,
            layers=given.layers,
            vocabulary=20_000,
        )
        compare(model, places)


def compare(model: Path, places: list[Place]) -> None:
    """Print the rates of both ways to read the same states."""
    sentences = len({place.text for place in places})
    print(f"{sentences} sentences, {len(places)} words, {torch.get_num_threads()} threads")
    reader = StateReader(load(str(model), head="none", device="cpu"))
    tokenizer: Any = AutoTokenizer.from_pretrained(model)
    network: Any = AutoModel.from_pretrained(model).eval()
    reader.states(places[:64])  # warm up
    plainly(tokenizer, network, places[:64])
    fast = slow = 0.0
    for _ in range(ROUNDS):  # in turns, so that other work on the machine slows both
        ours, seconds = timed(lambda: reader.states(places).vectors)
        fast += seconds / ROUNDS
        plain, seconds = timed(lambda: plainly(tokenizer, network, places))
        slow += seconds / ROUNDS
    gap = float(np.abs(ours - plain).max())
    assert gap < 1e-4, f"the states differ by {gap}"
    print("sentences per second of a processor:")
    print(f"curation    {sentences / fast:8.1f}")
    print(f"plain loop  {sentences / slow:8.1f}, batches of {BATCH}")
    print(f"ratio       {slow / fast:8.2f}; the states differ by at most {gap:.1e}")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What a function returns, and the seconds of a processor that it took."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


@torch.inference_mode()
def plainly(tokenizer: Any, model: Any, places: list[Place]) -> Any:
    """The states of words, each sentence once, as transformers' documentation shows it."""
    texts = list(dict.fromkeys(place.text for place in places))
    own: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        own.setdefault(place.text, []).append(number)
    vectors = np.zeros((len(places), model.config.hidden_size))
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        encoded = tokenizer(batch, return_tensors="pt", padding=True, return_offsets_mapping=True)
        spans = encoded.pop("offset_mapping").tolist()
        hidden = model(**encoded).last_hidden_state.numpy()
        for row, text in enumerate(batch):
            for number in own[text]:
                means = []
                for a, b in places[number].spans:
                    tokens = [n for n, (c, d) in enumerate(spans[row]) if max(a, c) < min(b, d)]
                    means.append(hidden[row][tokens].mean(axis=0))
                vectors[number] = np.mean(means, axis=0)
    return vectors


if __name__ == "__main__":
    main()
