"""Photometric preprocessing of image batches on the device."""
import torch


def photometric(img, mean, inv_std, gain, shift, shade):
    x = img.to(torch.float32) * (1.0 / 255.0)
    x = torch.clamp(x * gain + shift, 0.0, 1.0)
    x = x * shade
    x = x * x * (3.0 - 2.0 * x)
    return ((x - mean) * inv_std).to(torch.bfloat16)


def setup():
    dev = "cuda"
    n, h, w = 64, 1024, 1024
    imgs = [torch.randint(0, 256, (n, 3, h, w), dtype=torch.uint8, device=dev) for _ in range(3)]
    yy = torch.linspace(-1, 1, h, device=dev)[:, None]
    xx = torch.linspace(-1, 1, w, device=dev)[None, :]
    return {
        "fn": torch.compile(photometric),
        "imgs": imgs,
        "mean": torch.tensor([0.48, 0.45, 0.40], device=dev).view(1, 3, 1, 1),
        "inv": 1.0 / torch.tensor([0.23, 0.22, 0.22], device=dev).view(1, 3, 1, 1),
        "gain": torch.rand(n, 1, 1, 1, device=dev) * 0.4 + 0.8,
        "shift": torch.rand(n, 1, 1, 1, device=dev) * 0.2 - 0.1,
        "shade": (1.0 - 0.3 * (yy * yy + xx * xx)).view(1, 1, h, w),
    }


@torch.no_grad()
def step(s):
    for k in range(12):
        s["out"] = s["fn"](s["imgs"][k % 3], s["mean"], s["inv"], s["gain"], s["shift"], s["shade"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=20, warmup=3)
