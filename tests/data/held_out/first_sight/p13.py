"""Fine-tuning with regular snapshots of the training state."""
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def setup():
    net = nn.Sequential(
        nn.Linear(1024, 2048), nn.GELU(), nn.LayerNorm(2048),
        *[m for _ in range(4) for m in (nn.Linear(2048, 2048), nn.GELU(), nn.LayerNorm(2048))],
        nn.Linear(2048, 1024),
    ).cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    x = torch.randn(8192, 1024, device="cuda")
    path = f"/tmp/fs_state_{os.getpid()}.pt"

    def close():
        for p in (path, path + ".new"):
            if os.path.exists(p):
                os.remove(p)

    return {"net": net, "opt": opt, "x": x, "path": path, "close": close, "it": 0}


def step(s):
    for _ in range(10):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.mse_loss(s["net"](s["x"]).float(), s["x"])
        loss.backward()
        s["opt"].step()
        s["opt"].zero_grad(set_to_none=True)
        s["it"] += 1
    torch.save(
        {"model": s["net"].state_dict(), "opt": s["opt"].state_dict(), "it": s["it"]},
        s["path"] + ".new",
    )
    os.replace(s["path"] + ".new", s["path"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=1, with_stack=True)
