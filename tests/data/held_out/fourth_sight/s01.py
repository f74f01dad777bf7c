"""Fine-tune a small residual classifier on a synthetic photo collection."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"


class Photos(Dataset):
    def __init__(self, n=4096, side=288):
        rng = np.random.default_rng(0)
        self.base = rng.integers(0, 255, (64, side, side, 3), dtype=np.uint8)
        self.n = n
        self.side = side
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        self.std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        g = np.random.default_rng(i)
        img = torch.from_numpy(self.base[i % 64]).permute(2, 0, 1).float().div_(255)
        s = int(g.integers(160, self.side))
        y, x = int(g.integers(0, self.side - s + 1)), int(g.integers(0, self.side - s + 1))
        img = img[:, y : y + s, x : x + s]
        img = F.interpolate(img[None], size=(224, 224), mode="bilinear", antialias=True, align_corners=False)[0]
        if g.random() < 0.5:
            img = img.flip(-1)
        gray = img.mean(0, keepdim=True)
        img = gray + (img - gray) * (0.7 + 0.6 * float(g.random()))
        img = (img - self.mean) / self.std
        return img, int(g.integers(0, 100))


class Res(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.na = nn.BatchNorm2d(c)
        self.b = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.nb = nn.BatchNorm2d(c)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)), inplace=True)
        return F.relu(x + self.nb(self.b(y)))


def build():
    layers = [nn.Conv2d(3, 64, 7, stride=4, padding=3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True)]
    layers += [Res(64), Res(64), nn.Conv2d(64, 128, 3, 2, 1), Res(128), Res(128), nn.Conv2d(128, 256, 3, 2, 1), Res(256)]
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100)]
    return nn.Sequential(*layers)


def setup():
    model = build().to(DEV, memory_format=torch.channels_last)
    opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
    loader = DataLoader(Photos(), batch_size=48 if BIG else 4, shuffle=True, pin_memory=BIG, drop_last=True)
    return {"model": model, "opt": opt, "loader": loader, "it": iter(loader)}


def step(s):
    try:
        x, y = next(s["it"])
    except StopIteration:
        s["it"] = iter(s["loader"])
        x, y = next(s["it"])
    x = x.to(DEV, non_blocking=True, memory_format=torch.channels_last)
    y = y.to(DEV, non_blocking=True)
    with torch.autocast(DEV, dtype=torch.bfloat16):
        out = s["model"](x)
    loss = F.cross_entropy(out.float(), y)
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
