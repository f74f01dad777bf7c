"""Image classifier fed by a DataLoader."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Tiles(Dataset):
    def __init__(self, n):
        rng = np.random.default_rng(0)
        self.pool = rng.integers(0, 256, (512, 3, 96, 96), dtype=np.uint8)
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        img = self.pool[i % 512]
        if i & 1:
            img = img[:, :, ::-1]
        return torch.from_numpy(img.copy()), i % 100


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


def setup():
    torch.backends.cudnn.benchmark = True
    loader = DataLoader(
        Tiles(128 * 400), batch_size=128, shuffle=True, num_workers=4, pin_memory=True,
        prefetch_factor=2, drop_last=True,
    )
    it = iter(loader)
    net = nn.Sequential(
        conv(3, 128, 2), conv(128, 256), conv(256, 512, 2), conv(512, 512), conv(512, 512),
        conv(512, 1024, 2), conv(1024, 1024), conv(1024, 1024),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1024, 100),
    ).cuda().to(memory_format=torch.channels_last)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, fused=True)
    s = {"net": net, "opt": opt, "it": it}

    def close():
        it._shutdown_workers()

    s["close"] = close
    return s


def step(s):
    for _ in range(2):
        x, y = next(s["it"])
        x = x.cuda(non_blocking=True).to(memory_format=torch.channels_last)
        y = y.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = s["net"](x.to(torch.bfloat16).sub_(127.0).mul_(1 / 64))
            loss = F.cross_entropy(logits.float(), y)
        loss.backward()
        s["opt"].step()
        s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
