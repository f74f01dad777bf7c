"""Action recognition fed by a decoder that delivers clips in bursts."""
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F


class Decoder:
    def __init__(self):
        self.clip = torch.randint(0, 256, (8, 16, 3, 224, 224), dtype=torch.uint8).pin_memory()

    def burst(self):
        return [self.clip] * 3


class Feed:
    def __init__(self, decoder):
        self.decoder = decoder
        self.waiting = deque()

    def next(self):
        for clip in self.decoder.burst():
            self.waiting.append(clip.to("cuda", non_blocking=True).float().div_(255))
        return self.waiting.popleft()


def setup():
    net = nn.Sequential(
        nn.Conv3d(3, 32, (3, 7, 7), (1, 4, 4), (1, 3, 3)), nn.ReLU(),
        nn.Conv3d(32, 64, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(64, 400),
    ).cuda()
    return {
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True),
        "feed": Feed(Decoder()),
        "y": torch.randint(0, 400, (8,), device="cuda"),
    }


def step(s):
    x = s["feed"].next().transpose(1, 2)
    loss = F.cross_entropy(s["net"](x), s["y"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=16)
