"""The highest rates of a GPU, measured on it and promised, as rows of text.

`harness doctor --calibrate` prints them beside the GPU, where no library that reads captures need
be.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness.analysis import datasheets
from harness.analysis.measured import Measured
from harness.report.numbers import in_cell

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
_WITHOUT_PEAK = frozenset(LABELS) - {*_PEAK_OF, "bf16", "fp16", "fp8", "tf32", "fp32"}

Rates = Mapping[str, Mapping[str, Any]]
"""Ceiling to unit, value, low and high (99 %)."""


@dataclass(frozen=True)
class CeilingTable:
    """Head and rows of text, and the source of the datasheet's column, "" if it is unknown."""

    head: list[str]
    rows: list[list[str]]
    source: str


def ceiling_table(gpu_name: str, by_gpu: Mapping[str, Rates]) -> CeilingTable:
    """Return rows of ceilings: a column per GPU of one model, the datasheet's peak, the best share.

    A ceiling that a GPU lacks, or the datasheet does not give, is a dash.
    """
    sheet = datasheets.of(gpu_name)
    rows = []
    for key, label in LABELS.items():
        rates = [gpu_rates.get(key) for gpu_rates in by_gpu.values()]
        measured = [rate for rate in rates if rate is not None]
        if not measured:
            continue
        best = max(rate["value"] for rate in measured)
        peak = None
        if sheet is not None and key not in _WITHOUT_PEAK:
            peak = sheet.rate(_PEAK_OF.get(key, key))
        rows.append(
            [
                f"{label}, {measured[0]['unit']}",
                *(_cell(rate) for rate in rates),
                "–" if peak is None else f"{peak:g}",
                "–" if peak is None else f"{100 * best / peak:.1f} %",
            ]
        )
    many = len(by_gpu) > 1
    columns = [f"measured on {gpu[:12]}…" if many else "measured" for gpu in by_gpu]
    share = "best share" if many else "share"
    head = ["ceiling", *columns, "datasheet", share]
    return CeilingTable(head, rows, sheet.source if sheet else "")


def _cell(rate: Mapping[str, Any] | None) -> str:
    if rate is None:
        return "–"
    ends = (rate["value"], rate["low"], rate["high"])
    return in_cell(Measured("", *ends, samples=2))
