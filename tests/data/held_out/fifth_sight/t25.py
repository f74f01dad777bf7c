"""Builds a quantised vector index shard by shard, then links it."""
import torch

from runner import main_memory

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
MIB = 1024 * 1024 if BIG else 1024
SHARDS, PER_STEP = 64, 8
RAW, CODE, LINK = 96 * MIB, 32 * MIB, 3072 * MIB
if BIG:
    torch.cuda.set_per_process_memory_fraction(10.5 * 2**30 / torch.cuda.get_device_properties(0).total_memory)


class Builder:
    def __init__(self):
        self.raw, self.codes, self.links = [], [], None
        warm = torch.empty(SHARDS * (RAW + CODE), dtype=torch.uint8, device=DEV)
        warm.zero_()
        del warm

    def load(self):
        x = torch.empty(RAW // 4, device=DEV)
        x.uniform_(-1, 1)
        self.raw.append(x)
        return x

    def encode(self, x):
        c = torch.empty(CODE // 4, device=DEV)
        torch.mul(x[: c.numel()], 0.5, out=c)
        self.codes.append(c)

    def link(self):
        self.raw.clear()
        self.links = torch.empty(LINK // 4, dtype=torch.int32, device=DEV)
        self.links.zero_()
        each = self.links.numel() // len(self.codes)
        for i, c in enumerate(self.codes):
            self.links[i * each : (i + 1) * each].add_(i)


def setup():
    return {"b": Builder(), "i": 0}


def step(s):
    b = s["b"]
    if s["i"] < SHARDS // PER_STEP:
        for _ in range(PER_STEP):
            b.encode(b.load())
    else:
        b.link()
    s["i"] += 1


if __name__ == "__main__":
    main_memory(setup, step, steps=SHARDS // PER_STEP + 1)
