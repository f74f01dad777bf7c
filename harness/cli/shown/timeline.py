"""A timeline: GPU activity, kernels, copies, ranges and operators."""

from typing import Any

from harness.cli.shown.columns import NOT_MEASURED, Cell, number, print_rows, size, text
from harness.cli.shown.kernels import kernel_name, shape


def _busy_percent(row: dict[str, Any]) -> str:
    return f"{row['busy_ns'] / row['span_ns'] * 100:.1f}" if row["span_ns"] else NOT_MEASURED


_GPU: dict[str, Cell] = {
    "device": lambda row: str(row.get("device", "all")),
    "span ms": number("span_ns", 1e6, 3),
    "busy ms": number("busy_ns", 1e6, 3),
    "busy %": _busy_percent,
    "idle ms": number("idle_ns", 1e6, 3),
    "overlapped ms": number("overlap_ns", 1e6, 3),
}
_KERNEL: dict[str, Cell] = {
    "count": number("count"),
    "total ms": number("total_ns", 1e6, 3),
    "median µs": number("median_ns", 1e3, 2),
    "share %": number("share", 0.01, 1),
    "grid": shape("grid"),
    "block": text("block"),
}
_COPY: dict[str, Cell] = {
    "copy": text("kind"),
    "count": number("count"),
    "size": size("bytes"),
    "total ms": number("total_ns", 1e6, 3),
}
_RANGE: dict[str, Cell] = {
    "range": text("name"),
    "count": number("count"),
    "total ms": number("total_ns", 1e6, 3),
    "median ms": number("median_ns", 1e6, 3),
    "never ended": number("unfinished"),
}
_OPERATOR: dict[str, Cell] = {
    "operator": text("name"),
    "count": number("count"),
    "host ms": number("total_ns", 1e6, 3),
    "GPU ms": number("device_ns", 1e6, 3),
}


def show(document: dict[str, Any], names: dict[str, str]) -> None:
    """Print GPU activity, kernels, copies and ranges; operators where no GPU work was recorded."""
    gpu = document["gpu"]
    if gpu["span_ns"] is None:
        print("No GPU work in this capture.")
    else:
        print_rows("GPU", [*gpu["devices"], *([gpu] if len(gpu["devices"]) != 1 else [])], _GPU)
    print_rows("Kernels", document["kernels"], kernel_name(names) | _KERNEL)
    print_rows("Copies", document["copies"], _COPY)
    print_rows("Ranges", document["ranges"], _RANGE)
    if gpu["span_ns"] is None:
        print_rows("Operators", document.get("operators", []), _OPERATOR)
