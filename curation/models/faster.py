"""Replace layers by faster ones that compute the same.

On CPUs, linear layers are run by oneDNN with weights that are packed beforehand, if oneDNN is
faster than torch's default on this machine (it is on AMD, much faster on the newest). This uses a
private operation of torch, so it is used only if it exists, gives the same results, and is faster
in a short trial. GPT-2's own GELU of five operations is replaced by torch's single operation.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from transformers import activations, pytorch_utils

from curation.models.loading import Loaded

_ROWS = 256
_WIDTHS = (768, 3072, 8192)  # of a body's layers and of a part of a vocabulary
_TRIALS = 5


class PackedLinear(torch.nn.Module):
    """A linear layer run by oneDNN; weights of shape (out, in) are packed once."""

    def __init__(self, weight: Any, bias: Any) -> None:
        super().__init__()
        self.packed = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
        self.bias = bias

    @property
    def weight(self) -> Any:
        """The packed weights; blocks need their dtype."""
        return self.packed

    def forward(self, x: Any) -> Any:
        """The layer's output; shape (…, out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.packed, self.bias, "none", [], "")


def quicken(loaded: Loaded, *, private: bool = True) -> None:
    """Replace layers of a model in place; ``about`` records what was done.

    Layers of one type (the same place in the same type of block) are replaced together, after one
    of them has been tried. Some blocks access the inside of their layers, which only works with
    torch's own layers.

    Args:
        loaded: the model.
        private: whether private operations of torch may be used.
    """
    model = loaded.model
    makers: dict[type, Callable[[Any], Any]] = {
        activations.NewGELUActivation: lambda _: torch.nn.GELU(approximate="tanh")
    }
    packs = private and model.device.type == "cpu" and _onednn_is_faster(model.dtype)
    if packs:
        makers |= {torch.nn.Linear: _pack, pytorch_utils.Conv1D: _pack}
    groups: dict[tuple[str, str, type], list[Any]] = defaultdict(list)
    for parent in model.modules():
        for name, child in parent.named_children():
            if type(child) in makers:
                groups[type(parent).__name__, name, type(child)].append(parent)
    usual = _sample(loaded)
    swapped = 0
    for (_, name, _), parents in groups.items():
        original = getattr(parents[0], name)
        make = makers[type(original)]
        setattr(parents[0], name, make(original))
        if not _agrees(loaded, usual):
            setattr(parents[0], name, original)
            continue
        for parent in parents[1:]:
            setattr(parent, name, make(getattr(parent, name)))
        swapped += make is _pack
    loaded.about["linear"] = "onednn, packed" if swapped else "torch"


def _sample(loaded: Loaded) -> Any:
    """The output of the model for a few tokens."""
    ids = torch.arange(8, device=loaded.device)[None] % len(loaded.tokenizer)
    decoder = {"decoder_input_ids": ids} if loaded.model.config.is_encoder_decoder else {}
    with torch.inference_mode():
        return loaded.model(input_ids=ids, **decoder)[0].float()


def _agrees(loaded: Loaded, usual: Any) -> bool:
    try:
        output = _sample(loaded)
    except (AttributeError, RuntimeError, TypeError):
        return False
    allowed = 64 * torch.finfo(loaded.model.dtype).eps * max(1.0, float(usual.abs().max()))
    return bool((output - usual).abs().max() <= allowed)


def _pack(layer: Any) -> Any:
    turned = isinstance(layer, pytorch_utils.Conv1D)  # its weight has shape (in, out)
    weight = layer.weight.t() if turned else layer.weight
    return PackedLinear(weight.detach(), None if layer.bias is None else layer.bias.detach())


@cache
def _onednn_is_faster(dtype: Any) -> bool:
    """Whether the private operation exists, is correct, and is faster on this machine.

    The two ways are timed in turns, so that other work on the machine affects both. The answer
    holds for the whole process: several models need one trial.
    """
    best = {"torch": 0.0, "packed": 0.0}
    try:
        with torch.inference_mode():
            for wide in _WIDTHS:
                layer = torch.nn.Linear(_WIDTHS[0], wide, dtype=dtype)
                swapped, x = _pack(layer), torch.randn(_ROWS, _WIDTHS[0], dtype=dtype)
                if not torch.allclose(swapped(x), layer(x), rtol=1e-4, atol=1e-4):
                    return False
                times = [(_seconds(layer, x), _seconds(swapped, x)) for _ in range(_TRIALS)]
                best["torch"] += min(usual for usual, _ in times)
                best["packed"] += min(packed for _, packed in times)
    except (AttributeError, RuntimeError):
        return False
    return best["packed"] < best["torch"]


def _seconds(layer: Any, x: Any) -> float:
    start = time.perf_counter()
    layer(x)
    return time.perf_counter() - start
