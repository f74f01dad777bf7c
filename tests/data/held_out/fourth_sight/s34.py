"""Train a wide regression tower, with the ability to go back to an earlier state."""
import copy

import torch
import torch.nn as nn

from runner import main_memory

CUDA = torch.cuda.is_available()
DEV = "cuda" if CUDA else "cpu"
W, DEPTH, B = (6144, 8, 2048) if CUDA else (32, 2, 8)


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(*[m for _ in range(DEPTH) for m in (nn.Linear(W, W), nn.SiLU())], nn.Linear(W, 1)).to(DEV)
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-4, fused=CUDA)
        self.saved = []
        self.n = 0

    def update(self):
        x = torch.randn(B, W, device=DEV)
        with torch.autocast(DEV, dtype=torch.bfloat16):
            y = self.net(x)
        loss = (y.float() - x.mean(1, keepdim=True)).square().mean()
        loss.backward()
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)
        self.n += 1
        if self.n % 3 == 0:
            self.remember()

    def remember(self):
        self.saved.append((copy.deepcopy(self.net.state_dict()), copy.deepcopy(self.opt.state_dict())))
        self.saved = self.saved[-2:]


if __name__ == "__main__":
    main_memory(Trainer, Trainer.update, steps=12)
