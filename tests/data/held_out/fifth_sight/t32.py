"""Resumes a training run with averaged weights from its last checkpoint."""
import copy
import io

import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
WIDTH, DEPTH = (4096, 16) if BIG else (32, 3)
BATCH = 512 if BIG else 8


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return x + F.relu(self.fc(x))


def build():
    with torch.device(DEV):
        return nn.Sequential(*(Residual() for _ in range(DEPTH)), nn.Linear(WIDTH, 16))


def last_run():
    net = build()
    blob = io.BytesIO()
    average = copy.deepcopy(net).state_dict()
    torch.save({"model": net.state_dict(), "average": average, "epoch": 7}, blob)
    blob.seek(0)
    return blob


class Trainer:
    def __init__(self, blob):
        self.model = build()
        self.average = copy.deepcopy(self.model).requires_grad_(False)
        self.resume = self.load(blob)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=BIG)

    def load(self, blob):
        state = torch.load(blob, map_location=DEV)
        self.model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        return state

    def train(self, x, y):
        self.opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.model(x), y)
        loss.backward()
        self.opt.step()
        with torch.no_grad():
            for a, p in zip(self.average.parameters(), self.model.parameters()):
                a.lerp_(p, 0.001)
        return loss.item()


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    return {"t": Trainer(last_run())}


def step(s):
    x = torch.randn(BATCH, WIDTH, device=DEV)
    y = torch.randint(0, 16, (BATCH,), device=DEV)
    s["loss"] = s["t"].train(x, y)
    s["epoch"] = s["t"].resume["epoch"]


if __name__ == "__main__":
    main_memory(setup, step, steps=8)
