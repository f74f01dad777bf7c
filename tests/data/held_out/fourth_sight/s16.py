"""Rank candidates: pooled feature lookup in one joint table, then a scoring tower."""
import torch
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DT = torch.float16 if DEV == "cuda" else torch.float32
ROWS, DIM, B, FEAT, POOL = (10_000_000, 128, 65536, 26, 10) if DEV == "cuda" else (500, 8, 16, 4, 3)


class Ranker:
    def __init__(self):
        self.table = torch.empty(ROWS, DIM, device=DEV, dtype=DT).uniform_(-0.1, 0.1)
        dims = [FEAT * DIM, 1024, 512, 64]
        self.mlp = [(torch.randn(b, a, device=DEV, dtype=DT) * a**-0.5, torch.zeros(b, device=DEV, dtype=DT)) for a, b in zip(dims, dims[1:])]
        self.last = torch.randn(64, 1, device=DEV, dtype=DT)
        self.ids = [torch.randint(0, ROWS, (B * FEAT, POOL), device=DEV) for _ in range(3)]

    def score(self, ids):
        x = F.embedding_bag(ids, self.table, mode="sum").view(B, FEAT * DIM)
        for w, b in self.mlp:
            x = torch.relu_(torch.addmm(b, x, w.t()))
        return (x @ self.last).squeeze(1)


def setup():
    return Ranker()


@torch.inference_mode()
def step(r):
    r.best = [r.score(i).argmax() for i in r.ids]


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
