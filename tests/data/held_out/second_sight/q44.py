"""Training a tabular network with weight averaging over the last epochs."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, B = 3072, 4096


class Averager:
    def __init__(self):
        self.points = []

    def collect(self, net):
        self.points.append({k: v.detach().clone() for k, v in net.state_dict().items()})

    def result(self):
        return {k: torch.stack([p[k] for p in self.points]).mean(0) for k in self.points[0]}


def setup():
    net = nn.Sequential(
        nn.Linear(256, DIM), nn.SiLU(), *[m for _ in range(6) for m in (nn.Linear(DIM, DIM), nn.SiLU())], nn.Linear(DIM, 1)
    ).cuda()
    return {
        "net": net,
        "opt": torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, fused=True),
        "x": torch.randn(B, 256, device="cuda"),
        "avg": Averager(),
    }


def step(s):
    for _ in range(4):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.mse_loss(s["net"](s["x"]).float().squeeze(1), s["x"].sum(1))
        loss.backward()
        s["opt"].step()
        s["opt"].zero_grad(set_to_none=True)
    s["avg"].collect(s["net"])


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=14)
