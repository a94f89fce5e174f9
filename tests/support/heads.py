"""Next-sentence heads for tests."""

from pathlib import Path

import torch

from curation.models import nsp
from curation.models.loading import Loaded, load


def with_head(folder: Path) -> Loaded:
    """A tiny model with a head of wide weights, as if it had been trained."""
    base = load(str(folder), head="none")
    torch.manual_seed(0)
    head = nsp.Head(base.model.config.get_text_config().hidden_size).eval().requires_grad_(False)
    head.dense.weight.normal_(0, 0.3)
    head.out.weight.normal_(0, 1)
    model = nsp.NextSentenceModel(base.model, head, pool=nsp.POOLS[base.family], follows=1)
    return Loaded(base.name, base.family, model, base.tokenizer, base.about)
