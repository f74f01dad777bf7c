"""Denoising a video clip with a spatio-temporal transformer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, FRAMES, H, W = 2048, 16, 3, 12, 32, 48
T = FRAMES * H * W


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 2 * DIM, bias=False), nn.Linear(2 * DIM, DIM, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(1, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(1, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = nn.Sequential(*[Block() for _ in range(LAYERS)]).eval().requires_grad_(False)
        x = torch.randn(1, T, DIM)
    torch.set_default_dtype(torch.float32)
    return {"net": net, "x": x}


@torch.inference_mode()
def step(s):
    x = s["x"]
    for _ in range(2):
        x = x.lerp(s["net"](x), 0.1)
    s["out"] = x


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2, record_shapes=True)
