"""Image-to-image regression with a hand-written gated activation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
CH, SIDE, BATCH, DEPTH = (64, 256, 32, 2) if BIG else (4, 8, 2, 2)


class SoftGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.sigmoid(x)
        ctx.gate = y
        return y

    @staticmethod
    def backward(ctx, grad):
        y = ctx.gate.detach()
        return grad * y * (1 - y)


class Stage(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Conv2d(CH, CH, 3, padding=1, device=DEV)
        self.gate = nn.Conv2d(CH, CH, 1, device=DEV)

    def forward(self, x):
        return x + self.value(x) * SoftGate.apply(self.gate(x))


def setup():
    net = nn.Sequential(
        nn.Conv2d(3, CH, 3, padding=1, device=DEV),
        *(Stage() for _ in range(DEPTH)),
        nn.Conv2d(CH, 3, 3, padding=1, device=DEV),
    ).to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=BIG)
    return {"net": net, "opt": opt}


def step(s):
    x = torch.rand(BATCH, 3, SIDE, SIDE, device=DEV).contiguous(memory_format=torch.channels_last)
    noisy = x + 0.1 * torch.randn_like(x)
    s["opt"].zero_grad(set_to_none=True)
    loss = F.l1_loss(s["net"](noisy), x)
    loss.backward()
    s["opt"].step()
    s["loss"] = loss.item()


if __name__ == "__main__":
    main_memory(setup, step, steps=12)
