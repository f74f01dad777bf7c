"""Inference with weights kept in host memory and streamed layer by layer."""
import torch
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
D, HEADS, LAYERS = (4096, 32, 8) if BIG else (64, 4, 3)
BATCH, SEQ = (8, 2048) if BIG else (2, 16)
DT = torch.bfloat16
SHAPES = [(3 * D, D), (D, D), (3 * D, D), (D, 3 * D)]
SIZES = [a * b for a, b in SHAPES]


def layer(x, flat):
    wqkv, wo, wu, wd = (w.view(sh) for w, sh in zip(flat.split(SIZES), SHAPES))
    b, t, _ = x.shape
    h = F.rms_norm(x, (D,))
    q, k, v = F.linear(h, wqkv).view(b, t, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
    a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    x = x + F.linear(a.transpose(1, 2).reshape(b, t, D), wo)
    return x + F.linear(F.gelu(F.linear(F.rms_norm(x, (D,)), wu), approximate="tanh"), wd)


class Streamer:
    def __init__(self):
        total = sum(SIZES)
        self.host = [torch.empty(total, dtype=DT, pin_memory=BIG).fill_(0.01) for _ in range(LAYERS)]
        self.buf = [torch.empty(total, dtype=DT, device=DEV) for _ in range(2)]
        self.copy = torch.cuda.Stream() if BIG else None
        self.ready = [torch.cuda.Event() for _ in range(2)] if BIG else None

    def fetch(self, i):
        slot = i % 2
        if not BIG:
            self.buf[slot].copy_(self.host[i])
            return
        self.copy.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copy):
            self.buf[slot].copy_(self.host[i], non_blocking=True)
            self.ready[slot].record(self.copy)

    def take(self, i):
        if BIG:
            torch.cuda.current_stream().wait_event(self.ready[i % 2])
        return self.buf[i % 2]


def setup():
    return {"w": Streamer(), "x": torch.randn(BATCH, SEQ, D, device=DEV, dtype=DT)}


@torch.no_grad()
def step(s):
    w, x = s["w"], s["x"]
    w.fetch(0)
    for i in range(LAYERS):
        flat = w.take(i)
        x = layer(x, flat)
        if i + 1 < LAYERS:
            w.fetch(i + 1)
    s["y"] = x


if __name__ == "__main__":
    main(setup, step, steps=6, warmup=2)
