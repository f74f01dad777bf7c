"""Measure this GPU's achievable peak rates; run by ``harness calibrate``.

Bandwidths are of buffers many times the L2's size. Matrix rates are of torch's library on normally
distributed numbers: zeros draw less power and run faster. The GPU rests before each sample, so that
its clocks are highest; the rate without rests is measured once, as "sustained".
"""

import importlib
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from harness.probe import series, timing
from harness.probe.cell import Cell

_BYTES = 2 << 30
_SIDE = 8192
_NODES = 1000
_TRANSFER_BYTES = 256 << 20
_READERS = 132 * 16  # programs of the reading kernel, some for each SM of a large GPU

Step = Callable[[], object]
Ceiling = tuple[str, str, float, Step]
"""Metric, unit, amount that a step does, step: the rate is the amount over the step's ms."""


def main() -> None:
    """Measure every ceiling that this GPU has."""
    cell = Cell.load(lambda _: importlib.import_module("reading"))
    torch.manual_seed(0)
    for make in (bandwidths, matrices):
        for name, unit, amount, step in make():
            keep(cell, name, unit, amount, step)
            torch.cuda.empty_cache()
    launches(cell)
    transfers(cell)
    cell.finish()


def keep(cell: Cell, name: str, unit: str, amount: float, step: Step) -> None:
    """Measure GPU time of a step and keep the rate: with rests, and on request without."""
    for _ in range(cell.settings["warmup"]):
        step()
    sustained = name.endswith("_sustained")
    rests = {"rest_ms": 0} if sustained else {}
    with cell.exclusively():
        if sustained:
            heat(step)
        rates = timing.gpu_series(step, cell.settings | rests)
    cell.sampled("ceilings", rates.rates(name, amount), unit)


def heat(step: Step) -> None:
    """Run without a rest for a second, until power and clocks are steady."""
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        for _ in range(20):
            step()
        torch.cuda.synchronize()


def bandwidths() -> Iterator[Ceiling]:
    """Yield copy (bytes read and written) and read-only bandwidth, in GB/s."""
    from reading import read  # Triton, which only a cell needs: by hand a CPU may lack it

    source = torch.randn(_BYTES // 4, device="cuda")
    target = torch.empty_like(source)
    yield "dram_copy", "GB/s", 2 * _BYTES / 1e6, lambda: target.copy_(source)
    sums = torch.empty(_READERS, device="cuda")
    words = source.numel()
    yield "dram_read", "GB/s", _BYTES / 1e6, lambda: read[(_READERS,)](source, sums, words, 4096)


def matrices() -> Iterator[Ceiling]:
    """Yield the rate of an 8192³ product for each type that has one, in TFLOP/s."""
    work = 2 * _SIDE**3 / 1e9
    for name, kind in (("bf16", torch.bfloat16), ("fp16", torch.float16)):
        yield name, "TFLOP/s", work, _product(kind)
    yield "bf16_sustained", "TFLOP/s", work, _product(torch.bfloat16)
    if torch.cuda.get_device_capability() >= (8, 9):
        yield "fp8", "TFLOP/s", work, _fp8_product()
    for name, allowed in (("tf32", True), ("fp32", False)):
        torch.backends.cuda.matmul.allow_tf32 = allowed
        yield name, "TFLOP/s", work, _product(torch.float32)


def _square(kind: torch.dtype) -> Tensor:
    return torch.randn(_SIDE, _SIDE, device="cuda").to(kind)


def _product(kind: torch.dtype) -> Step:
    a, b = _square(kind), _square(kind)
    out = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=out)


def _fp8_product() -> Step:
    a, b = _square(torch.float8_e4m3fn), _square(torch.float8_e4m3fn).t()
    scale = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(
        a, b, scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def launches(cell: Cell) -> None:
    """Keep the host time of a launch, alone and with a wait, and of each node of a graph."""
    step: Step = lambda: torch.cuda._sleep(0)  # noqa: E731 - the least kernel that torch has
    graph, word = torch.cuda.CUDAGraph(), torch.zeros(1, device="cuda")
    word.add_(1)
    with torch.cuda.graph(graph):
        for _ in range(_NODES):
            word.add_(1)
    for name, timed, count in (
        ("launch", lambda: _host_ms(step, 1000), 1000),
        ("round_trip", lambda: _waited_ms(step), 1),
        ("graph_launch", lambda: _host_ms(graph.replay, 1), _NODES),
    ):
        for _ in range(cell.settings["warmup"]):
            timed()
        with cell.exclusively():
            times = series.collect(name, timed, 1, series.limits(cell.settings))
        cell.sampled("ceilings", times, "µs", 1e3 / count)
    for name, timed_step, count in (
        ("graph_node", graph.replay, _NODES),
        ("event_pair", lambda: None, 1),
    ):
        with cell.exclusively():
            times = timing.gpu_series(timed_step, cell.settings, together=1)
        cell.sampled("ceilings", times.named(name), "µs", 1e3 / count)


def _host_ms(step: Step, count: int) -> float:
    """Return the host's ms for ``count`` calls, the device idle before."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) * 1e3


def _waited_ms(step: Step) -> float:
    torch.cuda.synchronize()
    start = time.perf_counter()
    step()
    torch.cuda.synchronize()
    return (time.perf_counter() - start) * 1e3


def transfers(cell: Cell) -> None:
    """Keep the bandwidth of copies to and from pinned and pageable host memory, in GB/s."""
    device = torch.empty(_TRANSFER_BYTES, dtype=torch.uint8, device="cuda")
    for kind in ("pinned", "pageable"):
        host = torch.ones(_TRANSFER_BYTES, dtype=torch.uint8, pin_memory=kind == "pinned")
        for name, step in (
            (f"h2d_{kind}", lambda host=host: device.copy_(host, non_blocking=True)),
            (f"d2h_{kind}", lambda host=host: host.copy_(device, non_blocking=True)),
        ):
            for _ in range(cell.settings["warmup"]):
                step()
            timed = lambda step=step: _waited_ms(step)  # noqa: E731
            with cell.exclusively():
                times = series.collect(name, timed, 1, series.limits(cell.settings))
            cell.sampled("ceilings", times.rates(name, _TRANSFER_BYTES / 1e6), "GB/s")


if __name__ == "__main__":
    main()
