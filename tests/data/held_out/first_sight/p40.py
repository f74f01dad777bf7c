"""Validation pass of a heart-signal classifier."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def conv(i, o):
    return nn.Sequential(nn.Conv1d(i, o, 9, padding=4), nn.BatchNorm1d(o), nn.ReLU(inplace=True))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(conv(12, 64), conv(64, 64), conv(64, 64), conv(64, 64))
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.body(x).mean(-1))


def setup():
    net = Net().cuda().eval()
    return {
        "net": net,
        "total": torch.zeros((), device="cuda"),
        "hits": 0,
        "seen": 0,
    }


def step(s):
    x = torch.randn(32, 12, 16384, device="cuda")
    y = torch.randint(0, 5, (32,), device="cuda")
    logits = s["net"](x)
    s["total"] = s["total"] + F.cross_entropy(logits, y, reduction="sum")
    s["hits"] += int((logits.argmax(1) == y).sum())
    s["seen"] += len(y)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=12)
