"""Latent diffusion sampling with a transformer denoiser and guidance."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DEPTH, DIM, HEADS = 10, 1152, 16
IMAGES, GRID, CH = 16, 16, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1 = nn.LayerNorm(DIM, elementwise_affine=False)
        self.n2 = nn.LayerNorm(DIM, elementwise_affine=False)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)
        self.mod = nn.Linear(DIM, 6 * DIM)

    def forward(self, x, c):
        b, t, _ = x.shape
        s1, k1, g1, s2, k2, g2 = self.mod(F.silu(c))[:, None].chunk(6, -1)
        h = torch.addcmul(s1, self.n1(x), 1 + k1)
        q, k, v = self.qkv(h).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM)
        x = torch.addcmul(x, g1, self.out(a))
        h = torch.addcmul(s2, self.n2(x), 1 + k2)
        return torch.addcmul(x, g2, self.down(F.gelu(self.up(h), approximate="tanh")))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(CH, DIM)
        self.pos = nn.Parameter(torch.randn(1, GRID * GRID, DIM) * 0.02)
        self.time = nn.Sequential(nn.Linear(256, DIM), nn.SiLU(), nn.Linear(DIM, DIM))
        self.label = nn.Embedding(1001, DIM)
        self.blocks = nn.ModuleList(Block() for _ in range(DEPTH))
        self.norm = nn.LayerNorm(DIM)
        self.outp = nn.Linear(DIM, CH)

    def forward(self, z, t, y):
        f = torch.exp(-torch.arange(128, device=z.device) * 0.0719) * t
        c = self.time(torch.cat([f.cos(), f.sin()])[None]) + self.label(y)
        x = self.inp(z) + self.pos
        for blk in self.blocks:
            x = blk(x, c)
        return self.outp(self.norm(x))


def setup():
    with torch.device(DEV):
        net = Denoiser().eval()
    y = torch.randint(0, 1000, (IMAGES,), device=DEV)
    return {
        "net": net,
        "z": torch.randn(IMAGES, GRID * GRID, CH, device=DEV),
        "y": torch.cat([y, torch.full_like(y, 1000)]),
        "t": torch.full((1,), 1000.0, device=DEV),
    }


@torch.inference_mode()
def step(s):
    z = s["z"]
    eps = s["net"](torch.cat([z, z]), s["t"], s["y"])
    cond, free = eps.chunk(2)
    s["z"] = z - 0.02 * torch.lerp(free, cond, 4.0)
    s["t"] = s["t"] - 20.0


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
