"""BertAdam, the optimizer of StereoSet's next-sentence heads (ACL A.5, arXiv A.4)."""

from collections.abc import Callable
from typing import Any

import torch

_BETAS, _EPS = (0.9, 0.999), 1e-6


class BertAdam(torch.optim.Optimizer):
    """Adam with decoupled weight decay and without bias correction.

    This is the optimizer of the BERT release (Devlin et al. 2019); the name is that of the package
    pytorch-pretrained-bert. With gradient g, rate r and decay d, each weight w changes by

        m ← 0.9 m + 0.1 g,  v ← 0.999 v + 0.001 g²,  w ← w − r (m / (√v + 1e-6) + d w).

    AdamW divides m by 1 − 0.9ᵗ and v by 1 − 0.999ᵗ at step t. Without that, the first steps are
    larger: 3.2 times as large at step 1, at most 6.6 times (about step 12), twice at step 288.
    That package also clips the gradient of each weight matrix at norm 1, warms up the rate and lets
    it fall. Here this is left to the caller.
    """

    def __init__(self, groups: Any, lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the weights by their gradients."""
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
