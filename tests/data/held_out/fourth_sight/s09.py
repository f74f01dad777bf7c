"""Ancestral sampling of a pixel-space denoiser."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DT = torch.bfloat16 if DEV == "cuda" else torch.float32
SHAPE = (8, 3, 512, 512) if DEV == "cuda" else (1, 3, 32, 32)
C = 128 if DEV == "cuda" else 16


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Conv2d(48, C, 3, padding=1)
        self.mid = nn.ModuleList([nn.Conv2d(C, C, 3, padding=1) for _ in range(16)])
        self.out = nn.Conv2d(C, 48, 3, padding=1)
        self.t = nn.Linear(32, C)

    def forward(self, x, t):
        h = F.silu(self.inp(F.pixel_unshuffle(x, 4).contiguous(memory_format=torch.channels_last)))
        h = h + self.t(t).view(1, -1, 1, 1)
        for m in self.mid:
            h = h + F.silu(m(h), inplace=True)
        return F.pixel_shuffle(self.out(h).contiguous(), 4)


def setup():
    net = Body().to(DEV, DT, memory_format=torch.channels_last).eval()
    g = torch.Generator().manual_seed(1234)
    x = torch.randn(SHAPE, device=DEV)
    betas = torch.linspace(1e-4, 0.02, 50)
    abar = torch.cumprod(1 - betas, 0)
    temb = torch.randn(50, 32, device=DEV, dtype=DT)
    return dict(net=net, g=g, x=x, betas=betas.tolist(), abar=abar.tolist(), temb=temb, i=49)


@torch.inference_mode()
def step(s):
    for _ in range(3):
        i = s["i"]
        eps = s["net"](s["x"].to(DT), s["temb"][i]).float()
        beta, ab = s["betas"][i], s["abar"][i]
        mean = torch.add(s["x"], eps, alpha=-beta / (1 - ab) ** 0.5).mul_(1 / (1 - beta) ** 0.5)
        z = torch.randn(SHAPE, generator=s["g"]).to(DEV)
        s["x"] = mean.add_(z, alpha=beta**0.5)
        s["i"] = i - 1 if i > 1 else 49


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=2)
