"""Decoder training with recomputation and a chunked vocabulary loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (2048, 16, 10) if BIG else (32, 2, 2)
VOCAB = 64000 if BIG else 128
BATCH, SEQ, CHUNK = (8, 2048, 1024) if BIG else (2, 16, 8)
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(bias=False, device=DEV, dtype=DT)
        self.n1, self.n2 = (nn.RMSNorm(D, device=DEV, dtype=DT) for _ in range(2))
        self.qkv, self.proj = nn.Linear(D, 3 * D, **kw), nn.Linear(D, D, **kw)
        self.up, self.down = nn.Linear(D, 4 * D, **kw), nn.Linear(4 * D, D, **kw)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D, device=DEV, dtype=DT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(D, device=DEV, dtype=DT)

    def chunk_loss(self, h, y):
        return F.cross_entropy(F.linear(h, self.tok.weight).float(), y, reduction="sum")

    def forward(self, ids, y):
        x = self.tok(ids)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False)
        h, y = self.norm(x).flatten(0, 1), y.flatten()
        total = sum(
            checkpoint(self.chunk_loss, a, b, use_reentrant=False)
            for a, b in zip(h.split(CHUNK), y.split(CHUNK))
        )
        return total / y.numel()


def setup():
    model = Decoder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=BIG)
    return {"model": model, "opt": opt}


def step(s):
    data = torch.randint(0, VOCAB, (BATCH, SEQ + 1), device=DEV)
    loss = s["model"](data[:, :-1], data[:, 1:])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    s["loss"] = loss.item()


if __name__ == "__main__":
    main_memory(setup, step, steps=8)
