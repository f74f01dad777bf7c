"""Self-supervised training on compressed tiles."""
import zlib

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIDE = 128


class Archive(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(1)
        base = np.linspace(0, 255, SIDE * SIDE * 3).reshape(SIDE, SIDE, 3)
        self.blobs = [
            zlib.compress((base + rng.integers(0, 16, (SIDE, SIDE, 3))).clip(0, 255).astype(np.uint8).tobytes(), 6)
            for _ in range(64)
        ]
        self.n = n

    def __len__(self):
        return self.n

    def view(self, img, rng):
        y, x = rng.integers(0, SIDE - 96, 2)
        v = img[y : y + 96, x : x + 96].astype(np.float32) / 255.0
        k = np.asarray([1, 4, 6, 4, 1], dtype=np.float64) / 16
        for c in range(3):
            for r in range(96):
                v[r, :, c] = np.convolve(v[r, :, c], k, mode="same")
        v = (v - v.mean()) * rng.uniform(0.8, 1.2) + rng.uniform(-0.1, 0.1)
        return torch.from_numpy(np.ascontiguousarray(v.transpose(2, 0, 1), dtype=np.float32))

    def __getitem__(self, i):
        rng = np.random.default_rng(i)
        raw = zlib.decompress(self.blobs[i % 64])
        img = np.frombuffer(raw, np.uint8).reshape(SIDE, SIDE, 3)
        return self.view(img, rng).half(), self.view(img, rng).half()


def conv(i, o, s):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


def setup():
    loader = DataLoader(Archive(64 * 200), batch_size=64, num_workers=2, pin_memory=True, drop_last=True)
    it = iter(loader)
    net = nn.Sequential(
        conv(3, 64, 1), conv(64, 128, 2), conv(128, 256, 2), conv(256, 256, 1), conv(256, 512, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 128),
    ).cuda().to(memory_format=torch.channels_last)
    return {
        "it": it,
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True),
        "close": it._shutdown_workers,
    }


def step(s):
    a, b = next(s["it"])
    x = torch.cat([a, b]).cuda(non_blocking=True).to(memory_format=torch.channels_last)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        z = s["net"](x)
    z = F.normalize(z.float(), dim=1)
    sim = z[:64] @ z[64:].t() / 0.1
    loss = F.cross_entropy(sim, torch.arange(64, device="cuda"))
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=3, with_stack=True)
