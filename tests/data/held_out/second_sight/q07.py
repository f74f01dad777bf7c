"""People counting on camera frames with a one-stage detector."""
import numpy as np
import torch
import torch.nn as nn


def conv(i, o, s=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.SiLU(inplace=True))


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 48, 2), conv(48, 96, 2), conv(96, 96), conv(96, 192, 2), conv(192, 192), conv(192, 192)
        )
        self.head = nn.Conv2d(192, 5, 1)

    def forward(self, x):
        p = self.head(self.body(x)).float()
        n, _, h, w = p.shape
        gy, gx = torch.meshgrid(torch.arange(h, device=p.device), torch.arange(w, device=p.device), indexing="ij")
        cx = (gx + p[:, 0].sigmoid()) * 8
        cy = (gy + p[:, 1].sigmoid()) * 8
        bw, bh = 20 * p[:, 2].exp(), 40 * p[:, 3].exp()
        box = torch.stack([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2], -1)
        return box.view(n, -1, 4), p[:, 4].sigmoid().view(n, -1)


def select(box, score, limit, thr=0.45):
    order = score.argsort()[::-1][:limit]
    area = (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])
    keep = []
    while order.size > 0:
        i = order[0]
        keep.append(i)
        rest = order[1:]
        x1 = np.maximum(box[i, 0], box[rest, 0])
        y1 = np.maximum(box[i, 1], box[rest, 1])
        x2 = np.minimum(box[i, 2], box[rest, 2])
        y2 = np.minimum(box[i, 3], box[rest, 3])
        inter = np.maximum(0.0, x2 - x1) * np.maximum(0.0, y2 - y1)
        order = rest[inter / (area[i] + area[rest] - inter) <= thr]
    return keep


def setup():
    torch.backends.cudnn.benchmark = True
    net = Detector().cuda().eval().half().to(memory_format=torch.channels_last)
    frames = torch.randint(0, 256, (8, 3, 640, 640), dtype=torch.uint8).pin_memory()
    return {"net": net, "frames": frames, "counts": []}


@torch.inference_mode()
def step(s):
    x = s["frames"].to("cuda", non_blocking=True).half().div_(255).to(memory_format=torch.channels_last)
    boxes, scores = s["net"](x)
    boxes, scores = boxes.cpu().numpy(), scores.cpu().numpy()
    s["counts"] = [len(select(b, c, 1500)) for b, c in zip(boxes, scores)]


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2)
