"""Two-stage recommender: pooled user history feeding a dense scorer."""
import torch
import torch.nn as nn

FEATURES, ROWS, WIDTH, BATCH, BAG = 8, 250_000, 64, 8192, 24


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.history = nn.ModuleList(nn.EmbeddingBag(ROWS, WIDTH, mode="mean") for _ in range(FEATURES))
        self.mlp = nn.Sequential(
            nn.Linear(FEATURES * WIDTH + 32, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1)
        ).to("cuda", torch.bfloat16)

    def forward(self, ids, dense):
        pooled = torch.cat([t(ids[k]) for k, t in enumerate(self.history)], 1)
        x = torch.cat([pooled.to("cuda").to(torch.bfloat16), dense], 1)
        return self.mlp(x).squeeze(1)


def setup():
    net = Scorer().eval()
    batches = [torch.randint(0, ROWS, (FEATURES, BATCH, BAG)) for _ in range(3)]
    dense = torch.randn(BATCH, 32, device="cuda", dtype=torch.bfloat16)
    return {"net": net, "batches": batches, "dense": dense, "i": 0}


@torch.inference_mode()
def step(s):
    ids = s["batches"][s["i"] % 3]
    s["i"] += 1
    s["top"] = s["net"](ids, s["dense"]).topk(100)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, record_shapes=True)
