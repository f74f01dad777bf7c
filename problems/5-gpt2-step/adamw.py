"""AdamW on bfloat16 weights with float32 masters: 28 bytes a weight, a launch for each or for all.

The update is that of torch.optim.AdamW (Loshchilov and Hutter 2019). Masters and moments are
float32, gradients and the weights that the model reads are bfloat16.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn


class MasterAdamW(torch.optim.Optimizer):
    """AdamW whose state holds each weight in float32."""

    def __init__(
        self,
        weights: Iterable[nn.Parameter],
        masters: Iterable[Tensor],
        lr: float,
        betas: tuple[float, float],
        decay: float,
        eps: float,
        warmup_steps: int,
        *,
        one_launch: bool = False,
    ) -> None:
        """Keep ``masters``, the weights in float32 before they were rounded.

        ``one_launch``: all weights have gradients in each step, and one launch updates them.

        The learning rate grows to ``lr`` over the warm-up's steps. It follows from the number of
        the step, which lies in device memory, so that it also grows in a CUDA graph.
        """
        options = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": decay}
        super().__init__(weights, options | {"warmup_steps": warmup_steps})
        for weight, master in zip(self.param_groups[0]["params"], masters, strict=True):
            self.state[weight] = {
                "step": torch.zeros((), device=weight.device, dtype=torch.float32),
                "master": master,
                "mean": torch.zeros_like(master),
                "square": torch.zeros_like(master),
            }
        self._one_launch = one_launch
        self._together: Any = None

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # noqa: ARG002 - torch's signature
        """Update every weight that has a gradient."""
        weights = [weight for weight in self.param_groups[0]["params"] if weight.grad is not None]
        torch._foreach_add_([self.state[weight]["step"] for weight in weights], 1)
        if self._one_launch and weights[0].is_cuda:
            self._apply_all(weights)
            return
        for weight in weights:
            self._apply(weight)

    def _apply_all(self, weights: list[nn.Parameter]) -> None:
        if self._together is None:
            from adamw_kernel import Together

            self._together = Together(weights, [self.state[weight] for weight in weights])
        self._together(self.param_groups[0])

    def _apply(self, weight: nn.Parameter) -> None:
        apply = _on_gpu if weight.is_cuda else _on_cpu
        apply(weight, weight.grad, self.state[weight], self.param_groups[0])


def _on_gpu(weight: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Any) -> None:
    from adamw_kernel import update

    update(weight, gradient, state, group)


def _on_cpu(weight: Tensor, gradient: Tensor, state: dict[str, Tensor], group: Any) -> None:
    beta_1, beta_2 = group["betas"]
    wide = gradient.float()
    state["mean"].lerp_(wide, 1 - beta_1)
    state["square"].lerp_(wide * wide, 1 - beta_2)
    mean = state["mean"] / (1 - beta_1 ** state["step"])
    root = (state["square"] / (1 - beta_2 ** state["step"])).sqrt() + group["eps"]
    lr = group["lr"] * (state["step"] / group["warmup_steps"]).clamp(max=1)
    state["master"].mul_(1 - lr * group["weight_decay"]).sub_(lr * mean / root)
    weight.copy_(state["master"])
