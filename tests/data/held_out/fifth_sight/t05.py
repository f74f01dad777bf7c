"""Sign-momentum update with a running average of the weights, bucket by bucket."""
import torch

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
BUCKETS = 12 if BIG else 2
NUMEL = 64 * 1024 * 1024 if BIG else 4096


def update(p, g, m, avg):
    lr, b1, b2, wd, decay = 1e-4, 0.9, 0.99, 0.1, 0.999
    u = torch.sign(m * b1 + g * (1.0 - b1))
    p.mul_(1.0 - lr * wd).sub_(u * lr)
    m.mul_(b2).add_(g * (1.0 - b2))
    avg.mul_(decay).add_(p * (1.0 - decay))


def setup():
    fn = torch.compile(update, fullgraph=True, dynamic=False) if BIG else update
    buckets = []
    for _ in range(BUCKETS):
        p = torch.randn(NUMEL, device=DEV)
        g = torch.randn(NUMEL, device=DEV)
        m = torch.zeros(NUMEL, device=DEV)
        buckets.append((p, g, m, p.clone()))
    return {"fn": fn, "buckets": buckets}


@torch.no_grad()
def step(s):
    fn = s["fn"]
    for p, g, m, avg in s["buckets"]:
        fn(p, g, m, avg)


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
