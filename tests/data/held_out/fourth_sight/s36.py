"""Chat serving: block-table cache carved out at start, sequences come and go."""
import torch
import torch.nn.functional as F

from runner import main_memory

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
DT = torch.bfloat16 if CUDA else torch.float32
L, D, HD, KVH, FF, V, BLK, PAGES, SEQS = (16, 4096, 128, 8, 11008, 32000, 16, 8192, 32) if CUDA else (2, 32, 8, 2, 64, 50, 4, 64, 3)
NH = D // HD


class Server:
    def __init__(self):
        w = lambda *s: torch.empty(*s, device=DEV, dtype=DT).normal_(0, 0.02)
        self.layers = [dict(qkv=w((NH + 2 * KVH) * HD, D), o=w(D, D), gu=w(2 * FF, D), dn=w(D, FF)) for _ in range(L)]
        self.emb, self.head = w(V, D), w(V, D)
        self.kv = torch.zeros(L, 2, PAGES, BLK, KVH, HD, device=DEV, dtype=DT)
        self.free = list(range(PAGES))
        self.table = [[] for _ in range(SEQS)]
        self.length = [0] * SEQS
        self.tok = torch.zeros(SEQS, dtype=torch.long, device=DEV)
        self.turn = 0

    def grow(self):
        for i in range(SEQS):
            if self.length[i] >= (12 + 3 * (i % 5)) * BLK // 4:
                self.free += self.table[i]
                self.table[i], self.length[i] = [], 0
            if self.length[i] % BLK == 0:
                self.table[i].append(self.free.pop())
            self.length[i] += 1

    @torch.inference_mode()
    def decode(self):
        self.grow()
        n = max(len(t) for t in self.table)
        pages = torch.tensor([t + [0] * (n - len(t)) for t in self.table], device=DEV)
        lens = torch.tensor(self.length, device=DEV)
        mask = (torch.arange(n * BLK, device=DEV)[None] < lens[:, None]).view(SEQS, 1, 1, -1)
        page = pages.gather(1, ((lens - 1) // BLK)[:, None]).squeeze(1)
        slot = (lens - 1) % BLK
        x = F.embedding(self.tok, self.emb)
        for i, p in enumerate(self.layers):
            qkv = F.linear(F.rms_norm(x, (D,)), p["qkv"]).view(SEQS, NH + 2 * KVH, HD)
            q, k, v = qkv.split((NH, KVH, KVH), 1)
            self.kv[i, 0, page, slot] = k
            self.kv[i, 1, page, slot] = v
            kk, vv = (self.kv[i, j][pages].flatten(1, 2).transpose(1, 2) for j in (0, 1))
            a = F.scaled_dot_product_attention(q.unsqueeze(2), kk, vv, attn_mask=mask, enable_gqa=True)
            x = x + F.linear(a.reshape(SEQS, D), p["o"])
            g, u = F.linear(F.rms_norm(x, (D,)), p["gu"]).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, p["dn"])
        self.tok = F.linear(x, self.head).argmax(-1)


def step(s):
    for _ in range(4):
        s.decode()


if __name__ == "__main__":
    main_memory(Server, step, steps=16)
