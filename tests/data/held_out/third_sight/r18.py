"""Electricity load forecasting with dilated temporal convolutions."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
CFG = {"check_numerics": True, "blocks": 16, "width": 128}
SERIES, HISTORY, HORIZON = 256, 384, 24


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        w = CFG["width"]
        self.pad = 2 * d
        self.conv = nn.Conv1d(w, 2 * w, 3, dilation=d)
        self.mix = nn.Conv1d(w, w, 1)
        self.norm = nn.GroupNorm(8, w)

    def forward(self, x):
        y = F.glu(self.conv(F.pad(x, (self.pad, 0))), 1)
        return self.norm(x + self.mix(y))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        w = CFG["width"]
        self.inp = nn.Conv1d(8, w, 1)
        self.blocks = nn.ModuleList(Block(2 ** (i % 6)) for i in range(CFG["blocks"]))
        self.out = nn.Linear(w, HORIZON * 3)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x[:, :, -1]).view(-1, HORIZON, 3)


def setup():
    torch.autograd.set_detect_anomaly(CFG["check_numerics"])
    net = Forecaster().to(DEV)
    return {
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True),
        "x": torch.randn(SERIES, 8, HISTORY, device=DEV),
        "y": torch.randn(SERIES, HORIZON, device=DEV),
        "q": torch.tensor([0.1, 0.5, 0.9], device=DEV),
    }


def step(s):
    with torch.autocast(DEV, dtype=torch.bfloat16):
        out = s["net"](s["x"])
    err = s["y"][..., None] - out.float()
    loss = torch.maximum(s["q"] * err, (s["q"] - 1) * err).mean()
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=3)
