"""Embedding service: one captured graph for each supported batch size."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HIDDEN, LAYERS = (2048, 8192, 6) if BIG else (16, 32, 2)
SIZES = [65536, 49152, 40960, 32768, 24576, 16384, 8192] if BIG else [8, 4]
DT = torch.bfloat16


class GatedMLP(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(bias=False, device=DEV, dtype=DT)
        self.norm = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.gate, self.up = nn.Linear(D, HIDDEN, **kw), nn.Linear(D, HIDDEN, **kw)
        self.down = nn.Linear(HIDDEN, D, **kw)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Service:
    def __init__(self):
        self.net = nn.Sequential(*(GatedMLP() for _ in range(LAYERS)), nn.Linear(D, 256, device=DEV, dtype=DT)).eval()
        self.inp = torch.zeros(max(SIZES), D, device=DEV, dtype=DT)
        self.graphs, self.outs = {}, {}
        if BIG:
            with torch.no_grad():
                self.net(self.inp[: min(SIZES)])
                torch.cuda.synchronize()
                for n in SIZES:
                    g = torch.cuda.CUDAGraph()
                    with torch.cuda.graph(g):
                        self.outs[n] = self.net(self.inp[:n])
                    self.graphs[n] = g

    def __call__(self, x):
        n = min(k for k in SIZES if k >= len(x))
        self.inp[: len(x)].copy_(x)
        if BIG:
            self.graphs[n].replay()
            return self.outs[n][: len(x)]
        return self.net(self.inp[:n])[: len(x)]


def setup():
    return {"svc": Service(), "i": 0}


@torch.no_grad()
def step(s):
    n = SIZES[s["i"] % len(SIZES)] - 3
    s["i"] += 1
    x = torch.randn(n, D, device=DEV, dtype=DT)
    s["out"] = s["svc"](x).float().mean().item()


if __name__ == "__main__":
    main_memory(setup, step, steps=14)
