"""Sampler of a diffusion transformer: one Euler step per replay."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (3072, 24, 6) if BIG else (64, 4, 2)
BATCH, TOKENS, CH = (4, 4096, 64) if BIG else (2, 16, 8)
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(device=DEV, dtype=DT)
        self.mod = nn.Linear(D, 6 * D, **kw)
        self.qkv = nn.Linear(D, 3 * D, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.up = nn.Linear(D, 4 * D, **kw)
        self.down = nn.Linear(4 * D, D, **kw)

    def forward(self, x, c):
        b, t, _ = x.shape
        s1, b1, g1, s2, b2, g2 = self.mod(c).unsqueeze(1).chunk(6, -1)
        h = torch.addcmul(b1, F.layer_norm(x, (D,)), s1 + 1)
        q, k, v = self.qkv(h).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, D)
        x = torch.addcmul(x, g1, self.proj(a))
        h = torch.addcmul(b2, F.layer_norm(x, (D,)), s2 + 1)
        return torch.addcmul(x, g2, self.down(F.gelu(self.up(h), approximate="tanh")))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(CH, D, device=DEV, dtype=DT)
        self.cond = nn.Linear(D, D, device=DEV, dtype=DT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.out = nn.Linear(D, CH, device=DEV, dtype=DT)

    def forward(self, x, c):
        h, c = self.inp(x), F.silu(self.cond(c))
        for block in self.blocks:
            h = block(h, c)
        return self.out(h)


def setup():
    net = Net().eval()
    s = {
        "net": net,
        "x": torch.randn(BATCH, TOKENS, CH, device=DEV, dtype=DT),
        "c": torch.randn(BATCH, D, device=DEV, dtype=DT),
        "dt": torch.full((1,), -0.02, device=DEV, dtype=DT),
        "graph": None,
    }

    def euler():
        s["x"].addcmul_(net(s["x"], s["c"]), s["dt"])

    s["euler"] = euler
    if BIG:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), torch.no_grad():
            euler()
        torch.cuda.current_stream().wait_stream(side)
        s["graph"] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(s["graph"]), torch.no_grad():
            euler()
    return s


@torch.no_grad()
def step(s):
    if s["graph"] is not None:
        s["graph"].replay()
    else:
        s["euler"]()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=2)
