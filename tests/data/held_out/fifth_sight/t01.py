"""Click-through-rate model: one shared id table, a bottom MLP and a top MLP."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
ROWS = 8_000_000 if BIG else 5_000
DIM = 128 if BIG else 16
FIELDS = 26 if BIG else 6
BATCH = 8192 if BIG else 64
HIDDEN = 2048 if BIG else 32


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(ROWS, DIM, device=DEV)
        self.bottom = nn.Linear(16, DIM, device=DEV)
        self.top = nn.Sequential(
            nn.Linear((FIELDS + 1) * DIM, HIDDEN, device=DEV),
            nn.ReLU(inplace=True),
            nn.Linear(HIDDEN, HIDDEN // 2, device=DEV),
            nn.ReLU(inplace=True),
            nn.Linear(HIDDEN // 2, 1, device=DEV),
        )

    def forward(self, ids, dense):
        e = self.table(ids).flatten(1)
        b = self.bottom(dense)
        return self.top(torch.cat([e, b], 1)).squeeze(1)


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    model = Ranker()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, fused=BIG)
    pool = []
    for _ in range(4):
        ids = torch.randint(0, ROWS, (BATCH, FIELDS), device=DEV)
        dense = torch.randn(BATCH, 16, device=DEV)
        y = torch.randint(0, 2, (BATCH,), device=DEV).float()
        pool.append((ids, dense, y))
    return {"model": model, "opt": opt, "pool": pool, "i": 0}


def step(s):
    ids, dense, y = s["pool"][s["i"] % len(s["pool"])]
    s["i"] += 1
    s["opt"].zero_grad(set_to_none=True)
    logit = s["model"](ids, dense)
    loss = F.binary_cross_entropy_with_logits(logit, y)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=12, warmup=3)
