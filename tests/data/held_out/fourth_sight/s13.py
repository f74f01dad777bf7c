"""Chebyshev-filtered subspace iteration for the low end of a dense spectrum."""
import torch

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
N, K, DEG = (6144, 1024, 12) if DEV == "cuda" else (128, 16, 8)


class Problem:
    def __init__(self):
        a = torch.randn(N, N, device=DEV, dtype=torch.float64) / N**0.5
        self.h = (a + a.t()).mul_(0.5)
        self.h.diagonal().add_(torch.linspace(0, 4, N, device=DEV, dtype=torch.float64))
        self.x = torch.linalg.qr(torch.randn(N, K, device=DEV, dtype=torch.float64))[0]
        lo, hi = 0.8, 6.5
        self.half, mid = (hi - lo) / 2, (hi + lo) / 2
        self.hs = self.h.clone()
        self.hs.diagonal().sub_(mid)
        self.hs.div_(self.half)

    def iterate(self):
        prev, cur = self.x, self.hs @ self.x
        for _ in range(DEG - 1):
            prev, cur = cur, torch.addmm(prev, self.hs, cur, beta=-1, alpha=2)
        cur = cur / cur.norm(dim=0, keepdim=True)
        r, _ = torch.linalg.cholesky_ex(cur.t() @ cur, upper=True)
        self.x = torch.linalg.solve_triangular(r, cur, upper=True, left=False)


def setup():
    return Problem()


def step(p):
    p.iterate()


if __name__ == "__main__":
    main(setup, step, steps=6, warmup=2)
