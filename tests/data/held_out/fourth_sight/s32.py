"""Instruction tuning of a small decoder with a multilingual vocabulary."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
N, D, H, T, B, V = (8, 1536, 12, 2048, 4, 128256) if CUDA else (2, 32, 4, 16, 2, 256)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, H, D // H).permute(2, 0, 3, 1, 4)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, D))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D, bias=False)

    def forward(self, x):
        return self.b(F.gelu(self.a(x)))


class Tuner(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(V, D)
        self.att = nn.ModuleList([Attention() for _ in range(N)])
        self.ffn = nn.ModuleList([FeedForward() for _ in range(N)])
        self.norms = nn.ModuleList([nn.LayerNorm(D) for _ in range(2 * N + 1)])
        self.lm_head = nn.Linear(D, V, bias=False)

    def loss(self, ids, labels):
        x = self.tok(ids)
        for i in range(N):
            x = x + self.att[i](self.norms[2 * i](x))
            x = x + self.ffn[i](self.norms[2 * i + 1](x))
        logits = self.lm_head(self.norms[-1](x)).float()
        return F.cross_entropy(logits.view(-1, V), labels.reshape(-1))


def setup():
    with torch.device(DEV):
        m = Tuner().to(torch.bfloat16)
    return dict(m=m, opt=torch.optim.AdamW(m.parameters(), lr=1e-5, fused=CUDA))


def step(s):
    ids = torch.randint(0, V, (B, T + 1), device=DEV)
    loss = s["m"].loss(ids[:, :-1], ids[:, 1:])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    main_memory(setup, step, steps=5)
