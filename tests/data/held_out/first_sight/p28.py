"""Lookup of short item vectors for a ranking model."""
import torch
import triton
import triton.language as tl

ITEMS, WIDTH, LOOKUPS = 2_000_000, 16, 6_000_000


@triton.jit
def fetch_rows(table_ptr, idx_ptr, out_ptr, W: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    row = tl.load(idx_ptr + i)
    c = tl.arange(0, W)
    v = tl.load(table_ptr + row * W + c)
    tl.store(out_ptr + i * W + c, v)


def setup():
    dev = "cuda"
    return {
        "table": torch.randn(ITEMS, WIDTH, device=dev),
        "idx": torch.randint(0, ITEMS, (LOOKUPS,), device=dev),
        "out": torch.empty(LOOKUPS, WIDTH, device=dev),
        "w": torch.randn(WIDTH, 1, device=dev),
    }


def step(s):
    fetch_rows[(LOOKUPS,)](s["table"], s["idx"], s["out"], W=WIDTH)
    s["score"] = s["out"][:65536] @ s["w"]


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
