"""Aerial image segmentation service, one batch of tiles per step."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, SIZE, WIDTH = 64, 512, 64


def unit(cin, cout, stride):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1), nn.ReLU(True))


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        w = WIDTH
        self.stem = nn.Sequential(nn.Conv2d(3, w, 7, 4, 3), nn.ReLU(True))
        self.d1 = nn.Sequential(unit(w, w, 1), unit(w, 2 * w, 2))
        self.d2 = nn.Sequential(unit(2 * w, 2 * w, 1), unit(2 * w, 4 * w, 2))
        self.mid = nn.Sequential(unit(4 * w, 4 * w, 1), unit(4 * w, 4 * w, 1))
        self.u2 = unit(4 * w + 2 * w, 2 * w, 1)
        self.u1 = unit(2 * w + w, w, 1)
        self.head = nn.Conv2d(w, 6, 1)

    def forward(self, x):
        a = self.stem(x)
        b = self.d1(a)
        c = self.mid(self.d2(b))
        c = self.u2(torch.cat([F.interpolate(c, scale_factor=2.0), b], 1))
        c = self.u1(torch.cat([F.interpolate(c, scale_factor=2.0), a], 1))
        return self.head(c).argmax(1).to(torch.uint8)


def setup():
    net = SegNet().to(DEV, torch.bfloat16, memory_format=torch.channels_last).eval()
    tiles = [torch.rand(BATCH, 3, SIZE, SIZE) for _ in range(3)]
    return {"net": net, "tiles": tiles, "n": 0, "last": None}


@torch.inference_mode()
def step(s):
    x = s["tiles"][s["n"] % len(s["tiles"])]
    s["n"] += 1
    x = x.to(DEV).to(torch.bfloat16, memory_format=torch.channels_last)
    s["last"] = s["net"](x)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3)
