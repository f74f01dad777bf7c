"""Click-through-rate model training with categorical features."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
TABLES, ROWS, DIM = 8, 1_000_000, 64
BATCH, HOT, DENSE = 8192, 4, 13


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(ROWS, DIM, mode="sum", device=DEV) for _ in range(TABLES))
        self.bottom = nn.Sequential(nn.Linear(DENSE, 256), nn.ReLU(), nn.Linear(256, DIM), nn.ReLU()).to(DEV)
        self.top = nn.Sequential(
            nn.Linear(DIM + (TABLES + 1) * TABLES // 2, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        ).to(DEV)
        i, j = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
        self.register_buffer("pairs", (i * (TABLES + 1) + j).to(DEV), persistent=False)

    def forward(self, dense, cats):
        d = self.bottom(dense)
        feats = torch.stack([d] + [t(cats[k]) for k, t in enumerate(self.tables)], 1)
        z = (feats @ feats.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([d, z], 1)).squeeze(1)


def setup():
    torch.set_float32_matmul_precision("high")
    model = Ranker()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    dense = torch.rand(BATCH, DENSE, device=DEV)
    cats = torch.randint(0, ROWS, (TABLES, BATCH, HOT), device=DEV)
    y = torch.randint(0, 2, (BATCH,), device=DEV).float()
    return {"model": model, "opt": opt, "dense": dense, "cats": cats, "y": y}


def step(s):
    out = s["model"](s["dense"], s["cats"])
    loss = F.binary_cross_entropy_with_logits(out, s["y"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    s["cats"].add_(977).remainder_(ROWS)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3)
