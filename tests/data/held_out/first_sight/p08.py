"""Convolutional autoencoder training."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def down(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.SiLU())


def up(i, o):
    return nn.Sequential(nn.ConvTranspose2d(i, o, 4, 2, 1), nn.BatchNorm2d(o), nn.SiLU())


def setup():
    net = nn.Sequential(
        down(3, 64), down(64, 128), down(128, 256), down(256, 256),
        up(256, 256), up(256, 128), up(128, 64), up(64, 32), nn.Conv2d(32, 3, 3, padding=1),
    ).cuda().to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4, fused=True)
    x = torch.rand(48, 3, 256, 256, device="cuda").to(memory_format=torch.channels_last)
    return {"net": net, "opt": opt, "x": x}


def step(s):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = s["net"](s["x"] + 0.05 * torch.randn_like(s["x"]))
        loss = F.mse_loss(y.float(), s["x"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    del y, loss
    torch.cuda.empty_cache()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=12, warmup=3)
