"""Score a street-scene segmentation network on a validation split."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
DT = torch.float16 if CUDA else torch.float32
H, W, B, C = (512, 1024, 4, 64) if CUDA else (16, 32, 1, 8)


class Seg(nn.Module):
    def __init__(self):
        super().__init__()
        chans = [(3, C, 2), (C, 2 * C, 2), (2 * C, 4 * C, 2), (4 * C, 4 * C, 1), (4 * C, 4 * C, 1)]
        self.enc = nn.ModuleList([nn.Conv2d(a, b, 3, s, 1) for a, b, s in chans])
        self.cls = nn.Conv2d(4 * C, 19, 1)

    def forward(self, x):
        for c in self.enc:
            x = F.relu(c(x), inplace=True)
        return F.interpolate(self.cls(x), scale_factor=8, mode="bilinear", align_corners=False)


class Evaluator:
    def __init__(self):
        self.net = Seg().to(DEV, DT).eval()
        self.pred, self.true = [], []

    def batch(self):
        x = torch.randn(B, 3, H, W, device=DEV, dtype=DT)
        y = torch.randint(0, 19, (B, H, W), device=DEV, dtype=torch.uint8)
        out = self.net(x).float()
        self.pred.append(out)
        self.true.append(y)

    def report(self):
        hit = sum((p.argmax(1) == t).float().mean() for p, t in zip(self.pred, self.true))
        return hit / len(self.pred)


@torch.no_grad()
def step(ev):
    ev.batch()


if __name__ == "__main__":
    main_memory(Evaluator, step, steps=48)
