"""Training of a deep tabular network with a large parameter count."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
WIDTH, DEPTH = (8192, 16) if BIG else (64, 4)
BATCH = 512 if BIG else 8


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(WIDTH, WIDTH, device=DEV)

    def forward(self, x):
        return x + F.silu(self.fc(x))


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    model = nn.Sequential(*(Residual() for _ in range(DEPTH)), nn.Linear(WIDTH, 1, device=DEV))
    opt = torch.optim.RMSprop(model.parameters(), lr=1e-4, weight_decay=1e-5)
    return {"model": model, "opt": opt}


def step(s):
    x = torch.randn(BATCH, WIDTH, device=DEV)
    y = x[:, :1].tanh()
    s["opt"].zero_grad(set_to_none=True)
    loss = F.mse_loss(s["model"](x), y)
    loss.backward()
    s["opt"].step()
    s["loss"] = loss.item()


if __name__ == "__main__":
    main_memory(setup, step, steps=6)
