"""Token generation for a small batch: one captured step, replayed."""
import torch
import torch.nn.functional as F

from runner import main

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
DT = torch.bfloat16 if CUDA else torch.float32
L, D, HD, FF, V, B, CTX = (16, 4096, 128, 11008, 32000, 4, 256) if CUDA else (2, 64, 16, 128, 100, 2, 32)
NH = D // HD


def w(*shape):
    return torch.randn(*shape, device=DEV, dtype=DT) * 0.02


class Decoder:
    def __init__(self):
        self.layers = []
        for _ in range(L):
            self.layers.append(
                dict(
                    n1=torch.ones(D, device=DEV, dtype=DT),
                    n2=torch.ones(D, device=DEV, dtype=DT),
                    qkv=w(3 * D, D),
                    o=w(D, D),
                    gu=w(2 * FF, D),
                    dn=w(D, FF),
                    k=torch.zeros(B, NH, CTX, HD, device=DEV, dtype=DT),
                    v=torch.zeros(B, NH, CTX, HD, device=DEV, dtype=DT),
                )
            )
        self.emb = w(V, D)
        self.head = w(V, D)
        self.tok = torch.zeros(B, dtype=torch.long, device=DEV)
        self.pos = torch.zeros(1, dtype=torch.long, device=DEV)
        self.idx = torch.arange(CTX, device=DEV)
        self.graph = None

    def one(self):
        x = F.embedding(self.tok, self.emb)
        mask = torch.zeros(CTX, device=DEV, dtype=DT).masked_fill_(self.idx > self.pos, float("-inf"))
        mask = mask.view(1, 1, 1, CTX).expand(B, NH, 1, CTX)
        for p in self.layers:
            h = F.rms_norm(x, (D,), p["n1"])
            q, k, v = F.linear(h, p["qkv"]).view(B, 3, NH, 1, HD).unbind(1)
            p["k"].index_copy_(2, self.pos, k)
            p["v"].index_copy_(2, self.pos, v)
            a = F.scaled_dot_product_attention(q, p["k"], p["v"], attn_mask=mask)
            x = x + F.linear(a.reshape(B, D), p["o"])
            g, u = F.linear(F.rms_norm(x, (D,), p["n2"]), p["gu"]).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, p["dn"])
        self.tok.copy_(F.linear(x, self.head).argmax(-1))
        self.pos.add_(1).remainder_(CTX)


@torch.no_grad()
def setup():
    d = Decoder()
    if CUDA:
        s = torch.cuda.Stream()
        s.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(s):
            for _ in range(3):
                d.one()
        torch.cuda.current_stream().wait_stream(s)
        d.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(d.graph):
            d.one()
    return d


@torch.no_grad()
def step(d):
    for _ in range(5):
        d.graph.replay() if d.graph else d.one()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
