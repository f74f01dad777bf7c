"""Hardware counters: the profiled kernels."""

from typing import Any

from harness.cli.shown.columns import Cell, number, print_rows
from harness.cli.shown.kernels import kernel_name

_COUNTER: dict[str, Cell] = {
    "time µs": number("duration_ns", 1e3, 2),
    "DRAM %": number("dram_pct", 1, 1),
    "SM %": number("sm_pct", 1, 1),
    "tensor %": number("tensor_pct", 1, 1),
    "occupancy %": number("occupancy_pct", 1, 1),
    "registers": number("registers"),
    "waves": number("waves", 1, 2),
}


def show(document: dict[str, Any], names: dict[str, str]) -> None:
    """Print the profiled kernels."""
    print_rows("Profiled kernels", document["kernels"], kernel_name(names) | _COUNTER)
