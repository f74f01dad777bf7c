"""Long-horizon forecasting of many sensor series with a patch transformer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, PATCH, N, T = 768, 12, 6, 16, 64, 256


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.o = nn.Linear(DIM, DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(N, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(N, T, DIM))
        return x + self.ff(self.n2(x))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(PATCH, DIM)
        self.pos = nn.Parameter(torch.zeros(1, T, DIM))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.out = nn.Linear(DIM, PATCH)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x.view(N, T, PATCH)) + self.pos))


def setup():
    net = Forecaster().cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    data = torch.randn(4, N, (T + 1) * PATCH, device="cuda").cumsum(-1) * 0.05
    return {"net": net, "opt": opt, "data": data, "i": 0, "curve": []}


def step(s):
    series = s["data"][s["i"] % 4]
    s["i"] += 1
    pred = s["net"](series[:, :-PATCH])
    loss = F.smooth_l1_loss(pred, series[:, PATCH:].reshape(N, T, PATCH))
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()
    s["curve"].append(loss.item())


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
