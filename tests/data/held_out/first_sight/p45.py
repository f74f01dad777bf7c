"""Document encoder with distance-based attention bias."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, B = 1024, 16, 4, 2


class Bias(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("slope", 2.0 ** -torch.arange(1, HEADS + 1).mul(0.5))
        self.tables = {}

    def forward(self, t):
        if t not in self.tables:
            pos = torch.arange(t, device="cuda")
            dist = (pos[None] - pos[:, None]).abs().to(torch.bfloat16)
            self.tables[t] = -self.slope.to(torch.bfloat16)[:, None, None] * dist
        return self.tables[t]


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.o = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x, bias):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(b, -1, -1, -1))
        x = x + self.o(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.ff(self.n2(x))


def setup():
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to("cuda", torch.bfloat16).eval()
    lengths = list(range(1024, 2568, 16))
    random.Random(5).shuffle(lengths)
    return {"layers": layers, "bias": Bias().cuda(), "lengths": lengths, "i": 0}


@torch.no_grad()
def step(s):
    for _ in range(5):
        t = s["lengths"][s["i"] % len(s["lengths"])]
        s["i"] += 1
        x = torch.randn(B, t, DIM, device="cuda", dtype=torch.bfloat16)
        bias = s["bias"](t)
        for layer in s["layers"]:
            x = layer(x, bias)
        s["doc"] = x.mean(1)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=12, warmup=1, record_after_setup=True)
