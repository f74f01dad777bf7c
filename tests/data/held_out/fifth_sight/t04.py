"""Token generation for a batch of long conversations."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (2048, 16, 4) if BIG else (64, 4, 2)
BATCH, CONTEXT = (32, 4096) if BIG else (2, 16)
VOCAB = 32000 if BIG else 128
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(bias=False, device=DEV, dtype=DT)
        self.norm1 = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.norm2 = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.qkv = nn.Linear(D, 3 * D, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.up = nn.Linear(D, 4 * D, **kw)
        self.down = nn.Linear(4 * D, D, **kw)

    def forward(self, x, past):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        k = torch.cat([past[0], k], dim=2)
        v = torch.cat([past[1], v], dim=2)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        x = x + self.down(F.gelu(self.up(self.norm2(x))))
        return x, (k, v)


def setup():
    blocks = [Block().eval() for _ in range(LAYERS)]
    tok = nn.Embedding(VOCAB, D, device=DEV, dtype=DT)
    head = nn.Linear(D, VOCAB, bias=False, device=DEV, dtype=DT)
    shape = (BATCH, HEADS, CONTEXT, D // HEADS)
    past = [
        (torch.randn(shape, device=DEV, dtype=DT), torch.randn(shape, device=DEV, dtype=DT))
        for _ in range(LAYERS)
    ]
    ids = torch.randint(0, VOCAB, (BATCH, 1), device=DEV)
    return {"blocks": blocks, "tok": tok, "head": head, "past": past, "ids": ids}


@torch.inference_mode()
def step(s):
    x = s["tok"](s["ids"])
    for i, block in enumerate(s["blocks"]):
        x, s["past"][i] = block(x, s["past"][i])
    s["ids"] = s["head"](x).argmax(-1)


if __name__ == "__main__":
    main(setup, step, steps=12, warmup=3)
