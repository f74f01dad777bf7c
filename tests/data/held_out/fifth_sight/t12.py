"""Reranker: scores a handful of short passages per request in mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (4096, 32, 12) if BIG else (64, 4, 2)
PASSAGES, LENGTH = (4, 16) if BIG else (2, 8)
VOCAB = 32000 if BIG else 128


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.LayerNorm(D, device=DEV)
        self.n2 = nn.LayerNorm(D, device=DEV)
        self.qkv = nn.Linear(D, 3 * D, bias=False, device=DEV)
        self.proj = nn.Linear(D, D, bias=False, device=DEV)
        self.up = nn.Linear(D, 4 * D, bias=False, device=DEV)
        self.down = nn.Linear(4 * D, D, bias=False, device=DEV)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Reranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D, device=DEV)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.score = nn.Linear(D, 1, device=DEV)

    def forward(self, ids):
        return self.score(self.blocks(self.tok(ids)).mean(1)).squeeze(1)


def setup():
    model = Reranker().eval()
    ids = torch.randint(0, VOCAB, (PASSAGES, LENGTH), device=DEV)
    return {"model": model, "ids": ids}


@torch.no_grad()
def step(s):
    with torch.autocast(DEV, dtype=torch.bfloat16):
        s["out"] = s["model"](s["ids"])


if __name__ == "__main__":
    main(setup, step, steps=12, warmup=3)
