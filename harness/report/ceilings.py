"""The table of what GPUs reach at most, measured and promised: in worklogs and `calibrate`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.analysis import datasheets
from harness.report.numbers import number

LABELS = {
    "dram_copy": "memory bandwidth, read + written",
    "dram_read": "memory bandwidth, read only",
    "bf16": "bf16 matrix product",
    "bf16_sustained": "bf16 matrix product without rests",
    "fp16": "fp16 matrix product",
    "fp8": "fp8 matrix product",
    "tf32": "tf32 matrix product",
    "fp32": "fp32 matrix product",
    "launch": "host time of a kernel launch",
    "round_trip": "launch to idle",
    "graph_node": "GPU time of a graph node",
    "graph_launch": "host time of a graph launch per node",
    "event_pair": "GPU time between two events with nothing between",
    "h2d_pinned": "host to device, pinned",
    "h2d_pageable": "host to device, pageable",
    "d2h_pinned": "device to host, pinned",
    "d2h_pageable": "device to host, pageable",
}
_PEAK_OF = {"dram_copy": "dram", "dram_read": "dram", "bf16_sustained": "bf16"}
"""Which of the datasheet's peaks a ceiling is a share of, where its name is not the peak's."""
_WITHOUT = frozenset(LABELS) - {*_PEAK_OF, "bf16", "fp16", "fp8", "tf32", "fp32"}

Rates = Mapping[str, Mapping[str, Any]]
"""Ceiling to unit, value, low and high (95 %)."""


@dataclass(frozen=True)
class CeilingTable:
    """Head and rows of text, and where the datasheet's column is from ("" if it is unknown)."""

    head: list[str]
    rows: list[list[str]]
    source: str


def table_of(gpu_name: str, by_gpu: Mapping[str, Rates]) -> CeilingTable:
    """Return a row a ceiling, a column a GPU of one model, the datasheet's peak and the best share.

    A ceiling that a GPU lacks, or the datasheet does not give, is a dash.
    """
    sheet = datasheets.of(gpu_name)
    rows = []
    for key, label in LABELS.items():
        found = [rates[key] for rates in by_gpu.values() if key in rates]
        if not found:
            continue
        unit, best = found[0]["unit"], max(one["value"] for one in found)
        peak = None if sheet is None or key in _WITHOUT else sheet.rate(_PEAK_OF.get(key, key))
        rows.append(
            [
                f"{label}, {unit}",
                *(_told(rates.get(key)) for rates in by_gpu.values()),
                "–" if peak is None else f"{peak:g}",
                "–" if peak is None else f"{100 * best / peak:.1f} %",
            ]
        )
    many = len(by_gpu) > 1
    columns = [f"measured on {gpu[:12]}…" if many else "measured" for gpu in by_gpu]
    share = "best share" if many else "share"
    return CeilingTable(
        ["ceiling", *columns, "datasheet", share], rows, sheet.source if sheet else ""
    )


def _told(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "–"
    return f"{number(found['value'])} [{number(found['low'])}, {number(found['high'])}]"
