"""A timeline: devices, idle time, host calls, copies, ranges that repeat, kernels and operators."""

from typing import Any

from harness.analysis.audit.batches import Batches
from harness.analysis.audit.layers import Layers, Part
from harness.analysis.idle import host_state
from harness.cli import output
from harness.cli.shown.columns import (
    NOT_MEASURED,
    Cell,
    narrow,
    number,
    print_rows,
    size,
    text,
    without,
)
from harness.cli.shown.kernels import kernel_name, shape

BESIDE_NAMES = 67
"""Columns of the terminal that a table of kernels needs beside their names."""
_IDLE_ROWS, _CALL_ROWS, _COPY_ROWS, _SERIES_ROWS = 8, 10, 12, 12

_STATES = {
    host_state.OUTSIDE: "host code outside CUDA or HIP",
    host_state.WAITING: "waiting: thread, process, file",
    host_state.LAUNCHED: "nothing: launched, not started",
    host_state.PAGES: "none: pages of managed memory move",
    host_state.UNKNOWN: "unknown: its launch is not recorded",
}


def _percent(key: str) -> Cell:
    """Print a time as a percentage of the device's span."""
    return lambda row: f"{row[key] / row['span_ns'] * 100:.1f}" if row["span_ns"] else NOT_MEASURED


def _host(row: dict[str, Any]) -> str:
    return str(row["call"] or _STATES.get(row["state"], row["state"]))


_GPU: dict[str, Cell] = {
    "device": text("device"),
    "span ms": number("span_ns", 1e6, 3),
    "busy %": _percent("busy_ns"),
    "compute": _percent("compute_ns"),
    "comm.": _percent("communication_ns"),
    "copies": _percent("copy_ns"),
    "idle %": _percent("idle_ns"),
    "overlap": _percent("overlap_ns"),
}
_IDLE: dict[str, Cell] = {
    "while the host was in": _host,
    "times": number("count"),
    "idle ms": number("total_ns", 1e6, 3),
    "% of span": _percent("total_ns"),
}
_CALL: dict[str, Cell] = {
    "call": text("name"),
    "count": number("count"),
    "total ms": number("total_ns", 1e6, 3),
    "median µs": number("median_ns", 1e3, 2),
    "GPU idle ms": number("idle_ns", 1e6, 3),
}
_COPY: dict[str, Cell] = {
    "copy": text("copy_kind"),
    "memory": text("memory"),
    "count": number("count"),
    "size": size("bytes"),
    "total ms": number("total_ns", 1e6, 3),
    "alone ms": number("alone_ns", 1e6, 3),
}
_SERIES: dict[str, Cell] = {
    "range": text("name"),
    "count": number("count"),
    "host ms": number("host_ns", 1e6, 3),
    "GPU ms": number("busy_ns", 1e6, 3),
    "least": number("busy_min_ns", 1e6, 3),
    "most": number("busy_max_ns", 1e6, 3),
    "kernels": number("kernels"),
}
_KERNEL: dict[str, Cell] = {
    "count": number("count"),
    "total ms": number("total_ns", 1e6, 3),
    "median µs": number("median_ns", 1e3, 2),
    "share %": number("share", 0.01, 1),
}
_SHAPE: dict[str, Cell] = {"grid": shape("grid"), "block": text("block")}
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
    """Print what each GPU did, what the host did meanwhile, then kernels, copies and ranges.

    Operators are printed where no GPU work was recorded.
    """
    gpu = document["gpu"]
    devices = gpu["devices"]
    _steps(document)
    if gpu["span_ns"] is None:
        output.say("No GPU work in this capture.")
        output.say()
    else:
        print_rows(*_gpu(devices))
    span = {"span_ns": sum(device["span_ns"] for device in devices)}
    idle = [row | span for row in _over_devices(document["idle"] or [], "state", "call")]
    of_all = ", summed over devices" if len(devices) > 1 else ""
    print_rows(f"Idle time of the GPU{of_all}", idle, _IDLE, _IDLE_ROWS)
    call = without(_CALL, "GPU idle ms") if gpu["span_ns"] is None else _CALL
    print_rows("Host calls", document["calls"] or [], call, _CALL_ROWS)
    copies = _over_devices(document["copies"], "copy_kind", "memory")
    print_rows(f"Copies{of_all}; alone: while no kernel ran", copies, _COPY, _COPY_ROWS)
    series = document["series"] or []
    print_rows("Ranges that repeat: medians of one, least, most", series, _SERIES, _SERIES_ROWS)
    kernel = _KERNEL if narrow() else _KERNEL | _SHAPE
    print_rows("Kernels", document["kernels"], kernel_name(names) | kernel, whole=not names)
    alone = [row for row in document["ranges"] if row["series"] is None]
    never = any(row["unfinished"] for row in alone)
    print_rows("Ranges", alone, _RANGE if never else without(_RANGE, "never ended"))
    if gpu["span_ns"] is None:
        print_rows("Operators", document.get("operators", []), _OPERATOR)


def _steps(document: dict[str, Any]) -> None:
    """Print what is known of a serving engine's steps, and of the layers of a step."""
    from harness.report import audit_text

    lines = [
        *(audit_text.batches_sentence(Batches(**each)) for each in document["batches"] or []),
        *document["unplaced"],
    ]
    layers = document["layers"]
    if layers:
        parts = tuple(Part(**part) for part in layers["parts"])
        lines += ["", *audit_text.layers_lines(Layers(**layers | {"parts": parts}))]
    for line in lines:
        output.say(line)
    if lines:
        output.say()


def _gpu(devices: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]], dict[str, Cell]]:
    """Return title, rows and columns; without the parts of which no device has any."""
    parts = {
        "comm.": ("communication_total_ns", "comm. alone"),
        "copies": ("copy_total_ns", "copies alone"),
    }
    empty = [name for name, (key, _) in parts.items() if not any(row[key] for row in devices)]
    words = ["compute", *(text for name, (_, text) in parts.items() if name not in empty)]
    title = f"GPU, % of its span: busy = {' + '.join(words)}"
    return title, devices, without(_GPU, *empty)


def _over_devices(rows: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
    """Return rows of equal ``keys`` as one, the longest in total first; all else is summed."""
    summed: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        kept = summed.setdefault(tuple(row[key] for key in keys), {key: row[key] for key in keys})
        for key, value in row.items():
            if key not in (*keys, "device", "share"):
                kept[key] = value if kept.get(key) is None else kept[key] + (value or 0)
    return sorted(summed.values(), key=lambda row: -(row["total_ns"] or 0))
