"""Pre-training of a small stack of wide decoder layers in bfloat16."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D = 4096 if BIG else 64
HEADS = 32 if BIG else 4
LAYERS = 4 if BIG else 2
VOCAB = 32000 if BIG else 256
BATCH, SEQ = (4, 2048) if BIG else (2, 32)
DT = torch.bfloat16


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(device=DEV, dtype=DT, bias=False)
        self.qkv = nn.Linear(D, 3 * D, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.up = nn.Linear(D, 4 * D, **kw)
        self.down = nn.Linear(4 * D, D, **kw)
        self.n1 = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.n2 = nn.RMSNorm(D, device=DEV, dtype=DT)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D, device=DEV, dtype=DT)
        self.pos = nn.Parameter(torch.zeros(SEQ, D, device=DEV, dtype=DT))
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.head = nn.Linear(D, VOCAB, bias=False, device=DEV, dtype=DT)
        nn.init.normal_(self.tok.weight, std=0.02)

    def forward(self, ids, target):
        x = self.tok(ids) + self.pos
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), target.flatten())


def setup():
    model = Decoder()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=BIG)
    data = torch.randint(0, VOCAB, (BATCH, SEQ + 1), device=DEV)
    return {"model": model, "opt": opt, "x": data[:, :-1].contiguous(), "y": data[:, 1:].contiguous()}


def step(s):
    s["opt"].zero_grad(set_to_none=True)
    s["model"](s["x"], s["y"]).backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=6, warmup=2)
