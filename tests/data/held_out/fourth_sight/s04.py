"""Node classification on a citation-like graph: two message-passing layers."""
import torch
from torch import nn

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
NODES, EDGES, WIDTH = (100_000, 2_000_000, 128) if DEV == "cuda" else (500, 4000, 16)


class Conv(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.lin = nn.Linear(a, b)
        self.own = nn.Linear(a, b)

    def forward(self, x, src, dst, deg):
        h = self.lin(x)
        msg = h[src]
        agg = torch.zeros_like(h).index_add(0, dst, msg)
        return self.own(x) + agg / deg


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = Conv(WIDTH, WIDTH)
        self.c2 = Conv(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, 40)

    def forward(self, x, src, dst, deg):
        x = self.c1(x, src, dst, deg).relu()
        x = self.c2(x, src, dst, deg).relu()
        return self.out(x)


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    src = (torch.rand(EDGES, device=DEV) ** 2 * NODES).long().clamp_(max=NODES - 1)
    dst = torch.randint(0, NODES, (EDGES,), device=DEV)
    deg = torch.bincount(dst, minlength=NODES).clamp(min=1).float().unsqueeze(1)
    x = torch.randn(NODES, WIDTH, device=DEV)
    y = torch.randint(0, 40, (NODES,), device=DEV)
    net = Net().to(DEV)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, fused=DEV == "cuda")
    return net, opt, x, y, src, dst, deg


def step(st):
    net, opt, x, y, src, dst, deg = st
    opt.zero_grad(set_to_none=True)
    loss = nn.functional.cross_entropy(net(x, src, dst, deg), y)
    loss.backward()
    opt.step()


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
