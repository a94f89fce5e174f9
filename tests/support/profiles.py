"""What the profiles are, written down once more from the papers, and computed slowly and plainly.

Like ``support.reference``, it shares no code with ``curation.models`` but the question asked.
"""

import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from curation.models.rules import ScoringRequest
from support.reference import reference
from support.written import beside

_HF: Any = importlib.import_module("transformers")
DEFINED: dict[str, dict[str, list[str]]] = beside(__file__)
"""The rules of each profile by family: intrasentence, intersentence."""


def defined(
    folder: Path, head: Path, profile: str, family: str, ask: ScoringRequest
) -> float | None:
    """The score of an association under a profile.

    Args:
        folder: the model.
        head: the folder of its trained next-sentence head.
        profile: a key of ``DEFINED``.
        family: of the model.
        ask: the association.
    """
    rule = DEFINED[profile][family][ask.kind == "intersentence"]
    if not rule.endswith("head"):
        return reference(folder, rule, ask)
    kind = _HF.AutoConfig.from_pretrained(folder).architectures[0]
    if rule.startswith("own") and kind in ("BertForPreTraining", "BertForNextSentencePrediction"):
        return reference(folder, "nsp", ask)
    return trained_head(head, ask)


@cache
def _open(folder: Path) -> tuple[Any, Any]:
    body = _HF.AutoModel.from_pretrained(folder, attn_implementation="eager")
    return body.eval(), _HF.AutoTokenizer.from_pretrained(folder)


def trained_head(folder: Path, ask: ScoringRequest, *, segments: bool | None = None) -> float:
    """Under a head that was trained: dense, tanh, two logits; the second says that it follows.

    It reads BERT's and RoBERTa's first token, XLNet's last, and the mean of GPT-2's. Some
    tokenizers are silent about ``segments``.
    """
    told = json.loads((folder / "head.json").read_bytes())
    weights = load_file(folder / "head.safetensors")
    body, tokenizer = _open(folder)
    if told["family"] == "causal":
        given = tokenizer(f"{ask.context} {ask.sentence}", return_tensors="pt")
    else:
        segments = True if told["family"] == "xlnet" else segments
        how = {"return_tensors": "pt", "return_token_type_ids": segments}
        given = tokenizer(ask.context, ask.sentence, **how)
    with torch.no_grad():
        states = body(**given)[0][0]
        read = {"masked": states[0], "xlnet": states[-1], "causal": states.mean(0)}
        state = read[told["family"]]
        inner = torch.tanh(weights["dense.weight"] @ state + weights["dense.bias"])
        logits = weights["out.weight"] @ inner + weights["out.bias"]
    return float(torch.log_softmax(logits.double(), -1)[1])
