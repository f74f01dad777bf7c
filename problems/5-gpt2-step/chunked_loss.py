"""Head and cross entropy a few rows at a time, so that the logits of a batch never exist at once.

The loss of a chunk of rows gives the gradient of its logits at once, in the logits' own memory; two
products turn that into the gradients of hidden states and weight. So the backward pass is done in
the forward pass. Liger-Kernel (linkedin/Liger-Kernel) and Cut Cross-Entropy (Wijmans et al. 2024)
do the same with kernels of their own.
"""

from typing import Any

import torch
from torch import Tensor

CHUNKS = 4


class ChunkedLoss(torch.autograd.Function):
    """The mean cross entropy of ``hidden @ weight.T`` against targets, without the whole logits."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        """hidden: [N, width], weight: [rows, width], targets: [N] int; returns the mean loss."""
        total = hidden.shape[0]
        losses = torch.empty(total, dtype=torch.float32, device=hidden.device)
        of_hidden, of_weight = torch.empty_like(hidden), torch.zeros_like(weight)
        size = -(-total // CHUNKS)
        for start in range(0, total, size):
            rows = slice(start, start + size)
            logits = hidden[rows] @ weight.t()
            to_gradient(logits, targets[rows], losses[rows], 1 / total)
            torch.mm(logits, weight, out=of_hidden[rows])
            of_weight.addmm_(logits.t(), hidden[rows])
        ctx.save_for_backward(of_hidden, of_weight)
        return losses.mean()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """Scale the gradients that the forward pass found."""
        of_hidden, of_weight = ctx.saved_tensors
        factor = gradients[0].to(of_hidden.dtype)
        return of_hidden * factor, of_weight * factor, None


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
