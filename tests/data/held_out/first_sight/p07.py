"""Click-through model with several categorical features."""
import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES, ROWS, WIDTH, BATCH, BAG = 8, 1_000_000, 64, 4096, 4


class CTR(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="sum") for _ in range(FEATURES))
        self.dense = nn.Sequential(nn.Linear(13, 128), nn.ReLU(), nn.Linear(128, WIDTH))
        self.top = nn.Sequential(
            nn.Linear(WIDTH * (FEATURES + 1), 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, dense, cat):
        parts = [self.dense(dense)] + [t(cat[i]) for i, t in enumerate(self.tables)]
        return self.top(torch.cat(parts, dim=1)).squeeze(1)


def setup():
    with torch.device("cuda"):
        net = CTR()
        batches = [
            (
                torch.randn(BATCH, 13),
                torch.randint(0, ROWS, (FEATURES, BATCH, BAG)),
                torch.randint(0, 2, (BATCH,)).float(),
            )
            for _ in range(4)
        ]
    return {"net": net, "opt": torch.optim.Adam(net.parameters(), lr=1e-3), "batches": batches, "i": 0}


def step(s):
    dense, cat, y = s["batches"][s["i"] % 4]
    s["i"] += 1
    loss = F.binary_cross_entropy_with_logits(s["net"](dense, cat), y)
    s["opt"].zero_grad()
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=12, warmup=3, record_shapes=True)
