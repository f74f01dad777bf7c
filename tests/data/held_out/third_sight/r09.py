"""Full-graph node classification with mean aggregation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
NODES, DEGREE, FEAT, HIDDEN, CLASSES = 300_000, 20, 128, 128, 40


class Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, a, at):
        ctx.at = at
        return a @ x

    @staticmethod
    def backward(ctx, g):
        return ctx.at @ g.contiguous(), None, None


class Conv(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.own, self.near = nn.Linear(cin, cout), nn.Linear(cin, cout, bias=False)

    def forward(self, x, a, at):
        return self.own(x) + self.near(Spread.apply(x, a, at))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2, self.c3 = Conv(FEAT, HIDDEN), Conv(HIDDEN, HIDDEN), Conv(HIDDEN, HIDDEN)
        self.head = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x, a, at):
        x = F.relu(self.c1(x, a, at))
        x = F.relu(self.c2(x, a, at))
        x = F.relu(self.c3(x, a, at))
        return self.head(x)


def csr(src, dst):
    order = torch.argsort(dst)
    src, dst = src[order].to(torch.int32), dst[order]
    deg = torch.bincount(dst, minlength=NODES)
    ptr = torch.zeros(NODES + 1, dtype=torch.int32, device=DEV)
    ptr[1:] = deg.cumsum(0)
    return ptr, src, dst


def setup():
    torch.set_float32_matmul_precision("high")
    e = NODES * DEGREE
    src = torch.randint(0, NODES, (e,), device=DEV)
    dst = torch.randint(0, NODES, (e,), device=DEV)
    inv = 1.0 / torch.bincount(dst, minlength=NODES).clamp(min=1).float()
    ptr, col, d = csr(src, dst)
    a = torch.sparse_csr_tensor(ptr, col, inv[d], size=(NODES, NODES))
    ptr, col, d = csr(dst, src)
    at = torch.sparse_csr_tensor(ptr, col, inv[col.long()], size=(NODES, NODES))
    net = Net().to(DEV)
    return {
        "a": a,
        "at": at,
        "x": torch.randn(NODES, FEAT, device=DEV),
        "y": torch.randint(0, CLASSES, (NODES,), device=DEV),
        "net": net,
        "opt": torch.optim.Adam(net.parameters(), lr=1e-2, fused=True),
    }


def step(s):
    loss = F.cross_entropy(s["net"](s["x"], s["a"], s["at"]), s["y"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=3)
