"""Video super-resolution inference, frame batches."""
import torch
import torch.nn as nn

WIDTH, BLOCKS, B, H, W = 64, 10, 8, 360, 640


class Res(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.act = nn.ReLU(inplace=True)
        self.b = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)

    def forward(self, x):
        return self.b(self.act(self.a(x))).add_(x)


class Upscaler(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.body = nn.Sequential(*[Res() for _ in range(BLOCKS)])
        self.tail = nn.Sequential(nn.Conv2d(WIDTH, 12, 3, padding=1), nn.PixelShuffle(2))

    def forward(self, x):
        h = self.head(x)
        return self.tail(self.body(h).add_(h))


def setup():
    torch.backends.cudnn.benchmark = True
    net = Upscaler().to("cuda", torch.bfloat16).eval()
    x = torch.rand(B, 3, H, W, device="cuda", dtype=torch.bfloat16)
    return {"net": net, "x": x}


@torch.inference_mode()
def step(s):
    for _ in range(3):
        s["y"] = s["net"](s["x"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
