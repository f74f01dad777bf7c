"""The facts that a cell states about a shape, a step and a product's errors: name, value, unit."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from build import Built, blocks_per_sm
from checking import Errors, Shape
from rates import flop
from step import ELEMENT_BYTES, Step

Fact = tuple[str, float | str, str]

UNITS = {
    "tflops": "TFLOP/s",
    "torch_tflops": "TFLOP/s",
    "cublaslt_tflops": "TFLOP/s",
    "of_torch": "%",
    "of_cublaslt": "%",
    "of_better": "%",
    "of_better_waiting": "%",
    "speedup": "×",
    "gain": "×",
    "sm_mhz": "MHz",
    "nvml_mhz": "MHz",
    "clock_of_better": "×",
    "power_w": "W",
    "energy": "mJ",
    "of_tensor_rate": "%",
}
"""The unit of each metric that a cell samples itself."""


def of_shape(shape: Shape) -> Iterator[Fact]:
    """Yield the operations, and the least bytes that any kernel has to move."""
    m, n, k = shape
    yield "flop", flop(shape), "FLOP"
    yield "io_bytes", ELEMENT_BYTES * (m * k + k * n + m * n), "B"


def of_step(step: Step, built: Built) -> Iterator[Fact]:
    """Yield a step's configuration, and its resources by ptxas."""
    yield "step", step.name, ""
    yield "tile", "×".join(map(str, step.tile)), ""
    yield "cluster", "×".join(map(str, (*step.cluster, step.split_k))), ""  # in M, N and K
    yield "stages", step.stages, "stages"
    yield "threads", step.threads, "threads"
    yield "registers", built.registers, "registers"
    yield "spill_bytes", built.spill_bytes, "B"
    yield "shared_bytes", step.shared_bytes + built.static_shared_bytes, "B"
    yield "blocks_per_sm", blocks_per_sm(step, built), "blocks"


def of_errors(errors: Errors) -> Iterator[Fact]:
    """Yield the errors of a product, and of cuBLAS's with the same operands."""
    yield "error", errors.error, ""
    yield "error_to_fp32", errors.single, ""
    yield "cublas_error", errors.cublas, ""
    yield "error_ratio", _ratio(errors), "×"
    yield "worst_error", errors.worst, ""
    yield "cublas_worst_error", errors.worst_cublas, ""


def over_all(errors: Sequence[Errors], built: Sequence[Built]) -> Iterator[Fact]:
    """Yield the largest error ratio to cuBLAS's, and the sum of spills, of all kernels."""
    yield "largest_error_ratio", max(map(_ratio, errors)), "×"
    if built:
        yield "all_spill_bytes", sum(cubin.spill_bytes for cubin in built), "B"


def _ratio(errors: Errors) -> float:
    return errors.error / errors.cublas


def state(cell: Any, facts: Iterable[Fact], region: str = "") -> None:
    """State facts, of one region of the cell if it has several."""
    for name, value, unit in facts:
        cell.fact(f"{name}.{region}" if region else name, value, unit)


def keep(cell: Any, region: str, values: dict[str, list[float]]) -> None:
    """Keep the finite samples of a region."""
    for metric, samples in values.items():
        finite = [value for value in samples if math.isfinite(value)]
        if finite:
            cell.sample(region, metric, UNITS[metric], finite)
