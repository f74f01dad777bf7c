"""Image classification training with random crops and colour jitter."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BATCH = 96
RAW = 256
SIZE = 160
WIDTH = 64


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class Images:
    def __init__(self, n):
        self.raw = torch.randint(0, 256, (n, 3, RAW, RAW), dtype=torch.uint8)
        self.label = torch.randint(0, 100, (n,))
        self.gen = torch.Generator().manual_seed(1)
        self.mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
        self.std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def item(self, i):
        side = int(torch.randint(SIZE, RAW, (1,), generator=self.gen))
        y = int(torch.randint(0, RAW - side + 1, (1,), generator=self.gen))
        x = int(torch.randint(0, RAW - side + 1, (1,), generator=self.gen))
        img = self.raw[i, :, y : y + side, x : x + side].float().div_(255)
        img = F.interpolate(img[None], size=(SIZE, SIZE), mode="bicubic", antialias=True)[0]
        if float(torch.rand(1, generator=self.gen)) < 0.5:
            img = img.flip(2)
        gain = 0.8 + 0.4 * torch.rand(3, 1, 1, generator=self.gen)
        img = (img * gain).clamp_(0, 1)
        return (img - self.mean) / self.std

    def batch(self):
        idx = torch.randint(0, self.raw.shape[0], (BATCH,), generator=self.gen).tolist()
        imgs = torch.stack([self.item(i) for i in idx])
        lab = self.label[idx]
        if DEV == "cuda":
            imgs, lab = imgs.pin_memory(), lab.pin_memory()
        return imgs, lab


def setup():
    w = WIDTH
    net = nn.Sequential(
        nn.Conv2d(3, w, 7, 2, 3, bias=False),
        nn.BatchNorm2d(w),
        nn.ReLU(),
        Block(w, w, 2),
        Block(w, w, 1),
        Block(w, 2 * w, 2),
        Block(2 * w, 2 * w, 1),
        Block(2 * w, 4 * w, 2),
        Block(4 * w, 4 * w, 1),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4 * w, 100),
    ).to(DEV, memory_format=torch.channels_last)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, foreach=True)
    return {"net": net, "opt": opt, "data": Images(2 * BATCH)}


def step(s):
    x, y = s["data"].batch()
    x = x.to(DEV, non_blocking=True).contiguous(memory_format=torch.channels_last)
    y = y.to(DEV, non_blocking=True)
    with torch.autocast(DEV, dtype=torch.bfloat16):
        loss = F.cross_entropy(s["net"](x), y)
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2)
