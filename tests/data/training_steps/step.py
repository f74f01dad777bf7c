"""A training step of a small ViT, of Llama blocks, or of a diffusion UNet's block, for a profiler.

python step.py vit --trace vit.json  # torch.profiler, two steps
ncu --profile-from-start off --cache-control none --metrics … python step.py vit  # one step
"""

import argparse
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class Block(nn.Module):
    """A pre-norm transformer block, as in ViT."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.proj(
            functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c)
        )
        return x + self.mlp(self.norm2(x))


class ViT(nn.Module):
    def __init__(self, width: int = 768, depth: int = 6, heads: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.positions = nn.Parameter(torch.zeros(1, 196, width))
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patches(images).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.norm(self.blocks(x)).mean(1))


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


class Attention(nn.Module):
    """Grouped-query attention with rotary positions, in Llama-3 8B's sizes."""

    def __init__(self, width: int, heads: int, kv: int, length: int) -> None:
        super().__init__()
        self.heads, self.kv, self.size = heads, kv, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, kv * self.size, bias=False)
        self.v = nn.Linear(width, kv * self.size, bias=False)
        turn = torch.arange(length)[:, None] * 5e5 ** (-torch.arange(0, self.size, 2) / self.size)
        self.register_buffer("cos", turn.cos().repeat(1, 2), persistent=False)
        self.register_buffer("sin", turn.sin().repeat(1, 2), persistent=False)

    def turned(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, -1)
        return x * self.cos + torch.cat((-second, first), -1) * self.sin

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = (
            layer(x).view(b, t, -1, self.size).transpose(1, 2) for layer in (self.q, self.k, self.v)
        )
        y = functional.scaled_dot_product_attention(
            self.turned(q), self.turned(k), v, is_causal=True, enable_gqa=True
        )
        return self.o(y.transpose(1, 2).reshape(b, t, c))


class SwiGLU(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class LlamaBlock(nn.Module):
    def __init__(self, width: int = 4096, hidden: int = 14336, length: int = 4096) -> None:
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.attention, self.mlp = Attention(width, 32, 8, length), SwiGLU(width, hidden)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ResBlock(nn.Module):
    def __init__(self, into: int, out: int, time: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, into), nn.GroupNorm(32, out)
        self.conv1, self.conv2 = nn.Conv2d(into, out, 3, 1, 1), nn.Conv2d(out, out, 3, 1, 1)
        self.time, self.skip = nn.Linear(time, out), nn.Conv2d(into, out, 1)

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        y = (
            self.conv1(functional.silu(self.norm1(x)))
            + self.time(functional.silu(time))[:, :, None, None]
        )
        return self.skip(x) + self.conv2(functional.silu(self.norm2(y)))


class Spatial(nn.Module):
    """Self-attention over the pixels of a feature map."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm, self.block = nn.GroupNorm(32, width), Block(width, heads)

    def forward(self, x: Tensor) -> Tensor:
        b, c, h, w = x.shape
        y = self.block(self.norm(x).flatten(2).transpose(1, 2))
        return x + y.transpose(1, 2).view(b, c, h, w)


class UNet(nn.Module):
    """One level down and up, in the sizes of a latent-diffusion UNet's first levels."""

    def __init__(self, width: int = 320, time: int = 1280) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(320, time), nn.SiLU(), nn.Linear(time, time))
        self.inward, self.outward = nn.Conv2d(4, width, 3, 1, 1), nn.Conv2d(width, 4, 3, 1, 1)
        self.down1, self.narrow = ResBlock(width, width, time), nn.Conv2d(width, width, 3, 2, 1)
        self.down2, self.attention = ResBlock(width, 2 * width, time), Spatial(2 * width, 10)
        self.up2, self.up1 = ResBlock(2 * width, width, time), ResBlock(2 * width, width, time)

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        wave = steps[:, None] * torch.exp(-math.log(1e4) * torch.arange(160, device=x.device) / 160)
        time = self.embed(torch.cat((wave.sin(), wave.cos()), -1))
        first = self.down1(self.inward(x), time)
        deep = self.attention(self.down2(self.narrow(first), time))
        wide = functional.interpolate(self.up2(deep, time), scale_factor=2)
        return self.outward(self.up1(torch.cat((wide, first), 1), time))


def training(name: str, device: str = "cuda") -> Callable[[], None]:
    """Return a training step."""
    torch.manual_seed(0)
    bf16 = torch.bfloat16
    if name == "vit":
        model = ViT().to(device)
        inputs, target = (
            torch.randn(64, 3, 224, 224, device=device),
            torch.randint(1000, (64,), device=device),
        )

        def loss() -> Tensor:
            with torch.autocast(device, bf16):
                return functional.cross_entropy(model(inputs), target)
    elif name == "llama":
        model = nn.Sequential(LlamaBlock(), LlamaBlock()).to(device, bf16)
        x, y = (torch.randn(1, 4096, 4096, device=device, dtype=bf16) for _ in range(2))

        def loss() -> Tensor:
            return functional.mse_loss(model(x).float(), y.float())
    else:
        model = UNet().to(device)
        x, y = (torch.randn(16, 4, 64, 64, device=device) for _ in range(2))
        when = torch.randint(1000, (16,), device=device).float()

        def loss() -> Tensor:
            with torch.autocast(device, bf16):
                return functional.mse_loss(model(x, when).float(), y)

    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", choices=("vit", "llama", "unet"))
    parser.add_argument("--trace")
    options = parser.parse_args()
    step = training(options.model)
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    if options.trace:
        from torch.profiler import ProfilerActivity, profile, schedule

        activities = [ProfilerActivity.CPU, ProfilerActivity.CUDA]
        plan = schedule(wait=0, warmup=1, active=2, repeat=1)
        with profile(activities=activities, schedule=plan, with_stack=True) as profiler:
            for _ in range(3):
                step()
                torch.cuda.synchronize()
                profiler.step()
        profiler.export_chrome_trace(options.trace)
    else:
        torch.cuda.profiler.start()
        step()
        torch.cuda.synchronize()
        torch.cuda.profiler.stop()


if __name__ == "__main__":
    main()
