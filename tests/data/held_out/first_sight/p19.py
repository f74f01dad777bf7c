"""Denoising-diffusion training on small images."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Res(nn.Module):
    def __init__(self, i, o, emb=256):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, i), nn.GroupNorm(8, o)
        self.c1, self.c2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.t = nn.Linear(emb, o)
        self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x))) + self.t(e)[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(64, 256), nn.SiLU(), nn.Linear(256, 256))
        self.inp = nn.Conv2d(3, 64, 3, padding=1)
        self.d1 = nn.ModuleList(Res(64, 64) for _ in range(3))
        self.d2 = nn.ModuleList([Res(64, 128), Res(128, 128), Res(128, 128)])
        self.d3 = nn.ModuleList([Res(128, 256), Res(256, 256), Res(256, 256)])
        self.mid = nn.ModuleList(Res(256, 256) for _ in range(3))
        self.u3 = nn.ModuleList([Res(512, 256), Res(256, 256), Res(256, 128)])
        self.u2 = nn.ModuleList([Res(256, 128), Res(128, 128), Res(128, 64)])
        self.u1 = nn.ModuleList([Res(128, 64), Res(64, 64), Res(64, 64)])
        self.out = nn.Conv2d(64, 3, 3, padding=1)

    def forward(self, x, t):
        f = torch.exp(torch.arange(32, device=x.device) * -0.28)
        a = t[:, None] * f
        e = self.time(torch.cat([a.sin(), a.cos()], 1))
        h = self.inp(x)
        for b in self.d1:
            h = b(h, e)
        s1, h = h, F.avg_pool2d(h, 2)
        for b in self.d2:
            h = b(h, e)
        s2, h = h, F.avg_pool2d(h, 2)
        for b in self.d3:
            h = b(h, e)
        s3 = h
        for b in self.mid:
            h = b(h, e)
        h = torch.cat([h, s3], 1)
        for b in self.u3:
            h = b(h, e)
        h = torch.cat([F.interpolate(h, scale_factor=2), s2], 1)
        for b in self.u2:
            h = b(h, e)
        h = torch.cat([F.interpolate(h, scale_factor=2), s1], 1)
        for b in self.u1:
            h = b(h, e)
        return self.out(h)


def setup():
    net = UNet().cuda()
    shadow = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4, foreach=False)
    return {
        "net": net, "shadow": shadow, "opt": opt,
        "x": torch.randn(32, 3, 32, 32, device="cuda"),
        "abar": torch.linspace(0.999, 0.01, 1000, device="cuda"),
    }


def step(s):
    x = s["x"]
    t = torch.randint(0, 1000, (x.shape[0],), device="cuda")
    a = s["abar"][t].view(-1, 1, 1, 1)
    noise = torch.randn_like(x)
    loss = F.mse_loss(s["net"](a.sqrt() * x + (1 - a).sqrt() * noise, t.float()), noise)
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()
    with torch.no_grad():
        for pe, p in zip(s["shadow"].parameters(), s["net"].parameters()):
            pe.mul_(0.9995)
            pe.add_(p, alpha=0.0005)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
