"""Dual-encoder retrieval training with negatives refreshed while it runs."""
import random
import threading

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, LAYERS, VOCAB, B, T = 768, 4, 20000, 128, 64


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.body = nn.Sequential(
            *[m for _ in range(LAYERS) for m in (nn.LayerNorm(DIM), nn.Linear(DIM, 2 * DIM), nn.GELU(), nn.Linear(2 * DIM, DIM))]
        )

    def forward(self, ids):
        return F.normalize(self.body(self.emb(ids)).mean(1), dim=-1)


class Miner(threading.Thread):
    def __init__(self, docs):
        super().__init__(daemon=True)
        self.docs = docs
        self.stop = threading.Event()
        self.negatives = {}

    def run(self):
        rng = random.Random(1)
        while not self.stop.is_set():
            a = rng.randrange(len(self.docs))
            mine = self.docs[a]
            best, at = -1, 0
            for b in rng.sample(range(len(self.docs)), 64):
                if b == a:
                    continue
                overlap = 0
                for w in self.docs[b]:
                    if w in mine:
                        overlap += 1
                if overlap > best:
                    best, at = overlap, b
            self.negatives[a] = at


def setup():
    net = nn.ModuleDict({"q": Tower(), "d": Tower()}).to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-5, fused=True)
    q = torch.randint(0, VOCAB, (B, T), device="cuda")
    d = torch.randint(0, VOCAB, (2 * B, T), device="cuda")
    rng = random.Random(0)
    miner = Miner([{rng.randrange(2000) for _ in range(120)} for _ in range(2000)])
    miner.start()

    def close():
        miner.stop.set()
        miner.join()

    return {"net": net, "opt": opt, "q": q, "d": d, "y": torch.arange(B, device="cuda"), "miner": miner, "close": close}


def step(s):
    sim = s["net"]["q"](s["q"]) @ s["net"]["d"](s["d"]).t()
    loss = F.cross_entropy(sim.float() * 20, s["y"])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2)
