"""Compute scores with other tools, for tests and benchmarks; runs in an environment of its own.

Reads one JSON request per line from standard input and answers each with one JSON line. An object
opens a model: ``{"peer": ..., "model": FOLDER, "threads": 2}``. A list has items to score with the
open model. Its answer has the values in natural logarithms, the wall-clock and CPU seconds
(including tokenisation, not the opening), and the peak memory of the process so far, in MB:

========================= ========================= ==================================
peer                      an item                   what is computed
========================= ========================= ==================================
lm-eval                   [context or "", text]     HFLM.loglikelihood, batch 32
minicons                  text                      IncrementalLMScorer, BOS, batch 32
minicons-conditional      [context, text]           its conditional_score, batch 32
minicons-pll              text                      MaskedLMScorer, original, batch 8
minicons-pll-word-l2r     text                      within_word_l2r, batch 8
stereoset-attribute       [context, words]          one [MASK] at a time
stereoset-nsp             [context, text]           one pair at a time
========================= ========================= ==================================

The last two are a simple version of StereoSet's ``eval_discriminative_models.py``, because its own
code needs transformers 2.
"""

import json
import math
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Score = Callable[[list[Any]], list[float]]
BLANK = "BLANK"


def lm_eval(model: str) -> Score:
    """Score a text after the BOS token, or after its context and one space."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    scorer = HFLM(pretrained=model, device="cpu", dtype="float32", batch_size=32)

    def score(items: list[Any]) -> list[float]:
        requests = [
            Instance("loglikelihood", {}, (context, f" {text}" if context else text), n)
            for n, (context, text) in enumerate(items)
        ]
        return [value for value, _ in scorer.loglikelihood(requests, disable_tqdm=True)]

    return score


def minicons(model: str, *, conditional: bool = False) -> Score:
    """Score a text after the BOS token, or after its context."""
    from minicons.scorer import IncrementalLMScorer

    scorer = IncrementalLMScorer(model, "cpu")

    def score(items: list[Any]) -> list[float]:
        found: list[float] = []
        for batch in parts(items, 32):
            if conditional:
                contexts, texts = (list(column) for column in zip(*batch, strict=True))
                found += scorer.conditional_score(contexts, texts, reduction=total)
            else:
                found += scorer.sequence_score(batch, reduction=total, bos_token=True)
        return found

    return score


def minicons_pll(model: str, *, metric: str = "original") -> Score:
    """Score a text with every token masked, alone or with the rest of its word."""
    from minicons.scorer import MaskedLMScorer
    from transformers import PreTrainedTokenizerBase

    # transformers 5 renamed this method; minicons 0.3.39 still uses the old name.
    PreTrainedTokenizerBase.batch_encode_plus = lambda self, *args, **options: self(
        *args, **options
    )
    scorer = MaskedLMScorer(model, "cpu")

    def score(items: list[Any]) -> list[float]:
        return [
            value
            for batch in parts(items, 8)
            for value in scorer.sequence_score(batch, reduction=total, PLL_metric=metric)
        ]

    return score


def stereoset_attribute(model: str) -> Score:
    """The logarithm of the mean probability of the attribute's pieces, the later ones absent."""
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForMaskedLM.from_pretrained(model).eval()

    @torch.no_grad()
    def score(items: list[Any]) -> list[float]:
        found = []
        for context, words in items:
            pieces = tokenizer.encode(words, add_special_tokens=False)
            values = []
            for k, piece in enumerate(pieces):
                earlier = tokenizer.decode(pieces[:k]) if k else ""
                # The next piece continues the word of the earlier pieces: no space between.
                filled = context.replace(BLANK, earlier + tokenizer.mask_token)
                ids = tokenizer(filled, return_tensors="pt")
                place = int((ids["input_ids"][0] == tokenizer.mask_token_id).nonzero()[0])
                odds = network(**ids).logits.softmax(-1)
                values.append(float(odds[0, place, piece]))
            found.append(math.log(sum(values) / len(values)))
        return found

    return score


def stereoset_nsp(model: str) -> Score:
    """The logarithm of the probability that the text comes after the context."""
    import torch
    from transformers import AutoModelForNextSentencePrediction, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForNextSentencePrediction.from_pretrained(model).eval()

    @torch.no_grad()
    def score(items: list[Any]) -> list[float]:
        pairs = (tokenizer(context, text, return_tensors="pt") for context, text in items)
        return [float(network(**pair).logits.log_softmax(-1)[0, 0]) for pair in pairs]

    return score


PEERS: dict[str, Callable[[str], Score]] = {
    "lm-eval": lm_eval,
    "minicons": minicons,
    "minicons-conditional": lambda model: minicons(model, conditional=True),
    "minicons-pll": minicons_pll,
    "minicons-pll-word-l2r": lambda model: minicons_pll(model, metric="within_word_l2r"),
    "stereoset-attribute": stereoset_attribute,
    "stereoset-nsp": stereoset_nsp,
}


def parts(items: list[Any], size: int) -> Iterator[list[Any]]:
    """Yield the items in lists of at most ``size``."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def total(values: Any) -> float:
    """The sum of a tensor, in double precision."""
    return float(values.double().sum())


def peak() -> float:
    """The peak memory of this process so far, in MB; if there is /proc, without its parent's.

    The kernel's ``ru_maxrss`` includes the memory that the parent had when it started this process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = re.search(r"VmHWM:\s*(\d+) kB", status.read_text("ascii"))
        if line:
            return int(line[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(open_: Callable[[dict[str, Any]], Score]) -> None:
    """Answer requests until there are none; other output goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    score: Score | None = None
    for line in sys.stdin:
        request = json.loads(line)
        answer: dict[str, Any] = {}
        if isinstance(request, dict):
            score = open_(request)
            answer = getattr(score, "about", {})
        else:
            assert score is not None, "open a model first"
            start, before = time.perf_counter(), time.process_time()
            answer = {"values": score(request)}
            answer["seconds"] = time.perf_counter() - start
            answer["cpu"] = time.process_time() - before
        answer["peak"] = peak()
        out.write(json.dumps(answer) + "\n")
        out.flush()


def open_peer(request: dict[str, Any]) -> Score:
    """Open the model of a request; return its peer's scorer."""
    import torch

    torch.set_num_threads(request["threads"])
    return PEERS[request["peer"]](request["model"])


if __name__ == "__main__":
    serve(open_peer)
