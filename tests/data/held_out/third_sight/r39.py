"""Tabular regression with a wide network and moment-based optimizer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
WIDTH, DEPTH, FEATURES, BATCH = 8192, 12, 512, 4096


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(FEATURES, WIDTH)
        self.hidden = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(DEPTH))
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, x):
        x = F.relu(self.inp(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.out(x).squeeze(1)


def setup():
    torch.set_float32_matmul_precision("high")
    with torch.device(DEV):
        net = Net()
    return {"net": net, "opt": torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)}


def step(s):
    x = torch.randn(BATCH, FEATURES, device=DEV)
    y = x.mean(1)
    with torch.autocast(DEV, dtype=torch.bfloat16):
        out = s["net"](x)
    loss = F.mse_loss(out.float(), y)
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=8, warmup=0)
