"""Programs whose steps profilers slow: launches, networks, and hosts that compute or wait."""

import json
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

Step = Callable[[], object]


def chain(kernels: int) -> Step:
    """Return a step of small additions in place."""
    import torch

    x = torch.zeros(16, device="cuda")

    def step() -> None:
        for _ in range(kernels):
            x.add_(1)

    return step


def wide(turns: int) -> Step:
    """Return a step of small operators, some of which only change strides."""
    import torch

    x = torch.zeros(1 << 16, device="cuda")

    def step() -> None:
        y = x
        for _ in range(turns):
            y = (y * 2).sin().relu() + y.view(256, 256).t().reshape(-1)

    return step


def transformer(
    width: int,
    layers: int,
    batch: int,
    tokens: int,
    *,
    optimizer: str = "",
    item: bool = False,
    sleep_s: float = 0.0,
) -> Step:
    """Return a step of a decoder: forward, or training by AdamW with tensors one by one or not."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            heads = self.qkv(self.first(x)).view(batch, tokens, 3, width // 64, 64)
            q, k, v = heads.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))
            return x + self.down(functional.gelu(self.up(self.second(x))))

    net = nn.Sequential(*[Block() for _ in range(layers)]).to("cuda", torch.bfloat16)
    x = torch.randn(batch, tokens, width, device="cuda", dtype=torch.bfloat16)
    update = torch.optim.AdamW(net.parameters(), foreach=optimizer == "foreach")

    def forward() -> None:
        time.sleep(sleep_s)
        with torch.no_grad():
            net(x)

    def training() -> None:
        loss = net(x).float().square().mean()
        loss.backward()
        update.step()
        update.zero_grad()
        if item:
            loss.item()

    return training if optimizer else forward


def convolutions(batch: int) -> Step:
    """Return a step of twelve convolutions with normalisation."""
    from torch import nn, no_grad, ones

    layers: list[nn.Module] = []
    for place in range(12):
        layers += [nn.Conv2d(64 if place else 3, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU()]
    net = nn.Sequential(*layers).to("cuda").eval()

    def step() -> None:
        with no_grad():
            net(ones(batch, 3, 96, 96, device="cuda"))

    return step


def compiled() -> Step:
    """Return a step of compiled linears, whose guards the host checks."""
    import torch

    net = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(60)]).to("cuda")
    fast, x = torch.compile(net), torch.ones(8, 64, device="cuda")

    def step() -> None:
        with torch.no_grad():
            fast(x)

    return step


def behind(code: Callable[[], object]) -> Step:
    """Return a step of three products that begin when the host has run ``code``."""
    import torch

    x = torch.randn(2048, 2048, device="cuda")

    def step() -> None:
        code()
        x @ x @ x @ x

    return step


def reading() -> Step:
    """Return such a step behind 16 MB of a file."""
    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(os.urandom(1 << 24))

    def read() -> None:
        with Path(file.name).open("rb", buffering=0) as again:
            for _ in range(64):
                again.read(1 << 18)

    return behind(read)


def queueing() -> Step:
    """Return such a step behind another thread's item, one in 4 ms."""
    items: queue.Queue[int] = queue.Queue(2)

    def feed() -> None:
        while True:
            time.sleep(0.004)
            items.put(1)

    threading.Thread(target=feed, daemon=True).start()
    return behind(items.get)


def locking() -> Step:
    """Return such a step behind a lock that another thread holds for 3 ms of 3.2."""
    lock = threading.Lock()

    def hold() -> None:
        while True:
            with lock:
                time.sleep(0.003)
            time.sleep(0.0002)

    def take() -> None:
        with lock:
            pass

    threading.Thread(target=hold, daemon=True).start()
    return behind(take)


def encode() -> None:
    """Write and read JSON."""
    json.loads(json.dumps([{"a": number, "b": str(number)} for number in range(3000)]))


PROGRAMS: dict[str, Callable[[], Step]] = {
    "small_ops": lambda: chain(400),
    "wide_ops": lambda: wide(100),
    "gpt_tiny": lambda: transformer(256, 12, 1, 64),
    "gpt_tiny_train": lambda: transformer(256, 6, 1, 64, optimizer="one by one"),
    "gpt_tiny_foreach": lambda: transformer(256, 12, 2, 64, optimizer="foreach"),
    "gpt_even": lambda: transformer(1024, 12, 8, 512),
    "gpt_even_train": lambda: transformer(768, 12, 8, 256, optimizer="foreach"),
    "gpt_big": lambda: transformer(2048, 8, 8, 1024),
    "gpt_item": lambda: transformer(1024, 6, 8, 512, optimizer="foreach", item=True),
    "gpt_sleep": lambda: transformer(1024, 6, 8, 512, sleep_s=0.004),
    "conv_small": lambda: convolutions(2),
    "conv_big": lambda: convolutions(64),
    "guards": compiled,
    "wait_read": reading,
    "wait_queue": queueing,
    "wait_lock": locking,
    "host_json": lambda: behind(encode),
    "host_python": lambda: behind(lambda: sum(number * number for number in range(60000))),
}
