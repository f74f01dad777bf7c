"""Node classification with three neighbour-mean layers on a fixed-fanout graph."""
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
NODES = 200_000 if BIG else 500
FAN = 16 if BIG else 4
POPULAR = 16 if BIG else 4
FEAT, CLASSES = (128, 48) if BIG else (16, 5)


class NeighbourMean(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.own = nn.Linear(dim, dim)
        self.agg = nn.Linear(dim, dim, bias=False)

    def forward(self, h, nbr):
        m = h[nbr].mean(1)
        return F.relu(self.own(h) + self.agg(m), inplace=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(FEAT, FEAT)
        self.layers = nn.ModuleList(NeighbourMean(FEAT) for _ in range(2))
        self.out = nn.Linear(FEAT, CLASSES)

    def forward(self, x, nbr):
        h = F.relu(self.inp(x), inplace=True)
        for layer in self.layers:
            h = layer(h, nbr)
        return self.out(h)


def graph():
    nbr = torch.randint(0, NODES, (NODES, FAN), device=DEV)
    hub = torch.rand(NODES, FAN, device=DEV) < 0.10
    popular = torch.randint(0, POPULAR, (NODES, FAN), device=DEV)
    return torch.where(hub, popular, nbr)


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    net = Net().to(DEV)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3, fused=BIG)
    x = torch.randn(NODES, FEAT, device=DEV)
    y = torch.randint(0, CLASSES, (NODES,), device=DEV)
    return {"net": net, "opt": opt, "x": x, "y": y, "nbr": graph()}


def step(s):
    s["opt"].zero_grad(set_to_none=True)
    loss = F.cross_entropy(s["net"](s["x"], s["nbr"]), s["y"])
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=2)
