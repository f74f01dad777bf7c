"""Fine-tuning loop with a health report for every gradient."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (1024, 16, 24) if BIG else (64, 4, 2)
VOCAB = 16000 if BIG else 128
BATCH, SEQ = (4, 1024) if BIG else (2, 16)
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.up, self.down = nn.Linear(D, 4 * D), nn.Linear(4 * D, D)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, D)
        self.body = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, VOCAB, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.body(self.tok(ids))))


def report(model, sink):
    for name, p in model.named_parameters():
        if not torch.isfinite(p.grad).all():
            raise FloatingPointError(name)
        sink[name] = p.grad.norm().item()


def setup():
    model = Model().to(DEV, DT)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=BIG)
    data = torch.randint(0, VOCAB, (BATCH, SEQ + 1), device=DEV)
    return {"model": model, "opt": opt, "data": data, "sink": {}}


def step(s):
    x, y = s["data"][:, :-1], s["data"][:, 1:]
    s["opt"].zero_grad(set_to_none=True)
    loss = F.cross_entropy(s["model"](x).flatten(0, 1), y.flatten())
    loss.backward()
    report(s["model"], s["sink"])
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=6, warmup=2)
