"""ResNet-style training fed from page-locked staging buffers."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, SIZE, WIDTH = 192, 192, 64
STAGES = (3, 4, 6, 3)


class Bottleneck(nn.Module):
    def __init__(self, cin, mid, stride):
        super().__init__()
        out = 4 * mid
        self.c1, self.b1 = nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.c2, self.b2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.c3, self.b3 = nn.Conv2d(mid, out, 1, bias=False), nn.BatchNorm2d(out)
        self.down = None
        if stride != 1 or cin != out:
            self.down = nn.Sequential(nn.Conv2d(cin, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.b1(self.c1(x)), inplace=True)
        y = F.relu(self.b2(self.c2(y)), inplace=True)
        y = self.b3(self.c3(y))
        return F.relu(y + (x if self.down is None else self.down(x)), inplace=True)


def network():
    layers = [nn.Conv2d(3, WIDTH, 7, 2, 3, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    cin = WIDTH
    for i, n in enumerate(STAGES):
        mid = WIDTH * 2**i
        for k in range(n):
            layers.append(Bottleneck(cin, mid, 2 if k == 0 and i > 0 else 1))
            cin = 4 * mid
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(cin, 1000))


class Feeder:
    """Copies the next batch on a side stream while the current one is used."""

    def __init__(self):
        pin = DEV == "cuda"
        self.host = []
        for _ in range(3):
            x = torch.randint(0, 256, (BATCH, SIZE, SIZE, 3), dtype=torch.uint8)
            y = torch.randint(0, 1000, (BATCH,))
            self.host.append((x.pin_memory(), y.pin_memory()) if pin else (x, y))
        self.stream = torch.cuda.Stream() if pin else None
        self.n = 0
        self.ahead = None
        self.fetch()

    def fetch(self):
        x, y = self.host[self.n % len(self.host)]
        self.n += 1
        if self.stream is None:
            self.ahead = (x, y)
            return
        with torch.cuda.stream(self.stream):
            self.ahead = (x.to(DEV, non_blocking=True), y.to(DEV, non_blocking=True))

    def next(self):
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
        x, y = self.ahead
        if self.stream is not None:
            x.record_stream(torch.cuda.current_stream())
            y.record_stream(torch.cuda.current_stream())
        self.fetch()
        return x, y


def setup():
    net = network().to(DEV, memory_format=torch.channels_last)
    opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-5, fused=True)
    return {"net": net, "opt": opt, "feed": Feeder()}


def step(s):
    x, y = s["feed"].next()
    x = x.permute(0, 3, 1, 2).to(torch.bfloat16).mul_(1 / 255)
    with torch.autocast(DEV, dtype=torch.bfloat16):
        loss = F.cross_entropy(s["net"](x), y)
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=4)
