"""Renders frames of a simulation and sends them to host memory on a second stream."""
import torch

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
SIDE, FRAMES, RING = (8192, 32, 4) if BIG else (16, 4, 2)


class Writer:
    def __init__(self):
        self.ring = [torch.empty(SIDE, SIDE, pin_memory=BIG) for _ in range(RING)]
        self.stream = torch.cuda.Stream() if BIG else None
        self.n = 0

    def send(self, frame):
        dst = self.ring[self.n % RING]
        self.n += 1
        if not BIG:
            dst.copy_(frame)
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            dst.copy_(frame, non_blocking=True)
        frame.record_stream(self.stream)

    def flush(self):
        if BIG:
            self.stream.synchronize()


def render(u, k):
    frame = torch.mul(u, 0.5 + 0.01 * k)
    return frame.clamp_(0, 1)


def advance(u):
    u.mul_(0.999).add_(torch.roll(u, 1, 0), alpha=0.001)


def setup():
    return {"u": torch.rand(SIDE, SIDE, device=DEV), "w": Writer()}


@torch.no_grad()
def step(s):
    for k in range(FRAMES):
        advance(s["u"])
        s["w"].send(render(s["u"], k))
    s["w"].flush()


if __name__ == "__main__":
    main_memory(setup, step, steps=4)
