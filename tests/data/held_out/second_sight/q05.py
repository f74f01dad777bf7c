"""Pressure solve: conjugate gradients on a five-point Laplacian."""
import torch

SIDE = 4096


def laplacian(n):
    dev = "cuda"
    i = torch.arange(n * n, device=dev, dtype=torch.int32)
    r, c = i // n, i % n
    cols = torch.stack([i - n, i - 1, i, i + 1, i + n], 1)
    ok = torch.stack([r > 0, c > 0, torch.ones_like(r, dtype=torch.bool), c < n - 1, r < n - 1], 1)
    vals = torch.tensor([-1.0, -1.0, 4.02, -1.0, -1.0], device=dev).expand(n * n, 5)
    ptr = torch.zeros(n * n + 1, dtype=torch.int32, device=dev)
    ptr[1:] = ok.sum(1).cumsum(0).to(torch.int32)
    return torch.sparse_csr_tensor(ptr, cols[ok], vals[ok], (n * n, n * n))


def setup():
    a = laplacian(SIDE)
    b = torch.randn(SIDE * SIDE, device="cuda")
    return {"a": a, "b": b, "x": torch.zeros_like(b), "r": b.clone(), "p": b.clone(), "rr": torch.dot(b, b)}


@torch.no_grad()
def step(s):
    a, x, r, p, rr = s["a"], s["x"], s["r"], s["p"], s["rr"]
    for _ in range(40):
        q = a @ p
        alpha = rr / torch.dot(p, q)
        x.addcmul_(p, alpha)
        r.addcmul_(q, alpha, value=-1)
        new = torch.dot(r, r)
        torch.addcmul(r, p, new / rr, out=p)
        rr = new
    s["rr"] = rr
    if rr.item() < 1e-3:
        x.zero_()
        r.copy_(s["b"])
        p.copy_(s["b"])
        s["rr"] = torch.dot(r, r)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, record_shapes=True)
