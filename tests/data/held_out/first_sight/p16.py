"""Portfolio risk: exponentially weighted volatility, then scenario losses."""
import torch
import triton
import triton.language as tl

ASSETS, DAYS, SCENARIOS = 256, 32768, 65536


@triton.jit
def ewma_var(r_ptr, out_ptr, days, assets, lam, BLOCK: tl.constexpr):
    a = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = a < assets
    v = tl.zeros((BLOCK,), dtype=tl.float32) + 1e-4
    for t in range(0, days):
        r = tl.load(r_ptr + t * assets + a, mask=m, other=0.0)
        v = lam * v + (1.0 - lam) * r * r
        tl.store(out_ptr + t * assets + a, v, mask=m)


def setup():
    dev = "cuda"
    return {
        "ret": torch.randn(DAYS, ASSETS, device=dev) * 0.01,
        "var": torch.empty(DAYS, ASSETS, device=dev),
        "weights": torch.rand(ASSETS, 64, device=dev),
        "shock": torch.randn(SCENARIOS, ASSETS, device=dev),
    }


@torch.no_grad()
def step(s):
    ewma_var[(ASSETS // 128,)](s["ret"], s["var"], DAYS, ASSETS, 0.94, BLOCK=128)
    z = s["ret"] / s["var"].sqrt()
    corr = z.t() @ z / DAYS
    corr.diagonal().add_(0.05)
    chol = torch.linalg.cholesky(corr)
    pnl = (s["shock"] @ chol.t() * s["var"][-1].sqrt()) @ s["weights"]
    s["es"] = pnl.t().contiguous().kthvalue(SCENARIOS // 100, dim=1).values


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, record_shapes=True)
