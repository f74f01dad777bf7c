"""Resume an interrupted training run of a generator with averaged weights."""
import copy
import os

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, DEPTH, B = 2048, 12, 512


def build():
    return nn.Sequential(
        nn.Linear(128, DIM), nn.SiLU(), *[m for _ in range(DEPTH) for m in (nn.Linear(DIM, DIM), nn.SiLU())], nn.Linear(DIM, 128)
    ).cuda()


def interrupted(path):
    net = build()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    state = {"model": net.state_dict(), "ema": copy.deepcopy(net.state_dict()), "opt": opt.state_dict(), "step": 1200}
    torch.save(state, path)


def setup():
    path = f"/tmp/second_resume_{os.getpid()}.pt"
    interrupted(path)
    net, ema = build(), build().requires_grad_(False)
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    saved = torch.load(path, map_location="cuda")
    os.remove(path)
    net.load_state_dict(saved["model"])
    ema.load_state_dict(saved["ema"])
    opt.load_state_dict(saved["opt"])
    return {"net": net, "ema": ema, "opt": opt, "saved": saved, "done": 0}


def step(s):
    z = torch.randn(B, 128, device="cuda")
    loss = F.mse_loss(s["net"](z), z)
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    with torch.no_grad():
        torch._foreach_lerp_(list(s["ema"].parameters()), list(s["net"].parameters()), 0.001)
    s["done"] += 1
    s["global_step"] = s["saved"]["step"] + s["done"]


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=8)
