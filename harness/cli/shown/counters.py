"""Hardware counters: the profiled kernels."""

from typing import Any

from harness.cli.shown.columns import Cell, narrow, number, print_rows, without
from harness.cli.shown.kernels import kernel_name

BESIDE_NAMES = 78
"""Columns of the terminal that a table of kernels needs beside their names."""

_KERNEL: dict[str, Cell] = {
    "n": number("launches"),
    "µs": number("median_ns", 1e3, 2),
    "min": number("min_ns", 1e3, 2),
    "max": number("max_ns", 1e3, 2),
    "DRAM%": number("dram_pct", 1, 1),
    "SM%": number("sm_pct", 1, 1),
    "tensor%": number("tensor_pct", 1, 1),
    "occ.%": number("occupancy_pct", 1, 1),
    "regs": number("registers"),
    "waves": number("waves", 1, 2),
}


_WIDE = ("min", "max", "waves")


def show(document: dict[str, Any], names: dict[str, str]) -> None:
    """Print the profiled kernels, the longest in total first; figures are medians of launches."""
    is_narrow = narrow()
    times = "median time" if is_narrow else "time (median, least, most)"
    title = f"Profiled kernels: launches, {times}, medians of counters"
    columns = without(_KERNEL, *_WIDE) if is_narrow else _KERNEL
    print_rows(title, document["by_kernel"], kernel_name(names) | columns, whole=not names)
