"""Attention alone by backend, and the share of it in a step by the image's size."""

import floor
import models
import torch
import ways
from floor import Shapes
from graphs import device_ms
from torch import Tensor
from torch.nn import functional

from harness.probe.cell import Cell

_CALLS = 5
"""In one graph: even a call of ten microseconds takes longer than two events are apart."""


def backends(cell: Cell) -> None:
    """Sample each backend at each of the case's shapes; state which one refuses a shape."""
    torch.manual_seed(0)
    for name, (heads, tokens, keys, head) in cell.params["shapes"].items():
        shape = (cell.params["batch"], heads, tokens, head)
        query, key, value = operands(shape, (*shape[:2], keys, head), cell)
        exact = functional.scaled_dot_product_attention(query.float(), key.float(), value.float())
        for backend in cell.params["backends"]:
            work = attended(backend, (query, key, value))
            try:
                with cell.phase(f"compile-{backend}-{name}"):
                    error = float((work().float() - exact).norm() / exact.norm())
            except RuntimeError as refusal:
                cell.fact(f"refused.{backend}-at-{name}", str(refusal).splitlines()[0][:200])
                continue
            cell.fact(f"error.{backend}-at-{name}", 100 * error, "% of the output")
            with cell.exclusively(f"{backend}-{name}"):
                taken = [device_ms(work, cell.device, _CALLS) for _ in range(cell.params["turns"])]
            flop = floor.attention_flop(shape, tuple(key.shape))
            cell.sample(f"{backend}-at-{name}", "attention_ms", "ms", taken)
            rates = [flop / ms / 1e9 for ms in taken]
            cell.sample(f"{backend}-at-{name}", "tflop_s", "TFLOP/s", rates)


def operands(query: tuple[int, ...], key: tuple[int, ...], cell: Cell) -> list[Tensor]:
    """Return query, key and value of these shapes."""
    dtype = models.dtype_of(cell.params)
    return [torch.randn(*shape, device=cell.device, dtype=dtype) for shape in (query, key, key)]


def attended(backend: str, of: tuple[Tensor, Tensor, Tensor]):  # noqa: ANN201 - a closure
    """Return a call of one backend; ``flex``: FlexAttention as torch.compile makes it."""
    if backend == "flex":
        from torch.nn.attention.flex_attention import flex_attention

        compiled = torch.compile(flex_attention, dynamic=False)
        return lambda: compiled(*of)

    def work() -> Tensor:
        with ways.attention(None if backend == "chosen" else backend):
            return functional.scaled_dot_product_attention(*of)

    return work


def by_size(cell: Cell) -> None:
    """Sample, for each size of image, a step's GPU time and that of its attention."""
    with cell.phase("load"):
        base = models.denoiser(cell.params, cell.device)
        ways.prepare(base, cell.params)
    step = ways.make(base, {}).step
    for side in cell.params["sides"]:
        given = models.inputs(cell.params, cell.device, (side, side))
        with cell.phase(f"count-{side}"):
            flop, of_attention, calls = floor.counted(step, given)
        cell.fact(f"tflop.{side}", flop / 1e12, "TFLOP")
        cell.fact(f"attention_flop.{side}", 100 * of_attention / flop, "% of the operations")
        turns = range(cell.params["turns"])
        with cell.exclusively(str(side)):
            whole = [device_ms(lambda: step(given), cell.device, 1) for _ in turns]  # noqa: B023
            alone = [of_calls(calls, cell) for _ in turns]
        cell.sample(str(side), "gpu_ms", "ms", whole)
        cell.sample(str(side), "attention_ms", "ms", alone)
        shares = [100 * part / ms for part, ms in zip(alone, whole, strict=True)]
        cell.sample(str(side), "attention_share", "%", shares)


def of_calls(calls: Shapes, cell: Cell) -> float:
    """Return the device's ms of so many attentions of these shapes."""
    total = 0.0
    for (query, key), count in calls.items():
        work = attended("chosen", tuple(operands(query, key, cell)))  # type: ignore[arg-type]
        total += count * device_ms(work, cell.device, _CALLS)
    return total
