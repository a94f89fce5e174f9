"""BertAdam, with which StereoSet trains its next-sentence heads (ACL A.5, arXiv A.4)."""

from collections.abc import Callable
from typing import Any

import torch

_BETAS, _EPS = (0.9, 0.999), 1e-6


class BertAdam(torch.optim.Optimizer):
    """Adam with decoupled weight decay and without bias correction.

    The optimizer of the BERT release (Devlin et al. 2019), as the package pytorch-pretrained-bert
    names it. With gradient g, rate r and decay d, of each weight w

        m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,  w ← w − r (m / (√v + 1e-6) + d w).

    AdamW divides m by 1 − 0.9ᵗ and v by 1 − 0.999ᵗ at step t. Without that, the first steps are
    larger: 3.2 times as large at step 1, 6.6 times at most (about step 12), twice at step 288.
    That package also clips the gradient of each weight matrix at norm 1 by itself, which is left
    to the caller here, as are warm-up and the fall of the rate.
    """

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the weights by their gradients."""
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["mean"], state["square"] = (torch.zeros_like(weight) for _ in range(2))
                state["mean"].lerp_(weight.grad, 1 - _BETAS[0])
                state["square"].lerp_(weight.grad.square(), 1 - _BETAS[1])
                change = state["mean"] / (state["square"].sqrt() + _EPS)
                weight -= group["lr"] * (change + group["weight_decay"] * weight)
        return loss
