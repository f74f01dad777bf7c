"""Per-pixel channel normalisation for feature maps in NCHW."""
import torch
import triton
import triton.language as tl


@triton.jit
def channel_norm(x_ptr, g_ptr, b_ptr, y_ptr, hw, eps, C: tl.constexpr):
    pixel = tl.program_id(0)
    image = tl.program_id(1).to(tl.int64)
    c = tl.arange(0, C)
    offs = image * C * hw + c * hw + pixel
    x = tl.load(x_ptr + offs)
    mean = tl.sum(x, axis=0) / C
    d = x - mean
    var = tl.sum(d * d, axis=0) / C
    g = tl.load(g_ptr + c)
    b = tl.load(b_ptr + c)
    tl.store(y_ptr + offs, d * tl.rsqrt(var + eps) * g + b)


def setup():
    x = torch.randn(32, 256, 128, 128, device="cuda")
    return {
        "x": x,
        "y": torch.empty_like(x),
        "g": torch.rand(256, device="cuda"),
        "b": torch.zeros(256, device="cuda"),
    }


def step(s):
    n, c, h, w = s["x"].shape
    channel_norm[(h * w, n)](s["x"], s["g"], s["b"], s["y"], h * w, 1e-5, C=c, num_warps=4)
    s["m"] = s["y"][0].mean()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
