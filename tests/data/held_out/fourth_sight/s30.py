"""Train a language model with recomputed blocks and a sliced output loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from runner import main_memory

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
N, D, H, T, B, V, SL = (16, 2048, 16, 2048, 8, 32000, 2048) if CUDA else (2, 32, 4, 16, 2, 64, 8)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.o = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.up, self.dn = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, H, D // H).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, D))
        return x + self.dn(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.blocks = nn.ModuleList([Block() for _ in range(N)])
        self.norm = nn.LayerNorm(D)

    def piece(self, h, t):
        return F.cross_entropy(F.linear(h, self.emb.weight).float(), t, reduction="sum")

    def forward(self, ids, tgt):
        x = self.emb(ids)
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False)
        x = self.norm(x).flatten(0, 1)
        tgt = tgt.flatten()
        total = 0.0
        for h, t in zip(x.split(SL), tgt.split(SL)):
            total = total + checkpoint(self.piece, h, t, use_reentrant=False)
        return total / tgt.numel()


def setup():
    with torch.device(DEV):
        m = LM().to(torch.bfloat16)
    opt = torch.optim.AdamW(m.parameters(), lr=1e-4, fused=CUDA)
    return m, opt


def step(st):
    m, opt = st
    d = torch.randint(0, V, (B, T + 1), device=DEV)
    loss = m(d[:, :-1], d[:, 1:])
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main_memory(setup, step, steps=5)
