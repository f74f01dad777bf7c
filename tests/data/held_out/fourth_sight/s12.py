"""Click-through model: item vectors plus a small tower, trained online."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, DIM, BATCH, FIELDS = (8_000_000, 64, 8192, 26) if DEV == "cuda" else (1000, 8, 32, 5)
if DEV == "cuda":
    torch.set_float32_matmul_precision("high")


class Ctr(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ROWS, DIM)
        self.tower = nn.Sequential(
            nn.Linear(FIELDS * DIM, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1)
        )

    def forward(self, ids):
        return self.tower(self.items(ids).flatten(1)).squeeze(1)


def setup():
    with torch.device(DEV):
        net = Ctr()
        ids = torch.randint(0, ROWS, (8, BATCH, FIELDS))
        lab = (torch.rand(8, BATCH) < 0.1).float()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, fused=DEV == "cuda")
    return dict(net=net, opt=opt, ids=ids, lab=lab, k=0)


def step(s):
    i = s["k"] % 8
    s["k"] += 1
    loss = F.binary_cross_entropy_with_logits(s["net"](s["ids"][i]), s["lab"][i])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
