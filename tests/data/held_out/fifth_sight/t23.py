"""Collects one descriptor per clip from a frozen video encoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (1024, 16, 6) if BIG else (32, 2, 2)
CLIPS, TOKENS = (64, 1024) if BIG else (2, 16)
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(device=DEV, dtype=DT)
        self.n1, self.n2 = nn.LayerNorm(D, **kw), nn.LayerNorm(D, **kw)
        self.qkv, self.proj = nn.Linear(D, 3 * D, **kw), nn.Linear(D, D, **kw)
        self.up, self.down = nn.Linear(D, 4 * D, **kw), nn.Linear(4 * D, D, **kw)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(256 if BIG else 8, D, device=DEV, dtype=DT)
        self.body = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(D, device=DEV, dtype=DT)

    def forward(self, x):
        return self.norm(self.body(self.inp(x)))


class Index:
    def __init__(self):
        self.items = []

    def add(self, desc):
        self.items.append(desc)


def setup():
    enc = Encoder().eval()
    clip = torch.randn(CLIPS, TOKENS, enc.inp.in_features, device=DEV, dtype=DT)
    return {"enc": enc, "clip": clip, "index": Index()}


@torch.inference_mode()
def step(s):
    h = s["enc"](s["clip"])
    s["index"].add(h[:, 0])


if __name__ == "__main__":
    main_memory(setup, step, steps=40)
