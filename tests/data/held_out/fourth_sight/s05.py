"""Speech encoder front end: utterances of many lengths through a conv stack."""
import random

import torch
import torch.nn as nn

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DT = torch.float16 if DEV == "cuda" else torch.float32
C = 512 if DEV == "cuda" else 16
torch.backends.cudnn.benchmark = True


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Conv1d(80, C, 5, padding=2),
                nn.Conv1d(C, C, 5, stride=2, padding=2),
                nn.Conv1d(C, C, 5, stride=2, padding=2),
                nn.Conv1d(C, 2 * C, 3, padding=1),
            ]
        )
        self.head = nn.Linear(2 * C, 64)

    def forward(self, x):
        for c in self.convs:
            x = torch.relu_(c(x))
        return self.head(x.transpose(1, 2))


def setup():
    rng = random.Random(3)
    lens = rng.sample(range(6000, 9000), 60) if DEV == "cuda" else rng.sample(range(60, 130), 60)
    m = Encoder().to(DEV, DT).eval()
    feats = torch.randn(16, 80, 9000 if DEV == "cuda" else 130, device=DEV, dtype=DT)
    return {"m": m, "lens": lens, "feats": feats, "i": 0}


@torch.inference_mode()
def step(s):
    n = s["lens"][s["i"] % len(s["lens"])]
    s["i"] += 1
    s["last"] = s["m"](s["feats"][:, :, :n].contiguous()).argmax(-1)


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
