"""Batched generation with a cache sized for the agreed window."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, KV, LAYERS = (4096, 32, 8, 10) if BIG else (32, 4, 2, 2)
BATCH, WINDOW, PROMPT = (16, 2048, 2000) if BIG else (2, 32, 20)
VOCAB = 32000 if BIG else 64
HD = D // HEADS
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self, cache):
        super().__init__()
        kw = dict(bias=False, device=DEV, dtype=DT)
        self.cache = cache
        self.n1, self.n2 = (nn.RMSNorm(D, device=DEV, dtype=DT) for _ in range(2))
        self.q, self.kv = nn.Linear(D, D, **kw), nn.Linear(D, 2 * KV * HD, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.up, self.down = nn.Linear(D, 4 * D, **kw), nn.Linear(4 * D, D, **kw)

    def forward(self, x, rows, lo, hi):
        b, t, _ = x.shape
        h = self.n1(x)
        q = self.q(h).view(b, t, HEADS, HD).transpose(1, 2)
        self.cache[:, rows, :, lo:hi] = self.kv(h).view(b, t, 2, KV, HD).permute(2, 0, 3, 1, 4)
        k, v = self.cache[:, rows, :, :hi]
        a = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1, enable_gqa=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Engine:
    def __init__(self):
        self.tok = nn.Embedding(VOCAB, D, device=DEV, dtype=DT)
        self.cache = torch.empty(LAYERS, 2, BATCH, KV, WINDOW, HD, device=DEV, dtype=DT)
        self.blocks = nn.ModuleList(Block(self.cache[i]) for i in range(LAYERS)).eval()
        self.head = nn.Linear(D, VOCAB, bias=False, device=DEV, dtype=DT)

    def forward(self, ids, rows, lo):
        x = self.tok(ids)
        for block in self.blocks:
            x = block(x, rows, lo, lo + ids.shape[1])
        return self.head(x[:, -1:]).argmax(-1)


def setup():
    return {"e": Engine()}


@torch.inference_mode()
def step(s):
    e = s["e"]
    prompt = torch.randint(0, VOCAB, (BATCH, PROMPT), device=DEV)
    ids = torch.cat([e.forward(prompt[i : i + 2], slice(i, i + 2), 0) for i in range(0, BATCH, 2)])
    for t in range(PROMPT, PROMPT + 8):
        ids = e.forward(ids, slice(0, BATCH), t)
    s["last"] = ids.sum().item()


if __name__ == "__main__":
    main_memory(setup, step, steps=4)
