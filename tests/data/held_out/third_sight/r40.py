"""Video object tracking with a memory of recent frame features."""
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
HISTORY, SIZE, WIDTH, STREAMS = 24, 512, 128, 16


class Tracker(nn.Module):
    def __init__(self):
        super().__init__()
        w = WIDTH
        self.body = nn.Sequential(
            nn.Conv2d(3, w, 7, 4, 3), nn.ReLU(True), nn.Conv2d(w, 2 * w, 3, 2, 1), nn.ReLU(True), nn.Conv2d(2 * w, 2 * w, 3, 1, 1)
        )
        self.query = nn.Conv2d(2 * w, 2 * w, 1)

    def forward(self, frame, memory):
        f = self.body(frame)
        q = F.adaptive_avg_pool2d(self.query(f), 8).flatten(2).transpose(1, 2)
        read = torch.zeros_like(q)
        for m in memory:
            m = m.flatten(2).transpose(1, 2)
            read = read + F.scaled_dot_product_attention(q, m, m)
        return f, read


def setup():
    net = Tracker().to(DEV, torch.bfloat16).eval()
    return {"net": net, "memory": deque(maxlen=HISTORY)}


@torch.inference_mode()
def step(s):
    frame = torch.rand(STREAMS, 3, SIZE, SIZE, device=DEV, dtype=torch.bfloat16)
    f, _ = s["net"](frame, s["memory"])
    s["memory"].append(f)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=80, warmup=0)
