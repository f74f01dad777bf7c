"""Distillation of a text encoder into a smaller one."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
LARGE = (2048, 16, 16) if BIG else (32, 2, 3)
SMALL = (768, 12, 6) if BIG else (16, 2, 1)
BATCH, SEQ = (16, 512) if BIG else (2, 8)
CLASSES = 1000 if BIG else 10
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        kw = dict(device=DEV, dtype=DT)
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(d, **kw), nn.LayerNorm(d, **kw)
        self.qkv, self.proj = nn.Linear(d, 3 * d, **kw), nn.Linear(d, d, **kw)
        self.up, self.down = nn.Linear(d, 4 * d, **kw), nn.Linear(4 * d, d, **kw)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Encoder(nn.Module):
    def __init__(self, d, heads, layers):
        super().__init__()
        self.tok = nn.Embedding(8000, d, device=DEV, dtype=DT)
        self.body = nn.Sequential(*(Block(d, heads) for _ in range(layers)))
        self.head = nn.Linear(d, CLASSES, device=DEV, dtype=DT)

    def forward(self, ids):
        return self.head(self.body(self.tok(ids)).mean(1))


def setup():
    large, small = Encoder(*LARGE).eval(), Encoder(*SMALL)
    opt = torch.optim.AdamW(small.parameters(), lr=1e-4, fused=BIG)
    return {"large": large, "small": small, "opt": opt}


def step(s):
    ids = torch.randint(0, 8000, (BATCH, SEQ), device=DEV)
    target = s["large"](ids)
    logits = s["small"](ids)
    loss = F.kl_div(
        F.log_softmax(logits.float() / 2, -1),
        F.softmax(target.detach().float() / 2, -1),
        reduction="batchmean",
    )
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()
    s["loss"] = loss.item()


if __name__ == "__main__":
    main_memory(setup, step, steps=8)
