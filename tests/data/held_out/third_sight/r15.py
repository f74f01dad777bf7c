"""Object detection inference with box selection."""
import torch
import torch.nn as nn

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BATCH, SIZE, CLASSES, WIDTH = 12, 640, 20, 64


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        w = WIDTH
        chans = [3, w, 2 * w, 4 * w, 4 * w]
        body = []
        for a, b in zip(chans, chans[1:]):
            body += [nn.Conv2d(a, b, 3, 2, 1), nn.SiLU(True), nn.Conv2d(b, b, 3, 1, 1), nn.SiLU(True)]
        self.body = nn.Sequential(*body)
        self.cls = nn.Conv2d(chans[-1], CLASSES, 1)
        self.box = nn.Conv2d(chans[-1], 4, 1)

    def forward(self, x):
        f = self.body(x)
        return self.cls(f).flatten(2).transpose(1, 2).float(), self.box(f).flatten(2).transpose(1, 2).float()


def overlap(b):
    area = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
    lo = torch.maximum(b[:, None, :2], b[None, :, :2])
    hi = torch.minimum(b[:, None, 2:], b[None, :, 2:])
    inter = (hi - lo).clamp(min=0).prod(-1)
    return inter / (area[:, None] + area[None] - inter).clamp(min=1e-6)


def select(scores, boxes):
    found = []
    for i in range(scores.shape[0]):
        for c in range(CLASSES):
            sc = scores[i, :, c]
            keep = sc > sc.mean() + 1.6 * sc.std()
            if keep.sum() == 0:
                continue
            sc, bx = sc[keep], boxes[i][keep]
            sc, order = sc.sort(descending=True)
            bx = bx[order]
            iou = overlap(bx).triu(1)
            worst = iou.max(0).values
            decay = (1 - iou) / (1 - worst[:, None]).clamp(min=1e-6)
            sc = sc * decay.min(0).values
            last = sc > 0.5
            found.append((i, c, sc[last], bx[last]))
    return found


def setup():
    net = Detector().to(DEV, torch.bfloat16, memory_format=torch.channels_last).eval()
    x = torch.rand(BATCH, 3, SIZE, SIZE, device=DEV, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
    n = SIZE // 16
    ys, xs = torch.meshgrid(torch.arange(n, device=DEV), torch.arange(n, device=DEV), indexing="ij")
    centre = torch.stack([xs, ys], -1).view(1, -1, 2).float() * 16 + 8
    return {"net": net, "x": x, "centre": centre, "found": None}


@torch.inference_mode()
def step(s):
    logits, delta = s["net"](s["x"])
    noise = torch.randn_like(logits)
    scores = (logits + noise).sigmoid()
    size = 48 * torch.exp(delta[..., 2:].clamp(-2, 2))
    mid = s["centre"] + 8 * delta[..., :2]
    boxes = torch.cat([mid - size / 2, mid + size / 2], -1)
    s["found"] = select(scores, boxes)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=4, warmup=2)
