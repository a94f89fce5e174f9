"""How much attention each token of a text gets, for the rule ``aula``."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from curation.files import CurationError
from curation.models.forward import Runner, Text


@torch.inference_mode()
def mean_attentions(runner: Runner, texts: Sequence[Text]) -> list[NDArray[np.float64]]:
    """For each token of a text, the mean attention that all tokens of the text pay to it.

    The mean is over layers, heads and attending tokens, special ones too (``calculate_aul`` of
    Kaneko & Bollegala 2022). Batches have texts of one length, so nothing is padded.

    Args:
        runner: a masked model.
        texts: the texts; what they read does not matter.

    Returns:
        For each text an array of shape (tokens,) that sums to 1.

    Raises:
        CurationError: the model does not return attentions.
    """
    model = runner.loaded.model
    by_length: dict[int, list[int]] = defaultdict(list)
    for number, text in enumerate(texts):
        by_length[len(text.ids)].append(number)
    weights: list[NDArray[np.float64]] = [np.zeros(0)] * len(texts)
    usual = model.config._attn_implementation
    model.set_attn_implementation("eager")  # others do not keep attentions
    try:
        for length, numbers in by_length.items():
            step = max(1, runner.batch_tokens // length)
            for start in range(0, len(numbers), step):
                part = numbers[start : start + step]
                ids = torch.tensor([list(texts[n].ids) for n in part], device=model.device)
                output = model(ids, attention_mask=torch.ones_like(ids), output_attentions=True)
                layers = output.attentions
                if not layers or any(layer is None for layer in layers):
                    raise CurationError(
                        f"{runner.loaded.name}: the model does not return attentions",
                        "use the rule «aul»",
                    )
                # Each layer has the shape (texts, heads, attending tokens, tokens).
                means = sum(layer.double().mean((1, 2)) for layer in layers) / len(layers)
                for n, row in zip(part, means.cpu().numpy(), strict=True):
                    weights[n] = row
    finally:
        model.set_attn_implementation(usual)
    return weights
