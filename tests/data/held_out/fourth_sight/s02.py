"""Greedy text generation with a 24-layer decoder, static key/value buffers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DT = torch.bfloat16 if DEV == "cuda" else torch.float32
L, D, H, V = (24, 1024, 16, 32000) if DEV == "cuda" else (2, 64, 4, 100)
CTX, TOK = 512, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.RMSNorm(D)
        self.q = nn.Linear(D, D, bias=False)
        self.k = nn.Linear(D, D, bias=False)
        self.v = nn.Linear(D, D, bias=False)
        self.o = nn.Linear(D, D, bias=False)
        self.n2 = nn.RMSNorm(D)
        self.gate = nn.Linear(D, 3 * D, bias=False)
        self.up = nn.Linear(D, 3 * D, bias=False)
        self.down = nn.Linear(3 * D, D, bias=False)

    def forward(self, x, ck, cv, pos, cos, sin):
        b = x.shape[0]
        h = self.n1(x)
        q = self.q(h).view(b, H, 1, D // H)
        k = self.k(h).view(b, H, 1, D // H)
        v = self.v(h).view(b, H, 1, D // H)
        q1, q2 = q.chunk(2, -1)
        k1, k2 = k.chunk(2, -1)
        q = torch.cat((q1 * cos - q2 * sin, q2 * cos + q1 * sin), -1)
        k = torch.cat((k1 * cos - k2 * sin, k2 * cos + k1 * sin), -1)
        ck[:, :, pos : pos + 1] = k
        cv[:, :, pos : pos + 1] = v
        a = F.scaled_dot_product_attention(q, ck[:, :, : pos + 1], cv[:, :, : pos + 1])
        x = x + self.o(a.reshape(b, 1, D))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def setup():
    b = 4
    with torch.device(DEV):
        layers = nn.ModuleList([Layer() for _ in range(L)]).to(DT).eval()
        emb = nn.Embedding(V, D).to(DT)
        head = nn.Linear(D, V, bias=False).to(DT)
        cache = [(torch.zeros(b, H, CTX, D // H, dtype=DT), torch.zeros(b, H, CTX, D // H, dtype=DT)) for _ in range(L)]
        ang = torch.arange(CTX)[:, None] / (10000 ** (torch.arange(D // H // 2)[None] / (D // H // 2)))
        tok = torch.zeros(b, 1, dtype=torch.long)
    return {"layers": layers, "emb": emb, "head": head, "cache": cache, "cos": ang.cos().to(DT), "sin": ang.sin().to(DT), "tok": tok, "pos": 64}


@torch.inference_mode()
def step(s):
    for _ in range(TOK):
        p = s["pos"]
        x = s["emb"](s["tok"])
        for layer, (ck, cv) in zip(s["layers"], s["cache"]):
            x = layer(x, ck, cv, p, s["cos"][p], s["sin"][p])
        s["tok"] = s["head"](x).argmax(-1)
        s["pos"] = p + 1


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
