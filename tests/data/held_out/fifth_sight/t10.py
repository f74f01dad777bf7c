"""Chat serving: sessions take turns on a decoder captured once as a graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (2048, 16, 8) if BIG else (64, 4, 2)
BATCH, WINDOW = (16, 4096) if BIG else (2, 16)
VOCAB = 32000 if BIG else 128
DT = torch.bfloat16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        kw = dict(bias=False, device=DEV, dtype=DT)
        self.n1 = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.n2 = nn.RMSNorm(D, device=DEV, dtype=DT)
        self.qkv = nn.Linear(D, 3 * D, **kw)
        self.proj = nn.Linear(D, D, **kw)
        self.up = nn.Linear(D, 4 * D, **kw)
        self.down = nn.Linear(4 * D, D, **kw)

    def forward(self, x, kc, vc, pos):
        q, k, v = self.qkv(self.n1(x)).view(BATCH, 1, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        kc.index_copy_(2, pos, k)
        vc.index_copy_(2, pos, v)
        a = F.scaled_dot_product_attention(q, kc, vc)
        x = x + self.proj(a.transpose(1, 2).reshape(BATCH, 1, D))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Session:
    def __init__(self):
        shape = (LAYERS, 2, BATCH, HEADS, WINDOW, D // HEADS)
        self.cache = torch.zeros(shape, device=DEV, dtype=DT)
        self.ids = torch.randint(0, VOCAB, (BATCH, 1), device=DEV)
        self.pos = 0


class Engine:
    def __init__(self):
        self.tok = nn.Embedding(VOCAB, D, device=DEV, dtype=DT)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.head = nn.Linear(D, VOCAB, bias=False, device=DEV, dtype=DT)
        self.cur = Session()
        self.pos = torch.zeros(1, dtype=torch.long, device=DEV)
        self.graph = None
        if BIG:
            with torch.no_grad():
                self.body()
                torch.cuda.synchronize()
                self.graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(self.graph):
                    self.next = self.body()

    def body(self):
        x = self.tok(self.cur.ids)
        for i, block in enumerate(self.blocks):
            x = block(x, self.cur.cache[i, 0], self.cur.cache[i, 1], self.pos)
        return self.head(x).argmax(-1)

    def decode(self, sess):
        self.cur.cache.copy_(sess.cache)
        self.cur.ids.copy_(sess.ids)
        self.pos.fill_(sess.pos)
        if self.graph is not None:
            self.graph.replay()
        else:
            self.next = self.body()
        row = self.cur.cache[:, :, :, :, sess.pos]
        sess.cache[:, :, :, :, sess.pos] = row
        sess.ids.copy_(self.next)
        sess.pos = (sess.pos + 1) % WINDOW


def setup():
    return {"engine": Engine(), "sess": Session()}


@torch.no_grad()
def step(s):
    for _ in range(2):
        s["engine"].decode(s["sess"])


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
