"""Vision transformer pre-training on random crops kept on the device."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DIM, HEADS, DEPTH, BATCH = (768, 12, 6, 32) if DEV == "cuda" else (48, 4, 2, 2)


class Attn(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.proj = nn.Linear(DIM, DIM)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, HEADS, d // HEADS).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v)
        return self.proj(y.transpose(1, 2).reshape(b, n, d))


class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.attn = Attn()
        self.mlp = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(16 * 16 * 3, DIM)
        self.pos = nn.Parameter(torch.zeros(1, 196, DIM))
        self.enc = nn.Sequential(*[Enc() for _ in range(DEPTH)])
        self.head = nn.Linear(DIM, 1000)

    def forward(self, im):
        b = im.shape[0]
        p = im.view(b, 3, 14, 16, 14, 16).permute(0, 2, 4, 1, 3, 5).reshape(b, 196, 768)
        return self.head(self.enc(self.patch(p) + self.pos).mean(1))


def setup():
    m = ViT().to(DEV)
    opt = torch.optim.AdamW(m.parameters(), lr=3e-4, fused=DEV == "cuda")
    x = torch.randn(BATCH, 3, 224, 224, device=DEV)
    y = torch.randint(0, 1000, (BATCH,), device=DEV)
    return m, opt, x, y


def step(st):
    m, opt, x, y = st
    loss = F.cross_entropy(m(x), y, label_smoothing=0.1)
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
