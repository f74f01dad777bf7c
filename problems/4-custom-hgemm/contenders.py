"""The contenders: torch.mm, cuBLASLt's best, each step, the dispatcher."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from build import CACHE, build, build_all
from checking import Run, Shape
from dispatch import Dispatcher, choose
from step import ELEMENT_BYTES, Step
from steps import RUNGS

Operands = tuple[Any, Any, Any]

WAITING = "waiting"
"""The dispatcher's choice without PDL: each launch begins when the previous kernel has ended."""

FP32 = "fp32"
"""torch's product of the operands as fp32, without tensor cores: a control for clock and power."""


def prepare() -> None:
    """Make torch's context, and torch's own products as exact as the contract asks."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.zeros(1, device="cuda")


def buffers(element: str, shape: Shape) -> list[Operands]:
    """Return sets of operands, of random normal numbers, that together exceed L2 three times."""
    import torch

    from harness.probe.paired import sets_beyond_cache

    m, n, k = shape
    dtype = torch.bfloat16 if element == "bf16" else torch.float16
    sets = []
    for _ in range(sets_beyond_cache(ELEMENT_BYTES * (m * k + k * n + m * n))):
        a = (torch.randn(m, k, device="cuda") * k**-0.5).to(dtype)
        b = torch.randn(k, n, device="cuda").to(dtype)
        sets.append((a, b, torch.empty(m, n, dtype=dtype, device="cuda")))
    return sets


def build_kernels(names: Sequence[str], element: str, shapes: Sequence[Shape]) -> None:
    """Compile, side by side, what these contenders launch for the shapes.

    What does not compile is told by the contender that needs it.
    """
    chosen = [choose(*shape) for shape in shapes]
    steps = [RUNGS[name] for name in names if name in RUNGS]
    steps += chosen if "best" in names else []
    steps += [replace(step, pdl=False) for step in chosen] if WAITING in names else []
    distinct = {(step.name, step.pdl): step for step in steps}
    build_all([(step, element) for step in distinct.values()], CACHE)


def kernel(
    step: Step, element: str, cache: Path = CACHE, extra: dict[str, int] | None = None
) -> Any:
    """Return the step, ready to launch."""
    from launch import Kernel

    return Kernel(step, build(step, element, cache, extra=extra).cubin, element)


def product(a: Any, b: Any, c: Any) -> None:
    """Call torch's product."""
    import torch

    torch.mm(a, b, out=c)


def fp32_product(a: Any, b: Any, c: Any) -> None:
    """Multiply in fp32, on the multiprocessors' ordinary arithmetic units: TF32 is off."""
    c.copy_(a.float() @ b.float())


def cublaslt(element: str, shape: Shape, sets: list[Operands]) -> tuple[Run, str]:
    """Time every heuristic candidate of cuBLASLt; return the fastest, and its number and time."""
    from cublaslt import Product

    from harness.probe.paired import best_of

    candidates = Product(element, *shape)
    runs = [candidates.bound(index) for index in range(len(candidates.algorithms))]
    index, us = best_of(runs, sets)
    return runs[index], f"algorithm {index} of {len(runs)}, {us:.1f} us alone"


def contender(name: str, element: str, shape: Shape, sets: list[Operands]) -> tuple[Run, str]:
    """Return the contender ``name`` as a function, and the algorithm or step that it runs."""
    if name == "torch":
        return product, ""
    if name == FP32:
        return fp32_product, ""
    if name == "cublaslt":
        return cublaslt(element, shape, sets)
    if name in ("best", WAITING):
        return Dispatcher(element, CACHE, pdl=name == "best"), choose(*shape).name
    return kernel(RUNGS[name], element), RUNGS[name].name


def kernel_names(run: Run, operands: Operands) -> str:
    """Return the kernels that one call launches, as torch's profiler names them; "" if it cannot.

    Call it after everything is timed: a profiler leaves traces in its process.
    """
    import torch

    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            run(*operands)
            torch.cuda.synchronize()
        names = [
            event.name for event in profile.events() if str(event.device_type).endswith("CUDA")
        ]
    except RuntimeError:  # no rights, or no CUPTI
        return ""
    return ", ".join(dict.fromkeys(names))
