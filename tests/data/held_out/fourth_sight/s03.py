"""Pre-train a decoder language model, blocks compiled one by one."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
N, D, H, T, B, V = (6, 2048, 16, 2048, 4, 8192) if BIG else (2, 64, 4, 32, 2, 128)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.LayerNorm(D)
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)
        self.n2 = nn.LayerNorm(D)
        self.fc = nn.Linear(D, 4 * D)
        self.out = nn.Linear(4 * D, D)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, H, D // H).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, D))
        return x + self.out(F.gelu(self.fc(self.n2(x)), approximate="tanh"))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, D)
        self.blocks = nn.ModuleList([Block() for _ in range(N)])
        self.norm = nn.LayerNorm(D)
        self.head = nn.Linear(D, V, bias=False)

    def forward(self, ids, tgt):
        x = self.emb(ids)
        for b in self.blocks:
            x = b(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), tgt.flatten())


def setup():
    with torch.device(DEV):
        m = LM().to(torch.bfloat16)
        for p in m.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        data = torch.randint(0, V, (4, B, T + 1))
    if BIG:
        for b in m.blocks:
            b.compile()
    opt = torch.optim.AdamW(m.parameters(), lr=1e-4, fused=True)
    return {"m": m, "opt": opt, "data": data, "i": 0}


def step(s):
    d = s["data"][s["i"] % 4]
    s["i"] += 1
    loss = s["m"](d[:, :-1], d[:, 1:])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=4)
