"""Head and cross entropy in one function, in chunks of rows if the logits shall not exist at once.

The loss of a chunk of rows gives the gradient of its logits at once, in the logits' own memory; two
products turn that into the gradients of hidden states and weight. So the backward pass is done in
the forward pass. Liger-Kernel (linkedin/Liger-Kernel) and Cut Cross-Entropy (Wijmans et al. 2024)
do the same with kernels of their own.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Multiply = Callable[[Tensor, Tensor], Tensor]
ToGradient = Callable[[Tensor, Tensor, Tensor, float], None]


class ChunkedLoss(torch.autograd.Function):
    """The mean cross entropy of ``hidden @ weight.T`` against targets, by chunks of rows."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        targets: Tensor,
        chunks: int,
        multiply: Multiply,
        turn: ToGradient,
    ) -> Tensor:
        """hidden: [N, width], weight: [rows, width], targets: [N] int; returns the mean loss.

        ``multiply`` is a matrix product, such as ``torch.mm``; ``turn`` does what ``to_gradient``
        does.
        """
        total = hidden.shape[0]
        losses = torch.empty(total, dtype=torch.float32, device=hidden.device)
        of_hidden: list[Tensor] = []
        of_weight: Tensor | None = None
        size = -(-total // chunks)
        for start in range(0, total, size):
            rows = slice(start, start + size)
            logits = multiply(hidden[rows], weight.t())
            turn(logits, targets[rows], losses[rows], 1 / total)
            of_hidden.append(multiply(logits, weight))
            if of_weight is None:
                of_weight = multiply(logits.t(), hidden[rows])
            else:
                of_weight.addmm_(logits.t(), hidden[rows])
        whole = of_hidden[0] if len(of_hidden) == 1 else torch.cat(of_hidden)
        ctx.save_for_backward(whole, of_weight)
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients that the forward pass found, scaled; they are scaled once."""
        found = ctx.saved_tensors
        for gradient in found:
            scale_in_place(gradient, gradients[0])
        return *found, None, None, None, None


def scale_in_place(values: Tensor, factor: Tensor) -> None:
    """Multiply values by a float32 factor of one element."""
    if values.is_cuda:
        from loss_kernel import scale_in_place as on_gpu

        on_gpu(values, factor)
        return
    values *= factor


def to_gradient(logits: Tensor, targets: Tensor, losses: Tensor, scale: float) -> None:
    """Turn logits [n, rows] into ``scale`` times their loss's gradient; write the losses [n]."""
    if logits.is_cuda:
        from loss_kernel import to_gradient as on_gpu

        on_gpu(logits, targets, losses, scale)
        return
    wide = logits.float()
    sums = wide.logsumexp(dim=1)
    losses.copy_(sums - wide.gather(1, targets[:, None])[:, 0])
    gradient = (wide - sums[:, None]).exp()
    gradient[torch.arange(len(targets)), targets] -= 1
    logits.copy_(gradient * scale)
