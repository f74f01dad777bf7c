"""Ranking service: score candidate ads with a cross-feature model."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FIELDS, ROWS, WIDTH, BATCH = 31, 8_000_000, 128, 65536


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.empty(ROWS, WIDTH).normal_(std=0.05), requires_grad=False)
        self.bottom = nn.Sequential(nn.Linear(16, 256), nn.ReLU(), nn.Linear(256, WIDTH), nn.ReLU())
        pairs = (FIELDS + 1) ** 2
        self.top = nn.Sequential(
            nn.Linear(WIDTH + pairs, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(),
            nn.Linear(2048, 1024), nn.ReLU(), nn.Linear(1024, 1),
        )

    def forward(self, dense, ids):
        d = self.bottom(dense)
        e = torch.cat([d.unsqueeze(1), F.embedding(ids, self.table)], 1)
        z = torch.bmm(e, e.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([d, z], 1)).squeeze(1)


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = Ranker().eval()
    torch.set_default_dtype(torch.float32)
    per = ROWS // FIELDS
    base = torch.arange(FIELDS, device="cuda", dtype=torch.int32) * per
    batches = [
        (
            torch.randn(BATCH, 16, device="cuda", dtype=torch.bfloat16),
            torch.randint(0, per, (BATCH, FIELDS), device="cuda", dtype=torch.int32) + base,
        )
        for _ in range(4)
    ]
    return {"net": net, "batches": batches, "i": 0, "best": torch.zeros((), device="cuda", dtype=torch.bfloat16)}


@torch.inference_mode()
def step(s):
    for _ in range(5):
        dense, ids = s["batches"][s["i"] % 4]
        s["i"] += 1
        torch.maximum(s["best"], s["net"](dense, ids).amax(), out=s["best"])
    if s["i"] % 25 == 0:
        s["seen"] = s["best"].item()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
