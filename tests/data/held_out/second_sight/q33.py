"""The two big products of a feed-forward layer."""
import torch

TOKENS, DIM, HIDDEN = 16384, 8192, 16384


def setup():
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {
        "x": torch.randn(TOKENS, DIM, **f),
        "up": torch.randn(HIDDEN, DIM, **f) / DIM**0.5,
        "down": torch.randn(DIM, HIDDEN, **f) / HIDDEN**0.5,
        "h": torch.empty(TOKENS, HIDDEN, **f),
        "y": torch.empty(TOKENS, DIM, **f),
    }


@torch.no_grad()
def step(s):
    torch.mm(s["x"], s["up"].t(), out=s["h"])
    torch.mm(s["h"], s["down"].t(), out=s["y"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=4, warmup=3, record_shapes=True)
