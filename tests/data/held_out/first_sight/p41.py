"""Session store and a long-prompt scorer sharing a card with another job."""
import random

import torch

HEADS, T, HD = 24, 8192, 64
KEEP = 38
BUDGET = 8 * 2**30


class Store:
    def __init__(self):
        self.rng = random.Random(3)
        self.sessions = {}
        self.n = 0

    def admit(self, tokens):
        while len(self.sessions) >= KEEP:
            self.sessions.pop(self.rng.choice(sorted(self.sessions)))
        self.sessions[self.n] = torch.zeros(2, 16, tokens, 1024, dtype=torch.bfloat16, device="cuda")
        self.n += 1


def setup():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(BUDGET / total)
    q = torch.randn(HEADS, T, HD, dtype=torch.bfloat16, device="cuda")
    k = torch.randn(HEADS, T, HD, dtype=torch.bfloat16, device="cuda")
    return {"q": q, "k": k, "store": Store(), "rank": None}


@torch.no_grad()
def step(s):
    scores = torch.bmm(s["q"], s["k"].transpose(1, 2))
    s["rank"] = scores.amax(dim=(0, 1))
    del scores
    s["store"].admit(s["store"].rng.randint(600, 1800))


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=120)
