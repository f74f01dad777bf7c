"""Emulator of a chemistry solver: a deep, wide regression network."""
import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES, WIDTH, DEPTH, B = 512, 4096, 26, 128


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.lin = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + F.silu(self.lin(self.norm(x)))


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    with torch.device("cuda"):
        net = nn.Sequential(nn.Linear(SPECIES, WIDTH), *[Residual() for _ in range(DEPTH)], nn.Linear(WIDTH, SPECIES))
        x = torch.rand(B, SPECIES)
    return {"net": net, "opt": torch.optim.Adam(net.parameters(), lr=1e-4, weight_decay=1e-6), "x": x}


def step(s):
    loss = F.l1_loss(s["net"](s["x"]), s["x"].flip(0))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=8)
