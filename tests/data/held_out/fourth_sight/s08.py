"""Street-scene segmentation: encoder/decoder training in mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
SIDE, BATCH, BASE = (256, 8, 64) if DEV == "cuda" else (32, 1, 8)


def cbr(a, b, s=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class SegNet(nn.Module):
    def __init__(self, c=BASE, classes=19):
        super().__init__()
        self.e1 = nn.Sequential(cbr(3, c), cbr(c, c))
        self.e2 = nn.Sequential(cbr(c, 2 * c, 2), cbr(2 * c, 2 * c))
        self.e3 = nn.Sequential(cbr(2 * c, 4 * c, 2), cbr(4 * c, 4 * c), cbr(4 * c, 4 * c))
        self.d2 = nn.Sequential(cbr(6 * c, 2 * c), cbr(2 * c, 2 * c))
        self.d1 = nn.Sequential(cbr(3 * c, c), cbr(c, c))
        self.out = nn.Conv2d(c, classes, 1)

    def forward(self, x):
        a = self.e1(x)
        b = self.e2(a)
        c = self.e3(b)
        b = self.d2(torch.cat((F.interpolate(c, scale_factor=2), b), 1))
        a = self.d1(torch.cat((F.interpolate(b, scale_factor=2), a), 1))
        return self.out(a)


def setup():
    torch.backends.cudnn.benchmark = True
    net = SegNet().to(DEV)
    opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, fused=DEV == "cuda")
    x = torch.randn(BATCH, 3, SIDE, SIDE, device=DEV)
    y = torch.randint(0, 19, (BATCH, SIDE, SIDE), device=DEV)
    return dict(net=net, opt=opt, x=x, y=y)


def step(s):
    with torch.autocast(DEV, dtype=torch.bfloat16):
        logits = s["net"](s["x"])
        loss = F.cross_entropy(logits, s["y"])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=4)
